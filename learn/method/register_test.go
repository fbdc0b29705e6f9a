package method_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// twin is ER as somebody else would register it, with an option.
func twin(name string) method.Info {
	size := method.Option{Name: "size", Default: 4, Least: 1, Meaning: "rows to replay"}
	return method.Info{
		Name: name, Text: method.Text{Summary: "A twin of ER."}, Traits: method.Traits{UsesMemory: true},
		Settings: []string{"memory", "replay.batch", "replay.iterations", "replay.augment"}, Options: []method.Option{size},
		Build: func(s method.Setup) (ocl.Learner, error) {
			r := s.Replay()
			r.Memory, r.Retrieve = s.Store(), memory.Random{Size: method.OptionOf[int](s, size)}
			return r, nil
		},
	}
}

// TestRegister: a registered method is found, stands in its place, and learns what its twin of the catalogue learns,
// with tricks too.
func TestRegister(t *testing.T) {
	method.Restore(t)
	method.Register(twin("er-twin"))
	TestCatalogueIsSorted(t)
	info, err := method.Lookup("er-twin")
	if err != nil || info.Title != "er-twin" {
		t.Fatalf("found %q with the title %q: %v", info.Name, info.Title, err)
	}
	if module, version := info.Origin(); module != "" || version != "" {
		t.Errorf("a method of this module is from module %q, version %q", module, version)
	}
	s := method.Setup{Memory: 5, ReplayBatch: 3}
	if got, want := fmt.Sprint(info.StepPasses(s, 10)), "[learn 10 + 3]"; got != want {
		t.Errorf("a method with a memory and without Passes has %s, want %s", got, want)
	}
	for _, tricks := range [][]string{nil, {"kdc", "lb", "rv"}} {
		with := func(s *method.Setup) { s.Tricks = tricks }
		got := learned(t, build("er-twin", perceptron, with)(t, 1))
		learnertest.CheckSame(t, fmt.Sprint("the twin with ", tricks), got, learned(t, build("er", perceptron, with)(t, 1)))
	}
}

// TestFloats: what a memory carries is counted in what a run needs, so an Info that says something else is refused.
func TestFloats(t *testing.T) {
	method.Restore(t)
	carrying := func(carry int, say func(method.Setup) int) method.Info {
		info := twin("carrying")
		info.Floats = say
		info.Build = func(s method.Setup) (ocl.Learner, error) {
			r := s.Replay()
			r.Memory = s.Store()
			if carry > 0 {
				r.Memory.CarryOutputs(carry)
			}
			return r, nil
		}
		return info
	}
	s := method.Setup{Net: newNetwork(t), Opt: optim.SGD{}, Memory: 3, ReplayBatch: 3, Iterations: 1,
		Shape: [3]int{1, 2, 2}, Classes: 6}
	classes := func(s method.Setup) int { return s.Classes }
	if _, err := carrying(6, classes).New(s); err != nil {
		t.Error(err)
	}
	for _, info := range []method.Info{carrying(6, nil), carrying(0, classes), carrying(4, classes)} {
		if _, err := info.New(s); err == nil || !strings.Contains(err.Error(), "but Floats of its Info says") {
			t.Errorf("error %v, want one about Floats", err)
		}
	}
	if got, want := carrying(6, classes).SlotBytes(s), 6*4+32; got != want || twin("er-twin").SlotBytes(s) != 0 {
		t.Errorf("%d bytes a slot, want %d, and none without numbers", got, want)
	}
}

