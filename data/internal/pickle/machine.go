// Package pickle reads the pickles that data sets are published as: CIFAR in its Python layout and the cache of
// Mini-ImageNet. A pickle is a program that Python runs. Nothing is run here: a small machine knows the instructions of
// protocols 2 to 5 that these files use and the calls by which NumPy writes arrays, makes plain values and arrays of
// them, and refuses everything else.
//
// The reader is our own, because github.com/nlpodyssey/gopickle (v0.2.0, 2023) allocates whatever length a file states,
// so 5 bytes take 2 GB.
//
// A file may be hostile. What is allocated is in proportion to its size, and a large array stays in the file.
//
// Errors say where in the file something is (`byte 57`, or `['data']` as Python writes it), what was found and what was
// wanted. They say nothing of a remedy: the caller knows the file's name and where to get it.
//
// Inside the package an error is a panic with a [fault], which the functions of datasets.go and [read] return as an
// error. Start with datasets.go.
package pickle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"ocl/internal/count"
	"ocl/internal/limit"
)

const (
	// large is how long the bytes of a value are that are left in the file.
	large = 1 << 20
)

// fault is an error on its way to the function that returns it.
type fault struct{ error }

func fail(format string, args ...any) { panic(fault{fmt.Errorf(format, args...)}) }

// refuse fails for an operation that Python would do and this package does not.
func refuse(format string, args ...any) {
	fail("the pickle %s, which is not read: data sets are dictionaries, lists, texts, integers and NumPy arrays in protocol 2 or later",
		fmt.Sprintf(format, args...))
}

// caught makes an error of a fault.
func caught(err *error) {
	switch v := recover().(type) {
	case nil:
	case fault:
		*err = v.error
	default:
		panic(v)
	}
}

// machine is the state of a pickle that is being read. No length that the file states is allocated before it is
// compared with what is left.
type machine struct {
	file     io.ReaderAt
	r        *bufio.Reader // of the file from at on
	at, size int64         // bytes read; bytes of the file

	stack []any // see describe
	marks []int // where on the stack each mark stands, the last on top
	memo  []any
	held  int64 // bytes of texts in memory
}

// read reads the pickle that fills r, which has size bytes. It executes nothing. Besides what the file holds it
// allocates in proportion to the number of instructions, which is limited.
func read(r io.ReaderAt, size int64) (root place, err error) {
	m := &machine{file: r, size: size, r: bufio.NewReaderSize(nil, int(min(size, 1<<16)))}
	m.seek(0)
	begin := int64(0) // of the instruction
	defer func() {
		if err != nil {
			err = fmt.Errorf("byte %d: %w", begin, err)
		}
	}()
	defer caught(&err)
	for steps := 1; ; steps++ {
		begin = m.at
		if steps > limit.PickleSteps {
			fail("the pickle has more than %s instructions, which is the limit", count.Number(limit.PickleSteps))
		}
		op := byte(m.number(1))
		if op == '.' { // STOP
			return place{v: m.result(), file: r}, nil
		}
		m.do(op)
	}
}

// result is the one value on the stack when the file ends.
func (m *machine) result() any {
	if m.at != m.size {
		fail("the pickle ends after byte %d, but the file has %s", m.at, count.Of(m.size, "byte"))
	}
	if len(m.stack) != 1 || len(m.marks) != 0 {
		fail("the pickle leaves %s and %d open marks, wanted one value", count.Of(len(m.stack), "value"), len(m.marks))
	}
	return m.stack[0]
}

