package pickle

import (
	"errors"
	"fmt"
	"io"

	"ocl/internal/count"
)

// Limits far above what the files of data sets need. Below them memory is in proportion to the file's size; with them it
// is bounded where a hostile file is as large as an honest one.
const (
	maxStack  = 1 << 24 // values that wait on the stack; Python's writer leaves about a thousand there
	maxValues = 1 << 25 // values of all kinds but integers, which are 64 MB and more of a file
	maxDepth  = 32      // lists and dictionaries within each other
)

// Read reads the pickle of protocol 0 to 5 that fills r, which has size bytes. It executes nothing. Besides what the file
// holds it allocates in proportion to the number of values, so a file that is one large array takes its size once. Arrays
// of protocol 0, and those that Python 3 wrote in protocols 1 and 2, are texts in the file and take several times as much.
func Read(r io.Reader, size int64) (Value, error) { return read(newInput(r, size)) }

// View reads a pickle as [Read] does that is in memory or mapped there. Its arrays and texts are views of b, which nobody
// changes, except those that have to be decoded. Of a large array nothing is read.
func View(b []byte) (Value, error) { return read(input{whole: b, size: int64(len(b))}) }

func read(in input) (Value, error) {
	m := machine{input: in}
	root, err := m.run()
	if err != nil {
		return Value{}, err
	}
	if err := finite(root, 0); err != nil {
		return Value{}, err
	}
	return Value{v: root, size: in.size}, nil
}

// machine is the state of a pickle that is being read.
type machine struct {
	input
	stack   []value
	marks   []int // where on the stack each mark stands, the last on top
	memo    []value
	values  int   // pushed so far, integers apart
	encoded int64 // bytes that calls of _codecs.encode made so far
}

// run reads instructions up to STOP and returns the value they leave.
func (m *machine) run() (value, error) {
	for {
		at := m.at
		b, err := m.byte()
		op := &opcodes[b]
		switch {
		case err != nil:
		case b == opStop:
			return m.result()
		case op.do != nil:
			err = op.do(m)
		case op.name != "":
			err = refused("has " + op.refused + " (" + op.name + ")")
		default:
			err = fmt.Errorf("0x%02x is no instruction of a pickle", b)
		}
		if err != nil {
			return value{}, fmt.Errorf("byte %d: %w", at, err)
		}
	}
}

// result is the one value on the stack when the file ends.
func (m *machine) result() (value, error) {
	if m.at != m.size {
		return value{}, fmt.Errorf("the pickle ends after byte %d, but the file has %s", m.at, count.Of(m.size, "byte"))
	}
	if len(m.stack) != 1 || len(m.marks) != 0 {
		return value{}, fmt.Errorf("the pickle leaves %s and %d open marks, wanted one value", count.Of(len(m.stack), "value"), len(m.marks))
	}
	return m.stack[0], nil
}

// refused is the error of something that Python would do and this package does not.
func refused(does string) error {
	return fmt.Errorf("the pickle %s, which is not read: data sets are dictionaries, lists, texts, integers and NumPy arrays", does)
}

// push puts a value on the stack that is no integer.
func (m *machine) push(ref any) error {
	if m.values++; m.values > maxValues {
		return fmt.Errorf("the pickle has more than %d values besides integers, which is the limit", maxValues)
	}
	return m.pushValue(value{ref: ref})
}

func (m *machine) pushInt(n int64) error { return m.pushValue(value{ref: integer{}, n: n}) }

func (m *machine) pushValue(v value) error {
	if len(m.stack) >= maxStack {
		return fmt.Errorf("%d values wait on the stack, which is the limit", maxStack)
	}
	m.stack = append(m.stack, v)
	return nil
}

// top returns the n values on top of the stack, above the last mark. They are valid until the next push.
func (m *machine) top(n int) ([]value, error) {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	if have := len(m.stack) - floor; have < n {
		return nil, fmt.Errorf("found %d of %s; the pickle is damaged", have, count.Of(n, "value"))
	}
	return m.stack[len(m.stack)-n:], nil
}

// pop takes the n values on top of the stack away. They are valid until the next push.
func (m *machine) pop(n int) ([]value, error) {
	vs, err := m.top(n)
	if err == nil {
		m.stack = m.stack[:len(m.stack)-n]
	}
	return vs, err
}

// popMark takes away the last mark and the values above it. They are valid until the next push.
func (m *machine) popMark() ([]value, error) {
	if len(m.marks) == 0 {
		return nil, errors.New("a mark is needed and none is there; the pickle is damaged")
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	vs := m.stack[at:]
	m.stack = m.stack[:at]
	return vs, nil
}

// put remembers the value on top of the stack under a number. Python numbers in the order of the values, from 0 or 1, so
// a number far beyond is refused before anything is made for it.
func (m *machine) put(n uint64) error {
	vs, err := m.top(1)
	if err != nil {
		return err
	}
	if n > uint64(len(m.memo))+1 {
		return fmt.Errorf("memo %d comes after %d others; the pickle is damaged", n, len(m.memo))
	}
	if m.values++; m.values > maxValues {
		return fmt.Errorf("the pickle has more than %d values besides integers, which is the limit", maxValues)
	}
	for uint64(len(m.memo)) <= n {
		m.memo = append(m.memo, value{})
	}
	m.memo[n] = vs[0]
	return nil
}

// get pushes the value that was remembered under a number.
func (m *machine) get(n uint64) error {
	if n >= uint64(len(m.memo)) || m.memo[n].ref == nil {
		return fmt.Errorf("memo %d is used and was never made; the pickle is damaged", n)
	}
	v := m.memo[n]
	if v.isInt() {
		return m.pushInt(v.n)
	}
	return m.push(v.ref)
}
