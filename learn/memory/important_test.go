package memory_test

import (
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/learn/memory"
	"ocl/learn/memory/memorytest"
)

func TestImportantContract(t *testing.T) {
	memorytest.Updaters(t, func() memory.Updater { return &memory.Important{} })
	memorytest.Removes(t, func() memory.Updater { return &memory.Important{} })
}

// TestImportantByHand: a sample goes in place of the least important one of a largest class, which is its own if that
// is the largest with it, and begins with the mean of its class.
func TestImportantByHand(t *testing.T) {
	u, m, env := &memory.Important{}, memorytest.NewStore(6), memorytest.Env(1)
	put := func(from int, labels ...ocl.Label) []int {
		t.Helper()
		b := memorytest.Labelled(from, labels)
		slots, err := u.Update(nil, m, b, env)
		if err != nil {
			t.Fatal(err)
		}
		m.Put(b, slots)
		return slots
	}
	if got := put(0, 1, 2, 1, 2, 3, 1); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) || !slices.Equal(u.H, make([]float64, 6)) {
		t.Fatalf("slots %v with %v, want the free ones with 0", got, u.H)
	}
	u.H = []float64{0.5, 0.1, 0.4, 0.3, -1, 0.6} // of 1 2 1 2 3 1
	for _, step := range []struct {
		y    ocl.Label
		slot int
		h    []float64
	}{
		// 1 has four with it: slot 2 has the least; the mean of 0.5, 0.4 and 0.6
		{1, 2, []float64{0.5, 0.1, 0.5, 0.3, -1, 0.6}},
		// 1 has three, 4 would have one: the least of 0.5, 0.5 and 0.6 is drawn below; the mean of all is 1/6
		{4, -1, nil},
		// 2 has three with it, and 1 has two
		{2, 1, nil},
	} {
		before := slices.Clone(u.H)
		got := put(10, step.y)[0]
		switch {
		case step.slot >= 0 && got != step.slot:
			t.Fatalf("class %d: slot %d, want %d", step.y, got, step.slot)
		case step.slot < 0 && got != 0 && got != 2:
			t.Fatalf("class %d: slot %d, want 0 or 2", step.y, got)
		}
		want := before
		switch step.y {
		case 1:
			want = step.h
		case 4:
			sum := 0.0
			for _, h := range before {
				sum += h
			}
			want[got] = sum / 6
		case 2:
			want[1] = (0.1 + 0.3) / 2
		}
		for slot, h := range want {
			if d := u.H[slot] - h; !(d*d < 1e-24) {
				t.Fatalf("class %d: importances %v, want %v", step.y, u.H, want)
			}
		}
	}
}

// TestImportantTies: of the samples that are least important, and of the largest classes, each is as likely to go.
func TestImportantTies(t *testing.T) {
	env := memorytest.Env(1)
	gone := make([]float64, 6)
	for range 3000 {
		u, m := &memory.Important{}, memorytest.NewStore(9)
		b := memorytest.Labelled(0, []ocl.Label{0, 1, 0, 1, 0, 1, 2, 0, 1})
		slots, err := u.Update(nil, m, b, env)
		if err != nil {
			t.Fatal(err)
		}
		m.Put(b, slots)
		u.H[7], u.H[8], u.H[6] = 1, 1, -9 // the last of both classes, and one of a small class
		if slots, err = u.Update(nil, m, memorytest.Labelled(9, []ocl.Label{3}), env); err != nil {
			t.Fatal(err)
		}
		if slots[0] > 5 {
			t.Fatalf("slot %d gave way", slots[0])
		}
		gone[slots[0]]++
	}
	uniform(t, "the sample that gives way", gone, 1)
}

// TestImportantOfAnother: importances that are not those of the memory are an error.
func TestImportantOfAnother(t *testing.T) {
	u := &memory.Important{H: []float64{1}}
	_, err := u.Update(nil, memorytest.NewStore(3), memorytest.Batch(0, 1), memorytest.Env(1))
	if err == nil || !strings.Contains(err.Error(), "1 importances of 0 samples") {
		t.Errorf("error %v", err)
	}
}
