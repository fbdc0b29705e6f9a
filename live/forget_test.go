package live

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ocl"
	"ocl/predict"
)

// TestForget: no byte of an image that was forgotten is in the state, whatever else was learned, and learning and
// saving go on to the same bits.
func TestForget(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		x := trainer(t, optionsOf(method))
		var images [][]byte
		for i := range 80 {
			pixels, y := pixelsOf(t, x, i, 4)
			images = append(images, pixels)
			if _, err := x.Observe(t.Context(), pixels, []ocl.Label{y}); err != nil {
				t.Fatal(err)
			}
			if i == 50 {
				if err := x.Boundary(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		published(t, x, 1)
		var forgotten []int64
		for place := int64(0); place < 80; place += 3 {
			forgotten = append(forgotten, place)
		}
		before := x.Stats().Stored
		n, err := x.Forget(forgotten)
		if s := x.Stats().Stored; err != nil || s != before-n || n == 0 && before > 0 {
			t.Fatalf("%s: %d of %d forgotten, %d stored (%v)", method, n, before, s, err)
		}
		state := saved(t, x)
		for _, place := range forgotten {
			for _, name := range state.Names() {
				if b, err := state.Decoder().Bytes(name); err == nil && bytes.Contains(b, images[place]) {
					t.Errorf("%s: section %s has image %d", method, name, place)
				}
			}
		}
		if again, err := x.Forget(forgotten); again != 0 || err != nil {
			t.Errorf("%s: forgotten again: %d (%v)", method, again, err)
		}
		if x.Place() != 80 {
			t.Errorf("%s: place %d", method, x.Place())
		}
		published(t, x, 2)
		twin, err := ReadTrainer(state.Decoder(), nil)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		defer twin.Close()
		for _, of := range []*Trainer{x, twin} {
			observed(t, of, 80, 150, 6)
			published(t, of, 3)
		}
		if digest(t, x) != digest(t, twin) || !alike(answers(t, x, 6), answers(t, twin, 6)) {
			t.Errorf("%s: what was saved after a Forget goes on to other bits", method)
		}
		var all []int64
		for place := range x.Place() {
			all = append(all, place)
		}
		if _, err := x.Forget(all); err != nil || x.Stats().Stored != 0 {
			t.Errorf("%s: %d stored (%v)", method, x.Stats().Stored, err)
		}
		published(t, x, 4)
		if _, err := x.Predict(1, images[:1]); errors.Is(err, ErrNothing) != (x.Measure() == predict.Distance && before > 0) {
			t.Errorf("%s: with an empty memory: %v", method, err)
		}
		observed(t, x, 150, 180, 6)
		published(t, x, 5)
		if a := answers(t, x, 6); a.Version != 5 {
			t.Errorf("%s: %+v", method, a)
		}
	}
}

// TestRelabel: a stored image gets another class, also one that no batch had, and learning and saving go on.
func TestRelabel(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		x := trainer(t, optionsOf(method))
		observed(t, x, 0, 60, 3)
		m := x.core.parts().Memory
		if m == nil {
			if found, err := x.Relabel(3, 0); found || err != nil {
				t.Errorf("%s: found %t (%v) where nothing is stored", method, found, err)
			}
			continue
		}
		for range 2 { // within a task, and after one
			y, err := x.AddClass(fmt.Sprint("new ", x.Stats().Tasks))
			if err != nil {
				t.Fatal(err)
			}
			place := m.Origins()[5]
			if found, err := x.Relabel(place, y); !found || err != nil || m.Label(5) != y {
				t.Errorf("%s: found %t (%v), label %d, want %d", method, found, err, m.Label(5), y)
			}
			if found, err := x.Relabel(x.Place(), y); found || err != nil {
				t.Errorf("%s: an image that is not there: found %t (%v)", method, found, err)
			}
			if _, err := x.Relabel(place, 99); err == nil || !strings.Contains(err.Error(), "Add the class first") {
				t.Errorf("%s: a class that is not there: %v", method, err)
			}
			twin, err := ReadTrainer(saved(t, x).Decoder(), nil)
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			for _, of := range []*Trainer{x, twin} {
				observed(t, of, 60, 90, 3)
				if err := of.Boundary(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if digest(t, x) != digest(t, twin) {
				t.Errorf("%s: what was saved after a Relabel goes on to other bits", method)
			}
			if err := twin.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
