package pickle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl/internal/count"
)

// global is a function or class that a pickle may name, by the name that messages show.
type global string

const (
	reconstruct global = "numpy.core.multiarray._reconstruct"
	scalar      global = "numpy.core.multiarray.scalar"
	frombuffer  global = "numpy.core.numeric._frombuffer"
	ndarray     global = "numpy.ndarray"
	dtypeClass  global = "numpy.dtype"
	encode      global = "_codecs.encode"
	bytesClass  global = "__builtin__.bytes"
)

// globals are all names that are read. NumPy 2 renamed numpy.core to numpy._core.
var globals = map[string]global{
	"numpy.core.multiarray._reconstruct":  reconstruct,
	"numpy._core.multiarray._reconstruct": reconstruct,
	"numpy.core.multiarray.scalar":        scalar,
	"numpy._core.multiarray.scalar":       scalar,
	"numpy.core.numeric._frombuffer":      frombuffer,
	"numpy._core.numeric._frombuffer":     frombuffer,
	"numpy.ndarray":                       ndarray,
	"numpy.dtype":                         dtypeClass,
	"_codecs.encode":                      encode,     // Python 3 writes bytes so in protocols 0 to 2
	"__builtin__.bytes":                   bytesClass, // and no bytes so
}

// lookup is what a name stands for, or the error that refuses it.
func lookup(module, name []byte) (global, error) {
	full := string(module) + "." + string(name)
	g, ok := globals[full]
	if !ok {
		if strings.Trim(full, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != "" || len(full) > 80 {
			full = quoted(full)
		}
		return "", refused("calls " + full)
	}
	return g, nil
}

// namedGlobal reads GLOBAL: two lines, a module and a name in it.
func namedGlobal(m *machine) error {
	g, err := m.named()
	if err != nil {
		return err
	}
	return m.push(g)
}

// inst reads INST, which names a class as GLOBAL does and makes an object of it.
func inst(m *machine) error {
	g, err := m.named()
	if err != nil {
		return err
	}
	return refused("has an object of " + string(g) + " (INST)")
}

func (m *machine) named() (global, error) {
	module, err := m.line()
	if err != nil {
		return "", err
	}
	name, err := m.line()
	if err != nil {
		return "", err
	}
	return lookup(module, name)
}

// stackGlobal takes the module and the name from the stack.
func stackGlobal(m *machine) error {
	vs, err := m.pop(2)
	if err != nil {
		return err
	}
	module, is := vs[0].ref.(text)
	name, alsoIs := vs[1].ref.(text)
	if !is || !alsoIs {
		return fmt.Errorf("something is called by %s and %s, wanted two texts; the pickle is damaged", vs[0], vs[1])
	}
	g, err := lookup(module, name)
	if err != nil {
		return err
	}
	return m.push(g)
}

// reduce reads REDUCE: a call of what is below a tuple of arguments.
func reduce(m *machine) error {
	vs, err := m.pop(2)
	if err != nil {
		return err
	}
	g, is := vs[0].ref.(global)
	args, alsoIs := vs[1].ref.(*list)
	if !is || !alsoIs || !args.tuple {
		return fmt.Errorf("%s is called with %s; the pickle is damaged", vs[0], vs[1])
	}
	switch g {
	case encode:
		return m.encode(args)
	case bytesClass:
		if args.len() == 0 {
			return m.push(data(nil))
		}
	case dtypeClass:
		return m.newDType(args)
	case scalar:
		return m.scalar(args)
	case reconstruct: // an empty array, which BUILD fills
		if args.len() == 3 && args.at(0).ref == ndarray {
			return m.push(&Array{Shape: []int{0}, DType: "|i1"})
		}
	case frombuffer:
		return m.fromBuffer(args)
	}
	return fmt.Errorf("%s is called with %s, which is not how NumPy writes its arrays", g, vs[1])
}

// encode is the call by which Python 3 writes bytes in protocols 0 to 2: a text, and 'latin1'. Each value of the file is
// encoded once by Python, so a file that encodes more bytes than it has is refused.
func (m *machine) encode(args *list) error {
	if args.len() != 2 {
		return fmt.Errorf("_codecs.encode is called with %s, wanted 2", count.Of(args.len(), "argument"))
	}
	t, is := args.at(0).ref.(text)
	codec, _ := args.at(1).characters()
	if !is || string(codec) != "latin1" {
		return errors.New("_codecs.encode is called otherwise than with a text and 'latin1', as Python writes bytes")
	}
	if m.encoded += int64(len(t)); m.encoded > m.size {
		return fmt.Errorf("more bytes are encoded than the file has (%d); the pickle is damaged", m.size)
	}
	b, err := latin1(t)
	if err != nil {
		return err
	}
	return m.push(data(b))
}

// build reads BUILD: the state of the array or of the type below it.
func build(m *machine) error {
	vs, err := m.pop(1)
	if err != nil {
		return err
	}
	at, err := m.top(1)
	if err != nil {
		return err
	}
	built, is := at[0].ref.(interface{ setState(*list) error })
	if !is {
		return refused("sets the state of " + at[0].String())
	}
	state, is := vs[0].ref.(*list)
	if !is || !state.tuple {
		return fmt.Errorf("%s is given the state %s, wanted a tuple", at[0], vs[0])
	}
	return built.setState(state)
}

// setState sets the state (version, shape, type, Fortran order, bytes) of an array.
func (a *Array) setState(s *list) error {
	if s.len() != 5 || !s.at(0).isInt() || s.at(0).n != 1 {
		return fmt.Errorf("an array has a state of %s, wanted version 1 of 5 parts", count.Of(s.len(), "part"))
	}
	fortran, ok := s.at(3).truth()
	if !ok {
		return fmt.Errorf("the order of an array is %s, wanted a truth value", s.at(3))
	}
	return a.set(s.at(1), s.at(2), s.at(4), fortran)
}

// fromBuffer makes an array of its bytes, type, shape and order: how NumPy writes protocol 5.
func (m *machine) fromBuffer(args *list) error {
	if args.len() < 4 {
		return fmt.Errorf("numpy.core.numeric._frombuffer is called with %s, wanted 4", count.Of(args.len(), "argument"))
	}
	order, _ := args.at(3).characters()
	if o := string(order); args.len() > 4 || o != "C" && o != "F" {
		return fmt.Errorf("the axes of an array are stored in the order %s, and 'C' and 'F' are read", quoted(o))
	}
	a := &Array{}
	if err := a.set(args.at(2), args.at(1), args.at(0), string(order) == "F"); err != nil {
		return err
	}
	return m.push(a)
}

// scalar is the call by which an integer of NumPy is written: its type and its bytes.
func (m *machine) scalar(args *list) error {
	var a Array
	if args.len() != 2 {
		return fmt.Errorf("numpy.core.multiarray.scalar is called with %s, wanted 2", count.Of(args.len(), "argument"))
	}
	if err := a.set(value{ref: &list{tuple: true}}, args.at(0), args.at(1), false); err != nil {
		return err
	}
	ints, err := a.ints()
	if err != nil {
		return err
	}
	return m.pushInt(ints[0])
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
func (a *Array) set(shape, typ, contents value, fortran bool) error {
	t, is := typ.ref.(*dtype)
	if !is {
		return fmt.Errorf("the type of an array is %s, wanted a type of NumPy", typ)
	}
	name, err := t.name()
	if err != nil {
		return err
	}
	s, is := shape.ref.(*list)
	if !is || !s.tuple || s.len() != len(s.ints) || s.len() > maxAxes {
		return fmt.Errorf("the shape of an array is %s, wanted a tuple of at most %d integers", shape, maxAxes)
	}
	b, is := contents.ref.(data)
	if !is {
		return fmt.Errorf("the contents of an array are %s, wanted bytes", contents)
	}
	extents, need := make([]int, len(s.ints)), int64(t.size)
	if slices.Contains(s.ints, 0) {
		need = 0
	}
	fits := true
	for i, n := range s.ints {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("the shape %v of an array has %d, wanted 0 to %d", s.ints, n, math.MaxInt32)
		}
		extents[i] = int(n)
		if fits = fits && need <= int64(len(b))/max(n, 1); fits {
			need *= n
		}
	}
	if !fits || need != int64(len(b)) {
		return fmt.Errorf("an array of %s has %s, which do not fit its shape", (&Array{DType: name, Shape: extents}).String(), count.Of(len(b), "byte"))
	}
	*a = Array{Shape: extents, DType: name, Fortran: fortran && len(extents) > 1, Data: b}
	return nil
}
