package method_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/learn/augment"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/method"
	"ocl/learn/optim"
	"ocl/nn/arch"
	"ocl/nn/tensor"
)

// golden is a file of testdata/golden.py.
type golden struct {
	LR                           float64
	Batch, Side, Hidden, Classes int
	Projected                    int
	Alpha, Beta, Tau, Rho        float64
	Weight, Temperature          float64
	Start                        []float32
	Steps                        []struct {
		Labels []ocl.Label
		Pixels []byte
		Slots  [][]int
		Loss   float64
		Params []float32
	}
	Predicted  []ocl.Label
	Predicting []float32 // the parameters of the network that predicts
}

// read reads a golden file.
func read(t *testing.T, name string) (g golden) {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(file, &g)
	}
	if err != nil || len(g.Steps) != 10 {
		t.Fatalf("%s: %d steps (%v), want 10. Run testdata/golden.py", name, len(g.Steps), err)
	}
	return g
}

// start makes the learner of a golden file, before its first step.
func (g golden) start(t *testing.T, name string, options map[string]any) ocl.Learner {
	t.Helper()
	return g.with(t, name, func(s *method.Setup) { s.Options = options })
}

// with is start with another setup.
func (g golden) with(t *testing.T, name string, change func(*method.Setup)) ocl.Learner {
	t.Helper()
	network := arch.Config{Channels: 1, Height: g.Side, Width: g.Side, Classes: g.Classes, Hidden: []int{g.Hidden}}
	return build(name, network, func(s *method.Setup) {
		s.Opt, s.Memory = optim.SGD{LR: g.LR}, g.Batch*len(g.Steps)
		change(s)
	})(t, 1)
}

// batch is the incoming batch of a step.
func (g golden) batch(step int) ocl.Batch {
	s := g.Steps[step]
	return ocl.NewBatch([3]int{1, g.Side, g.Side}, s.Pixels, s.Labels, ocl.NewPixelValues(1, nil, nil))
}

// given retrieves the slots that a golden file says, one list a draw.
type given struct{ draws [][]int }

// Retrieve implements [memory.Retriever].
func (g *given) Retrieve(dst []int, _ *memory.Store, _ ocl.Batch, _ memory.Env) ([]int, error) {
	dst = append(dst, g.draws[0]...)
	g.draws = g.draws[1:]
	return dst, nil
}

// follow observes the ten steps and compares losses and parameters with those of PyTorch in float64.
func (g golden) follow(t *testing.T, l ocl.Learner, r *learner.Replay) {
	t.Helper()
	net := r.Net
	if len(net.Params()) != len(g.Start) {
		t.Fatalf("%d parameters, want %d", len(net.Params()), len(g.Start))
	}
	for _, p := range net.Info().Named {
		p.FromTorch(net.Params()[p.Offset:][:p.Len()], g.Start[p.Offset:][:p.Len()])
	}
	net.Changed()
	got := make([]float32, len(g.Start))
	for i, want := range g.Steps {
		retrieve := &given{}
		if i > 0 {
			retrieve.draws = slices.Clone(want.Slots)
		}
		r.Retrieve = retrieve
		stats, err := l.Observe(context.Background(), g.batch(i))
		if err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
		if !(math.Abs(stats.Loss-want.Loss) <= 1e-5) {
			t.Errorf("step %d: loss %v, want %v", i+1, stats.Loss, want.Loss)
		}
		if len(retrieve.draws) > 0 {
			t.Errorf("step %d: %d draws were not made", i+1, len(retrieve.draws))
		}
		for _, p := range net.Info().Named {
			p.ToTorch(got[p.Offset:][:p.Len()], net.Params()[p.Offset:][:p.Len()])
		}
		for k, v := range got {
			if !(math.Abs(float64(v-want.Params[k])) <= 5e-6) {
				t.Fatalf("step %d: parameter %d is %v, want %v", i+1, k, v, want.Params[k])
			}
		}
	}
}

