package learner_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/learner"
)

// sparser is b with other labels, in which class from has become into.
func sparser(b ocl.Batch, from, into ocl.Label) ocl.Batch {
	b = b.Clone()
	for i, y := range b.Y {
		if y == from {
			b.Y[i] = into
		}
	}
	return b
}

// TestMerge: a learner of sums that has merged two classes is one that had observed all samples as one: its counts,
// its sums up to rounding, its predictions and its calibration. Running takes the order of samples into account, so
// only its counts and predictions are compared.
func TestMerge(t *testing.T) {
	all := gaussians(1, 350, 12, 5, 1)
	for _, name := range computed {
		t.Run(name, func(t *testing.T) {
			want, got := computing(t, name, 12, 6, 1), computing(t, name, 12, 6, 1)
			observeAll(t, want, sparser(all, 1, 3), 10)
			observeAll(t, got, all, 10)
			if err := got.(learner.Reclassing).Merge(1, 3); err != nil {
				t.Fatal(err)
			}
			observeAll(t, got, all.Rows(0, 0), 1) // prepares
			wantCounts, wantSums := sumsOf(t, want)
			gotCounts, gotSums := sumsOf(t, got)
			r := got.(learner.Reclassing)
			if place := slices.Index(wantCounts, r.Samples(3)); place < 0 || r.Samples(1) != 0 {
				t.Errorf("%d samples of the class that is both, %d of the other, want one of %v", r.Samples(3), r.Samples(1),
					wantCounts)
			}
			if !slices.Equal(gotCounts, wantCounts) || len(gotSums) != len(wantSums) {
				t.Fatalf("counts %v, want %v; %d sums, want %d", gotCounts, wantCounts, len(gotSums), len(wantSums))
			}
			one, other := make([]ocl.Label, all.Len()), make([]ocl.Label, all.Len())
			if err := errors.Join(want.Predict(one, all.X), got.Predict(other, all.X)); err != nil {
				t.Fatal(err)
			}
			differ := 0
			for i, y := range one {
				if other[i] != y {
					differ++
				}
			}
			if name == "slda running" {
				t.Logf("%d of %d predictions differ", differ, len(one))
				if differ > len(one)/100 {
					t.Errorf("%d of %d predictions differ", differ, len(one))
				}
				return
			}
			if d := apart(params(want), params(got)); differ > 0 || !(d <= 1e-6) {
				t.Errorf("%d predictions differ, and the network by %g", differ, d)
			}
			a, _, err := learner.CalibrationOf(t.Context(), want)
			b, _, err2 := learner.CalibrationOf(t.Context(), got)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			if d := math.Abs(a.Temperature/b.Temperature - 1); !(d <= 1e-3) || len(a.Known) != len(b.Known) {
				t.Errorf("temperatures %v and %v of %d and %d samples", a.Temperature, b.Temperature, len(a.Known),
					len(b.Known))
			}
		})
	}
}

// TestRemoveClass: how near a learner of sums without a class is to one that never had it. Class means are the same.
// Discriminant analysis and ridge regression keep products of its samples, so at least 97 of 100 answers are the same;
// and after Unlearn, which takes these away too, all are.
func TestRemoveClass(t *testing.T) {
	all := gaussians(1, 700, 12, 5, 1)
	test := gaussians(2, 400, 12, 5, 1)
	var without, of []int
	for i, y := range all.Y {
		if y == 2 {
			of = append(of, i)
		} else {
			without = append(without, i)
		}
	}
	for _, name := range computed {
		t.Run(name, func(t *testing.T) {
			want, got := computing(t, name, 12, 6, 1), computing(t, name, 12, 6, 1)
			observeAll(t, want, picked(all, without), 10)
			observeAll(t, got, all, 10)
			if err := got.(learner.Reclassing).RemoveClass(2); err != nil {
				t.Fatal(err)
			}
			observeAll(t, got, all.Rows(0, 0), 1)
			one, other := make([]ocl.Label, test.Len()), make([]ocl.Label, test.Len())
			if err := errors.Join(want.Predict(one, test.X), got.Predict(other, test.X)); err != nil {
				t.Fatal(err)
			}
			same := 0
			for i, y := range one {
				if other[i] == y {
					same++
				}
			}
			t.Logf("%d of %d answers are those of a learner that never had the class", same, len(one))
			switch exact := name == "ncm" || name == "normalised"; {
			case slices.Contains(other, 2):
				t.Error("a class that was removed is predicted")
			case exact && same < len(one), same < len(one)*97/100:
				t.Errorf("%d of %d answers are the same", same, len(one))
			}
			u, exact := computing(t, name, 12, 6, 1), picked(all, of)
			observeAll(t, u, all, 10)
			err := u.(learner.Unlearning).Unlearn(exact)
			if errors.Is(err, learner.ErrNoSums) {
				return
			}
			if err = errors.Join(err, u.(learner.Reclassing).RemoveClass(2)); err != nil {
				t.Fatal(err)
			}
			observeAll(t, u, all.Rows(0, 0), 1)
			if d := apart(params(want), params(u)); !(d <= 1e-6) {
				t.Errorf("after unlearning the network differs by %g", d)
			}
		})
	}
}

