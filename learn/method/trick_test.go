package method_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/method"
)

func TestTricksAreSortedAndWhole(t *testing.T) {
	all := method.Tricks()
	if !slices.IsSortedFunc(all, func(a, b method.Trick) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the tricks are not sorted by name")
	}
	names := map[string]bool{}
	for _, trick := range all {
		names[trick.Name] = true
		for field, text := range map[string]string{
			"Name": trick.Name, "Title": trick.Title, "Summary": trick.Summary, "Idea": trick.Idea, "Formula": trick.Formula,
			"Citation": trick.Citation, "Cost": trick.Cost, "Expect": trick.Expect,
		} {
			if text == "" {
				t.Errorf("%s: %s is empty", trick.Name, field)
			}
		}
		if trick.TaskBoundaries() != slices.Contains(trick.Signals, "task boundaries") {
			t.Errorf("%s: task boundaries: %v, but its signals are %v", trick.Name, trick.TaskBoundaries(), trick.Signals)
		}
	}
	for _, info := range method.Catalogue() {
		for name, reason := range info.Refuses {
			if !names[name] || reason == "" {
				t.Errorf("%s refuses %q because %q", info.Name, name, reason)
			}
		}
	}
}

// TestWhoTakesWhat is the least that the survey's table of tricks needs.
func TestWhoTakesWhat(t *testing.T) {
	everything := []string{"ema", "kdc", "kdc*", "las", "lb", "lode", "mi", "mkd", "ncm", "rar", "rv", "ss"}
	without := func(trick string) []string {
		return slices.DeleteFunc(slices.Clone(everything), func(name string) bool { return name == trick })
	}
	want := map[string][]string{
		"agem": without("mkd"), "er": everything, "gss": everything, "mir": everything,
		"ewc++": {"ema", "las", "lb", "lode", "mi", "mkd"}, "finetune": {"ema", "las", "lb", "lode", "mi", "mkd"}, "gdumb": {"ncm"},
		"icarl": {"rv"}, "lwf": {"ema", "mi"}, "offline": nil,
		"er-ace": {"ema", "mi", "mkd", "ncm", "rar", "rv"}, "der++": without("mkd"),
		"scr": {"ema", "mi"}, "clib": without("lode"),
	}
	for name, want := range want {
		info, err := method.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		var takes []string
		for _, trick := range everything {
			if len(info.CheckTricks([]string{trick})) == 0 {
				takes = append(takes, trick)
			}
		}
		if !slices.Equal(takes, want) {
			t.Errorf("%s takes %v, want %v", name, takes, want)
		}
	}
}

// TestTrickBoundaries: a learner is TaskAware if and only if the method or a trick says so. Exactly these learners
// refuse a stream without task boundaries.
func TestTrickBoundaries(t *testing.T) {
	network := perceptron
	for _, info := range method.Catalogue() {
		for _, trick := range method.Tricks() {
			if _, refused := info.Refuses[trick.Name]; refused {
				continue
			}
			list := []string{trick.Name}
			want := info.TaskBoundaries || trick.TaskBoundaries()
			l := build(info.Name, network, func(s *method.Setup) { s.Tricks = list })(t, 1)
			if _, aware := l.(ocl.TaskAware); aware != want {
				t.Errorf("%s: task boundaries are used: %v, want %v", info.With(list), aware, want)
			}
			if got := slices.Contains(info.SignalsWith(list), "task boundaries"); got != want {
				t.Errorf("%s: signals %v", info.With(list), info.SignalsWith(list))
			}
			err := info.CheckStream(ocl.StreamInfo{Name: "blurry", NoBoundaries: true}, trick.Name)
			if (err != nil) != want || err != nil && !strings.Contains(err.Error(), "stream blurry") {
				t.Errorf("%s: a stream without boundaries: error %v", info.With(list), err)
			}
			err = info.CheckStream(ocl.StreamInfo{Name: "core50-ni", Scenario: ocl.DomainIncremental}, trick.Name)
			if (err != nil) != (trick.Name == "ss") || err != nil &&
				!strings.Contains(err.Error(), "with ss: the classes of stream core50-ni") {
				t.Errorf("%s: a domain-incremental stream: error %v", info.With(list), err)
			}
		}
	}
}