// newNetwork is a small network.
func newNetwork(t *testing.T) *nn.Network {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 2, Width: 2, Classes: 6, Hidden: []int{4}},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// panicOf is what a call panics with, "" without.
func panicOf(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// TestRegisterRefuses: a faulty entry panics with what is wrong, where, and what to do; nothing is registered then.
func TestRegisterRefuses(t *testing.T) {
	method.Restore(t)
	method.Register(twin("er-twin"))
	before := len(method.Catalogue())
	for name, c := range map[string]struct {
		change func(*method.Info)
		want   []string
	}{
		"no name": {func(i *method.Info) { i.Name = "" }, []string{"no name", "Set Name"}},
		"a space": {func(i *method.Info) { i.Name = "er ace" },
			[]string{`"er ace" cannot be a name`, "letters, digits"}},
		"a path":      {func(i *method.Info) { i.Name = "../er" }, []string{`"../er" cannot be a name`}},
		"a flag":      {func(i *method.Info) { i.Name = "-er" }, []string{`"-er" cannot be a name`}},
		"a number":    {func(i *method.Info) { i.Name = "1e5" }, []string{`"1e5" cannot be a name`}},
		"a trick":     {func(i *method.Info) { i.Name = "x+lb" }, []string{`"x+lb" cannot be a name`, "at the end"}},
		"two hyphens": {func(i *method.Info) { i.Name = "a--b" }, []string{"single hyphens"}},
		"a long name": {func(i *method.Info) { i.Name = strings.Repeat("a", 41) },
			[]string{"41 letters", "at most 40"}},
		"no build": {func(i *method.Info) { i.Build = nil }, []string{"new-one", "there is no Build"}},
		"a taken name": {func(i *method.Info) { i.Name = "er" },
			[]string{"the name er is taken", "learn/method/catalogue.go"}},
		"one registered": {func(i *method.Info) { i.Name = "er-twin" },
			[]string{"the name er-twin is taken", "register_test.go:"}},
		"the same folder": {func(i *method.Info) { i.Name = "EWCpp" }, []string{"is taken by the method ewc++"}},
		"no default":      {func(i *method.Info) { i.Options[0].Default = nil }, []string{"option size", "no default"}},
		"another type": {func(i *method.Info) { i.Options[0].Default = int64(3) },
			[]string{"int64", "Use bool, string, int or float64"}},
		"a bad default": {func(i *method.Info) { i.Options[0].Default = 0 }, []string{"the default 0 is not allowed"}},
		"a default of NaN": {func(i *method.Info) { i.Options[0].Default = math.NaN() },
			[]string{"the default NaN is not allowed"}},
		"a nameless option": {func(i *method.Info) { i.Options[0].Name = "" }, []string{`"" cannot be a name`}},
		"an option's dot":   {func(i *method.Info) { i.Options[0].Name = "a.b" }, []string{`"a.b" cannot be a name`}},
		"two options": {func(i *method.Info) { i.Options = append(i.Options, i.Options[0]) },
			[]string{"option size is there twice"}},
		"a setting": {func(i *method.Info) { i.Settings[1] = "replay.bach" },
			[]string{"replay.bach", "Did you mean replay.batch?"}},
		"memory unread": {func(i *method.Info) { i.Settings = i.Settings[1:] }, []string{"UsesMemory is true"}},
		"a refusal": {func(i *method.Info) { i.Refuses = map[string]string{"kcd": "x"} },
			[]string{`unknown trick "kcd"`}},
		"a teacher": {func(i *method.Info) { i.Teacher = "both" }, []string{`the teacher is "both"`}},
		"a grid": {func(i *method.Info) { i.Paper = method.Grid{{Key: "method.new-one.sizes", Values: []any{3}}} },
			[]string{"Tuning has", "Did you mean method.new-one.size?"}},
		"a grid's method": {func(i *method.Info) {
			i.AuthorsOn = map[method.Data]method.Grid{method.CORe50NC: {{Key: "method.er.size", Values: []any{3}}}}
		}, []string{`Tuning has "method.er.size"`}},
		"an empty grid": {func(i *method.Info) { i.Authors = method.Grid{{Key: "optimizer.lr"}} },
			[]string{"no values of optimizer.lr"}},
		"own networks": {func(i *method.Info) { i.OwnNetworks = true }, []string{"Begins and Grows"}},
	} {
		t.Run(name, func(t *testing.T) {
			info := twin("new-one")
			c.change(&info)
			got := panicOf(func() { method.Register(info) })
			for _, want := range append(c.want, "register_test.go:") {
				if !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q in it", got, want)
				}
			}
		})
	}
	if n := len(method.Catalogue()); n != before {
		t.Errorf("%d methods, want %d", n, before)
	}
}