// TestSplitSums: a learner of sums that has unlearned samples of a class and observed them as another one is a learner
// that had observed them so, up to the rounding of its sums, and what calibrates it follows.
func TestSplitSums(t *testing.T) {
	all := gaussians(1, 350, 12, 5, 1)
	var moved []int
	right := all.Clone()
	for i, y := range all.Y {
		if y == 2 && i%2 == 0 {
			moved, right.Y[i] = append(moved, i), 5
		}
	}
	for _, name := range []string{"ncm", "normalised", "slda", "slda shrunk", "ranpac", "ridge", "randumb"} {
		t.Run(name, func(t *testing.T) {
			want, got := computing(t, name, 12, 6, 1), computing(t, name, 12, 6, 1)
			observeAll(t, want, right, 10)
			observeAll(t, got, all, 10)
			if err := errors.Join(got.(learner.Reclassing).Split(2, 5),
				got.(learner.Unlearning).Unlearn(picked(all, moved))); err != nil {
				t.Fatal(err)
			}
			observeAll(t, got, picked(right, moved), 10)
			wantCounts, wantSums := sumsOf(t, want)
			counts, sums := sumsOf(t, got)
			largest, most := 0.0, 0.0
			for i, v := range wantSums {
				largest, most = max(largest, math.Abs(v)), max(most, math.Abs(v-sums[i]))
			}
			d := apart(params(want), params(got))
			t.Logf("sums differ by %.1e of the largest, the network by %.1e", most/largest, d)
			if !slices.Equal(counts, wantCounts) || !(most <= 1e-13*largest) || !(d <= 1e-6) {
				t.Errorf("counts %v, want %v; sums differ by %g of the largest, the network by %g", counts, wantCounts,
					most/largest, d)
			}
			kept := checkpoint.NewContainer()
			var labels []ocl.Label
			var rows []float32
			if err := errors.Join(checkpoint.Parts{got.(learner.Calibrated).Kept()}.SaveState(kept.Encoder()),
				checkpoint.Parts{checkpoint.Int32List("kept/classes", &labels),
					checkpoint.List("kept/samples", &rows)}.LoadState(kept.Decoder())); err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, y := range labels {
				if y == 5 {
					n++
				}
			}
			if n != len(moved) {
				t.Errorf("%d samples are kept of the new class, want %d", n, len(moved))
			}
		})
	}
}

// TestSplitReplay: the new class begins with the output of the old one, and only that.
func TestSplitReplay(t *testing.T) {
	r, x := perceptron(t, 0.1), made.Batches(1, 1, 8)[0].X
	before := r.Net.Predict(r.WS, x).Logits.Clone()
	if err := r.Split(0, 2); err != nil {
		t.Fatal(err)
	}
	after := r.Net.Predict(r.WS, x).Logits
	for i := range x.Dim(0) {
		want := slices.Clone(before.Row(i))
		want[2] = want[0]
		if !slices.Equal(after.Row(i), want) {
			t.Fatalf("outputs %v of before are %v", before.Row(i), after.Row(i))
		}
	}
	if r.Split(1, 1) == nil || r.Split(0, 99) == nil {
		t.Error("a class is split into itself, or into none")
	}
}
