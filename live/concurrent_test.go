package live

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ocl"
	"ocl/predict"
)

// TestManyGoroutinesUseOneLearner: they learn new classes, predict, save, flush and end tasks at the same time, while
// the head doubles, and one of them closes the learner. Nothing is lost before that, and what was saved can be opened.
func TestManyGoroutinesUseOneLearner(t *testing.T) {
	for _, method := range []string{"er", "icarl"} {
		o := small(method)
		o.Capacity, o.Queue, o.AtOnce = 2, 20, 3
		l := made(t, o)
		learn(t, l, 0, 10, 1)
		flush(t, l)
		path := filepath.Join(t.TempDir(), "x")
		ctx, cancel := context.WithCancel(t.Context())
		var predicting, learning sync.WaitGroup
		fine := func(err error) {
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		for g := range 4 {
			predicting.Go(func() {
				dst := make([]predict.Guess, 1+g)
				img := picture(g, "class 1", 12)
				for ctx.Err() == nil {
					got, err := l.PredictInto(dst, img)
					fine(err)
					if err == nil && (len(got) == 0 || got[0].Name == "") {
						t.Errorf("guesses %v", got)
					}
					l.Stats()
				}
			})
		}
		for g := range 3 {
			learning.Go(func() {
				for i := range 60 {
					name := shapeName(i+g, 7)
					fine(l.Learn(t.Context(), picture(i, name, 12), name))
					switch i % 20 {
					case 7:
						fine(l.Boundary())
					case 13:
						fine(l.Flush(t.Context()))
					case 17:
						fine(l.Save(path))
					}
				}
			})
		}
		learning.Wait()
		fine(l.Flush(t.Context()))
		if s := l.Stats(); s.Images != 190 || s.Classes != len(l.Classes()) || s.Capacity < s.Classes {
			t.Errorf("%s: %+v", method, s)
		}
		fine(l.Close()) // while others predict
		cancel()
		predicting.Wait()
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		closed(t, again)
	}
}

// TestPredictionsDoNotWaitForSteps: they go on while a step is at work, and use the weights of before.
func TestPredictionsDoNotWaitForSteps(t *testing.T) {
	l := made(t, small("er"))
	learn(t, l, 0, 20, 2)
	flush(t, l)
	img := picture(3, "class 1", 12)
	want, err := l.Predict(img, 2)
	if err != nil {
		t.Fatal(err)
	}
	l.step.Lock() // as a step does
	learn(t, l, 20, 40, 2)
	for range 100 {
		got, err := l.Predict(img, 2)
		if err != nil || got[0] != want[0] {
			t.Fatalf("%v, %v", got, err)
		}
	}
	l.step.Unlock()
	flush(t, l)
	if got, err := l.Predict(img, 2); err != nil || got[0].Value == want[0].Value {
		t.Errorf("%v, %v: the weights of before", got, err)
	}
}

// TestCopiesAreUsedAgain: a copy of the weights that somebody reads is not written to, and one that nobody reads is.
func TestCopiesAreUsedAgain(t *testing.T) {
	l := made(t, small("er"))
	learn(t, l, 0, 10, 2)
	flush(t, l)
	s, m, _, err := l.t.publisher.acquire()
	if err != nil {
		t.Fatal(err)
	}
	before, got := make([]predict.Guess, 1), make([]predict.Guess, 1)
	if _, err := s.judge(m, before, 1, false); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		learn(t, l, 10+10*i, 20+10*i, 2)
		flush(t, l)
	}
	if _, err := s.judge(m, got, 1, false); err != nil || got[0] != before[0] {
		t.Errorf("%v became %v (%v)", before, got, err)
	}
	if n := len(l.t.publisher.spare); n > 2 {
		t.Errorf("%d spare copies", n)
	}
	l.t.publisher.release(s, m)
	if slices.Contains(l.t.publisher.spare, l.t.publisher.current) {
		t.Error("the copy that predictions use may be written to")
	}
}

// TestCopiesWithoutNumbersAreNotPublished: predictions keep the last copy where the weights, or what comes of them, are
// no numbers.
func TestCopiesWithoutNumbersAreNotPublished(t *testing.T) {
	l := made(t, small("er"))
	learn(t, l, 0, 20, 2)
	flush(t, l)
	img := picture(3, "class 1", 12)
	want, err := l.Predict(img, 2)
	if err != nil {
		t.Fatal(err)
	}
	l.step.Lock()
	defer l.step.Unlock()
	net := l.t.core.net
	for _, v := range []float32{float32(math.NaN()), 3e38} {
		good := slices.Clone(net.Params())
		for i := range net.Params() {
			net.Params()[i] = v
		}
		net.Changed()
		l.t.publisher.stale = true
		if err := l.publish(t.Context(), 0); !errors.Is(err, ocl.ErrDiverged) ||
			!strings.Contains(err.Error(), "Use a smaller learning rate") {
			t.Errorf("weights of %v: %v", v, err)
		}
		copy(net.Params(), good)
		net.Changed()
		if got, err := l.Predict(img, 2); err != nil || !slices.Equal(got, want) {
			t.Errorf("weights of %v: %v, %v", v, got, err)
		}
	}
}
