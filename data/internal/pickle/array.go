package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"ocl/internal/count"
)

// Array is an array of NumPy.
type Array struct {
	Shape   []int  // at most 8 axes; none for a single value
	DType   string // as NumPy writes it: byte order (|, < or >), kind (b, i, u or f) and bytes of an element, such as |u1 or <i8
	Fortran bool   // the first axis is the one whose neighbours lie side by side, not the last
	Data    []byte // len is the product of Shape times the bytes of an element
}

// kinds are the kinds of elements, and the words of their types.
var kinds = map[byte]string{'b': "bool", 'i': "int", 'u': "uint", 'f': "float"}

// String is the type and the shape, such as "uint8 [600,84,84,3]".
func (a *Array) String() string {
	var s strings.Builder
	size := a.elementSize()
	s.WriteString(kinds[a.DType[1]])
	if a.DType[1] != 'b' {
		s.WriteString(strconv.Itoa(8 * size))
	}
	if a.DType[0] == '>' {
		s.WriteString(", the highest byte first,")
	}
	if a.Fortran {
		s.WriteString(" in Fortran order")
	}
	s.WriteString(" [")
	for i, n := range a.Shape {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(strconv.Itoa(n))
	}
	s.WriteByte(']')
	return s.String()
}

func (a *Array) elementSize() int { return int(a.DType[2] - '0') }

// ints are the elements in the order of Data, for an array of integers.
func (a *Array) ints() ([]int64, error) {
	kind, size := a.DType[1], a.elementSize()
	if kind != 'i' && kind != 'u' {
		return nil, fmt.Errorf("found an array of %s, wanted integers", a)
	}
	out := make([]int64, len(a.Data)/size)
	var word [8]byte
	for i := range out {
		at := a.Data[i*size : (i+1)*size]
		var n uint64
		if a.DType[0] == '>' {
			copy(word[8-size:], at)
			n = binary.BigEndian.Uint64(word[:])
		} else {
			copy(word[:], at)
			n = binary.LittleEndian.Uint64(word[:])
		}
		if kind == 'i' {
			unused := 64 - 8*size // bits above the sign
			out[i] = int64(n<<unused) >> unused
			continue
		}
		if n > math.MaxInt64 {
			return nil, fmt.Errorf("found %d in an array of %s, wanted at most %d", n, a, int64(math.MaxInt64))
		}
		out[i] = int64(n)
	}
	return out, nil
}

// dtype is a type of NumPy. order is 0 until BUILD has set it.
type dtype struct {
	kind, order byte
	size        int // bytes of an element
}

// newDType makes a type of its name: numpy.dtype('u1', False, True).
func (m *machine) newDType(args *list) error {
	if args.len() != 3 {
		return fmt.Errorf("numpy.dtype is called with %s, wanted 3", count.Of(args.len(), "argument"))
	}
	name, _ := args.at(0).characters()
	switch string(name) {
	case "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8":
		return m.push(&dtype{kind: name[0], size: int(name[1] - '0')})
	}
	return refused(fmt.Sprintf("has an array of type %s", quoted(string(name))))
}

// setState sets the state of a type; of its parts only the byte order says something about plain numbers.
func (t *dtype) setState(s *list) error {
	if s.len() < 5 || !s.at(0).isInt() {
		return fmt.Errorf("a type of NumPy has a state of %s, wanted 8", count.Of(s.len(), "part"))
	}
	for i := 2; i < 5; i++ { // a type within the type, names of fields, fields
		if s.at(i).ref != (none{}) {
			return refused("has an array of records")
		}
	}
	order, _ := s.at(1).characters()
	switch string(order) {
	case "|", "<", ">":
		t.order = order[0]
		return nil
	}
	return fmt.Errorf("the byte order of a type of NumPy is %s, wanted '|', '<' or '>'", quoted(string(order)))
}

// name is the type as Array.DType has it.
func (t *dtype) name() (string, error) {
	order := t.order
	if t.size == 1 {
		order = '|'
	} else if order != '<' && order != '>' {
		return "", fmt.Errorf("the type %c%d of an array has no byte order, wanted '<' or '>'", t.kind, t.size)
	}
	return string([]byte{order, t.kind, '0' + byte(t.size)}), nil
}
