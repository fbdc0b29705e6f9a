package learnertest

import (
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/nn/tensor"
)

func (c Case) capacity(t *testing.T) {
	l := c.New(t, 1)
	m := learner.MemoryOf(l)
	batches := c.Batches(1, c.Steps+c.Capacity/2, 5)
	for i := range batches {
		c.Learn(t, l, batches, i, i+1)
		stored := 0
		if m != nil {
			for label, n := range m.Counts() {
				stored += n
				if n < 1 || label < 0 || int(label) >= c.Classes {
					t.Fatalf("step %d: %d samples of class %d", i, n, label)
				}
			}
		}
		if want := min(c.Capacity, 5*(i+1)); stored > want || stored == 0 && want > 0 && !c.Late {
			t.Fatalf("step %d: %d samples stored, want 1 to %d", i, stored, want)
		}
		if m != nil && (m.Bytes() > 0) != (stored > 0) {
			t.Fatalf("step %d: %d samples in %d bytes", i, stored, m.Bytes())
		}
	}
}

// floats checks what the slots of a memory carry: each sample has numbers, they are finite, and those that it does not
// have are 0.
func floats(t *testing.T, m *memory.Store) {
	t.Helper()
	slots := make([]int, m.Len())
	for slot := range slots {
		slots[slot] = slot
	}
	rows, valid := tensor.New(len(slots), m.Floats()), make([]int, len(slots))
	m.GatherFloats(rows, valid, slots)
	for slot, n := range valid {
		if m.Floats() == 0 {
			continue
		}
		row := rows.Row(slot)
		strange := slices.ContainsFunc(row, func(v float32) bool { return v-v != 0 })
		if strange || n < 1 || slices.ContainsFunc(row[n:], func(v float32) bool { return v != 0 }) {
			t.Fatalf("slot %d carries %v, of which %d are of its sample; want finite numbers, at least 1, and zeros after them",
				slot, row, n)
		}
	}
}

// origins checks that each sample that a learner observes is offered to its memory once and in order, whatever else the
// learner does: a stored sample is the one at its origin. Batches have several sizes; evaluations come between them,
// and in the second half the learner is another one that was loaded.
func (c Case) origins(t *testing.T) {
	l := c.New(t, 1)
	if learner.MemoryOf(l) == nil {
		return
	}
	n := 4 + c.Capacity/2
	batches := c.Batches(1, n, 7)
	test := c.Batches(2, 1, 3)[0].X
	var images [][]float32
	var labels []ocl.Label
	for i, b := range batches {
		if size := 7 - i%3; size < 7 {
			batches[i] = b.Rows(0, size)
		}
		for j := range batches[i].Len() {
			images, labels = append(images, batches[i].X.Row(j)), append(labels, b.Y[j])
		}
	}
	for i := range batches {
		c.Learn(t, l, batches, i, i+1)
		if i == n/4 || i == n-1 {
			Predict(t, l, test)
		}
		if i == n*3/4 {
			saved := State(t, l)
			l = c.New(t, 2)
			load(t, l, saved)
		}
	}
	m := learner.MemoryOf(l)
	floats(t, m)
	places := m.Origins()
	if m.Seen() != len(images) || len(places) != m.Len() {
		t.Fatalf("%d samples were offered, with %d origins of %d; want %d offered, and an origin of each stored one",
			m.Seen(), len(places), m.Len(), len(images))
	}
	x, y := tensor.New(1, c.Shape[0], c.Shape[1], c.Shape[2]), make([]ocl.Label, 1)
	for slot, place := range places {
		m.Gather(x, y, []int{slot})
		if place < 0 || place >= int64(len(images)) || y[0] != labels[place] || !slices.Equal(x.Data, images[place]) {
			t.Fatalf("slot %d: the sample with the origin %d is not the one that was observed there", slot, place)
		}
	}
}
