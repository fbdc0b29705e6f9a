package live

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ocl"
	"ocl/checkpoint"
)

// TestTrainerChangesClasses: names, labels and guesses after a class was renamed, merged and removed; weights of before
// a rename fit, and those of before a merge do not; a state brings all of it back.
func TestTrainerChangesClasses(t *testing.T) {
	x, err := NewTrainer(Options{Method: "slda", Size: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	ctx := context.Background()
	pixels := func(k int) []byte {
		p := make([]byte, 3*8*8)
		for i := range p {
			p[i] = byte(i*k*37 + 11*k)
		}
		return p
	}
	for k, name := range []string{"lion", "cat", "spider", "dog"} {
		y, err := x.AddClass(name)
		for n := range 3 {
			if err == nil {
				_, err = x.Observe(ctx, pixels(4*n+k+1), []ocl.Label{y})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	before, err := x.Version()
	if err = errors.Join(err, x.Rename("lion", "big_cat")); err != nil {
		t.Fatal(err)
	}
	if x.Rename("cat", "dog") == nil || !errors.Is(x.Rename("lion", "x"), ErrLabel) || x.Rename("cat", "") == nil {
		t.Error("it takes a name that is taken, unknown or empty")
	}
	if err := errors.Join(x.SetWeights(before.Decoder()), x.MergeClasses("cat", "big_cat"),
		x.RemoveClass("spider")); err != nil {
		t.Fatal(err)
	}
	if x.SetWeights(before.Decoder()) == nil || x.MergeClasses("dog", "dog") == nil || x.RemoveClass("spider") == nil {
		t.Error("it takes weights of other classes, a class twice, or one that is gone")
	}
	if err := x.SplitClass("big_cat", "lynx"); err != nil {
		t.Fatal(err)
	}
	if x.SplitClass("big_cat", "lynx") == nil || !errors.Is(x.SplitClass("spider", "x"), ErrLabel) ||
		x.SplitClass("dog", "") == nil {
		t.Error("it splits off a class that is there, or of one that is gone")
	}
	state := checkpoint.NewContainer()
	if err := x.SaveState(state.Encoder()); err != nil {
		t.Fatal(err)
	}
	y, err := ReadTrainer(state.Decoder(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	for _, x := range []*Trainer{x, y} {
		if err := x.Publish(ctx, 1); err != nil {
			t.Fatal(err)
		}
		a, err := x.Predict(9, [][]byte{pixels(2)})
		if err != nil || len(a.Guesses[0]) != 3 {
			t.Errorf("%d guesses, want 3: %v", len(a.Guesses[0]), err)
		}
		if names := x.Named(); !slices.Equal(names, []string{"big_cat", "dog", "lynx"}) || len(x.Classes()) != 5 {
			t.Errorf("classes %q of %q", names, x.Classes())
		}
		if label, err := x.AddClass("lion"); err != nil || label != 5 {
			t.Errorf("a new lion is class %d: %v", label, err)
		}
	}
}
