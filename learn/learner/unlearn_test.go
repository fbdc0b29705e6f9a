package learner_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
)

// sumsOf are the sums of a learner, as its state has them.
func sumsOf(t *testing.T, l ocl.Learner) (counts []int64, sums []float64) {
	t.Helper()
	state, err := learnertest.State(t, l), error(nil)
	for _, name := range []string{"vectors", "moments"} {
		var list []float64
		if state.Decoder().Len(name) < 0 {
			continue
		}
		err = errors.Join(err, checkpoint.Parts{checkpoint.List(name, &list)}.LoadState(state.Decoder()))
		sums = append(sums, list...)
	}
	if err = errors.Join(err, checkpoint.Parts{checkpoint.List("counts",
		&counts)}.LoadState(state.Decoder())); err != nil {
		t.Fatal(err)
	}
	return counts, sums
}

// TestUnlearn: after learning A and B in a mixed order and unlearning B, counts, sums and predictions are those of A
// alone. Each of the at most N = |A|+2·|B| additions to a sum rounds by at most half an ulp, 2⁻⁵³, of the sum of the
// absolute values of what is summed, so two ways to A differ by at most 2·N·2⁻⁵³ of it. The classifier that follows is
// one of float32 weights, whose bound is that of a system of a condition below 1e4: 1e-6.
func TestUnlearn(t *testing.T) {
	all := gaussians(1, 350, 12, 5, 1)
	var a, b []int
	for i, y := range all.Y {
		if i%3 == 0 || y == 4 { // no sample of class 4 stays
			b = append(b, i)
		} else {
			a = append(a, i)
		}
	}
	for _, name := range []string{"ncm", "normalised", "slda", "slda shrunk", "ranpac", "ridge", "randumb"} {
		t.Run(name, func(t *testing.T) {
			want, got := computing(t, name, 12, 6, 1), computing(t, name, 12, 6, 1)
			observeAll(t, want, picked(all, a), 10)
			observeAll(t, got, all, 10)
			// Σ|x_i·x_j| is at most the larger Σ x_i², which is a sum; ranpac's features are not negative, so its sums are those
			// of absolute values.
			largest := 0.0
			_, sums := sumsOf(t, got)
			for _, v := range sums {
				largest = max(largest, math.Abs(v))
			}
			for i := range all.X.RowLen() {
				sum := 0.0
				for r := range all.Len() {
					sum += math.Abs(float64(all.X.Row(r)[i]))
				}
				largest = max(largest, sum)
			}
			u := got.(learner.Unlearning)
			slices.Reverse(b) // in another order than they came
			gone := picked(all, b)
			for at := 0; at < gone.Len(); at += 70 {
				if err := u.Unlearn(gone.Rows(at, min(at+70, gone.Len()))); err != nil {
					t.Fatal(err)
				}
			}
			if err := got.Predict(make([]ocl.Label, 1), all.X.Rows(0, 1)); err == nil {
				t.Error("it predicts by the classifier of before")
			}
			observeAll(t, got, all.Rows(0, 0), 1) // prepares
			wantCounts, wantSums := sumsOf(t, want)
			gotCounts, gotSums := sumsOf(t, got)
			if !slices.Equal(gotCounts, wantCounts) || len(gotSums) != len(wantSums) {
				t.Fatalf("counts %v, want %v; %d sums, want %d", gotCounts, wantCounts, len(gotSums), len(wantSums))
			}
			apartMost := 0.0
			for i, v := range gotSums {
				apartMost = max(apartMost, math.Abs(v-wantSums[i]))
			}
			bound := 2 * float64(len(a)+2*len(b)) * 0x1p-53 * largest
			if t.Logf("sums differ by %.1e (bound %.1e), weights by %.1e", apartMost, bound,
				apart(params(want), params(got))); !(apartMost <= bound) {
				t.Errorf("sums differ by %g, want at most %g", apartMost, bound)
			}
			if d := apart(params(want), params(got)); !(d <= 1e-6) {
				t.Errorf("the network differs by %g", d)
			}
			one, other := make([]ocl.Label, all.Len()), make([]ocl.Label, all.Len())
			if err := errors.Join(want.Predict(one, all.X), got.Predict(other, all.X)); err != nil ||
				!slices.Equal(one, other) || slices.Contains(other, 4) {
				t.Errorf("other predictions, or a class without samples is predicted (%v)", err)
			}
		})
	}
}

// TestUnlearnAll: a learner that has unlearned everything is as one that has learned nothing, and can be saved and
// learn.
func TestUnlearnAll(t *testing.T) {
	b := gaussians(1, 70, 4, 3, 1)
	for _, name := range []string{"ncm", "slda", "ranpac", "randumb"} {
		l, after := computing(t, name, 4, 3, 1), computing(t, name, 4, 3, 1)
		observeAll(t, l, b, 10)
		u := l.(learner.Unlearning)
		if err := u.Unlearn(b); err != nil || !l.(interface{ Empty() bool }).Empty() {
			t.Fatalf("%s: %v", name, err)
		}
		if counts, sums := sumsOf(t, l); len(counts)+len(sums) != 0 {
			t.Errorf("%s: %v and %v stay", name, counts, sums)
		}
		if err := after.LoadState(learnertest.State(t, l).Decoder()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fresh := computing(t, name, 4, 3, 1)
		observeAll(t, after, b, 10)
		observeAll(t, fresh, b, 10)
		if !slices.Equal(params(after), params(fresh)) {
			t.Errorf("%s: it learns otherwise afterwards", name)
		}
	}
}

// TestUnlearnRefuses: what cannot have been learned, what is no number, and learners that are no sums; nothing has
// changed then.
func TestUnlearnRefuses(t *testing.T) {
	b := gaussians(1, 20, 4, 3, 1)
	for _, name := range []string{"ncm", "slda", "ranpac", "randumb"} {
		l := computing(t, name, 4, 3, 1)
		u := l.(learner.Unlearning)
		if err := u.Unlearn(ocl.Batch{}); err != nil {
			t.Errorf("%s: nothing is unlearned: %v", name, err)
		}
		if err := u.Unlearn(b.Rows(0, 1)); !errors.Is(err, learner.ErrNotLearned) {
			t.Errorf("%s: before anything was learned: %v", name, err)
		}
		observeAll(t, l, b, 10)
		before := learnertest.State(t, l)
		twice, bad := picked(b, []int{}), b.Clone()
		for range 2 {
			twice.X.Data, twice.Y = append(twice.X.Data, b.X.Data...), append(twice.Y, b.Y...)
			twice.X.Shape[0] += b.Len()
		}
		if err := u.Unlearn(twice); !errors.Is(err, learner.ErrNotLearned) {
			t.Errorf("%s: each sample twice: %v", name, err)
		}
		bad.X.Data[7] = float32(math.NaN())
		if err := u.Unlearn(bad); !errors.Is(err, ocl.ErrDiverged) {
			t.Errorf("%s: NaN: %v", name, err)
		}
		bad = b.Clone()
		bad.Y[0] = 7
		if err := u.Unlearn(bad); err == nil {
			t.Errorf("%s: a class that is none is unlearned", name)
		}
		learnertest.CheckSame(t, name+", after what it refused", learnertest.State(t, l), before)
	}
	for _, name := range []string{"slda running", "recursive"} {
		l := computing(t, name, 4, 3, 1)
		observeAll(t, l, b, 10)
		for _, some := range []ocl.Batch{b, {}} {
			if err := l.(learner.Unlearning).Unlearn(some); !errors.Is(err, learner.ErrNoSums) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
