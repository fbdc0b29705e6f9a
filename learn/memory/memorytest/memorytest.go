// Package memorytest is the contract of memory.Updater and memory.Retriever as tests: one call for each implementation.
// It knows no implementation.
package memorytest

import (
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/memory"
	"ocl/nn/tensor"
	"ocl/rng"
)

// Shape is that of the images used here, [C,H,W].
var Shape = [3]int{2, 3, 1}

// values: the first channel of an image counts in steps of 256, and the second in ones.
var values = func() ocl.PixelValues {
	v := make(ocl.PixelValues, 2)
	for k := range 256 {
		v[0][k], v[1][k] = float32(256*k), float32(k)
	}
	return v
}()

// NewStore returns an empty memory for images of [Batch].
func NewStore(capacity int) *memory.Store { return memory.NewStore(capacity, Shape, values) }

// carried is how many numbers a slot carries where a test uses them, and numbers are those of a batch: the number of
// the sample, and its negative.
const carried = 2

func numbers(b ocl.Batch) *tensor.Tensor {
	rows := tensor.New(b.Len(), carried)
	for i := range b.Len() {
		n := float32(Number(b.X.Row(i)))
		rows.Data[carried*i], rows.Data[carried*i+1] = n, -n
	}
	return rows
}

// Batch returns b samples numbered from first on; sample i has the label i modulo 7.
func Batch(first, b int) ocl.Batch {
	y := make([]ocl.Label, b)
	for i := range y {
		y[i] = ocl.Label((first + i) % 7)
	}
	return Labelled(first, y)
}

// Labelled returns samples numbered from first on, less than 65536, with these labels.
func Labelled(first int, y []ocl.Label) ocl.Batch {
	var pixels []byte
	for n := first; n < first+len(y); n++ {
		high, low := byte(n>>8), byte(n)
		pixels = append(pixels, high, high, high, low, low, low)
	}
	return ocl.NewBatch(Shape, pixels, y, values)
}

// Number is the number of the sample with these inputs of a network.
func Number(row []float32) int { return int(row[0] + row[3]) }

// Samples returns the numbers of the samples in a store that was filled with [Batch], slot by slot, and fails the test
// if an image, a label or what a slot carries was mixed up.
func Samples(t *testing.T, m *memory.Store) []int {
	t.Helper()
	n := m.Len()
	rows, valid := tensor.New(n, m.Floats()), make([]int, n)
	x, y, slots := tensor.New(n, Shape[0], Shape[1], Shape[2]), make([]ocl.Label, n), make([]int, n)
	for i := range slots {
		slots[i] = i
	}
	m.Gather(x, y, slots)
	m.GatherFloats(rows, valid, slots)
	for i := range slots {
		row := x.Row(i)
		slots[i] = Number(row)
		if want := numbers(Batch(slots[i], 1)); m.Floats() > 0 &&
			(valid[i] != carried || !slices.Equal(rows.Row(i), want.Data)) {
			t.Fatalf("slot %d holds sample %d and carries %v, want %v", i, slots[i], rows.Row(i), want.Data)
		}
		if want := Batch(slots[i], 1); !slices.Equal(row, want.X.Data) || y[i] != want.Y[0] || m.Label(i) != y[i] {
			t.Fatalf("slot %d holds %v with label %d: no sample that was put in", i, row, y[i])
		}
	}
	return slots
}

// Env returns an Env whose source is derived from seed and whose probe is a [Probe].
func Env(seed uint64) memory.Env {
	return memory.Env{Rand: rng.New(seed, "memorytest"), Probe: Probe{}}
}

// Probe stands in for a network. Its answers are simple functions of the samples' numbers, see [Batch].
type Probe struct{}

// Interference implements [memory.Probe]: some of the values are equal.
func (Probe) Interference(dst []float64, b ocl.Batch) error {
	for i := range dst {
		dst[i] = float64(int(b.X.Row(i)[0]) * 7 % 5)
	}
	return nil
}

// Cosines implements [memory.Probe]: the gradient of a group points where its mean number's radians do.
func (Probe) Cosines(dst []float64, a, b memory.Groups) error {
	for i := range a.Count() {
		for j := range b.Count() {
			dst[i*b.Count()+j] = math.Cos(mean(a, i) - mean(b, j))
		}
	}
	return nil
}

// Features implements [memory.Probe]: a sample's number modulo 10, and its rest.
func (Probe) Features(dst *tensor.Tensor, b ocl.Batch) error {
	dst.Resize(b.Len(), 2)
	for i := range b.Len() {
		n := Number(b.X.Row(i))
		dst.Row(i)[0], dst.Row(i)[1] = float32(n%10), float32(n/10)
	}
	return nil
}

func mean(g memory.Groups, group int) (mean float64) {
	for i := range g.Size {
		mean += float64(Number(g.X.Row(group*g.Size+i))) / float64(g.Size)
	}
	return mean
}

// Updater checks an Updater that keeps nothing between batches: see [Updaters].
func Updater(t *testing.T, u memory.Updater) {
	Updaters(t, func() memory.Updater { return u })
}

