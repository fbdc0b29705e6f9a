package memory

import (
	"ocl"
	"ocl/tensor"
)

// rows is a buffer of copies of stored samples that grows and is used again.
type rows struct {
	x tensor.Tensor
	y []ocl.Label
}

// resize makes room for n samples of m and keeps the first ones.
func (r *rows) resize(m *Store, n int) {
	if need := n * m.size; cap(r.x.Data) < need {
		r.x.Data = append(make([]float32, 0, need), r.x.Data...)
		r.y = append(make([]ocl.Label, 0, n), r.y...)
	}
	r.x.Shape = append(append(r.x.Shape[:0], n), m.shape[:]...)
	r.x.Data, r.y = r.x.Data[:n*m.size], r.y[:n]
}

// gather returns copies of the samples in slots; they hold until the next call.
func (r *rows) gather(m *Store, slots []int) ocl.Batch {
	r.resize(m, len(slots))
	m.Gather(&r.x, r.y, slots)
	return ocl.Batch{X: &r.x, Y: r.y}
}

// gatherWith is gather for the memory as it will be after m.Put(b, put), so slots may also name rows of b that are not stored
// yet. It changes the order of slots.
func (r *rows) gatherWith(m *Store, slots []int, b ocl.Batch, put []int) ocl.Batch {
	stored := 0
	for i, slot := range slots {
		if last(put, slot) < 0 {
			slots[i], slots[stored] = slots[stored], slot
			stored++
		}
	}
	r.gather(m, slots[:stored])
	r.resize(m, len(slots))
	for i := stored; i < len(slots); i++ {
		row := last(put, slots[i])
		copy(r.x.Row(i), b.X.Row(row))
		r.y[i] = b.Y[row]
	}
	return ocl.Batch{X: &r.x, Y: r.y}
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
