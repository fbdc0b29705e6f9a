package method_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/method"
	"ocl/nn/arch"
)

var perceptron = arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{16}}

// tricked builds a learner with tricks, in the order in which they are given.
func tricked(name string, tricks []string) func(*testing.T, uint64) ocl.Learner {
	return build(name, perceptron, func(s *method.Setup) { s.Tricks = tricks })
}

// learned is the state of a learner after some batches of two tasks and their ends.
func learned(t *testing.T, l ocl.Learner) *checkpoint.Container {
	t.Helper()
	c := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}
	c.Learn(t, l, c.Batches(1, 6, 5), 0, 6)
	return learnertest.State(t, l)
}

// replayIn is the Replay that a learner is built of, nil where it is another kind.
func replayIn(l ocl.Learner) *learner.Replay {
	switch l := l.(type) {
	case *learner.Replay:
		return l
	case learner.Bounded:
		return l.Replay
	case *learner.AGEM:
		return l.Replay
	case *learner.EWC:
		return l.Replay
	case *learner.Nearest:
		return l.Replay
	}
	return nil
}

// sets are all sets of n tricks, none twice, each in the order of the catalogue.
func sets(n int) (all [][]string) {
	var names []string
	for _, t := range method.Tricks() {
		names = append(names, t.Name)
	}
	var grow func(set []string, from int)
	grow = func(set []string, from int) {
		if len(set) == n {
			all = append(all, slices.Clone(set))
			return
		}
		for i := from; i < len(names); i++ {
			grow(append(set, names[i]), i+1)
		}
	}
	grow(nil, 0)
	return all
}