// TestNames: what a name may be.
func TestNames(t *testing.T) {
	method.Restore(t)
	for _, name := range []string{"er-best", "der", "x-2-y", "ER2"} {
		if text := panicOf(func() { method.Register(twin(name)) }); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestBuildOfNothing: a Build that returns no learner is an error of New, not a panic in the first step.
func TestBuildOfNothing(t *testing.T) {
	net, err := arch.MLP(perceptron, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	defer ws.Close()
	s := method.Setup{Net: net, WS: ws, Opt: optim.SGD{LR: 0.1}, ReplayBatch: 1, Iterations: 1, Shape: [3]int{3, 5, 4},
		Classes: 6}
	for name, l := range map[string]ocl.Learner{"nil": nil, "a nil pointer": (*learner.Replay)(nil)} {
		info := method.Info{Name: "nothing", Build: func(method.Setup) (ocl.Learner, error) { return l, nil }}
		if _, err := info.New(s); err == nil || !strings.Contains(err.Error(), "nothing: Build returned no learner") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for want, info := range map[string]method.Info{
		"half: Build returned a Replay without Net, WS or Opt": {Name: "half",
			Build: func(s method.Setup) (ocl.Learner, error) { return &learner.Replay{Net: s.Net, WS: s.WS}, nil }},
		"none: UsesMemory is set, but Build returned a Replay": {Name: "none", Traits: method.Traits{UsesMemory: true},
			Build: func(s method.Setup) (ocl.Learner, error) { return s.Replay(), nil }},
	} {
		if _, err := info.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	info := method.Info{Name: "failing", Build: func(method.Setup) (ocl.Learner, error) {
		return (*learner.Replay)(nil),
			errors.New("no luck")
	}}
	if l, err := info.New(s); l != nil || err == nil || err.Error() != "no luck" {
		t.Errorf("a Build that fails: %v, error %v", l, err)
	}
}

// TestOptionOf: who asks for an option that the method does not declare, or for another type, learns which method and
// option it is.
func TestOptionOf(t *testing.T) {
	size, other := twin("er-twin").Options[0], method.Option{Name: "rows", Default: 3}
	s := method.Setup{Memory: 5, ReplayBatch: 3, Iterations: 1}
	for want, ask := range map[string]func(method.Setup){
		"method: er-twin: option rows: OptionOf asks for it, but the method does not declare it.": func(s method.Setup) {
			method.OptionOf[int](s,
				other)
		},
		"method: er-twin: option size: it is of type int, but OptionOf[float64] asks for it.": func(s method.Setup) {
			method.OptionOf[float64](s,
				size)
		},
	} {
		built, checked := twin("er-twin"), twin("er-twin")
		built.Build = func(s method.Setup) (ocl.Learner, error) { ask(s); return nil, nil }
		checked.Check = func(s method.Setup) error { ask(s); return nil }
		for where, call := range map[string]func(){"Build": func() { _, _ = built.New(s) },
			"Check": func() { _ = checked.CheckTogether(s) }} {
			if got := panicOf(call); !strings.HasPrefix(got, want) {
				t.Errorf("%s: panic %q, want %q", where, got, want)
			}
		}
	}
	if got, want := panicOf(func() { method.OptionOf[string](s, size) }),
		"method: option size: it is of type int, but OptionOf[string]"; !strings.HasPrefix(got, want) {
		t.Errorf("without a method: panic %q, want %q", got, want)
	}
}

// TestSetup: what a Setup gives a Build beside its fields.
func TestSetup(t *testing.T) {
	s := method.Setup{Memory: 3, ReplayBatch: 5, Tricks: []string{"lb", "rv"}}
	if s.Replayed() != 3 || s.Labels() != (loss.Labels{}) || s.Review().Batch != 5 {
		t.Errorf("%d rows, the loss %T, the review %+v", s.Replayed(), s.Labels(), s.Review())
	}
	if s.Tricks = nil; s.Labels() != (loss.CrossEntropy{}) || s.Review() != nil {
		t.Errorf("without tricks: the loss %T, the review %+v", s.Labels(), s.Review())
	}
}

// TestCatalogueIsWithoutFault holds the methods of this module to what [method.Register] wants of others.
func TestCatalogueIsWithoutFault(t *testing.T) {
	for _, info := range method.Catalogue() {
		if err := info.Fault(); err != nil {
			t.Error(err)
		}
	}
}

// TestProjectionNeedsAnotherRule: a Replay on a projection head could not predict, so it is refused before it learns.
func TestProjectionNeedsAnotherRule(t *testing.T) {
	network := perceptron
	network.Head = nn.Head{Kind: nn.ProjectionHead, Out: 4}
	net, err := arch.MLP(network, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	defer ws.Close()
	own := method.Info{Name: "own", Build: func(s method.Setup) (ocl.Learner, error) { return s.Replay(), nil }}
	_, err = own.New(method.Setup{Net: net, WS: ws, Opt: optim.SGD{LR: 0.1}, ReplayBatch: 1, Iterations: 1})
	if err == nil || !strings.Contains(err.Error(), "method: own: no output of a projection head is that of a class") ||
		!strings.Contains(err.Error(), "learner.Nearest") {
		t.Errorf("error %v", err)
	}
}
