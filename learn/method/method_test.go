package method_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn/arch"
	"ocl/rng"
)

func TestCatalogueIsSorted(t *testing.T) {
	if !slices.IsSortedFunc(method.Catalogue(), func(a, b method.Info) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the catalogue is not sorted by name")
	}
}

func TestCatalogueIsWhole(t *testing.T) {
	for _, info := range method.Catalogue() {
		for field, text := range map[string]string{
			"Name": info.Name, "Title": info.Title, "Summary": info.Summary, "Idea": info.Idea, "Formula": info.Formula,
			"Citation": info.Citation, "CostPerStep": info.CostPerStep, "Expect": info.Expect,
		} {
			if text == "" {
				t.Errorf("%s: %s is empty", info.Name, field)
			}
		}
		if info.UsesMemory != slices.Contains(info.Settings, "memory") {
			t.Errorf("%s: uses memory: %v, but its settings are %v", info.Name, info.UsesMemory, info.Settings)
		}
		if info.StoredTasks != slices.Contains(info.Signals, "tasks of stored samples") {
			t.Errorf("%s: tasks of stored samples: %v, but its signals are %v", info.Name, info.StoredTasks, info.Signals)
		}
		if len(info.Authors) == 0 {
			t.Errorf("%s: nothing to try when tuning", info.Name)
		}
		for _, g := range []method.Grid{info.Paper, info.Authors} {
			checkGrid(t, info, g)
		}
		for _, o := range info.Options {
			if o.Meaning == "" {
				t.Errorf("%s: option %s: Meaning is empty", info.Name, o.Name)
			}
			if err := info.CheckOptions(map[string]any{o.Name: o.Default}); err != nil {
				t.Errorf("%s: the default: %v", info.Name, err)
			}
		}
		if info.TaskBoundaries != slices.Contains(info.Signals, "task boundaries") {
			t.Errorf("%s: task boundaries: %v, but its signals are %v", info.Name, info.TaskBoundaries, info.Signals)
		}
	}
}

// TestCostIsThatOfThePasses compares what CostPerStep says of a step with the arithmetic of its passes, as 2.7 or as
// 8/3.
func TestCostIsThatOfThePasses(t *testing.T) {
	for _, info := range method.Catalogue() {
		if info.OwnNetworks || info.Solves != nil {
			continue // its steps are no passes of the network that Finetune has
		}
		passes := info.StepPasses(method.Setup{Memory: 1000, ReplayBatch: 10}, 10)
		sum := 0
		for _, p := range passes {
			sum += p.Forwards()
		}
		if info.Deferred { // its steps do next to nothing, and the passes are those of its training
			if info.Name == "gdumb" && fmt.Sprint(passes) != "[learn 16]" {
				t.Errorf("gdumb: passes %v, want a batch of 16", passes)
			}
			continue
		}
		said, _, _ := strings.Cut(info.CostPerStep, " ")
		decimal := strings.TrimSuffix(fmt.Sprintf("%.1f", float64(sum)/30), ".0")
		if fraction := big.NewRat(int64(sum), 30).RatString(); said != decimal && said != fraction {
			t.Errorf("%s: passes %v are %s or %s × Finetune; said are %q", info.Name, passes, decimal, fraction,
				info.CostPerStep)
		}
	}
}

// checkGrid wants learning rates, and values of options that the method takes.
func checkGrid(t *testing.T, info method.Info, g method.Grid) {
	t.Helper()
	rates := false
	for _, a := range g {
		if len(a.Values) == 0 {
			t.Errorf("%s: tuning %s: no values", info.Name, a.Key)
		}
		rates = rates || a.Key == "optimizer.lr"
		name, ok := strings.CutPrefix(a.Key, "method."+info.Name+".")
		if !ok {
			continue
		}
		for _, v := range a.Values {
			if err := info.CheckOptions(map[string]any{name: v}); err != nil {
				t.Errorf("tuning %s: %v", a.Key, err)
			}
		}
	}
	if len(g) > 0 && !rates && info.Solves == nil {
		t.Errorf("%s: a grid without learning rates", info.Name)
	}
}

