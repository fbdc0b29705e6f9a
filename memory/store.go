package memory

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/tensor"
)

// Store is M: up to Cap samples in numbered slots, each an image [C,H,W] with its label. Slots [0, Len) are filled. A
// sample is copied in and copied out, so no caller holds a view of the memory.
type Store struct {
	shape [3]int // C, H, W
	size  int    // C·H·W
	rows  [][]float32
	y     []ocl.Label
	cap   int
	seen  int
}

// NewStore returns an empty memory for capacity (≥ 0) images of shape [C,H,W]. Space is taken as slots fill.
func NewStore(capacity int, shape [3]int) *Store {
	size := shape[0] * shape[1] * shape[2]
	if capacity < 0 || size <= 0 {
		panic(fmt.Sprintf("memory: NewStore: capacity %d and shape %v; want capacity ≥ 0 and positive extents", capacity, shape))
	}
	return &Store{shape: shape, size: size, cap: capacity}
}

// Len is the number of filled slots.
func (m *Store) Len() int { return len(m.y) }

// Cap is mem_sz, the number of slots.
func (m *Store) Cap() int { return m.cap }

// Seen is n, the number of samples that were offered to the memory so far, stored or not.
func (m *Store) Seen() int { return m.seen }

// Shape is the shape [C,H,W] of a stored image.
func (m *Store) Shape() [3]int { return m.shape }

// Label is the label in a filled slot.
func (m *Store) Label(slot int) ocl.Label { return m.y[slot] }

// Bytes is the number of bytes of the stored images and labels.
func (m *Store) Bytes() int64 { return int64(len(m.y)) * int64(4*m.size+4) }

// Put stores row i of b in slots[i], in order, or drops it where slots[i] is -1; slot Len() is the next free one. All
// rows count as seen. It panics if a slot is out of range: that is a bug in an Updater.
func (m *Store) Put(b ocl.Batch, slots []int) {
	m.check("Put", b.X, len(slots))
	for i, slot := range slots {
		switch {
		case slot == -1:
			continue
		case slot == len(m.y) && slot < m.cap:
			m.grow()
		case slot < 0 || slot >= len(m.y):
			panic(fmt.Sprintf("memory: Put: slot %d for row %d; want -1 or a slot in [0, %d] below the capacity %d", slot, i, len(m.y), m.cap))
		}
		copy(m.rows[slot], b.X.Row(i))
		m.y[slot] = b.Y[i]
	}
	m.seen += len(slots)
}

// check panics unless x is [n,C,H,W].
func (m *Store) check(what string, x *tensor.Tensor, n int) {
	if len(x.Shape) != 4 || x.Shape[0] != n || [3]int(x.Shape[1:]) != m.shape {
		panic(fmt.Sprintf("memory: %s: images %v, want %d of %v", what, x.Shape, n, m.shape))
	}
}

// grow adds a filled slot. Rows are taken from blocks of up to 64, so that a filling memory seldom allocates.
func (m *Store) grow() {
	n := len(m.y)
	if n == len(m.rows) {
		block := min(64, m.cap-n)
		data := make([]float32, block*m.size)
		for i := range block {
			m.rows = append(m.rows, data[i*m.size:(i+1)*m.size:(i+1)*m.size])
		}
	}
	m.y = append(m.y, 0)
}

// Gather copies the images in slots to x [len(slots),C,H,W] and their labels to y.
func (m *Store) Gather(x *tensor.Tensor, y []ocl.Label, slots []int) {
	m.check("Gather", x, len(slots))
	for i, slot := range slots {
		copy(x.Row(i), m.rows[:len(m.y)][slot])
		y[i] = m.y[slot]
	}
}

// ByClass returns, for each stored class, its slots in rising order.
func (m *Store) ByClass() map[ocl.Label][]int {
	by := map[ocl.Label][]int{}
	for slot, y := range m.y {
		by[y] = append(by[y], slot)
	}
	return by
}

// Counts returns the number of stored samples of each stored class.
func (m *Store) Counts() map[ocl.Label]int {
	counts := map[ocl.Label]int{}
	for _, y := range m.y {
		counts[y]++
	}
	return counts
}

// SaveState writes the stored samples and the counter. Where all pixels are whole 255ths, as those of 8-bit images are,
// a pixel takes one byte, otherwise four; either way loading gives the same bits.
func (m *Store) SaveState(e *checkpoint.Encoder) error {
	e.Int64s("size", int64(m.cap), int64(len(m.y)), int64(m.seen))
	labels := make([]int32, len(m.y))
	for i, y := range m.y {
		labels[i] = int32(y)
	}
	e.Int32s("labels", labels)
	if pixels, ok := m.pixels(); ok {
		e.Bytes("pixels", pixels)
		return nil
	}
	e.Float32s("images", slices.Concat(m.rows[:len(m.y)]...))
	return nil
}

// LoadState restores what SaveState wrote; the capacity and the shape must be the same.
func (m *Store) LoadState(d *checkpoint.Decoder) error {
	var capacity, length, seen int64
	if err := d.Int64s("size", &capacity, &length, &seen); err != nil {
		return err
	}
	if capacity != int64(m.cap) || length < 0 || length > capacity || seen < length {
		return fmt.Errorf("memory: state of %d samples, %d seen, in %d slots; want %d slots; it belongs to another configuration",
			length, seen, capacity, m.cap)
	}
	labels := make([]int32, length)
	if err := d.Int32s("labels", labels); err != nil {
		return err
	}
	values := make([]float32, int(length)*m.size)
	if d.Len("pixels") >= 0 {
		pixels, err := d.Bytes("pixels")
		if err != nil {
			return err
		}
		if len(pixels) != len(values) {
			return fmt.Errorf("memory: %d saved pixels, want %d; they belong to another configuration", len(pixels), len(values))
		}
		for i, p := range pixels {
			values[i] = fromByte[p]
		}
	} else if err := d.Float32s("images", values); err != nil {
		return err
	}
	m.y, m.rows, m.seen = make([]ocl.Label, length), nil, int(seen)
	for i, y := range labels {
		m.y[i] = ocl.Label(y)
		m.rows = append(m.rows, values[i*m.size:(i+1)*m.size:(i+1)*m.size])
	}
	return nil
}

// fromByte holds the pixel values of 8-bit images, k/255.
var fromByte = func() (v [256]float32) {
	for k := range v {
		v[k] = float32(k) / 255
	}
	return v
}()

// pixels returns the stored images as bytes, if every value is exactly one of fromByte.
func (m *Store) pixels() ([]byte, bool) {
	b := make([]byte, 0, len(m.y)*m.size)
	for _, row := range m.rows[:len(m.y)] {
		for _, x := range row {
			k := x*255 + 0.5
			if !(k >= 0 && k < 256 && fromByte[int(k)] == x) {
				return nil, false
			}
			b = append(b, byte(k))
		}
	}
	return b, true
}
