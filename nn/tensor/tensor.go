// Package tensor holds float32 arrays with a shape. It knows nothing of layers, labels or the engine's memory
// layouts. A wrong shape is a bug and panics with both shapes.
//
//	x := tensor.New(10, 3, 32, 32)        // zeros: ten images [B,C,H,W]
//	y := tensor.Of([]float32{1, 2, 3}, 3) // a tensor over these numbers, which are not copied
//	first := x.Rows(0, 5)                 // a view of five rows
//	values := x.Row(0)                    // the 3·32·32 numbers of the first image
//
// A tensor has no arithmetic: packages nn and loss compute on its numbers.
package tensor

import (
	"fmt"
	"slices"
)

// Tensor is a dense row-major float32 array. Data has exactly the product of Shape elements.
type Tensor struct {
	Shape []int
	Data  []float32
}

// New returns a zeroed tensor of the given shape. It panics if an extent is negative.
func New(shape ...int) *Tensor {
	return &Tensor{Shape: slices.Clone(shape), Data: make([]float32, size(shape))}
}

// Of wraps data, without copying it, as a tensor of the given shape. It panics if the sizes differ.
func Of(data []float32, shape ...int) *Tensor {
	if len(data) != size(shape) {
		panic(fmt.Sprintf("tensor: Of: %d values do not fill shape %v (%d)", len(data), shape, size(shape)))
	}
	return &Tensor{Shape: slices.Clone(shape), Data: data}
}

// Dim is the extent of axis i.
func (t *Tensor) Dim(i int) int { return t.Shape[i] }

// Len is the number of elements.
func (t *Tensor) Len() int { return len(t.Data) }

// RowLen is the number of elements of one row, that is of everything after the first axis.
func (t *Tensor) RowLen() int { return size(t.Shape[1:]) }

// Row is a view of row i along the first axis.
func (t *Tensor) Row(i int) []float32 {
	n := t.RowLen()
	return t.Data[i*n : (i+1)*n : (i+1)*n]
}

// Rows is a view of rows [lo, hi) along the first axis.
func (t *Tensor) Rows(lo, hi int) *Tensor {
	n := t.RowLen()
	shape := slices.Clone(t.Shape)
	shape[0] = hi - lo
	return &Tensor{Shape: shape, Data: t.Data[lo*n : hi*n : hi*n]}
}

// SetRows makes t a view of rows [lo, hi) of x along the first axis, as Rows does, without a new tensor.
func (t *Tensor) SetRows(x *Tensor, lo, hi int) {
	n := x.RowLen()
	t.Shape = append(t.Shape[:0], x.Shape...)
	t.Shape[0], t.Data = hi-lo, x.Data[lo*n:hi*n]
}

// Resize gives t another shape. Its memory is used again and grows where it is too small. The first values stay, the
// others are undefined.
func (t *Tensor) Resize(shape ...int) {
	n := size(shape)
	if cap(t.Data) < n {
		t.Data = append(make([]float32, 0, n), t.Data...)
	}
	t.Shape, t.Data = append(t.Shape[:0], shape...), t.Data[:n]
}

// Clone returns a deep copy.
func (t *Tensor) Clone() *Tensor {
	return &Tensor{Shape: slices.Clone(t.Shape), Data: slices.Clone(t.Data)}
}

// CheckShape panics with both shapes unless t has the shape wanted; -1 matches any extent. It also panics if the
// number of elements of Data does not match the shape, because a view of rows could then reach beyond it.
func (t *Tensor) CheckShape(what string, want ...int) {
	ok := len(t.Shape) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = want[i] == -1 || want[i] == t.Shape[i]
	}
	if !ok {
		// a copy: want must not escape, or every check would allocate
		panic(fmt.Sprintf("tensor: %s: shape %v instead of %v", what, t.Shape, slices.Clone(want)))
	}
	if n := size(t.Shape); n != len(t.Data) {
		panic(fmt.Sprintf("tensor: %s: %d values do not fill shape %v (%d)", what, len(t.Data), t.Shape, n))
	}
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		if d < 0 {
			panic(fmt.Sprintf("tensor: negative extent in shape %v", slices.Clone(shape))) // a copy, as in CheckShape
		}
		n *= d
	}
	return n
}
