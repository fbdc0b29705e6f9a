package memory

import (
	"slices"

	"ocl"
	"ocl/nn/tensor"
)

// Buffer is room for images [N,C,H,W] with their labels, and for what a memory has beside them, that grows and is used
// again.
type Buffer struct {
	X tensor.Tensor
	Y []ocl.Label

	Slots  []int         // [N]: where the samples were gathered
	Floats tensor.Tensor // [N,F]: what the slots carry; empty if F is 0
	Valid  []int         // [N]: how many of the F numbers each slot has
}

// Resize makes room for n images of shape [C,H,W]. The first samples stay, the others are undefined.
func (r *Buffer) Resize(n, c, h, w int) {
	r.X.Resize(n, c, h, w)
	r.Y = slices.Grow(r.Y, max(0, n-len(r.Y)))[:n]
}

// Gather returns copies of the samples in slots of m, and fills Slots, Floats and Valid. All hold until the buffer is
// used again.
func (r *Buffer) Gather(m *Store, slots []int) ocl.Batch {
	r.Resize(len(slots), m.shape[0], m.shape[1], m.shape[2])
	m.Gather(&r.X, r.Y, slots)
	r.Slots = append(r.Slots[:0], slots...)
	r.Valid = slices.Grow(r.Valid[:0], len(slots))[:len(slots)]
	r.Floats.Resize(len(slots), m.Floats())
	m.GatherFloats(&r.Floats, r.Valid, slots)
	return ocl.Batch{X: &r.X, Y: r.Y}
}

// gatherWith is Gather for the memory as it will be after m.Put(b, put), so slots may also name rows of b that are not
// stored yet. It changes the order of slots.
func (r *Buffer) gatherWith(m *Store, slots []int, b ocl.Batch, put []int) ocl.Batch {
	stored := 0
	for i, slot := range slots {
		if last(put, slot) < 0 {
			slots[i], slots[stored] = slots[stored], slot
			stored++
		}
	}
	r.Gather(m, slots[:stored])
	r.Resize(len(slots), m.shape[0], m.shape[1], m.shape[2])
	for i := stored; i < len(slots); i++ {
		row := last(put, slots[i])
		copy(r.X.Row(i), b.X.Row(row))
		r.Y[i] = b.Y[row]
	}
	return ocl.Batch{X: &r.X, Y: r.Y}
}

// last is the index of the last v in list, or -1.
func last(list []int, v int) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == v {
			return i
		}
	}
	return -1
}
