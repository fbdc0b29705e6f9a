package memory

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"ocl"
	"ocl/checkpoint"
	"ocl/tensor"
)

// Store is M: up to Cap samples in numbered slots, each an image [C,H,W] with its label. Slots [0, Len) are filled. A
// sample is copied in and copied out to the same bits, so no caller holds a view of the memory. An image of 8-bit
// pixels takes a byte for each; one with any other value takes four.
type Store struct {
	shape  [3]int // C, H, W
	size   int    // C·H·W
	values [][256]float32
	slots  []stored // at least Len
	free   []byte   // for the pixels of slots to come
	spare  [][]byte // pixels that a snapshot gave back
	loans  []*loan  // snapshots that may still be read, oldest first
	taken  int      // snapshots so far
	code   []byte   // of the image that is being stored
	wide   int      // filled slots that hold values
	y      []ocl.Label
	cap    int
	seen   int

	traced  bool    // origins are known; they are not in a state from before there were any
	origins []int64 // by slot, while traced
}

// stored is an image in a slot. Pixels keep their room while values are in use. A snapshot has the same slices, so what it
// has is not written to.
type stored struct {
	pixels []byte
	values []float32 // nil where all are those of pixels
	id     uint64    // of the image, for a checkpoint
	since  int       // snapshots that were taken before the image was stored
}

// loan is a snapshot that may still be read, by another goroutine, until it is done.
type loan struct {
	done atomic.Bool
	held [][]byte // pixels that were replaced since
}

// NewStore returns an empty memory for capacity (≥ 0) images of shape [C,H,W] whose 8-bit pixels k have the values
// k/255. Space is taken as slots fill.
func NewStore(capacity int, shape [3]int) *Store {
	size := shape[0] * shape[1] * shape[2]
	if capacity < 0 || size <= 0 {
		panic(fmt.Sprintf("memory: NewStore: capacity %d and shape %v. Use a capacity of at least 0 and positive extents", capacity, shape))
	}
	return &Store{shape: shape, size: size, cap: capacity, code: make([]byte, size), values: slices.Repeat([][256]float32{fractions}, shape[0]), traced: true}
}

// fractions are the values of 8-bit pixels where nothing normalises them.
var fractions = func() (v [256]float32) {
	for k := range v {
		v[k] = float32(k) / 255
	}
	return v
}()

// SetPixels says which value an 8-bit pixel has in each channel [C], rising, as [ocl.StreamInfo] does, before anything
// is stored.
func (m *Store) SetPixels(values [][256]float32) {
	if len(values) != m.shape[0] || len(m.y) > 0 {
		panic(fmt.Sprintf("memory: SetPixels: %d channels and %d samples, but needs %d channels and an empty memory", len(values), len(m.y), m.shape[0]))
	}
	m.values = values
}

// Len is the number of filled slots.
func (m *Store) Len() int { return len(m.y) }

// Cap is mem_sz, the number of slots.
func (m *Store) Cap() int { return m.cap }

// Seen is n, the number of samples that were offered to the memory so far, stored or not.
func (m *Store) Seen() int { return m.seen }

// Origins returns for each filled slot how many samples were offered to the memory before the one that is stored there:
// the sample's 0-based place in the stream. No update and no retrieval depends on it; it says for a report what is
// stored. known is false if a state was loaded that has no origins, as an earlier version wrote it.
func (m *Store) Origins() (places []int64, known bool) { return slices.Clone(m.origins), m.traced }

// Shape is the shape [C,H,W] of a stored image.
func (m *Store) Shape() [3]int { return m.shape }

// Label is the label in a filled slot.
func (m *Store) Label(slot int) ocl.Label { return m.y[slot] }

// Bytes is the number of bytes of the stored images and labels.
func (m *Store) Bytes() int64 { return int64(len(m.y))*int64(m.size+4) + int64(m.wide)*int64(3*m.size) }

// Put stores row i of b in slots[i], in order, or drops it where slots[i] is -1; slot Len() is the next free one. All
// rows count as seen. It panics if a slot is out of range: that is a bug in an Updater.
func (m *Store) Put(b ocl.Batch, slots []int) {
	m.check("Put", b.X, len(slots))
	for i, slot := range slots {
		switch {
		case slot == -1:
			continue
		case slot == len(m.y) && slot < m.cap:
			m.y = append(m.y, 0)
			if m.traced {
				m.origins = append(m.origins, 0)
			}
			if slot == len(m.slots) {
				m.slots = append(m.slots, stored{})
			}
		case slot < 0 || slot >= len(m.y):
			panic(fmt.Sprintf("memory: Put: slot %d for row %d is not -1 or a slot in [0, %d] below the capacity %d", slot, i, len(m.y), m.cap))
		}
		m.write(&m.slots[slot], b.X.Row(i))
		m.y[slot] = b.Y[i]
		if m.traced {
			m.origins[slot] = int64(m.seen) + int64(i)
		}
	}
	m.seen += len(slots)
}

