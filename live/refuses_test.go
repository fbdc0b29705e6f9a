package live

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/lifecycle/lifecycletest"
)

// TestLoadAfterDivergence: a loss that is no number ends learning, with what to do. Predictions go on, and after a
// LoadState learning does.
func TestLoadAfterDivergence(t *testing.T) {
	o := small("er")
	o.Set = append(o.Set, "optimizer.lr=1e30")
	x := trainer(t, o)
	observed(t, x, 0, 10, 1)
	published(t, x, 1)
	state, before := saved(t, x), answers(t, x, 1)
	var err error
	for i := 10; err == nil && i < 1000; i++ {
		pixels, y := pixelsOf(t, x, i, 5)
		if _, err = x.Observe(t.Context(), pixels, []ocl.Label{y}); err == nil {
			err = x.Publish(t.Context(), 2)
			before = answers(t, x, 1)
		}
		if err != nil {
			break
		}
	}
	if !errors.Is(err, ocl.ErrDiverged) || !errors.Is(x.Err(), ocl.ErrDiverged) {
		t.Fatalf("%v; the weights are to explode", err)
	}
	for name, f := range map[string]func() error{
		"Observe":   func() error { _, err := x.Observe(t.Context(), make([]byte, 192), []ocl.Label{0}); return err },
		"Boundary":  func() error { return x.Boundary(t.Context()) },
		"Publish":   func() error { return x.Publish(t.Context(), 3) },
		"AddClass":  func() error { _, err := x.AddClass("b"); return err },
		"SaveState": func() error { return x.SaveState(checkpoint.NewContainer().Encoder()) },
		"Forget":    func() error { _, err := x.Forget([]int64{0}); return err },
	} {
		if err := f(); !errors.Is(err, ocl.ErrDiverged) || !strings.Contains(err.Error(), "learning has ended: ") ||
			!strings.Contains(err.Error(), "Load a state of before") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a := answers(t, x, 1); !alike(a, before) {
		t.Errorf("%+v became %+v", before, a)
	}
	if err := x.LoadState(state.Decoder()); err != nil || x.Err() != nil {
		t.Fatal(err, x.Err())
	}
	if a := answers(t, x, 1); !alike(a, before) {
		t.Errorf("after the load %+v, before it %+v", a, before)
	}
	if !saved(t, x).Equal(state) {
		t.Error("the loaded state is another")
	}
	published(t, x, 9)
	if a := answers(t, x, 1); a.Version != 9 {
		t.Errorf("%+v", a)
	}
}

// TestOpenTrainer: a file of Save gives a trainer, with the images that wait aside, and the folder of a run does.
func TestOpenTrainer(t *testing.T) {
	x, err := OpenTrainer(savedFile(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if w := x.Waiting(); len(w) != 3 || len(w[0].Pixels) != 192 || w[0].Boundary || x.Stats().Images != 20 {
		t.Errorf("%d wait, %+v", len(w), x.Stats())
	}
	if x.Config().Methods[0] != "er" || x.Process().AtOnce < 1 {
		t.Errorf("%+v, %+v", x.Config(), x.Process())
	}
	of, err := OpenTrainer(run(t, "er", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer of.Close()
	if of.Place() != 600 || of.Stats().Images != 0 || of.Stats().Classes != 100 {
		t.Errorf("place %d, %+v", of.Place(), of.Stats())
	}
	stored := of.core.parts().Memory.Origins()
	if n, err := of.Forget(stored[:2]); n != 2 || err != nil {
		t.Errorf("%d images of the run are forgotten (%v)", n, err)
	}
	if _, err := of.Predict(1, [][]byte{make([]byte, 192)}); !errors.Is(err, ErrNothing) {
		t.Errorf("before it was published: %v", err)
	}
	published(t, of, 1)
	answers(t, of, 3)
}

// TestSavedSolved: methods that train nothing are saved and opened.
func TestSavedSolved(t *testing.T) {
	for _, method := range []string{"ncm", "slda", "ranpac"} {
		l := made(t, optionsOf(method))
		learn(t, l, 0, 40, 3)
		flush(t, l)
		again := reopened(t, l)
		learn(t, l, 40, 80, 12)
		learn(t, again, 40, 80, 12)
		flush(t, l)
		flush(t, again)
		sameState(t, method, l, again)
		closed(t, again)
	}
}

// TestTrainerRefuses: faulty calls are errors that say what to do, change nothing and end nothing.
func TestTrainerRefuses(t *testing.T) {
	x := trainer(t, small("er"))
	observed(t, x, 0, 20, 2)
	before := digest(t, x)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var none context.Context
	for name, c := range map[string]struct {
		f    func() error
		want string
	}{
		"no image": {func() error { _, err := x.Observe(t.Context(), nil, nil); return err },
			"live: observe: there is no image"},
		"few bytes": {func() error { _, err := x.Observe(t.Context(), make([]byte, 191), []ocl.Label{0}); return err },
			"191 bytes for 1 image of 3×8×8. Give 192"},
		"class": {func() error { _, err := x.Observe(t.Context(), make([]byte, 192), []ocl.Label{2}); return err },
			"label 2 is none of 2 classes. Add the class first"},
		"negative": {func() error { _, err := x.Observe(t.Context(), make([]byte, 192), []ocl.Label{-1}); return err },
			"label -1 is none of 2 classes"},
		"ended": {func() error { _, err := x.Observe(ended, make([]byte, 192), []ocl.Label{0}); return err },
			"context canceled"},
		"no context": {func() error { _, err := x.Observe(none, make([]byte, 192), []ocl.Label{0}); return err },
			"the context is nil"},
		"boundary": {func() error { return x.Boundary(none) }, "the context is nil"},
		"publish":  {func() error { return x.Publish(none, 1) }, "the context is nil"},
		"draw":     {func() error { return x.Draw(make([]byte, 3), picture(1, "a", 8)) }, "3 bytes for an image of 3×8×8"},
		"format":   {func() error { published(t, x, 1); _, err := x.Export(&bytes.Buffer{}, "onix"); return err }, "onnx"},
	} {
		if err := c.f(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if digest(t, x) != before || x.Err() != nil {
		t.Errorf("a faulty call has changed something (%v)", x.Err())
	}
	var zero Trainer
	for name, f := range map[string]func() error{
		"Observe":   func() error { _, err := zero.Observe(t.Context(), make([]byte, 192), []ocl.Label{0}); return err },
		"Predict":   func() error { _, err := zero.Predict(1, [][]byte{make([]byte, 192)}); return err },
		"LoadState": func() error { return zero.LoadState(checkpoint.NewContainer().Decoder()) },
		"Export":    func() error { _, err := zero.Export(&bytes.Buffer{}, ONNX); return err },
		"Draw":      func() error { return zero.Draw(nil, picture(1, "a", 8)) },
		"Close":     zero.Close,
	} {
		if err := f(); !errors.Is(err, errZero) {
			t.Errorf("%s of a zero Trainer: %v", name, err)
		}
	}
}

// TestTrainerLifecycle: Close waits for a step that is at work and for a prediction, and every call after it says so.
func TestTrainerLifecycle(t *testing.T) {
	start := func(t *testing.T) (*Trainer, lifecycletest.Subject) {
		x, err := NewTrainer(small("er"))
		if err != nil {
			t.Fatal(err)
		}
		observed(t, x, 0, 20, 2)
		published(t, x, 1)
		return x, lifecycletest.Subject{Close: x.Close, Closed: ErrClosed, Calls: map[string]func() error{
			"AddClass": func() error { _, err := x.AddClass("c"); return err },
			"Observe":  func() error { _, err := x.Observe(t.Context(), make([]byte, 192), []ocl.Label{0}); return err },
			"Boundary": func() error { return x.Boundary(t.Context()) },
			"Predict":  func() error { _, err := x.Predict(1, [][]byte{make([]byte, 192)}); return err },
			"LoadState": func() error {
				c := checkpoint.NewContainer()
				if err := x.SaveState(c.Encoder()); err != nil {
					return err
				}
				return x.LoadState(c.Decoder())
			},
			"Export":  func() error { _, err := x.Export(&bytes.Buffer{}, ONNX); return err },
			"Publish": func() error { return x.Publish(t.Context(), 2) },
		}}
	}
	lifecycletest.Test(t, func(t *testing.T) lifecycletest.Subject {
		x, s := start(t)
		s.Hold = func() func() {
			at, stay := make(chan struct{}), make(chan struct{})
			var step sync.WaitGroup
			step.Go(func() {
				if err := x.run(func() error { close(at); <-stay; return nil }); err != nil {
					t.Error(err)
				}
			})
			<-at
			return func() { close(stay); step.Wait() }
		}
		return s
	})
	lifecycletest.Test(t, func(t *testing.T) lifecycletest.Subject {
		x, s := start(t)
		s.Hold = func() func() {
			slot, m, _, err := x.publisher.acquire()
			if err != nil {
				t.Fatal(err)
			}
			return func() { x.publisher.release(slot, m) }
		}
		return s
	})
}
