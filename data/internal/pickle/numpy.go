package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl/internal/count"
)

// array is an array of integers of NumPy.
type array struct {
	shape   []int // at most 8 axes; none for a single value
	kind    byte  // i, or u for unsigned
	width   int   // bytes of an element
	big     bool  // the highest byte of an element is the first
	fortran bool  // the first axis is the one whose neighbours lie side by side, not the last
	data    any   // data or stored, whose length is the product of shape times width
}

// String is the type and the shape, such as "uint8 [600,84,84,3]".
func (a *array) String() string {
	s := fmt.Sprintf("int%d", 8*a.width)
	if a.kind == 'u' {
		s = "u" + s
	}
	if a.fortran {
		s += " in Fortran order"
	}
	return s + " " + strings.ReplaceAll(fmt.Sprint(a.shape), " ", ",")
}

// ints are the elements in the order of the file.
func (a *array) ints() ([]int64, error) {
	b, is := a.data.(data)
	if !is {
		return nil, fmt.Errorf("found an array of %s, wanted less than %s", a, count.Of(large, "byte"))
	}
	out := make([]int64, len(b)/a.width)
	for i := range out {
		var word [8]byte
		copy(word[:], b[i*a.width:(i+1)*a.width])
		if a.big {
			slices.Reverse(word[:a.width])
		}
		n := binary.LittleEndian.Uint64(word[:])
		unused := 64 - 8*a.width // bits above the number
		switch out[i] = int64(n); {
		case a.kind == 'i':
			out[i] = int64(n<<unused) >> unused
		case n > math.MaxInt64:
			return nil, fmt.Errorf("found %d in an array of %s, wanted at most %d", n, a, int64(math.MaxInt64))
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
	switch {
	case g == dtypeClass && args.len() == 3:
		return m.newDType(args.at(0))
	case g == reconstruct && args.len() == 3 && args.at(0).ref == ndarray: // an empty array, which BUILD fills
		return m.push(&array{shape: []int{0}, kind: 'i', width: 1, data: data(nil)})
	case g == frombuffer && args.len() == 4: // how NumPy writes protocol 5: bytes, type, shape and order
		a := &array{}
		if err := a.set(args.at(2), args.at(1), args.at(0), args.at(3).text() == "F"); err != nil {
			return err
		}
		return m.push(a)
	}
	return fmt.Errorf("%s is called with %s, which is not how NumPy writes its arrays", g, vs[1])
}

// build sets the state of the array or of the type below it.
func (m *machine) build(vs []value) error {
	at, err := m.top(1)
	if err != nil {
		return err
	}
	state, is := vs[0].ref.(*list)
	if !is || !state.tuple || state.len() < 5 {
		return fmt.Errorf("%s is given the state %s, wanted a tuple of at least 5", at[0], vs[0])
	}
	switch of := at[0].ref.(type) {
	case *dtype:
		return of.setState(state)
	case *array: // version, shape, type, Fortran order, bytes
		fortran, is := state.at(3).truth()
		if state.len() != 5 || !is {
			return fmt.Errorf("an array is given the state %s, and an order that is %s, wanted 5 values and a truth value", vs[0], state.at(3))
		}
		return of.set(state.at(1), state.at(2), state.at(4), fortran)
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
	t, is := typ.ref.(*dtype)
	if !is || t.order == 0 && t.width > 1 {
		return fmt.Errorf("the type of an array is %s, wanted a type of NumPy with a byte order", typ)
	}
	s, is := shape.ref.(*list)
	if !is || !s.tuple || s.len() != len(s.ints) || s.len() > maxAxes {
		return fmt.Errorf("the shape of an array is %s, wanted a tuple of at most %d integers", shape, maxAxes)
	}
	have := int64(-1)
	switch b := contents.ref.(type) {
	case data:
		have = int64(len(b))
	case stored:
		have = b.n
	}
	extents, need, fits := make([]int, len(s.ints)), int64(t.width), have >= 0
	if slices.Contains(s.ints, 0) {
		need = 0
	}
	for i, n := range s.ints {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("the shape %v of an array has %d, wanted 0 to %d", s.ints, n, math.MaxInt32)
		}
		extents[i] = int(n)
		if fits = fits && need <= have/max(n, 1); fits {
			need *= n
		}
	}
	*a = array{shape: extents, kind: t.kind, width: t.width, big: t.order == '>', fortran: fortran && len(extents) > 1, data: contents.ref}
	if !fits || need != have {
		return fmt.Errorf("an array of %s is %s, which does not fit its shape", a, contents)
	}
	return nil
}

// dtype is a type of NumPy. order is 0 until BUILD has set it.
type dtype struct {
	kind, order byte
	width       int // bytes of an element
}

// newDType makes a type of its name: numpy.dtype('u1', False, True).
func (m *machine) newDType(v value) error {
	name := v.text()
	if len(name) != 2 || !strings.Contains("iu", name[:1]) || !strings.Contains("1248", name[1:]) {
		return refused(fmt.Sprintf("has an array of type %s", quoted(name)))
	}
	return m.push(&dtype{kind: name[0], width: int(name[1] - '0')})
}

// setState sets the state of a type; of its parts only the byte order says something about plain numbers.
func (t *dtype) setState(s *list) error {
	if order := s.at(1).text(); len(order) == 1 && strings.Contains("|<>", order) {
		t.order = order[0]
		return nil
	}
	return fmt.Errorf("the byte order of a type of NumPy is %s, wanted '|', '<' or '>'", quoted(s.at(1).text()))
}