// Clear empties the memory. How many samples it has seen stays.
func (m *Store) Clear() {
	for i := range m.slots[:len(m.y)] {
		m.slots[i].values = nil
	}
	m.y, m.wide = m.y[:0], 0
	if m.traced {
		m.origins = m.origins[:0]
	}
}

// check panics unless x is [n,C,H,W].
func (m *Store) check(what string, x *tensor.Tensor, n int) {
	if len(x.Shape) != 4 || x.Shape[0] != n || [3]int(x.Shape[1:]) != m.shape {
		panic(fmt.Sprintf("memory: %s: images %v instead of %d of %v", what, x.Shape, n, m.shape))
	}
}

// write stores an image.
func (m *Store) write(s *stored, image []float32) {
	if s.values != nil {
		m.wide--
	}
	m.part(s)
	s.id, s.since = checkpoint.NewID(), m.taken
	if m.encode(m.code, image) {
		if s.pixels == nil {
			s.pixels = m.room()
		}
		copy(s.pixels, m.code)
		s.values = nil
		return
	}
	m.wide++
	if s.values == nil {
		s.values = make([]float32, m.size)
	}
	copy(s.values, image)
}

// part leaves what a snapshot has of a slot to that snapshot.
func (m *Store) part(s *stored) {
	for len(m.loans) > 0 && m.loans[0].done.Load() { // in their order: one may have what a later one holds
		m.spare = append(m.spare, m.loans[0].held...)
		m.loans = m.loans[1:]
	}
	if len(m.loans) == 0 || s.since >= m.taken {
		return
	}
	if s.pixels != nil {
		last := m.loans[len(m.loans)-1]
		last.held = append(last.held, s.pixels)
	}
	s.pixels, s.values = nil, nil
}

// room is space for the pixels of one image, from blocks of up to 64, so that a filling memory seldom allocates.
func (m *Store) room() []byte {
	if n := len(m.spare); n > 0 {
		p := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return p
	}
	if len(m.free) == 0 {
		m.free = make([]byte, min(64, max(1, m.cap-len(m.y)+1))*m.size)
	}
	p := m.free[:m.size:m.size]
	m.free = m.free[m.size:]
	return p
}

// encode writes the pixels whose values are those of the image, if there are such.
func (m *Store) encode(pixels []byte, image []float32) bool {
	plane := m.size / m.shape[0]
	for c := range m.values {
		v := &m.values[c]
		scale := 255 / (v[255] - v[0])
		from, to := image[c*plane:(c+1)*plane], pixels[c*plane:(c+1)*plane]
		for i, x := range from {
			k := float32((x-v[0])*scale) + 0.5
			if !(k >= 0 && k < 256) || math.Float32bits(v[byte(k)]) != math.Float32bits(x) {
				return false
			}
			to[i] = byte(k)
		}
	}
	return true
}

// read writes the image in a slot to dst.
func (m *Store) read(dst []float32, s stored) {
	if s.values != nil {
		copy(dst, s.values)
		return
	}
	plane := m.size / m.shape[0]
	for c := range m.values {
		v := &m.values[c]
		to := dst[c*plane : (c+1)*plane]
		for i, p := range s.pixels[c*plane:][:len(to)] {
			to[i] = v[p]
		}
	}
}