// Updaters checks the Updaters that build makes. Update returns one valid slot for each row and does not change the
// store. The same seed gives the same slots, whatever the slots carry. The capacity is kept, any batch size works, and
// the origin of each stored sample is its number, as is what its slot carries. It goes on after samples were removed:
// see [Removes].
func Updaters(t *testing.T, build func() memory.Updater) {
	Removes(t, build)
	for _, capacity := range []int{0, 1, 7, 50} {
		u, twinUpdater := build(), build()
		m, twin := NewStore(capacity), NewStore(capacity)
		m.Carry(carried)
		env, twinEnv := Env(1), Env(1)
		seen := 0
		for step, b := range []int{1, 10, 3, 0, 25, 10, 10} {
			batch := Batch(seen, b)
			before, length := batch.Clone(), m.Len()
			prefix := []int{-7}
			slots, err := u.Update(prefix, m, batch, env)
			if err != nil {
				t.Fatal(err)
			}
			if len(slots) != b+1 || slots[0] != -7 {
				t.Fatalf("capacity %d, step %d: %d slots after the one given, want one for each of %d rows", capacity, step,
					len(slots)-1, b)
			}
			if !slices.Equal(before.X.Data, batch.X.Data) || !slices.Equal(before.Pixels, batch.Pixels) || m.Len() != length ||
				m.Seen() != seen {
				t.Fatalf("capacity %d, step %d: Update changed the batch or the store", capacity, step)
			}
			again, err := twinUpdater.Update(nil, twin, batch, twinEnv)
			if err != nil || !slices.Equal(again, slots[1:]) {
				t.Fatalf("capacity %d, step %d: slots %v, with the same seed %v (%v)", capacity, step, slots[1:], again, err)
			}
			m.PutWith(batch, slots[1:], numbers(batch)) // panics where a slot is out of range
			twin.Put(batch, again)
			seen += b
			if m.Len() > capacity || m.Seen() != seen {
				t.Fatalf("capacity %d, step %d: %d stored, %d seen of %d", capacity, step, m.Len(), m.Seen(), seen)
			}
			stored := Samples(t, m)
			if origins := m.Origins(); !slices.EqualFunc(origins, stored, func(a int64, b int) bool { return a == int64(b) }) {
				t.Fatalf("capacity %d, step %d: origins %v of the samples %v", capacity, step, origins, stored)
			}
		}
	}
}

// Removes checks that Updaters go on in a memory of which samples were removed, none, some, the last ones or all. What
// stays is as it was, and no byte of a removed one is in the state of the store. The memory fills up again. An Updater
// with a state is told of each, as [memory.Remover].
func Removes(t *testing.T, build func() memory.Updater) {
	const capacity = 20
	for name, slots := range map[string][]int{"none": nil, "one": {7}, "the first and the last": {0, 19},
		"the last ones": {17, 18, 19}, "most": {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18}} {
		u, m, env := build(), NewStore(capacity), Env(1)
		m.Carry(carried)
		seen := 0
		observe := func(b int) {
			t.Helper()
			batch := Batch(seen, b)
			put, err := u.Update(nil, m, batch, env)
			if err != nil {
				t.Fatalf("%s removed: %v", name, err)
			}
			m.PutWith(batch, put, numbers(batch))
			seen += b
		}
		for range 6 {
			observe(10)
		}
		if m.Len() < capacity {
			t.Fatalf("%d samples are stored, and the memory is to be full", m.Len())
		}
		before := Samples(t, m)
		for _, slot := range slices.Backward(slots) {
			last := m.Len() - 1
			m.Remove(slot)
			if r, follows := u.(memory.Remover); follows {
				r.Removed(slot, last)
			}
		}
		after := Samples(t, m)
		kept := slices.DeleteFunc(slices.Clone(before), func(n int) bool {
			at := slices.Index(before, n)
			return slices.Contains(slots, at)
		})
		if !slices.Equal(slices.Sorted(slices.Values(after)), slices.Sorted(slices.Values(kept))) || m.Seen() != seen {
			t.Fatalf("%s removed: %v of %v are stored, %d seen of %d", name, after, before, m.Seen(), seen)
		}
		for range 10 {
			observe(7)
			stored := Samples(t, m)
			if origins := m.Origins(); !slices.EqualFunc(origins, stored, func(a int64, b int) bool { return a == int64(b) }) {
				t.Fatalf("%s removed: origins %v of the samples %v", name, origins, stored)
			}
			for _, slot := range slots {
				if slices.Contains(stored, before[slot]) {
					t.Fatalf("%s removed: sample %d is stored again", name, before[slot])
				}
			}
		}
		if m.Len() != capacity {
			t.Errorf("%s removed: %d samples are stored later, want %d", name, m.Len(), capacity)
		}
	}
}

// Retriever checks a Retriever that should choose size slots. They must be filled and different, and all of them if
// there are fewer. Retrieve does not change the store, and the same seed gives the same slots.
func Retriever(t *testing.T, r memory.Retriever, size int) {
	for _, stored := range []int{0, 1, size - 1, size, size + 1, 5 * size} {
		m := NewStore(5 * size)
		slots := make([]int, stored)
		for i := range slots {
			slots[i] = i
		}
		m.Carry(carried)
		m.PutWith(Batch(0, stored), slots, numbers(Batch(0, stored)))
		before := Samples(t, m)
		a, b := Env(1), Env(1)
		for range 20 {
			got, err := r.Retrieve([]int{-7}, m, Batch(100, 4), a)
			if err != nil || len(got) != 1+min(size, stored) || got[0] != -7 {
				t.Fatalf("%d stored: slots %v after the one given (%v), want %d", stored, got, err, min(size, stored))
			}
			again, err := r.Retrieve(nil, m, Batch(100, 4), b)
			if err != nil || !slices.Equal(again, got[1:]) {
				t.Fatalf("%d stored: slots %v, with the same seed %v (%v)", stored, got[1:], again, err)
			}
			slices.Sort(again)
			if len(slices.Compact(again)) != len(got)-1 || len(again) > 0 && (again[0] < 0 || slices.Max(again) >= stored) {
				t.Fatalf("%d stored: slots %v, want filled ones, none twice", stored, got[1:])
			}
		}
		if m.Seen() != stored || !slices.Equal(Samples(t, m), before) {
			t.Fatalf("%d stored: Retrieve changed the store", stored)
		}
	}
}
