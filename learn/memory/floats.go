package memory

import (
	"encoding/binary"
	"fmt"
	"slices"

	"ocl/checkpoint"
	"ocl/nn/tensor"
)

// floats are numbers that each slot carries beside its sample, such as the logits that the network had for it.
type floats struct {
	columns int // F
	outputs bool
	data    [][]float32 // by slot, of F numbers, made as slots fill; an emptied slot keeps its room for the next sample
	valid   []int       // by filled slot: how many of its first numbers were given; further ones are 0
}

// Carry makes each slot carry n (≥ 1) numbers beside its sample. Each sample must then be put with n numbers, and a
// state with another n is refused. It panics if the memory has seen a sample.
func (m *Store) Carry(n int) { m.carry(n, false) }

// CarryOutputs makes each slot carry a number for each of so many (≥ 1) classes, such as logits. A sample may be put
// with fewer numbers, those of the first classes, if a network has fewer outputs then. The further ones are 0, and the
// store knows how many there are ([Store.GatherFloats]). So a memory for more classes can load the state of one for
// fewer. A state with more classes is refused. It panics if the memory has seen a sample.
func (m *Store) CarryOutputs(classes int) { m.carry(classes, true) }

func (m *Store) carry(n int, outputs bool) {
	if n < 1 || m.seen > 0 {
		panic(fmt.Sprintf("memory: %d numbers a slot after %d samples. Choose at least 1, and before the first sample", n,
			m.seen))
	}
	m.floats = floats{columns: n, outputs: outputs}
}

// Floats is F, how many numbers each slot carries beside its sample: 0, unless [Store.Carry] or [Store.CarryOutputs]
// was called.
func (m *Store) Floats() int { return m.floats.columns }

// Carries says whether n samples can be put with the numbers of rows: [n,F], or with [Store.CarryOutputs] from 1 to F
// columns.
func (m *Store) Carries(rows *tensor.Tensor, n int) bool { return m.floats.holds(rows, n) }

// bytes is the number of bytes that a slot takes.
func (f *floats) bytes() int {
	if f.outputs {
		return 4 * (f.columns + 1)
	}
	return 4 * f.columns
}

// check panics unless rows [n,w] are what n samples carry.
func (f *floats) check(rows *tensor.Tensor, n int) {
	switch {
	case rows == nil && (f.columns == 0 || n == 0):
	case rows == nil:
		panic(fmt.Sprintf("memory: samples are put without the %d numbers that each slot carries. Use PutWith", f.columns))
	case !f.holds(rows, n):
		panic(fmt.Sprintf("memory: PutWith: numbers of shape %v for %d samples and slots with %d", rows.Shape, n, f.columns))
	}
}

// holds says whether n samples can be put with rows.
func (f *floats) holds(rows *tensor.Tensor, n int) bool {
	if len(rows.Shape) != 2 || rows.Shape[0] != n || len(rows.Data) != n*rows.Shape[1] {
		return false
	}
	w := rows.Shape[1]
	return w == f.columns || f.outputs && 1 <= w && w < f.columns
}

// put sets the numbers of a slot. One behind all slots is added.
func (f *floats) put(slot int, row []float32) {
	f.grow(slot + 1)
	if slot == len(f.valid) {
		f.valid = append(f.valid, 0)
	}
	f.valid[slot] = len(row)
	clear(f.data[slot][copy(f.data[slot], row):])
}

// remove removes the numbers of a slot. Those of the last one take their place.
func (f *floats) remove(slot, last int) {
	if f.columns == 0 {
		return
	}
	f.valid[slot], f.valid = f.valid[last], f.valid[:last]
	f.data[slot], f.data[last] = f.data[last], f.data[slot]
	clear(f.data[last])
}

// grow makes room for n slots.
func (f *floats) grow(n int) {
	for len(f.data) < n {
		f.data = append(f.data, make([]float32, f.columns))
	}
}

// GatherFloats copies the numbers that the slots carry to x [len(slots),F], and to valid, len(valid) == len(slots), how
// many of them each sample was put with; further ones are 0.
func (m *Store) GatherFloats(x *tensor.Tensor, valid []int, slots []int) {
	x.CheckShape("numbers of the memory", len(slots), m.floats.columns)
	if m.floats.columns == 0 {
		clear(valid)
		return
	}
	for i, slot := range slots {
		valid[i] = m.floats.valid[slot] // before the numbers, so that an empty slot panics
		copy(x.Row(i), m.floats.data[slot])
	}
}

// parts is the state of so many filled slots; nothing without numbers.
func (f *floats) parts(filled func() int) checkpoint.Part {
	carried, columns, outputs := f.columns > 0, f.columns, f.outputs
	return checkpoint.Inline(checkpoint.Parts{
		checkpoint.Either(&carried, "floats/size", checkpoint.Parts{
			checkpoint.Values("floats/size", &columns, &outputs),
			checkpoint.Int32List("floats/valid", &f.valid),
		}, checkpoint.Parts{checkpoint.Then(func() error { columns = 0; return nil })}),
		checkpoint.Then(func() error {
			if columns != f.columns && (!f.outputs || !outputs || columns < 1 || columns > f.columns) || outputs != f.outputs &&
				columns > 0 {
				return fmt.Errorf("memory: the state carries %d numbers with each sample, but this memory carries %d, so it belongs to another configuration. Use the one it was saved with",
					columns, f.columns)
			}
			bad := func(n int) bool { return n < 0 || n > columns || !outputs && n < columns }
			if carried && (len(f.valid) != filled() || slices.ContainsFunc(f.valid, bad)) {
				return fmt.Errorf("memory: the state says of %d samples how many of %d numbers they carry, but %d samples are stored. It belongs to another configuration. Use the one it was saved with",
					len(f.valid), columns, filled())
			}
			return nil
		}),
		checkpoint.Later(func() checkpoint.Parts {
			if f.columns == 0 {
				return nil
			}
			return checkpoint.Parts{checkpoint.Made("floats/data", f.saved,
				func(all []byte) error { return f.load(all, columns) })}
		}),
	})
}

// saved is a copy of the numbers of all filled slots.
func (f *floats) saved() (all []byte, err error) {
	all = make([]byte, 0, len(f.valid)*f.columns*4)
	for slot := range f.valid {
		if all, err = binary.Append(all, binary.LittleEndian, f.data[slot]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// load fills the slots, as many as valid has, with rows of so many numbers.
func (f *floats) load(all []byte, columns int) error {
	if len(all) != len(f.valid)*columns*4 {
		return fmt.Errorf("memory: %d bytes of numbers instead of %d, so they belong to another configuration. Use the one they were saved with",
			len(all), len(f.valid)*columns*4)
	}
	f.grow(len(f.valid))
	for slot := range f.valid {
		row := f.data[slot]
		if _, err := binary.Decode(all[slot*columns*4:], binary.LittleEndian, row[:columns]); err != nil {
			return err
		}
		clear(row[columns:])
	}
	return nil
}
