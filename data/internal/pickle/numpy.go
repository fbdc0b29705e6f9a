package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"ocl/internal/count"
)

// array is an array of integers of NumPy, the lowest byte of each first.
type array struct {
	dtype
	shape   []int // at most 8 axes; none for a single value
	fortran bool  // the first axis is the one whose neighbours lie side by side, not the last
	data    any   // data or stored, whose length is the product of shape times the width
}

// dtype is NumPy's name of a type, such as i8: i, or u for unsigned, and the bytes of an element.
type dtype string

func (t dtype) width() int { return int(t[1] - '0') }

// String is the type and the shape, such as "uint8 [600,84,84,3]".
func (a *array) String() string {
	s := fmt.Sprintf("int%d", 8*a.width())
	if a.dtype[0] == 'u' {
		s = "u" + s
	}
	if a.fortran {
		s += " in Fortran order"
	}
	return s + " " + strings.ReplaceAll(fmt.Sprint(a.shape), " ", ",")
}

// ints are the elements of an array with one axis.
func (a *array) ints() ([]int64, error) {
	b, is := a.data.(data)
	if !is || len(a.shape) != 1 {
		return nil, fmt.Errorf("found an array of %s, wanted one axis of less than %s", a, count.Of(large, "byte"))
	}
	out := make([]int64, a.shape[0])
	for i := range out {
		var word [8]byte
		copy(word[:], b[i*a.width():(i+1)*a.width()])
		out[i] = int64(binary.LittleEndian.Uint64(word[:]))
		if unused := 64 - 8*a.width(); a.dtype[0] == 'i' {
			out[i] = out[i] << unused >> unused
		}
	}
	return out, nil
}

// global is a function or class that a pickle may name, by the name that messages show.
type global string

const (
	reconstruct global = "numpy.core.multiarray._reconstruct"
	frombuffer  global = "numpy.core.numeric._frombuffer"
	ndarray     global = "numpy.ndarray"
	dtypeClass  global = "numpy.dtype"
)

// globals are all names that are read. NumPy 2 renamed numpy.core to numpy._core.
var globals = map[string]global{
	"numpy.core.multiarray._reconstruct":  reconstruct,
	"numpy._core.multiarray._reconstruct": reconstruct,
	"numpy.core.numeric._frombuffer":      frombuffer,
	"numpy._core.numeric._frombuffer":     frombuffer,
	"numpy.ndarray":                       ndarray,
	"numpy.dtype":                         dtypeClass,
}

// named pushes what a name stands for, or refuses it.
func (m *machine) named(module, name string) error {
	g, ok := globals[module+"."+name]
	if !ok {
		return refused("calls " + quoted(module+"."+name))
	}
	return m.push(g)
}

// namedGlobal reads GLOBAL: two lines, a module and a name in it.
func namedGlobal(m *machine) error {
	module, err := m.line()
	if err != nil {
		return err
	}
	name, err := m.line()
	if err != nil {
		return err
	}
	return m.named(module, name)
}

// stackGlobal takes the module and the name from the stack.
func (m *machine) stackGlobal(vs []value) error {
	module, is := vs[0].ref.(data)
	name, alsoIs := vs[1].ref.(data)
	if !is || !alsoIs {
		return fmt.Errorf("something is called by %s and %s, wanted two texts; the pickle is damaged", vs[0], vs[1])
	}
	return m.named(string(module), string(name))
}

// reduce calls a function with a tuple of arguments.
func (m *machine) reduce(vs []value) error {
	g, is := vs[0].ref.(global)
	args, alsoIs := vs[1].ref.(*list)
	if !is || !alsoIs || !args.tuple {
		return fmt.Errorf("%s is called with %s; the pickle is damaged", vs[0], vs[1])
	}
	is3 := len(args.items) == 3
	switch {
	case g == dtypeClass && is3: // numpy.dtype('u1', False, True)
		name := args.items[0].text()
		if len(name) != 2 || !strings.Contains("iu", name[:1]) || !strings.Contains("1248", name[1:]) {
			return refused(fmt.Sprintf("has an array of type %s", quoted(name)))
		}
		return m.push(dtype(name))
	case g == reconstruct && is3 && args.items[0].ref == ndarray: // an empty array, which BUILD fills
		return m.push(&array{dtype: "i1", shape: []int{0}, data: data(nil)})
	case g == frombuffer && len(args.items) == 4: // how NumPy writes protocol 5: bytes, type, shape and order
		a := &array{}
		if err := a.set(args.items[2], args.items[1], args.items[0], args.items[3].text() == "F"); err != nil {
			return err
		}
		return m.push(a)
	}
	return fmt.Errorf("%s is called with %s, which is not how NumPy writes its arrays", g, vs[1])
}

// build sets the state of the array below it, or checks that of a type: of its parts only the byte order says something.
func (m *machine) build(vs []value) error {
	at, err := m.top(1)
	if err != nil {
		return err
	}
	state, is := vs[0].ref.(*list)
	if !is || !state.tuple || len(state.items) < 5 {
		return fmt.Errorf("%s is given the state %s, wanted a tuple of at least 5", at[0], vs[0])
	}
	switch of := at[0].ref.(type) {
	case dtype:
		if order := state.items[1].text(); order != "|" && order != "<" {
			return fmt.Errorf("the byte order of a type of NumPy is %s, wanted '|' or '<'", quoted(order))
		}
		return nil
	case *array: // version, shape, type, Fortran order, bytes
		fortran, is := state.items[3].truth()
		if len(state.items) != 5 || !is {
			return fmt.Errorf("an array is given the state %s, and an order that is %s, wanted 5 values and a truth value", vs[0], state.items[3])
		}
		return of.set(state.items[1], state.items[2], state.items[4], fortran)
	}
	return refused("sets the state of " + at[0].String())
}

// truth is a truth value; Python 2 writes some of them as 0 and 1.
func (v value) truth() (is, ok bool) {
	if v.isInt() {
		return v.n == 1, v.n == 0 || v.n == 1
	}
	is, ok = v.ref.(bool)
	return is, ok
}

// maxAxes is above what any data set needs.
const maxAxes = 8

// set fills an array and checks that the shape fits the bytes.
func (a *array) set(shape, typ, contents value, fortran bool) error {
	t, is := typ.ref.(dtype)
	if !is {
		return fmt.Errorf("the type of an array is %s, wanted a type of NumPy", typ)
	}
	s, is := shape.ref.(*list)
	if !is || !s.tuple || len(s.items) > maxAxes {
		return fmt.Errorf("the shape of an array is %s, wanted a tuple of at most %d integers", shape, maxAxes)
	}
	have := int64(-1)
	switch b := contents.ref.(type) {
	case data:
		have = int64(len(b))
	case stored:
		have = b.n
	}
	extents, need := make([]int, len(s.items)), float64(t.width()) // exact up to 2^53, more than a file has
	for i, v := range s.items {
		if !v.isInt() || v.n < 0 || v.n > math.MaxInt32 {
			return fmt.Errorf("the shape of an array has %s, wanted 0 to %d", v, math.MaxInt32)
		}
		extents[i] = int(v.n)
		need *= float64(v.n)
	}
	*a = array{dtype: t, shape: extents, fortran: fortran && len(extents) > 1, data: contents.ref}
	if need != float64(have) {
		return fmt.Errorf("an array of %s is %s, which does not fit its shape", a, contents)
	}
	return nil
}