// orders are all orders of a list.
func orders(list []string) (all [][]string) {
	if len(list) <= 1 {
		return [][]string{slices.Clone(list)}
	}
	for i, first := range list {
		for _, rest := range orders(slices.Concat(list[:i], list[i+1:])) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}

// allowed says whether a method takes a set of tricks.
func allowed(info method.Info, set []string) bool { return len(info.CheckTricks(set)) == 0 }

// checkComposed compares the parts of a learner with a table of what each trick does. own says that the loss and
// its teacher are the method's.
func checkComposed(t *testing.T, r *learner.Replay, set []string, s method.Setup, own bool) {
	t.Helper()
	has := func(name string) bool { return slices.Contains(set, name) }
	var criterion loss.Criterion
	switch {
	case has("lb"):
		criterion = loss.Labels{}
	case has("ss"):
		criterion = loss.Separated{}
	case has("las"):
		criterion = loss.Adjusted{Tau: 1}
	case has("lode"):
		criterion = loss.Decoupled{Rho: 0.05}
	}
	if has("kdc") || has("kdc*") {
		criterion = loss.Distilled{Labels: criterion, Root: has("kdc*")}
	}
	if has("mkd") {
		criterion = loss.MeanDistilled{Labels: criterion, Weight: 5.5, T: 4}
	}
	if !own && !reflect.DeepEqual(r.Criterion, criterion) {
		t.Errorf("the criterion is %#v, want %#v", r.Criterion, criterion)
	}
	iterations := 1
	if has("mi") || has("rar") {
		iterations = 5
	}
	facts := map[string][2]any{
		"iterations":           {r.Iterations, iterations},
		"there is a review":    {r.Review != nil, has("rv")},
		"a teacher":            {r.Teacher != nil, has("kdc") || has("kdc*")},
		"classes":              {r.Classes != nil, has("kdc") || has("kdc*") || has("ss")},
		"counts":               {r.Recent != nil, has("las")},
		"a mean network":       {r.Mean != nil, has("ema") || has("mkd")},
		"a mean that teaches":  {r.Mean != nil && r.Mean.Teaches, has("mkd")},
		"images are augmented": {r.Augment, has("rar") || has("mkd")},
		"a transform":          {r.Transform != nil, has("rar")},
		"class means":          {s.Classified(), has("ncm")},
		"of Setup: taught":     {s.Taught(), has("kdc") || has("kdc*")},
		"of Setup: steps":      {s.Steps(), iterations},
	}
	if own {
		delete(facts, "a teacher")
		delete(facts, "classes")
		delete(facts, "counts")
	}
	for what, pair := range facts {
		if pair[0] != pair[1] {
			t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
		}
	}
	if r.Review != nil && r.Review.Batch != s.ReplayBatch {
		t.Errorf("the review has batches of %d, want %d", r.Review.Batch, s.ReplayBatch)
	}
	undistilled := s
	undistilled.Undistilled = true
	if got, want := undistilled.Taught(), has("kdc"); got != want {
		t.Errorf("without a teacher for kdc*: taught %v, want %v", got, want)
	}
	if r.Teacher != nil && !r.Teacher.Training {
		t.Error("the teacher is not in the mode of the setup")
	}
}

// TestTricksCompose builds every method with all pairs and triples of tricks that it takes: each has its effect, and
// in every order the learner is the same to the bit.
func TestTricksCompose(t *testing.T) {
	for _, info := range method.Catalogue() {
		composed := 0
		for _, n := range []int{2, 3} {
			for _, set := range sets(n) {
				if !allowed(info, set) {
					continue
				}
				composed++
				t.Run(info.With(set), func(t *testing.T) {
					var s method.Setup
					l := build(info.Name, perceptron, func(given *method.Setup) {
						given.Tricks, given.Training = set, true
						s = *given
					})(t, 1)
					if r := replayIn(l); r == nil {
						t.Errorf("%T takes several tricks; want a learner whose parts this test can look at", l)
					} else {
						checkComposed(t, r, set, s, slices.Contains([]string{"er-ace", "lwf", "pcr"}, info.Name))
					}
					if info.Name != "er" {
						return // composing knows no methods
					}
					want := learned(t, tricked(info.Name, set)(t, 1))
					for _, order := range orders(set) {
						learnertest.CheckSame(t, strings.Join(order, "+"), learned(t, tricked(info.Name, order)(t, 1)), want)
					}
				})
			}
		}
		if len(info.Refuses) == 0 && composed != 177 { // 66 − 11 pairs, 220 − 98 triples
			t.Errorf("%s: %d pairs and triples, want 177", info.Name, composed)
		}
	}
}

// TestTrickPairsContract runs the learner contract on every pair of tricks with a method whose update is the plainest;
// each trick must change something beside the other.
func TestTrickPairsContract(t *testing.T) {
	info, err := method.Lookup("er")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets(2) {
		if !allowed(info, set) {
			continue
		}
		t.Run(info.With(set), func(t *testing.T) {
			c := learnertest.Case{
				Shape: [3]int{3, 5, 4}, Classes: 6, Capacity: 12, New: tricked("er", set),
				Vary: map[string]func(*testing.T, uint64) ocl.Learner{},
			}
			for i, name := range set {
				if name != "ncm" { // read where predictions are evaluated
					c.Vary[name] = tricked("er", []string{set[1-i]})
				}
			}
			learnertest.Run(t, c)
		})
	}
}

// TestSlotsExclude: two tricks of one slot are refused whatever they are called, with the reason that the slot has; a
// trick that only wants to know classes goes with every other.
func TestSlotsExclude(t *testing.T) {
	er, err := method.Lookup("er")
	if err != nil {
		t.Fatal(err)
	}
	for with, c := range map[string]struct {
		fills method.Fills
		why   string
	}{
		"lb":   {method.Fills{Labels: loss.Separated{}}, "the classes of the softmax"},
		"kdc*": {method.Fills{Distil: &loss.Distilled{}}, "the same mixture with different weights"},
		"mkd":  {method.Fills{Follows: &loss.MeanDistilled{}}, "each of its own"},
		"mi":   {method.Fills{Iterations: 3}, "the number of steps"},
		"rv":   {method.Fills{Reviews: true}, "learned at the end of a task"},
		"ncm":  {method.Fills{Classifies: true}, "the classifier"},
	} {
		for _, name := range []string{"aa", "zz"} {
			t.Run(name+" and "+with, func(t *testing.T) {
				method.AddTrick(t, method.Trick{Name: name, Fills: c.fills})
				err := errors.Join(er.CheckTricks([]string{with, name})...)
				if err == nil || !strings.Contains(err.Error(), c.why) ||
					!strings.Contains(err.Error(), "Use one of the two tricks") {
					t.Errorf("error %v, want %q", err, c.why)
				}
			})
		}
	}
	method.AddTrick(t, method.Trick{Name: "zz", Fills: method.Fills{Classes: true}})
	for _, trick := range method.Tricks() {
		if err := errors.Join(er.CheckTricks([]string{trick.Name, "zz"})...); err != nil {
			t.Errorf("classes and %s: %v", trick.Name, err)
		}
	}
}

// TestTricksLeftOut: a trick that a method does not refuse, and whose slot its Build fills itself or does not read,
// ends in an error. A Build that puts something around what it asked for takes the trick.
func TestTricksLeftOut(t *testing.T) {
	replay := func(s method.Setup) *learner.Replay {
		r := s.Replay()
		r.Memory, r.Retrieve = s.Store(), memory.Random{Size: s.ReplayBatch}
		return r
	}
	for name, c := range map[string]struct {
		build func(method.Setup) ocl.Learner
		takes []string
	}{
		"as it is": {func(s method.Setup) ocl.Learner { return replay(s) },
			[]string{"ema", "kdc", "kdc*", "las", "lb", "lode", "mi", "mkd", "ncm", "rar", "rv", "ss"}},
		"criterion of its own": {func(s method.Setup) ocl.Learner {
			r := replay(s)
			r.Criterion = loss.LwFMC{}
			return r
		}, []string{"ema", "mi", "ncm", "rar", "rv"}},
		"criterion around labels": {func(s method.Setup) ocl.Learner {
			r := replay(s)
			r.Criterion = halved{s.Labels()}
			return r
		}, []string{"ema", "las", "lb", "lode", "mi", "ncm", "rar", "rv", "ss"}},
		"criterion around all": {func(s method.Setup) ocl.Learner {
			r := replay(s)
			r.Criterion = &halved{s.Criterion()}
			return r
		}, []string{"ema", "kdc", "kdc*", "las", "lb", "lode", "mi", "mkd", "ncm", "rar", "rv", "ss"}},
		"labels in the step": {func(s method.Setup) ocl.Learner {
			r := replay(s)
			r.Criterion, r.Step = loss.CrossEntropy{}, stepped{halved{s.Labels()}}
			return r
		}, []string{"ema", "las", "lb", "lode", "mi", "ncm", "rar", "rv", "ss"}},
		"steps and review of its own": {func(s method.Setup) ocl.Learner {
			r := replay(s)
			r.Iterations, r.Review = 1, nil
			return r
		}, []string{"ema", "kdc", "kdc*", "las", "lb", "lode", "mkd", "ncm", "ss"}},
		"no memory": {func(s method.Setup) ocl.Learner { return s.Replay() },
			[]string{"ema", "kdc", "kdc*", "las", "lb", "lode", "mi", "mkd", "rar", "ss"}},
		"no replay": {func(s method.Setup) ocl.Learner {
			return &learner.GDumb{Net: s.Net, WS: s.WS, Opt: s.Opt, Memory: s.Store(), Epochs: 1, Batch: 2, Clip: 1}
		}, []string{"ncm"}},
		"own review": {func(s method.Setup) ocl.Learner {
			s.Review()
			return &learner.GDumb{Net: s.Net, WS: s.WS, Opt: s.Opt, Memory: s.Store(), Epochs: 1, Batch: 2, Clip: 1}
		}, []string{"ncm", "rv"}},
	} {
		t.Run(name, func(t *testing.T) {
			info := method.Info{Name: "own", Build: func(s method.Setup) (ocl.Learner, error) { return c.build(s), nil }}
			for _, trick := range method.Tricks() {
				var s method.Setup
				build("finetune", perceptron, func(made *method.Setup) { s = *made })(t, 1)
				s.Tricks = []string{trick.Name}
				_, err := info.New(s)
				if takes := slices.Contains(c.takes, trick.Name); (err == nil) != takes {
					t.Errorf("%s: error %v; want that it is taken: %v", trick.Name, err, takes)
				}
				if err != nil && !strings.HasPrefix(err.Error(),
					"method: own with "+trick.Name+": the method does not use what the trick changes") {
					t.Errorf("%s: %v", trick.Name, err)
				}
			}
		})
	}
}

// halved is a criterion around another.
type halved struct{ loss.Criterion }

// stepped is a step with a criterion.
type stepped struct{ halved }

func (s stepped) Gradient(r *learner.Replay, _ ocl.Batch) (ocl.StepStats, error) {
	p := r.Incoming()
	p.Criterion = s
	return r.Accumulate(p)
}
