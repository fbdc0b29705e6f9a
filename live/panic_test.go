package live

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ocl"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/method"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
	"ocl/run/train"
)

// faulty says which part of the method and the network of that name is faulty; "" is none.
var faulty atomic.Value

// fault panics where the part is the faulty one.
func fault(part string) {
	if faulty.Load() == part {
		panic("no such row")
	}
}

type faultyCriterion struct{ loss.Criterion }

func (c faultyCriterion) Eval(d *tensor.Tensor, in loss.Input) (float64, error) {
	fault("criterion")
	return c.Criterion.Eval(d, in)
}

type faultyRetriever struct{ memory.Retriever }

func (r faultyRetriever) Retrieve(dst []int, m *memory.Store, b ocl.Batch, env memory.Env) ([]int, error) {
	fault("retriever")
	return r.Retriever.Retrieve(dst, m, b, env)
}

func init() {
	method.Register(method.Info{
		Name: "faulty", Traits: method.Traits{UsesMemory: true}, Settings: []string{"memory", "replay.batch"},
		Build: func(s method.Setup) (ocl.Learner, error) {
			fault("build of the method")
			if faulty.Load() == "no method" {
				return nil, nil
			}
			r := s.Replay()
			r.Memory, r.Criterion, r.Retrieve = s.Store(), faultyCriterion{s.Labels()},
				faultyRetriever{memory.Random{Size: s.ReplayBatch}}
			return r, nil
		},
	})
	arch.Register(arch.Info{
		Name: "faulty",
		Build: func(c arch.Config, src *rng.Source) (*nn.Network, error) {
			if src == nil {
				fault("outline")
			} else {
				fault("build of the network")
			}
			if faulty.Load() == "no network" {
				return nil, nil
			}
			c.Hidden = []int{16}
			return arch.MLP(c, src)
		},
	})
}

// withFault are options of the faulty method and network, of which a part is faulty from now on.
func withFault(t *testing.T, part string) Options {
	faulty.Store(part)
	t.Cleanup(func() { faulty.Store("") })
	o := small("faulty")
	o.Set = []string{"network.name=faulty"}
	return o
}

// TestPanicEndsLearning: a panic in the code of somebody else ends learning as an error does, also while the head
// grows. Predictions go on.
func TestPanicEndsLearning(t *testing.T) {
	for _, part := range []string{"criterion", "retriever", "build of the method", "build of the network"} {
		o := withFault(t, "")
		o.Capacity = 2
		l := made(t, o)
		learn(t, l, 0, 10, 1)
		flush(t, l)
		img := picture(3, "class 0", 12)
		want, err := l.Predict(img, 1)
		if err != nil {
			t.Fatal(err)
		}
		faulty.Store(part)
		for i := range 10 { // which fill a batch, with three classes
			if err := l.Learn(t.Context(), img, shapeName(10+i, 3)); err != nil {
				t.Fatal(err)
			}
		}
		for name, err := range map[string]error{"Flush": l.Flush(t.Context()), "Err": l.Err(),
			"Learn": l.Learn(t.Context(), img, "a"), "Save": l.Save(filepath.Join(t.TempDir(), "x"))} {
			if p := new(train.PanicError); !errors.As(err, &p) ||
				!strings.Contains(err.Error(), "learning has ended after 1 batch: panic: no such row") ||
				!strings.Contains(string(p.Stack), "live.fault(") {
				t.Errorf("%s: %s returns %v", part, name, err)
			}
		}
		if got, err := l.Predict(img, 1); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; before it was %v", part, got, err, want)
		}
	}
}

// TestPanicInOutline: a panic where Learn asks how large the network would be with more outputs is an error of Learn,
// which changes nothing.
func TestPanicInOutline(t *testing.T) {
	o := withFault(t, "")
	o.Capacity, o.Queue = 1, 10
	l := made(t, o)
	learn(t, l, 0, 1, 1)
	faulty.Store("outline")
	for range 20 { // more than the queue has room for
		if err := l.Learn(t.Context(), picture(1, "a", 8), "a"); err == nil ||
			!strings.Contains(err.Error(), "live: the image is not learned: ") ||
			!strings.Contains(err.Error(), "panic: no such row") {
			t.Fatal(err)
		}
	}
	faulty.Store("")
	learn(t, l, 1, 10, 2)
	flush(t, l)
}

// TestFaultyBuild: a Build that panics or returns nothing is an error of New and Open that begins as all do.
func TestFaultyBuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	l := made(t, withFault(t, ""))
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]string{"build of the method": "panic: no such row",
		"build of the network": "panic: no such row", "outline": "panic: no such row",
		"no method": "Build returned no learner", "no network": "Build returned no network"} {
		o := withFault(t, part)
		if _, err := New(o); err == nil || !strings.HasPrefix(err.Error(), "live: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: New: %v", part, err)
		}
		if _, err := Open(path); err == nil || !strings.HasPrefix(err.Error(), "live: "+path) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: Open: %v", part, err)
		}
	}
}

// TestPanicEndsOnePrediction: a panic of the network is an error of the call that meets it, and the next one is
// answered.
func TestPanicEndsOnePrediction(t *testing.T) {
	l := made(t, small("er"))
	learn(t, l, 0, 10, 2)
	flush(t, l)
	img := picture(3, "class 0", 12)
	want, err := l.Predict(img, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := l.t.publisher.current
	for range 2 * (1 + len(l.t.publisher.slots.All())) { // each slot meets it
		net := m.Net
		m.Net = nil
		_, err := l.Predict(img, 1)
		m.Net = net
		if p := new(train.PanicError); !errors.As(err, &p) || !strings.HasPrefix(err.Error(), "live: predict: panic: ") ||
			len(p.Stack) == 0 {
			t.Fatalf("%v", err)
		}
		if got, err := l.Predict(img, 1); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, %v; before it was %v", got, err, want)
		}
	}
	if err := l.Err(); err != nil {
		t.Error(err)
	}
}