// TestBoundariesAreDeclared: the catalogue says of each method whether its learner is TaskAware, because reports print
// it.
func TestBoundariesAreDeclared(t *testing.T) {
	for _, info := range method.Catalogue() {
		network := arch.Config{Channels: 3, Height: 12, Width: 12, Classes: 6, Hidden: []int{16}}
		if _, aware := build(info.Name, network, nil)(t, 1).(ocl.TaskAware); aware != info.TaskBoundaries {
			t.Errorf("%s: task boundaries are declared: %v, but used: %v", info.Name, info.TaskBoundaries, aware)
		}
		err := info.CheckStream(ocl.StreamInfo{Name: "blurry", NoBoundaries: true, Height: 12, Width: 12})
		if (err != nil) != info.TaskBoundaries || err != nil && !strings.Contains(err.Error(), info.Name+": stream blurry") {
			t.Errorf("%s: a stream without boundaries: error %v", info.Name, err)
		}
		if err := info.CheckStream(ocl.StreamInfo{Name: "split", Height: 12, Width: 12}); err != nil {
			t.Errorf("%s: a stream with boundaries: %v", info.Name, err)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, name := range []string{"er", "finetune"} {
		if info, err := method.Lookup(name); err != nil || info.Name != name {
			t.Errorf("%s: found %q (%v)", name, info.Name, err)
		}
	}
	for word, near := range map[string]string{"fine-tune": "finetune", "err": "er", "ER": "er", "Finetuning": "finetune"} {
		if _, err := method.Lookup(word); err == nil || !strings.HasSuffix(err.Error(), "Did you mean "+near+"?") {
			t.Errorf("%s: error %v, want one that suggests %s", word, err, near)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	info := method.Info{Name: "x", Options: []method.Option{
		{Name: "candidates", Default: 50, Least: 1}, {Name: "subset", Default: "batch", Choices: []string{"batch", "sample"}},
		{Name: "share", Default: 0.5, Most: 1}, {Name: "weight", Default: 1.0}, {Name: "raw", Default: false},
	}}
	for _, c := range []struct {
		options map[string]any
		want    string // part of the error; "" means none
	}{
		{nil, ""},
		{map[string]any{"candidates": 20, "subset": "sample"}, ""},
		{map[string]any{"candidate": 20}, "Did you mean candidates?"},
		{map[string]any{"candidates": "20"}, "Give a whole number, at least 1, of type int"},
		{map[string]any{"candidates": nil}, "of type int"},
		{map[string]any{"candidates": 0}, "option candidates: 0 is not allowed. Use a whole number, at least 1"},
		{map[string]any{"share": 1.5}, "option share: 1.5 is not allowed. Use a number from 0 to 1"},
		{map[string]any{"share": -0.5}, "Use a number from 0 to 1"},
		{map[string]any{"share": math.NaN()}, "option share: NaN"},
		{map[string]any{"weight": math.Inf(1)}, "option weight: +Inf is not allowed. Use a number, at least 0"},
		{map[string]any{"weight": 1e9, "share": 1.0, "raw": true}, ""},
		{map[string]any{"subset": "rows"}, "option subset: rows is not allowed. Use one of batch, sample"},
		{map[string]any{"raw": 1}, "Give true or false, of type bool"},
	} {
		err := info.CheckOptions(c.options)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.options, err, c.want)
		}
	}
	er, _ := method.Lookup("er")
	if err := er.CheckOptions(map[string]any{"candidates": 50}); err == nil ||
		!strings.Contains(err.Error(), "no options of its own") {
		t.Errorf("er with candidates: error %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 2, Width: 2, Classes: 3, Hidden: []int{4}},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	defer ws.Close()
	good := method.Setup{
		Net: net, WS: ws, Opt: optim.SGD{LR: 0.1}, Memory: 5, ReplayBatch: 2, Iterations: 1,
		Shape: [3]int{1, 2, 2}, Classes: 3, Seed: 1,
	}
	for _, info := range method.Catalogue() {
		good := good
		if info.Solves != nil {
			good.Options = map[string]any{}
			if info.Name == "ranpac" {
				good.Options["projection"] = 4
			}
			if info.Name == "randumb" {
				good.Options["features"] = 4
				waves, err := arch.MLP(arch.Config{Channels: 1, Height: 2, Width: 2, Classes: 3, Hidden: []int{4}, Waves: true},
					rng.New(1, "network/init"))
				if err != nil {
					t.Fatal(err)
				}
				good.Net = waves
			}
		}
		if info.OwnNetworks {
			good.Memory, good.Shape = 50, [3]int{1, 12, 12}
		}
		if _, err := info.New(good); err != nil {
			t.Errorf("%s: %v", info.Name, err)
		}
		for key, change := range map[string]func(*method.Setup){
			"memory":            func(s *method.Setup) { s.Memory = -1 },
			"replay.batch":      func(s *method.Setup) { s.ReplayBatch = 0 },
			"replay.iterations": func(s *method.Setup) { s.Iterations = 0 },
			"option":            func(s *method.Setup) { s.Options = map[string]any{"no-such": 1} },
		} {
			bad := good
			change(&bad)
			if _, err := info.New(bad); err == nil || !strings.Contains(err.Error(), info.Name+": ") ||
				!strings.Contains(err.Error(), key) {
				t.Errorf("%s: bad %s: error %v, want one that names the method and the key", info.Name, key, err)
			}
		}
	}
}

// TestCheckTogether: options that are in order by themselves but not beside each other or the settings.
func TestCheckTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup method.Setup
		want  []string // parts of the error; none is no error
	}{
		{"mir", method.Setup{ReplayBatch: 10, Options: map[string]any{"candidates": 5}},
			[]string{"candidates: 5", "replay.batch (10)", "at least 10"}},
		{"mir", method.Setup{ReplayBatch: 60}, []string{"candidates: 50", "at least 60"}},
		{"mir", method.Setup{ReplayBatch: 10, Options: map[string]any{"candidates": 10}}, nil},
		{"gss", method.Setup{Options: map[string]any{"subset": "sample", "gate": "batch"}},
			[]string{"subset: sample", "gate batch"}},
		{"agem", method.Setup{Options: map[string]any{"reference": "plain"}, Tricks: []string{"lb"}},
			[]string{"reference: plain", "'kdc*'"}},
		{"gss", method.Setup{Options: map[string]any{"subset": "sample", "gate": "sample"}}, nil},
		{"gss", method.Setup{Options: map[string]any{"gate": "batch"}}, nil},
		{"cndpm", method.Setup{Memory: 49}, []string{"memory: 49", "sleep_batch (50)", "--memory 50"}},
		{"cndpm", method.Setup{Memory: 49, Options: map[string]any{"sleep_batch": 49}}, nil},
		{"cndpm", method.Setup{Memory: 50, Normalises: true}, []string{"stream.mean and stream.std", "Remove both"}},
		{"finetune", method.Setup{Normalises: true}, nil},
	} {
		info, err := method.Lookup(c.name)
		if err != nil {
			t.Fatal(err)
		}
		err = info.CheckTogether(c.setup)
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("%s, %v: error %v, want %q", c.name, c.setup.Options, err, c.want)
		}
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s, %v: error %v, want one with %q", c.name, c.setup.Options, err, part)
			}
		}
	}
}

