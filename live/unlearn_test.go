package live

import (
	"errors"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
)

// TestUnlearn: a trainer that has unlearned images answers as one that never saw them, goes on after saving to the same
// bits, and has nothing to predict with when none is left. Methods that are no sums refuse, and change nothing.
func TestUnlearn(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		x := trainer(t, optionsOf(method))
		var pixels [][]byte
		var labels []ocl.Label
		for i := range 60 {
			p, y := pixelsOf(t, x, i, 4)
			pixels, labels = append(pixels, p), append(labels, y)
			if _, err := x.Observe(t.Context(), p, []ocl.Label{y}); err != nil {
				t.Fatal(err)
			}
		}
		published(t, x, 1)
		if !slices.Contains([]string{"ncm", "slda", "ranpac"}, method) {
			before := digest(t, x)
			if err := x.Unlearn(pixels[0], labels[:1]); !errors.Is(err, ErrMethod) || !errors.Is(x.Unlearns(), ErrMethod) ||
				digest(t, x) != before {
				t.Errorf("%s: %v", method, err)
			}
			continue
		}
		want := trainer(t, optionsOf(method))
		for i := range 60 {
			_, y := pixelsOf(t, want, i, 4)
			if i%3 == 0 {
				if err := x.Unlearn(pixels[i], labels[i:i+1]); err != nil {
					t.Fatalf("%s: %v", method, err)
				}
			} else if _, err := want.Observe(t.Context(), pixels[i], []ocl.Label{y}); err != nil {
				t.Fatal(err)
			}
		}
		if x.Unlearns() != nil || x.Place() != 60 || x.Stats().Images != 60 {
			t.Errorf("%s: %v, place %d, %d images", method, x.Unlearns(), x.Place(), x.Stats().Images)
		}
		if err := x.Unlearn(slices.Concat(pixels...), labels); !errors.Is(err, learner.ErrNotLearned) || x.Err() != nil {
			t.Errorf("%s: more than was learned: %v, %v", method, err, x.Err())
		}
		if err := x.Unlearn(pixels[0], []ocl.Label{99}); err == nil {
			t.Errorf("%s: a class that is none is unlearned", method)
		}
		published(t, x, 2)
		published(t, want, 2)
		all := [][]byte{}
		for i := range 30 {
			p, _ := pixelsOf(t, x, 200+i, 4)
			all = append(all, p)
		}
		one, err := x.Predict(1, all)
		other, fault := want.Predict(1, all)
		if err := errors.Join(err, fault); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		for i := range all {
			if one.Guesses[i][0].Name != other.Guesses[i][0].Name {
				t.Errorf("%s: image %d is %v, and %v where the others never came", method, i, one.Guesses[i][0],
					other.Guesses[i][0])
			}
		}
		twin, err := ReadTrainer(saved(t, x).Decoder(), nil)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		defer twin.Close()
		for _, of := range []*Trainer{x, twin} {
			if err := of.Unlearn(pixels[1], labels[1:2]); err != nil {
				t.Fatal(err)
			}
			observed(t, of, 60, 90, 4)
		}
		if digest(t, x) != digest(t, twin) {
			t.Errorf("%s: what was saved after Unlearn goes on to other bits", method)
		}
	}
	empty := trainer(t, optionsOf("slda"))
	p, y := pixelsOf(t, empty, 0, 4)
	if _, err := empty.Observe(t.Context(), p, []ocl.Label{y}); err != nil {
		t.Fatal(err)
	}
	published(t, empty, 1)
	if err := empty.Unlearn(p, []ocl.Label{y}); err != nil {
		t.Fatal(err)
	}
	published(t, empty, 2)
	if _, err := empty.Predict(1, [][]byte{p}); !errors.Is(err, ErrNothing) {
		t.Errorf("without an image it predicts (%v)", err)
	}
	saved(t, empty)
}