// do does an instruction of protocols 2 to 5 that data sets are made of; the names are those of Python's pickletools.
// All others are refused: floats, sets, objects of classes, what lies outside the file, and the lines of text of
// protocol 0.
func (m *machine) do(op byte) {
	switch op {
	case 0x80: // PROTO
		if n := m.number(1); n < 2 || n > 5 {
			fail("the pickle has protocol %d, and 2 to 5 are read", n)
		}
	case 0x95: // FRAME: how much a reader should fetch; this one has a buffer of its own
		if n, left := m.number(8), uint64(m.size-m.at); n > left {
			fail("a frame has %s, but %d are left; the file is cut off", count.Of(n, "byte"), left)
		}
	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
	case 'N': // NONE
		m.push(none{})
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		m.push(op == 0x88)
	case 'K': // BININT1
		m.push(int64(m.number(1)))
	case 'M': // BININT2
		m.push(int64(m.number(2)))
	case 'J': // BININT
		m.push(int64(int32(m.number(4))))
	case 0x8a: // LONG1, in two's complement
		n := m.number(1)
		if n > 8 {
			fail("an integer has %s, and 8 is the limit", count.Of(n, "byte"))
		}
		unused := 64 - 8*n // bits above the sign, none for 8 bytes
		m.push(int64(m.number(int(n))<<unused) >> unused)
	case 'U', 'C', 0x8c: // SHORT_BINSTRING, SHORT_BINBYTES, SHORT_BINUNICODE
		m.push(m.take(m.number(1)))
	case 'T', 'B', 'X': // BINSTRING, BINBYTES, BINUNICODE
		m.push(m.take(m.number(4)))
	case 0x8d, 0x8e, 0x96: // BINUNICODE8, BINBYTES8, BYTEARRAY8
		m.push(m.take(m.number(8)))
	case ']': // EMPTY_LIST
		m.push(&list{})
	case 'a': // APPEND
		m.extend(m.pop(1))
	case 'e': // APPENDS
		m.extend(m.popMark())
	case ')', 0x85, 0x86, 0x87: // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3
		m.push(tuple(slices.Clone(m.pop(max(0, int(op)-0x84)))))
	case 't': // TUPLE
		m.push(tuple(slices.Clone(m.popMark())))
	case '}': // EMPTY_DICT
		m.push(&dict{})
	case 's': // SETITEM
		m.set(m.pop(2))
	case 'u': // SETITEMS
		m.set(m.popMark())
	case 'q': // BINPUT
		m.put(m.number(1))
	case 'r': // LONG_BINPUT
		m.put(m.number(4))
	case 0x94: // MEMOIZE
		m.put(uint64(len(m.memo)))
	case 'h': // BINGET
		m.get(m.number(1))
	case 'j': // LONG_BINGET
		m.get(m.number(4))
	case 'c': // GLOBAL: two lines, a module and a name in it
		module := m.line()
		m.named(module, m.line())
	case 0x93: // STACK_GLOBAL
		vs := m.pop(2)
		module, is := vs[0].([]byte)
		name, alsoIs := vs[1].([]byte)
		if !is || !alsoIs {
			fail("something is called by %s and %s, wanted two texts; the pickle is damaged", describe(vs[0]), describe(vs[1]))
		}
		m.named(string(module), string(name))
	case 'R': // REDUCE
		m.reduce(m.pop(2))
	case 'b': // BUILD
		m.build(m.pop(1)[0])
	default:
		refuse("has the instruction 0x%02x", op)
	}
}

// seek goes on at a byte.
func (m *machine) seek(at int64) {
	m.at = at
	m.r.Reset(io.NewSectionReader(m.file, at, m.size-at))
}

// check fails for an error of reading, or because the file stops too early.
func check(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		fail("the file is cut off here")
	}
	if err != nil {
		panic(fault{err})
	}
}

// number reads an unsigned number of width bytes, 0 to 8, the lowest first.
func (m *machine) number(width int) (n uint64) {
	b, err := m.r.Peek(width)
	check(err)
	for i, x := range b {
		n |= uint64(x) << (8 * i)
	}
	_, err = m.r.Discard(width)
	check(err)
	m.at += int64(width)
	return n
}

