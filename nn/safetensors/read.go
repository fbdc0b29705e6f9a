package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"ocl/internal/limit"
)

// Reader reads one file. Only its header is in memory, until values are asked for.
type Reader struct {
	Metadata map[string]string
	Tensors  []Info // in the order of their values

	r    io.ReaderAt
	base int64 // where the values begin
}

// Info says what a tensor of a file is.
type Info struct {
	Name  string
	Type  string // such as "F32", "BF16" or "I64"
	Shape []int

	begin, end int64 // of its bytes, from the first value of the file
}

// NewReader reads the header of a file of size bytes. What is not a whole file of the format is an error that wraps
// [ErrFormat]: one that is cut, a header longer than the file or than 10 MB, a name given twice, a shape whose bytes
// are not those of its place, or places that overlap, leave a gap or lie outside of the file. It allocates in
// proportion to the header.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	var word [8]byte
	if size < int64(len(word)) {
		return nil, damaged("the file has %d bytes, fewer than the 8 of the length of a header. Save it again", size)
	}
	if err := readAt(r, word[:], 0); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint64(word[:])
	if most := min(uint64(size)-8, limit.SafetensorsHeader); length > most {
		return nil, damaged("the file begins with %q, where the length of its header has to stand, and no header can have %d bytes: at most %d are possible. Save the weights with save_file of the Python library safetensors",
			word, length, most)
	}
	text := make([]byte, length)
	if err := readAt(r, text, 8); err != nil {
		return nil, err
	}
	if !utf8.Valid(text) || length == 0 || text[0] != '{' {
		return nil, damaged("the header is not JSON in UTF-8. Save it again, with save_file of the Python library safetensors")
	}
	f := &Reader{r: r, base: 8 + int64(length)}
	if err := f.parse(text); err != nil {
		return nil, damaged("header: %w. Save the file again", err)
	}
	if err := f.place(size - f.base); err != nil {
		return nil, damaged("%w. Save the file again", err)
	}
	return f, nil
}

func readAt(r io.ReaderAt, b []byte, at int64) error {
	_, err := io.ReadFull(io.NewSectionReader(r, at, int64(len(b))), b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("the file ends too early. Save it again")
	}
	return err
}

// place sorts the tensors by their places, which must fill size bytes without gaps.
func (f *Reader) place(size int64) error {
	slices.SortStableFunc(f.Tensors, func(a, b Info) int {
		if a.begin != b.begin {
			return int(max(-1, min(1, a.begin-b.begin)))
		}
		return int(max(-1, min(1, a.end-b.end)))
	})
	at := int64(0)
	for _, t := range f.Tensors {
		if t.begin != at {
			return fmt.Errorf("%s begins at byte %d of the values, but the tensor before it ends at %d", quoted(t.Name), t.begin,
				at)
		}
		width, known := sizes[t.Type]
		if !known {
			return fmt.Errorf("%s has the unknown type %s", quoted(t.Name), quoted(t.Type))
		}
		if want, ok := product(t.Shape, width); !ok || want != t.end-t.begin {
			return fmt.Errorf("%s has %d bytes, which is not what its shape %v of %s needs", quoted(t.Name), t.end-t.begin,
				t.Shape, t.Type)
		}
		at = t.end
	}
	if at != size {
		return fmt.Errorf("the tensors need %d bytes, but the file has %d for them", at, size)
	}
	return nil
}

// Find is the tensor with that name.
func (f *Reader) Find(name string) (Info, bool) {
	i := slices.IndexFunc(f.Tensors, func(t Info) bool { return t.Name == name })
	if i < 0 {
		return Info{}, false
	}
	return f.Tensors[i], true
}

// Floats reads the values of a tensor of the type F32, F64, F16 or BF16, as the nearest float32. Other types are an
// error.
func (f *Reader) Floats(t Info) ([]float32, error) {
	var at func(b []byte) float32
	switch t.Type {
	case "F32":
		at = func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	case "F64":
		at = func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	case "F16":
		at = func(b []byte) float32 { return half(binary.LittleEndian.Uint16(b)) }
	case "BF16":
		at = func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) }
	default:
		return nil, fmt.Errorf("safetensors: %s has the type %s, but weights are F32, F64, F16 or BF16. Convert it with .float() before it is saved",
			quoted(t.Name), t.Type)
	}
	raw, err := f.bytes(t)
	if err != nil {
		return nil, err
	}
	width := int(sizes[t.Type])
	out := make([]float32, len(raw)/width)
	for i := range out {
		out[i] = at(raw[i*width:])
	}
	return out, nil
}

func (f *Reader) bytes(t Info) ([]byte, error) {
	raw := make([]byte, t.end-t.begin)
	if err := readAt(f.r, raw, f.base+t.begin); err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", quoted(t.Name), err)
	}
	return raw, nil
}

// half is the value of a number of 16 bits: a sign, 5 bits of exponent and 10 of fraction.
func half(b uint16) float32 {
	sign, exponent, fraction := 1.0, int(b>>10&31), float64(b&1023)
	if b>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction > 0:
		return float32(math.NaN())
	case exponent == 31:
		return float32(math.Inf(int(sign)))
	case exponent == 0:
		return float32(sign * math.Ldexp(fraction, -24))
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}