func TestTricksTogether(t *testing.T) {
	for _, c := range []struct {
		method, tricks string
		want           []string // parts of the error; none is no error
	}{
		{"er", "none", nil},
		{"er", "lb", nil},
		{"er", "rv+lb+ncm", nil},
		{"mir", "kdc*+ss+mi", nil},
		{"er", "kdc+kdc*", []string{"er with kdc and kdc*: ", "weights"}},
		{"er", "kdc*+kdc", []string{"er with kdc and kdc*: "}},
		{"mir", "ss+rv+lb", []string{"mir with lb and ss: ", "softmax"}},
		{"gdumb", "ncm+rv", []string{"gdumb with rv: ", "memory"}},
		{"icarl", "lb", []string{"icarl with lb: ", "yes-or-no"}},
		{"finetune", "ncm", []string{"finetune with ncm: ", "stores no samples"}},
		{"er", "lbb", []string{`unknown trick "lbb"`, "Did you mean lb?"}},
		{"er", "lb+lb", []string{`"lb+lb": trick lb is given twice`}},
		{"er", "lb+none", []string{`unknown trick "none"`}},
		{"er", "", []string{`a trick of "" has no name`}},
	} {
		info, err := method.Lookup(c.method)
		if err != nil {
			t.Fatal(err)
		}
		names, err := method.ParseTricks(c.tricks)
		if err == nil {
			err = errors.Join(info.CheckTricks(names)...)
		}
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("%s, %s: error %v, want %q", c.method, c.tricks, err, c.want)
		}
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s, %s: error %v, want one with %q", c.method, c.tricks, err, part)
			}
		}
	}
	names, err := method.ParseTricks("rv+lb")
	if err != nil || !slices.Equal(names, []string{"lb", "rv"}) {
		t.Errorf("rv+lb: %v (%v), want lb, rv", names, err)
	}
	info, _ := method.Lookup("gdumb")
	if _, err := info.New(method.Setup{ReplayBatch: 1, Iterations: 1, Tricks: []string{"rv"}}); err == nil ||
		!strings.Contains(err.Error(), "gdumb with rv") {
		t.Errorf("building gdumb with rv: error %v", err)
	}
}

// TestIterationsOfMI: five, or as many as are asked for; one without the trick.
func TestIterationsOfMI(t *testing.T) {
	network := perceptron
	for _, c := range []struct{ given, plain, trick int }{{1, 1, 5}, {3, 3, 3}} {
		for tricks, want := range map[string]int{"none": c.plain, "mi": c.trick} {
			names, err := method.ParseTricks(tricks)
			if err != nil {
				t.Fatal(err)
			}
			l := build("er", network, func(s *method.Setup) { s.Iterations, s.Tricks = c.given, names })(t, 1)
			if got := l.(*learner.Replay).Iterations; got != want {
				t.Errorf("replay.iterations %d, tricks %s: %d steps on a batch, want %d", c.given, tricks, got, want)
			}
		}
	}
}

// TestCostOfTricks: a teacher predicts what is learned, iterations repeat all of it, and with mkd a mean predicts what
// is learned twice.
func TestCostOfTricks(t *testing.T) {
	sum := func(tricks ...string) (sum int) {
		info, err := method.Lookup("er")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range info.StepPasses(method.Setup{Memory: 1000, ReplayBatch: 10, Iterations: 1, Tricks: tricks}, 10) {
			sum += p.Forwards()
		}
		return sum
	}
	for _, c := range []struct {
		tricks []string
		want   int
	}{{nil, 60}, {[]string{"lb"}, 60}, {[]string{"kdc"}, 80}, {[]string{"kdc*"}, 80}, {[]string{"mi"}, 300},
		{[]string{"kdc", "mi"}, 400}, {[]string{"mkd"}, 140}, {[]string{"rv"}, 60}} {
		if got := sum(c.tricks...); got != c.want {
			t.Errorf("er with %v: %d forward passes, want %d", c.tricks, got, c.want)
		}
	}
}