// checkAllocations fails if a step with a memory allocates anything, once buffers are there.
func checkAllocations(t *testing.T, name string) {
	t.Helper()
	l := build(name, perceptron, nil)(t, 1)
	b := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}.Batches(1, 1, 5)[0]
	learnertest.Observe(t, l, []ocl.Batch{b, b, b, b, b, b})
	if n := testing.AllocsPerRun(20, func() {
		if _, err := l.Observe(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// TestTricksGolden follows ten steps of ER with a trick whose options are not the defaults.
func TestTricksGolden(t *testing.T) {
	for trick, options := range map[string]func(golden) map[string]any{
		"las":  func(g golden) map[string]any { return map[string]any{"tau": g.Tau, "steps": 2} },
		"lode": func(g golden) map[string]any { return map[string]any{"rho": g.Rho} },
	} {
		t.Run(trick, func(t *testing.T) {
			g := read(t, trick+".json")
			l := g.with(t, "er", func(s *method.Setup) {
				s.Tricks, s.TrickOptions = []string{trick}, map[string]map[string]any{trick: options(g)}
			})
			g.follow(t, l, l.(*learner.Replay))
		})
	}
}

// TestMKDGolden follows ten steps of ER with mkd and mirrored images, and compares what predicts in the end.
func TestMKDGolden(t *testing.T) {
	g := read(t, "mkd.json")
	l := g.with(t, "er", func(s *method.Setup) {
		s.Tricks = []string{"mkd"}
		s.TrickOptions = map[string]map[string]any{"mkd": {"weight": g.Weight, "temperature": g.Temperature,
			"alpha": g.Alpha}}
	})
	r := l.(*learner.Replay)
	r.Transform = &augment.Flip{P: 1}
	r.Mean = &learner.Mean{Momentum: r.Mean.Momentum, Teaches: true} // which begins as the network of the file
	g.follow(t, l, r)
	shown := r.Parts().Net
	got := make([]float32, len(g.Predicting))
	for _, p := range shown.Info().Named {
		p.ToTorch(got[p.Offset:][:p.Len()], shown.Params()[p.Offset:][:p.Len()])
	}
	for k, v := range got {
		if !(math.Abs(float64(v-g.Predicting[k])) <= 5e-6) {
			t.Fatalf("parameter %d of the network that predicts is %v, want %v", k, v, g.Predicting[k])
		}
	}
}

// TestTricksAtTheirEnds: a trick whose options take its effect away is ER, to the bit.
func TestTricksAtTheirEnds(t *testing.T) {
	batches := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}.Batches(1, 8, 5)
	er := build("er", perceptron, nil)(t, 1)
	want := learnertest.Observe(t, er, batches)
	for trick, options := range map[string]map[string]any{"ema": {"momentum": 0.0},
		"rar": {"operations": 0, "iterations": 1}} {
		l := build("er", perceptron, func(s *method.Setup) {
			s.Tricks, s.TrickOptions = []string{trick}, map[string]map[string]any{trick: options}
		})(t, 1)
		if got := learnertest.Observe(t, l, batches); !slices.Equal(got, want) {
			t.Errorf("%s: steps %+v, and ER has %+v", trick, got, want)
		}
		if shown := l.(*learner.Replay).Parts().Net.Params(); !slices.Equal(shown, er.(*learner.Replay).Net.Params()) {
			t.Errorf("%s: the network that predicts is not that of ER", trick)
		}
	}
}

// TestMKDWithoutWeight: with weight 0 it is ER on augmented images, and the mean of the network and of its mean
// predicts. Joint passes and those of MIR, which run one after the other, keep this.
func TestMKDWithoutWeight(t *testing.T) {
	batches := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}.Batches(1, 8, 5)
	for name, change := range map[string]func(*method.Setup){
		"er": func(*method.Setup) {}, "mir": func(*method.Setup) {},
		"er joint": func(s *method.Setup) { s.Joint = true },
		"er alone": func(s *method.Setup) { s.MemoryAlone = true },
	} {
		of, _, _ := strings.Cut(name, " ")
		make := func(tricks ...string) *learner.Replay {
			return build(of, perceptron, func(s *method.Setup) {
				change(s)
				s.Augment, s.Tricks = true, tricks
				s.TrickOptions = map[string]map[string]any{"mkd": {"weight": 0.0, "alpha": 0.25}, "ema": {"momentum": 0.75}}
			})(t, 1).(*learner.Replay)
		}
		plain, mean, with := make(), make("ema"), make("mkd")
		want := learnertest.Observe(t, plain, batches)
		learnertest.Observe(t, mean, batches)
		if got := learnertest.Observe(t, with, batches); !slices.Equal(got, want) {
			t.Errorf("%s: steps %+v, and without mkd %+v", name, got, want)
		}
		if !slices.Equal(with.Net.Params(), plain.Net.Params()) {
			t.Errorf("%s: the network is another one than without mkd", name)
		}
		shown, of1, of2 := with.Parts().Net.Params(), mean.Net.Params(), mean.Parts().Net.Params()
		for i, v := range shown {
			if want := float32(0.5*of1[i]) + float32(0.5*of2[i]); v != want {
				t.Fatalf("%s: parameter %d of the network that predicts is %v, want %v", name, i, v, want)
			}
		}
	}
}

// TestMKDSeesImagesAsTheyCame: where nothing is augmented, both answers are for the same images, in every kind of pass.
// Then each step is that of one pass with all of the weight.
func TestMKDSeesImagesAsTheyCame(t *testing.T) {
	batches := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}.Batches(1, 8, 5)
	for _, joint := range []bool{false, true} {
		make := func(weight float64, criterion loss.Criterion) *learner.Replay {
			r := build("er", perceptron, func(s *method.Setup) {
				s.Joint, s.Tricks = joint, []string{"mkd"}
				s.TrickOptions = map[string]map[string]any{"mkd": {"weight": weight, "alpha": 0.25}}
			})(t, 1).(*learner.Replay)
			r.Augment = false
			if criterion != nil {
				r.Criterion = criterion
			}
			return r
		}
		both, once := make(1, nil), make(0, firstAlone{loss.MeanDistilled{Weight: 2, T: 4}})
		a, b := learnertest.Observe(t, both, batches), learnertest.Observe(t, once, batches)
		for i := range a {
			if !(math.Abs(a[i].Loss-b[i].Loss) <= 1e-6) || a[i].Replay != b[i].Replay || a[i].Correct != b[i].Correct {
				t.Errorf("joint %v, step %d: %+v, want %+v", joint, i+1, a[i], b[i])
			}
		}
		for i, v := range both.Net.Params() {
			if !(math.Abs(float64(v-once.Net.Params()[i])) <= 1e-6) {
				t.Fatalf("joint %v: parameter %d is %v, want %v", joint, i, v, once.Net.Params()[i])
			}
		}
	}
}

// firstAlone is a criterion for rows as they are learned, and nothing for other views of them.
type firstAlone struct{ loss.Criterion }

// Eval implements [loss.Criterion].
func (f firstAlone) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	if in.Role.Has(loss.View) {
		clear(d.Data)
		return 0, nil
	}
	return f.Criterion.Eval(d, in)
}

// TestMeanNetwork: the network that predicts is the mean of those after each step, by hand.
func TestMeanNetwork(t *testing.T) {
	l := build("er", perceptron, func(s *method.Setup) {
		s.Tricks, s.TrickOptions = []string{"ema"}, map[string]map[string]any{"ema": {"momentum": 0.75}}
	})(t, 1)
	r := l.(*learner.Replay)
	mean := slices.Clone(r.Net.Params())
	for _, b := range (learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}).Batches(1, 6, 5) {
		learnertest.Observe(t, l, []ocl.Batch{b})
		for i, v := range r.Net.Params() {
			mean[i] = float32(0.75*mean[i]) + float32(0.25*v)
		}
	}
	if !slices.Equal(mean, r.Parts().Net.Params()) {
		t.Error("the network that predicts is no mean of those of the steps")
	}
}
