package live

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"ocl"
	"ocl/checkpoint"
)

// steep are options with which the first step has a finite loss and makes weights that are not finite.
func steep() Options {
	o := small("er")
	o.Set = append(o.Set, "optimizer.lr=1e39")
	return o
}

// TestStepToInfinity: a step of finite loss that makes infinite weights is an error where it ends. Nothing is published
// or saved of it, and a LoadState goes on.
func TestStepToInfinity(t *testing.T) {
	x := trainer(t, steep())
	for _, name := range []string{"a", "b", "c"} {
		if _, err := x.AddClass(name); err != nil {
			t.Fatal(err)
		}
	}
	state := saved(t, x)
	c, h, w := x.Shape()
	pixels := make([]byte, 3*c*h*w)
	for i := range pixels {
		pixels[i] = byte(i * i * 7)
	}
	stats, err := x.Observe(t.Context(), pixels, []ocl.Label{0, 1, 2})
	if !errors.Is(err, ocl.ErrDiverged) || !errors.Is(x.Err(), ocl.ErrDiverged) || stats.Loss-stats.Loss != 0 ||
		stats.Samples != 3 {
		t.Fatalf("%+v, error %v", stats, err)
	}
	if !slices.ContainsFunc(x.core.net.Params(), func(v float32) bool { return math.IsInf(float64(v), 0) || v != v }) {
		t.Fatal("the weights are finite, so the test shows nothing")
	}
	_, weights := x.Weights()
	for what, err := range map[string]error{
		"SaveState": x.SaveState(checkpoint.NewContainer().Encoder()), "Publish": x.Publish(t.Context(), 1),
		"Weights": weights, "Boundary": x.Boundary(t.Context()),
	} {
		if !errors.Is(err, ocl.ErrDiverged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := x.LoadState(state.Decoder()); err != nil || x.Err() != nil || !saved(t, x).Equal(state) {
		t.Errorf("after a load: %v, %v", err, x.Err())
	}
}

// TestNoInfinityIsSaved: Save leaves the last good file as it was after a step to infinity, also in the moment before
// the learner has noticed it.
func TestNoInfinityIsSaved(t *testing.T) {
	l := made(t, small("er"))
	learn(t, l, 0, 20, 2)
	flush(t, l)
	path := filepath.Join(t.TempDir(), "saved.ocl")
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	l.step.Lock()
	l.t.core.net.Params()[3] = float32(math.Inf(1)) // as a step leaves it
	l.t.core.net.Changed()
	l.step.Unlock()
	if err := l.Save(path); !errors.Is(err, ocl.ErrDiverged) {
		t.Errorf("saved: %v", err)
	}
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(opened.t.core.net.Params(), func(v float32) bool { return v-v != 0 }) ||
		opened.Stats().Images != 20 {
		t.Errorf("the file has weights that are not finite, and %d images", opened.Stats().Images)
	}
	closed(t, opened)
}

// TestFinite: the largest finite numbers are finite, and one that is not is found wherever it stands.
func TestFinite(t *testing.T) {
	k := trainer(t, small("er")).core
	params := k.net.Params()
	for i := range params {
		params[i] = math.MaxFloat32
	}
	if err := k.finite(); err != nil {
		t.Error(err)
	}
	for i := 0; i < len(params); i += 1 + len(params)/97 {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			params[i] = float32(v)
			if err := k.finite(); !errors.Is(err, ocl.ErrDiverged) {
				t.Errorf("%v at %d: %v", v, i, err)
			}
		}
		params[i] = -math.MaxFloat32
	}
}
