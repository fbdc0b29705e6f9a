// Package safetensors reads and writes files of the format safetensors, in which PyTorch users exchange weights: the
// length of a header as 8 little-endian bytes, the header as JSON, and the numbers of all tensors. Files come from
// strangers, so a reader checks everything that a header says and allocates no more than the file's own size justifies.
// Start at [Write] and [NewReader].
package safetensors

import (
	"errors"
	"fmt"
	"math"
)

// Tensor is an array with a name. It has Floats, or Ints where Floats is nil, in row-major order.
type Tensor struct {
	Name   string
	Shape  []int // empty for a single number
	Floats []float32
	Ints   []int64
}

// Len is the number of values that the shape has room for.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Names of types in files, for what is written.
const (
	typeFloat = "F32"
	typeInt   = "I64"
)

// metadataKey is the one name in a header that is no tensor's.
const metadataKey = "__metadata__"

// Limits of the format and of what a reader accepts.
const (
	maxShown = 60 // characters of a name in a message
)

// sizes are the bytes of a value of each type.
var sizes = map[string]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1,
	"U16": 2, "I16": 2, "F16": 2, "BF16": 2,
	"U32": 4, "I32": 4, "F32": 4,
	"U64": 8, "I64": 8, "F64": 8, "C64": 8,
}

// ErrFormat is wrapped by errors about a file that is not a whole safetensors file.
var ErrFormat = errors.New("not a valid safetensors file")

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %w", ErrFormat, fmt.Errorf(format, a...))
}

// quoted is a word of a file for a message.
func quoted(word string) string {
	if r := []rune(word); len(r) > maxShown {
		word = string(r[:maxShown]) + "…"
	}
	return fmt.Sprintf("%q", word)
}

// product is the number of bytes of a shape; ok is false where it does not fit into 63 bits.
func product(shape []int, size int64) (bytes int64, ok bool) {
	bytes = size
	for _, d := range shape {
		if d == 0 {
			return 0, true
		}
	}
	for _, d := range shape {
		if int64(d) > math.MaxInt64/bytes {
			return 0, false
		}
		bytes *= int64(d)
	}
	return bytes, true
}
