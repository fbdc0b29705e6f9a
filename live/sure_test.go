package live

import (
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"

	"ocl"
	"ocl/predict"
)

// strangeTo is a picture that looks like no class.
func strangeTo(x *Trainer, i int) []byte {
	pixels := make([]byte, x.preparation.Len())
	for k := range pixels {
		pixels[k] = byte((k+i)*(k+i)*7919 + 31*k)
	}
	return pixels
}

// TestSureness: methods without gradient know how sure they may be, and a network does after pictures that it has not
// learned. The verdicts are those of a trainer of the weights or of the state, and a state does not say when they were
// asked for.
func TestSureness(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"ncm", "slda", "ranpac", "er"} {
		x := trainer(t, optionsOf(method))
		observed(t, x, 0, 20, 4)
		before := digest(t, x)
		published(t, x, 1)
		if method == "er" {
			if s := x.Sureness(); s != nil || answers(t, x, 4).Verdicts != nil {
				t.Errorf("er is sure of itself: %+v", s)
			}
			pictures := func(n int) iter.Seq2[[]byte, string] {
				var all [][]byte
				var names []string
				for i := range n {
					one, y := pixelsOf(t, x, 500+i, 4)
					all, names = append(all, one), append(names, x.Classes()[y])
				}
				return func(yield func([]byte, string) bool) {
					for i := range n {
						if !yield(all[i], names[i]) {
							return
						}
					}
				}
			}
			if err := x.Calibrate(pictures(9)); !errors.Is(err, ErrFew) {
				t.Errorf("nine pictures: %v", err)
			}
			if err := x.Calibrate(pictures(40)); err != nil {
				t.Fatal(err)
			}
			published(t, x, 2)
		} else if d := digest(t, x); d != before {
			t.Errorf("%s: a publication changes the state", method)
		}
		s := x.Sureness()
		if s == nil || s.Unknown != 0.05 || s.Samples < 19 {
			t.Fatalf("%s: %+v", method, s)
		}
		want := answers(t, x, 4)
		if len(want.Verdicts) != len(want.Guesses) {
			t.Fatalf("%s: %d verdicts of %d pictures", method, len(want.Verdicts), len(want.Guesses))
		}
		weights, err := x.Weights()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range weights.Names() {
			if name == "learner/kept/samples" {
				t.Errorf("%s: the weights have the section %s", method, name)
			}
		}
		replica, err := ReadTrainer(weights.Decoder(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer replica.Close()
		again, err := ReadTrainer(saved(t, x).Decoder(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		for what, o := range map[string]*Trainer{"weights": replica, "state": again} {
			published(t, o, 2)
			if got := answers(t, o, 4); !slices.Equal(got.Verdicts, want.Verdicts) || !alike(got, want) {
				t.Errorf("%s: a trainer of the %s says %v, want %v", method, what, got.Verdicts, want.Verdicts)
			}
		}
		strange, err := x.Predict(1, [][]byte{strangeTo(x, 1), strangeTo(x, 2)})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range strange.Verdicts {
			if method == "ncm" && !v.Unknown {
				t.Errorf("%s: noise is familiar: %+v", method, v)
			}
		}
	}
}

// TestShares: shares that are none are refused, and a coverage gives each picture a set.
func TestShares(t *testing.T) {
	t.Parallel()
	o := optionsOf("slda")
	o.Unknown = 1
	if _, err := NewTrainer(o); err == nil {
		t.Error("all may be unknown")
	}
	o.Unknown, o.Coverage = 0.3, 0.9
	x := trainer(t, o)
	observed(t, x, 0, 60, 4)
	published(t, x, 1)
	for _, v := range answers(t, x, 4).Verdicts {
		if v.Set < 1 || v.Unknown != (v.Familiarity <= 0.3) {
			t.Errorf("%+v", v)
		}
	}
	l := made(t, o)
	learn(t, l, 0, 60, 4)
	flush(t, l)
	a, err := l.Answer(picture(1000, shapeName(1000, 4), 12), 2)
	if err != nil || a.Familiarity == 0 || len(a.Guesses) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	var same []predict.Guess
	if same, err = l.Predict(picture(1000, shapeName(1000, 4), 12), 2); err != nil || !slices.Equal(same, a.Guesses) {
		t.Errorf("%v, want %v (%v)", same, a.Guesses, err)
	}
}

// TestNothingIsKept: a picture that was unlearned is in no byte of the state.
func TestNothingIsKept(t *testing.T) {
	t.Parallel()
	x := trainer(t, optionsOf("ncm"))
	observed(t, x, 0, 40, 4)
	with := saved(t, x).Decoder().Len("learner/kept/samples")
	one, y := pixelsOf(t, x, 7, 4)
	if err := x.Unlearn(one, []ocl.Label{y}); err != nil {
		t.Fatal(err)
	}
	if got := saved(t, x).Decoder().Len("learner/kept/samples"); got != with-4*len(one) {
		t.Errorf("%d bytes are kept, and %d were", got, with)
	}
}

// TestCalibratedWhileOthersPredict: predictions go on while a network is calibrated, and each has the probabilities of
// before or of after: a verdict belongs to calibrated ones.
func TestCalibratedWhileOthersPredict(t *testing.T) {
	t.Parallel()
	x := trainer(t, optionsOf("er"))
	observed(t, x, 0, 60, 4)
	published(t, x, 1)
	before := answers(t, x, 4)
	var all [][]byte
	var names []string
	for i := range 40 {
		one, y := pixelsOf(t, x, 500+i, 4)
		all, names = append(all, one), append(names, x.Classes()[y])
	}
	var asked [][]byte
	for i := range 4 {
		one, _ := pixelsOf(t, x, 1000+i, 4)
		asked = append(asked, one)
	}
	var group sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		group.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				a, err := x.Predict(2, asked)
				if err != nil {
					t.Error(err)
					return
				}
				plain := slices.EqualFunc(a.Guesses, before.Guesses[:4], slices.Equal[[]predict.Guess])
				if (a.Verdicts == nil) != plain || last && plain {
					t.Errorf("%d verdicts, and the probabilities of before: %v", len(a.Verdicts), plain)
					return
				}
			}
		})
	}
	for range 5 {
		if err := x.Calibrate(func(yield func([]byte, string) bool) {
			for i := range all {
				if !yield(all[i], names[i]) {
					return
				}
			}
		}); err != nil {
			t.Error(err)
		}
	}
	close(done)
	group.Wait()
}
