package pickle

import (
	"fmt"
	"math"
	"strings"

	"ocl/internal/limit"
)

// array is an array of integers of NumPy, the lowest byte of each first.
type array struct {
	dtype
	shape   []int // at most 8 axes; none for a single value
	fortran bool  // the first axis is the one whose neighbours lie side by side, not the last
	data    any   // []byte or stored, whose length is the product of shape times the width
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

// global is a function or class that a pickle may name, by the name that messages show.
type global string

const (
	reconstruct global = "numpy.core.multiarray._reconstruct"
	frombuffer  global = "numpy.core.numeric._frombuffer"
	ndarray     global = "numpy.ndarray"
	dtypeClass  global = "numpy.dtype"
)

// named pushes what a name stands for, or refuses it. NumPy 2 renamed numpy.core to numpy._core.
func (m *machine) named(module, name string) {
	switch g := global(strings.Replace(module, "numpy._core.", "numpy.core.", 1) + "." + name); g {
	case reconstruct, frombuffer, ndarray, dtypeClass:
		m.push(g)
	default:
		refuse("calls %s", quoted(module+"."+name))
	}
}

// reduce calls a function with a tuple of arguments.
func (m *machine) reduce(vs []any) {
	g, is := vs[0].(global)
	args, alsoIs := vs[1].(tuple)
	if !is || !alsoIs {
		fail("%s is called with %s; the pickle is damaged", describe(vs[0]), describe(vs[1]))
	}
	switch {
	case g == dtypeClass && len(args) == 3: // numpy.dtype('u1', False, True)
		name := text(args[0])
		if len(name) != 2 || !strings.Contains("iu", name[:1]) || !strings.Contains("1248", name[1:]) {
			refuse("has an array of type %s", quoted(name))
		}
		m.push(dtype(name))
	case g == reconstruct && len(args) == 3 && args[0] == ndarray: // an empty array, which BUILD fills
		m.push(&array{dtype: "i1", shape: []int{0}, data: []byte(nil)})
	case g == frombuffer && len(args) == 4: // how NumPy writes protocol 5: bytes, type, shape and order
		a := &array{}
		a.set(args[2], args[1], args[0], text(args[3]) == "F")
		m.push(a)
	default:
		fail("%s is called with %s, which is not how NumPy writes its arrays", g, describe(args))
	}
}

// build sets the state of the array on top of the stack, or checks that of a type: of its parts only the byte order
// says something.
func (m *machine) build(v any) {
	at := m.top(1)[0]
	state, is := v.(tuple)
	if !is || len(state) < 5 {
		fail("%s is given the state %s, wanted a tuple of at least 5", describe(at), describe(v))
	}
	switch at := at.(type) {
	case dtype:
		if order := text(state[1]); order != "|" && order != "<" {
			fail("the byte order of a type of NumPy is %s, wanted '|' or '<'", quoted(order))
		}
	case *array: // version, shape, type, Fortran order, bytes
		fortran := state[3] == true || state[3] == int64(1) // as Python 2 writes it
		if len(state) != 5 || !fortran && state[3] != false && state[3] != int64(0) {
			fail("an array is given the state %s, and an order that is %s, wanted 5 values and a truth value", describe(state),
				describe(state[3]))
		}
		at.set(state[1], state[2], state[4], fortran)
	default:
		refuse("sets the state of %s", describe(at))
	}
}

// set fills an array and checks that the shape fits the bytes.
func (a *array) set(shape, typ, contents any, fortran bool) {
	t, is := typ.(dtype)
	if !is {
		fail("the type of an array is %s, wanted a type of NumPy", describe(typ))
	}
	s, is := shape.(tuple)
	if !is || len(s) > limit.PickleAxes {
		fail("the shape of an array is %s, wanted a tuple of at most %d integers", describe(shape), limit.PickleAxes)
	}
	have := int64(-1)
	switch b := contents.(type) {
	case []byte:
		have = int64(len(b))
	case stored:
		have = b.n
	}
	extents, need := make([]int, len(s)), float64(t.width()) // exact up to 2^53, more than a file has
	for i, v := range s {
		n, is := v.(int64)
		if !is || n < 0 || n > math.MaxInt32 {
			fail("the shape of an array has %s, wanted 0 to %d", describe(v), math.MaxInt32)
		}
		extents[i] = int(n)
		need *= float64(n)
	}
	*a = array{dtype: t, shape: extents, fortran: fortran && len(extents) > 1, data: contents}
	if need != float64(have) {
		fail("an array of %s is %s, which does not fit its shape", a, describe(contents))
	}
}
