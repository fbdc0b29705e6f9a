package memory

import (
	"bytes"
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/limit"
	"ocl/nn/tensor"
)

// Store is M: up to Cap samples in numbered slots, each an 8-bit image [C,H,W], an embedding or activations, with its
// label. Slots [0, Len) are filled. A sample is copied in and copied out, so no caller holds a view of the memory.
// Slots can carry numbers beside their samples ([Store.Carry]).
type Store struct {
	shape  [3]int // C, H, W
	size   int    // bytes of a sample
	by     ocl.Encoding
	images [][]byte // by slot, made as slots fill; an emptied slot keeps its bytes for the next image
	y      []ocl.Label
	cap    int
	seen   int
	origin []int64 // by slot
	floats floats
}

// NewStore returns an empty memory for capacity (≥ 0) samples of shape [C,H,W], of which a network sees what an
// encoding says; nil is that of images, k/255. Space is taken as slots fill.
func NewStore(capacity int, shape [3]int, by ocl.Encoding) *Store {
	values := shape[0] * shape[1] * shape[2]
	if capacity < 0 || values <= 0 {
		panic(fmt.Sprintf("memory: NewStore: capacity %d and shape %v. Use a capacity of at least 0 and positive extents",
			capacity, shape))
	}
	pixels, of := by.(ocl.PixelValues)
	switch {
	case by == nil || of && pixels == nil:
		by = ocl.NewPixelValues(shape[0], nil, nil)
	case of && len(pixels) != shape[0]:
		panic(fmt.Sprintf("memory: NewStore: values of %d channels for images of shape %v", len(pixels), shape))
	}
	return &Store{shape: shape, size: by.Bytes(values), cap: capacity, by: by}
}

// Len is the number of filled slots.
func (m *Store) Len() int { return len(m.y) }

// Cap is mem_sz, the number of slots.
func (m *Store) Cap() int { return m.cap }

// Seen is n, the number of samples that were offered to the memory so far, stored or not.
func (m *Store) Seen() int { return m.seen }

// Origins returns for each filled slot how many samples were offered to the memory before the one that is stored there:
// the sample's 0-based place in the stream. No update and no retrieval depends on it; it says for a report what is
// stored.
func (m *Store) Origins() []int64 { return slices.Clone(m.origin) }

// Shape is the shape [C,H,W] of a stored sample.
func (m *Store) Shape() [3]int { return m.shape }

// Label is the label in a filled slot.
func (m *Store) Label(slot int) ocl.Label { return m.y[slot] }

// Bytes is the number of bytes of the stored images, labels, and numbers that slots carry.
func (m *Store) Bytes() int64 { return int64(len(m.y)) * int64(m.size+4+m.floats.bytes()) }

// Put stores row i of b in slots[i], in order, or drops it where slots[i] is -1; slot Len() is the next free one. All
// rows count as seen. It panics if a slot is out of range, which is a bug in an Updater, if b has no pixels, and if
// slots carry numbers.
func (m *Store) Put(b ocl.Batch, slots []int) { m.PutWith(b, slots, nil) }

// PutWith is [Store.Put] with the numbers that the slots carry, a row for each row of b: [B,F], or with
// [Store.CarryOutputs] fewer columns. It panics on another shape.
func (m *Store) PutWith(b ocl.Batch, slots []int, numbers *tensor.Tensor) {
	m.check("Put", b.X, len(slots))
	m.floats.check(numbers, len(slots))
	if want := len(slots) * m.size; len(b.Pixels) != want {
		panic(fmt.Sprintf("memory: Put: %d bytes of %d values instead of %d. Fill Batch.Pixels", len(b.Pixels), len(b.X.Data),
			want))
	}
	for i, slot := range slots {
		switch {
		case slot == -1:
			continue
		case slot == len(m.y) && slot < m.cap:
			m.y = append(m.y, 0)
			m.origin = append(m.origin, 0)
			m.grow(slot + 1)
		case slot < 0 || slot >= len(m.y):
			panic(fmt.Sprintf("memory: Put: slot %d for row %d is not -1 or a slot in [0, %d] below the capacity %d", slot, i,
				len(m.y), m.cap))
		}
		copy(m.images[slot], b.Image(i))
		m.y[slot] = b.Y[i]
		m.origin[slot] = int64(m.seen) + int64(i)
		if numbers != nil {
			m.floats.put(slot, numbers.Row(i))
		}
	}
	m.seen += len(slots)
}

// grow makes room for n images.
func (m *Store) grow(n int) {
	for len(m.images) < n {
		m.images = append(m.images, make([]byte, m.size))
	}
}

// Find returns the slot of the sample with a place in the stream ([Store.Origins]), and says whether it is stored.
func (m *Store) Find(place int64) (slot int, stored bool) {
	slot = slices.Index(m.origin, place)
	return slot, slot >= 0
}