// take reads n bytes, as []byte. Large ones stay in the file, and only their place is returned, as stored.
func (m *machine) take(n uint64) any {
	if left := m.size - m.at; n > uint64(left) {
		fail("a value has %s, but %d are left; the file is cut off", count.Of(n, "byte"), left)
	}
	if n >= large {
		s := stored{m.at, int64(n)}
		m.seek(s.at + s.n)
		return s
	}
	if m.held += int64(n); m.held > limit.PickleTexts {
		fail("the texts of the pickle have more than %s, which is the limit", count.Of(limit.PickleTexts, "byte"))
	}
	b := make([]byte, n)
	_, err := io.ReadFull(m.r, b)
	check(err)
	m.at += int64(n)
	return b
}

// line reads up to the next newline and returns what is before it.
func (m *machine) line() string {
	line, err := m.r.ReadSlice('\n')
	m.at += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		fail("a name is too long; the pickle is damaged")
	}
	check(err)
	return string(line[:len(line)-1])
}

// push puts a value on the stack.
func (m *machine) push(v any) {
	m.stack = append(m.stack, v)
}

// top returns the n values on top of the stack, above the last mark. They are valid until the next push.
func (m *machine) top(n int) []any {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	if have := len(m.stack) - floor; have < n {
		fail("found %d of %s; the pickle is damaged", have, count.Of(n, "value"))
	}
	return m.stack[len(m.stack)-n:]
}

// pop takes the n values on top of the stack away. They are valid until the next push.
func (m *machine) pop(n int) []any {
	vs := m.top(n)
	m.stack = m.stack[:len(m.stack)-n]
	return vs
}

// popMark removes the last mark and returns the values above it. They are valid until the next push.
func (m *machine) popMark() []any {
	last := len(m.marks) - 1
	if last < 0 {
		fail("a mark is needed and none is there; the pickle is damaged")
	}
	n := len(m.stack) - m.marks[last]
	m.marks = m.marks[:last]
	return m.pop(n)
}

// put remembers the value on top of the stack under a number. Python numbers in the order of the values, from 0 or 1,
// so a number far beyond is refused before anything is made for it.
func (m *machine) put(n uint64) {
	v := m.top(1)[0]
	if n > uint64(len(m.memo))+1 {
		fail("memo %d comes after %d others; the pickle is damaged", n, len(m.memo))
	}
	for uint64(len(m.memo)) <= n {
		m.memo = append(m.memo, nil)
	}
	m.memo[n] = v
}

// get pushes the value that was remembered under a number.
func (m *machine) get(n uint64) {
	if n >= uint64(len(m.memo)) || m.memo[n] == nil {
		fail("memo %d is used and was never made; the pickle is damaged", n)
	}
	m.push(m.memo[n])
}

// extend appends values to the list on top of the stack.
func (m *machine) extend(vs []any) {
	at := m.top(1)[0]
	l, is := at.(*list)
	if !is {
		fail("values are appended to %s, wanted a list; the pickle is damaged", describe(at))
	}
	l.items = append(l.items, vs...)
}

// set adds entries to the dictionary on top of the stack; keys and values alternate in kvs.
func (m *machine) set(kvs []any) {
	at := m.top(1)[0]
	d, is := at.(*dict)
	if !is {
		fail("entries are added to %s, wanted a dictionary; the pickle is damaged", describe(at))
	}
	if len(kvs)%2 != 0 {
		fail("a dictionary has a key without a value; the pickle is damaged")
	}
	for kv := range slices.Chunk(kvs, 2) {
		if b, is := kv[0].([]byte); !is || len(b) > limit.PickleText {
			fail("the key of a dictionary is %s, wanted a text of at most %d", describe(kv[0]), limit.PickleText)
		}
		k := text(kv[0])
		if _, twice := d.values[k]; twice {
			fail("a dictionary has the key %s twice", quoted(k))
		}
		if d.values == nil {
			d.values = map[string]any{}
		}
		d.keys, d.values[k] = append(d.keys, k), kv[1]
	}
}