// TestRanDumbGamma: γ is in units of what is known of pixels before the stream begins: 60 values, whose bytes are
// equally likely, as they are or divided by a deviation of 0.5, and embeddings of variance 1.
func TestRanDumbGamma(t *testing.T) {
	const byteVariance = (256*256 - 1) / 12.0 / (255 * 255)
	values := ocl.NewPixelValues(3, []float64{0.4, 0.5, 0.6}, []float64{0.5, 0.5, 0.5})
	for name, c := range map[string]struct {
		change func(*method.Setup)
		want   float64
	}{
		"as they are": {func(*method.Setup) {}, 1 / (60 * byteVariance)},
		"normalised":  {func(s *method.Setup) { s.Pixels = values }, 1 / (60 * byteVariance / 0.25)},
		"embeddings":  {func(s *method.Setup) { s.Embeddings = true }, 1 / 60.0},
		"three times": {with("gamma", 3.0), 3 / (60 * byteVariance)},
	} {
		l := build("randumb", perceptron, c.change)(t, 1).(*learner.RanDumb)
		if !(math.Abs(l.Gamma/c.want-1) <= 1e-6) {
			t.Errorf("%s: γ is %v, want %v", name, l.Gamma, c.want)
		}
	}
}

// TestSaysForWhom: what came after the survey says for whom it is, and for whom not, in the sentence that expectations
// begin with.
func TestSaysForWhom(t *testing.T) {
	all := map[string]string{}
	for _, info := range method.Catalogue() {
		if info.Group() != method.OfSurvey {
			all[info.Name] = info.Expect
		}
	}
	for _, trick := range method.Tricks() {
		if !slices.Contains([]string{"kdc", "kdc*", "lb", "mi", "ncm", "rv", "ss"}, trick.Name) { // the survey's
			all[trick.Name] = trick.Expect
		}
	}
	for name, text := range all {
		first, _, _ := strings.Cut(text, ". ")
		if !strings.HasPrefix(first, "For ") || !strings.Contains(first, " not ") {
			t.Errorf("%s: %q does not say for whom it is and for whom not", name, first)
		}
	}
}
