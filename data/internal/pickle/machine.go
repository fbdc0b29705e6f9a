// Package pickle reads the pickles that data sets are published as: CIFAR in its Python layout and the cache of Mini-ImageNet. A pickle
// is a program that Python runs. Nothing is run here: a small machine knows the instructions of protocols 2 to 5 that these files use and
// the calls by which NumPy writes arrays, makes plain values and arrays of them, and refuses everything else.
//
// The reader is our own, because github.com/nlpodyssey/gopickle (v0.2.0, 2023) allocates whatever length a file states, so 5 bytes take
// 2 GB, and boxes every number of a list.
//
// A file may be hostile. What is allocated is in proportion to its size, and a large array stays in the file.
//
// Errors say where in the file something is (`byte 57`, or `['data']` as Python writes it), what was found and what was wanted. They
// say nothing of a remedy: the caller knows the file's name and where to get it.
//
// Start with the file of a data set: cifar.go, miniimagenet.go.
package pickle

import (
	"errors"
	"fmt"
	"io"

	"ocl/internal/count"
)

// maxValues is how many values, marks and remembered values a pickle may have in all, so that a hostile file takes at most some hundred
// megabytes besides its own bytes. The published file with the most, CIFAR-100 for training, has some 200,000: labels and names of files.
const maxValues = 1 << 22

// read reads the pickle that fills r, which has size bytes. It executes nothing. Besides what the file holds it allocates
// in proportion to the number of values.
func read(r io.ReaderAt, size int64) (place, error) {
	m := machine{input: newInput(r, size)}
	root, err := m.run()
	return place{v: root, file: r, size: size}, err
}

// machine is the state of a pickle that is being read.
type machine struct {
	input
	stack  []value
	marks  []int // where on the stack each mark stands, the last on top
	memo   []value
	values int // so far: pushed, marked and remembered
}

// run reads instructions up to STOP and returns the value they leave.
func (m *machine) run() (value, error) {
	for {
		at := m.at
		op, err := m.byte()
		do := operations[op]
		switch {
		case err != nil:
		case op == opStop:
			return m.result()
		case do == nil:
			err = refused(fmt.Sprintf("has the instruction 0x%02x", op))
		default:
			err = do(m)
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

// refused returns the error for an operation that Python would do and this package does not.
func refused(does string) error {
	return fmt.Errorf("the pickle %s, which is not read: data sets are dictionaries, lists, texts, integers and NumPy arrays in protocol 2 or later", does)
}

// counted bounds the number of values.
func (m *machine) counted() error {
	if m.values++; m.values > maxValues {
		return fmt.Errorf("the pickle has more than %s values, which is the limit", count.Number(maxValues))
	}
	return nil
}

// push puts a value on the stack.
func (m *machine) push(ref any) error { return m.pushValue(value{ref: ref}) }

// pushInt puts an integer on the stack, whose bits are those of n.
func (m *machine) pushInt(n uint64) error { return m.pushValue(value{integer{}, int64(n)}) }

func (m *machine) pushValue(v value) error {
	m.stack = append(m.stack, v)
	return m.counted()
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

// popMark removes the last mark and returns the values above it. They are valid until the next push.
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
	for uint64(len(m.memo)) <= n {
		m.memo = append(m.memo, value{})
	}
	m.memo[n] = vs[0]
	return m.counted()
}

// get pushes the value that was remembered under a number.
func (m *machine) get(n uint64) error {
	if n >= uint64(len(m.memo)) || m.memo[n].ref == nil {
		return fmt.Errorf("memo %d is used and was never made; the pickle is damaged", n)
	}
	return m.pushValue(m.memo[n])
}