// Gather copies the images in slots to x [len(slots),C,H,W] and their labels to y.
func (m *Store) Gather(x *tensor.Tensor, y []ocl.Label, slots []int) {
	m.check("Gather", x, len(slots))
	for i, slot := range slots {
		m.read(x.Row(i), m.slots[:len(m.y)][slot])
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

// maxSeen is the most samples that a store may have seen, far above any stream and far below what an int holds.
const maxSeen = 1 << 50

// OriginsSection is the name of the section of the origins in a saved store, below the store's own prefix.
const OriginsSection = "origins"

// parts is the state: the stored samples, where they came from, and the counter. Loading gives the same bits. The
// capacity, the shape and the values of pixels must be those of the memory that was saved. Images take the form "pixels"
// where all of them are 8-bit pixels.
func (m *Store) parts() checkpoint.Parts {
	capacity, length, narrow := m.cap, len(m.y), m.wide == 0
	return checkpoint.Parts{
		checkpoint.Values("size", &capacity, &length, &m.seen),
		checkpoint.Int32List("labels", &m.y),
		checkpoint.Then(func() error {
			if capacity != m.cap || length < 0 || length > capacity || m.seen < length || m.seen > maxSeen || len(m.y) != length {
				return fmt.Errorf("memory: the state has %d samples with %d labels, %d seen, in %d slots instead of %d, so it belongs to another configuration. Use the one it was saved with",
					length, len(m.y), m.seen, capacity, m.cap)
			}
			return nil
		}),
		checkpoint.Either(&narrow, "pixels",
			checkpoint.Parts{checkpoint.RecordList("pixels", m.size, m.snapshot, m.setPixels)},
			checkpoint.Parts{checkpoint.RecordList("images", 4*m.size, m.wideSnapshot, m.setImages)}),
		checkpoint.Either(&m.traced, OriginsSection,
			checkpoint.Parts{checkpoint.Int64List(OriginsSection, &m.origins), checkpoint.Then(m.checkOrigins)},
			checkpoint.Parts{checkpoint.Then(func() error { m.origins = nil; return nil })}),
	}
}

// checkOrigins refuses loaded origins that are not those of the stored samples.
func (m *Store) checkOrigins() error {
	if len(m.origins) != len(m.y) {
		return fmt.Errorf("memory: the state has %d origins of %d samples, so it belongs to another configuration. Use the one it was saved with", len(m.origins), len(m.y))
	}
	for _, place := range m.origins {
		if place < 0 || place >= int64(m.seen) {
			return fmt.Errorf("memory: the state stores sample %d of the stream, but only %d were seen, so it belongs to another configuration. Use the one it was saved with", place, m.seen)
		}
	}
	return nil
}

// snapshot is all stored images in 8-bit pixels, as they are now. It copies none of them: until it is released, an image
// that is replaced stays where it is, and the new one takes other room.
func (m *Store) snapshot() checkpoint.Records {
	slots := slices.Clone(m.slots[:len(m.y)])
	l := &loan{}
	m.loans = append(m.loans, l)
	m.taken++
	r := checkpoint.Records{Size: m.size, IDs: make([]uint64, len(slots)), Release: func() { l.done.Store(true) }}
	for i, s := range slots {
		r.IDs[i] = s.id
	}
	r.Append = func(dst []byte, i int) []byte { return append(dst, slots[i].pixels...) }
	return r
}

// wideSnapshot is snapshot for all stored images in the network's values.
func (m *Store) wideSnapshot() checkpoint.Records {
	slots := slices.Clone(m.slots[:len(m.y)])
	r, reader := m.snapshot(), Store{shape: m.shape, size: m.size, values: m.values}
	r.Size = 4 * m.size
	r.Append = func(dst []byte, i int) []byte {
		image := make([]float32, reader.size)
		reader.read(image, slots[i])
		for _, v := range image {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
		return dst
	}
	return r
}

// setPixels fills the slots, as many as there are labels, and keeps pixels.
func (m *Store) setPixels(ids []uint64, pixels []byte) error {
	slots := make([]stored, len(m.y))
	if len(ids) != len(slots) {
		return fmt.Errorf("memory: %d saved pixels instead of %d, so they belong to another configuration. Use the one they were saved with", len(pixels), len(slots)*m.size)
	}
	for i := range slots {
		slots[i] = stored{pixels: pixels[i*m.size : (i+1)*m.size : (i+1)*m.size], id: ids[i], since: m.taken}
	}
	m.slots, m.wide = slots, 0
	return nil
}

// setImages fills the slots, as many as there are labels.
func (m *Store) setImages(ids []uint64, data []byte) error {
	if len(ids) != len(m.y) {
		return fmt.Errorf("memory: %d saved values instead of %d, so they belong to another configuration. Use the one they were saved with", len(data)/4, len(m.y)*m.size)
	}
	m.slots, m.wide = make([]stored, len(m.y)), 0
	image := make([]float32, m.size)
	for i := range m.slots {
		for j := range image {
			image[j] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*(i*m.size+j):]))
		}
		m.write(&m.slots[i], image)
		m.slots[i].id = ids[i]
	}
	return nil
}

// SaveState implements [ocl.State].
func (m *Store) SaveState(e *checkpoint.Encoder) error { return m.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (m *Store) LoadState(d *checkpoint.Decoder) error { return m.parts().LoadState(d) }