// Same are the slots, rising, of samples with a label that are these bytes.
func (m *Store) Same(sample []byte, y ocl.Label) (slots []int) {
	for slot, of := range m.y {
		if of == y && bytes.Equal(m.images[slot], sample) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// Relabel gives the sample in a filled slot another label.
func (m *Store) Relabel(slot int, y ocl.Label) { m.y[slot] = y }

// Remove removes the sample in a filled slot. The one in the last slot takes its place, with its label, its origin and
// its numbers, so whoever keeps something by slot has to follow ([Remover]). The bytes of the removed one are
// overwritten. How many samples the memory has seen stays: for an [Updater] it is a memory with room again.
func (m *Store) Remove(slot int) {
	last := len(m.y) - 1
	m.y[slot], m.origin[slot] = m.y[last], m.origin[last]
	m.images[slot], m.images[last] = m.images[last], m.images[slot]
	m.y, m.origin = m.y[:last], m.origin[:last]
	clear(m.images[last])
	m.floats.remove(slot, last)
}

// Clear empties the memory. How many samples it has seen stays.
func (m *Store) Clear() {
	m.y, m.origin, m.floats.valid = m.y[:0], m.origin[:0], m.floats.valid[:0]
}

// check panics unless x is [n,C,H,W].
func (m *Store) check(what string, x *tensor.Tensor, n int) {
	if len(x.Shape) != 4 || x.Shape[0] != n || [3]int(x.Shape[1:]) != m.shape {
		panic(fmt.Sprintf("memory: %s: images %v instead of %d of %v", what, x.Shape, n, m.shape))
	}
}

// Gather copies the images in slots to x [len(slots),C,H,W] and their labels to y.
func (m *Store) Gather(x *tensor.Tensor, y []ocl.Label, slots []int) {
	m.check("Gather", x, len(slots))
	for i, slot := range slots {
		y[i] = m.y[slot] // before the image, so that an empty slot panics
		m.by.Write(x.Row(i), m.images[slot])
	}
}

// Counts returns the number of stored samples of each stored class.
func (m *Store) Counts() map[ocl.Label]int {
	counts := map[ocl.Label]int{}
	for _, y := range m.y {
		counts[y]++
	}
	return counts
}

// OriginsSection is the name of the section of the origins in a saved store, below the store's own prefix.
const OriginsSection = "origins"

// parts is the state: the stored samples, where they came from, what their slots carry, and the counter. Loading gives
// the same bits. The capacity and the shape must be those of the memory that was saved.
func (m *Store) parts() checkpoint.Parts {
	capacity, length := m.cap, len(m.y)
	return checkpoint.Parts{
		checkpoint.Values("size", &capacity, &length, &m.seen),
		checkpoint.Int32List("labels", &m.y),
		checkpoint.Then(func() error {
			if capacity != m.cap || length < 0 || length > capacity || m.seen < length || m.seen > limit.Seen ||
				len(m.y) != length {
				return fmt.Errorf("memory: the state has %d samples with %d labels, %d seen, in %d slots instead of %d, so it belongs to another configuration. Use the one it was saved with",
					length, len(m.y), m.seen, capacity, m.cap)
			}
			return nil
		}),
		checkpoint.Made("pixels", m.pixels, m.setPixels),
		checkpoint.List(OriginsSection, &m.origin),
		checkpoint.Then(m.checkOrigins),
		m.floats.parts(m.Len),
	}
}

// checkOrigins refuses loaded origins that are not those of the stored samples.
func (m *Store) checkOrigins() error {
	if len(m.origin) != len(m.y) {
		return fmt.Errorf("memory: the state has %d origins of %d samples, so it belongs to another configuration. Use the one it was saved with",
			len(m.origin), len(m.y))
	}
	for _, place := range m.origin {
		if place < 0 || place >= int64(m.seen) {
			return fmt.Errorf("memory: the state stores sample %d of the stream, but only %d were seen, so it belongs to another configuration. Use the one it was saved with",
				place, m.seen)
		}
	}
	return nil
}

// pixels is a copy of all stored images.
func (m *Store) pixels() ([]byte, error) {
	all := make([]byte, 0, len(m.y)*m.size)
	for slot := range m.y {
		all = append(all, m.images[slot]...)
	}
	return all, nil
}

// setPixels fills the slots, as many as there are labels.
func (m *Store) setPixels(all []byte) error {
	if len(all) != len(m.y)*m.size {
		return fmt.Errorf("memory: %d saved pixels instead of %d, so they belong to another configuration. Use the one they were saved with",
			len(all), len(m.y)*m.size)
	}
	m.grow(len(m.y))
	for slot := range m.y {
		copy(m.images[slot], all[slot*m.size:])
	}
	return nil
}

// SaveState implements [ocl.State].
func (m *Store) SaveState(e *checkpoint.Encoder) error { return m.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (m *Store) LoadState(d *checkpoint.Decoder) error { return m.parts().LoadState(d) }
