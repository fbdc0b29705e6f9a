package pickle

import (
	"fmt"
	"slices"

	"ocl/internal/count"
)

const opStop = '.'

// operations are the instructions of protocols 2 to 5 that data sets are made of, with their names in Python's pickletools.
// All others are refused: floats, sets, objects of classes, what lies outside the file, and the lines of text of protocol 0.
var operations = [256]func(*machine) error{
	0x80: proto,              // PROTO
	0x95: byNumber(8, frame), // FRAME
	'(':  mark,               // MARK

	'N':  constant(none{}),                                                                     // NONE
	0x88: constant(true),                                                                       // NEWTRUE
	0x89: constant(false),                                                                      // NEWFALSE
	'K':  byNumber(1, (*machine).pushInt),                                                      // BININT1
	'M':  byNumber(2, (*machine).pushInt),                                                      // BININT2
	'J':  byNumber(4, func(m *machine, n uint64) error { return m.pushInt(uint64(int32(n))) }), // BININT
	0x8a: byNumber(1, long),                                                                    // LONG1

	'T':  byNumber(4, pushBytes), // BINSTRING
	'U':  byNumber(1, pushBytes), // SHORT_BINSTRING
	'B':  byNumber(4, pushBytes), // BINBYTES
	'C':  byNumber(1, pushBytes), // SHORT_BINBYTES
	0x8e: byNumber(8, pushBytes), // BINBYTES8
	0x96: byNumber(8, pushBytes), // BYTEARRAY8
	'X':  byNumber(4, pushBytes), // BINUNICODE
	0x8c: byNumber(1, pushBytes), // SHORT_BINUNICODE
	0x8d: byNumber(8, pushBytes), // BINUNICODE8

	']':  func(m *machine) error { return m.push(&list{}) }, // EMPTY_LIST
	'a':  one((*machine).extend, 1),                         // APPEND
	'e':  marked((*machine).extend),                         // APPENDS
	')':  one((*machine).tuple, 0),                          // EMPTY_TUPLE
	0x85: one((*machine).tuple, 1),                          // TUPLE1
	0x86: one((*machine).tuple, 2),                          // TUPLE2
	0x87: one((*machine).tuple, 3),                          // TUPLE3
	't':  marked((*machine).tuple),                          // TUPLE
	'}':  func(m *machine) error { return m.push(&dict{}) }, // EMPTY_DICT
	's':  one((*machine).set, 2),                            // SETITEM
	'u':  marked((*machine).set),                            // SETITEMS

	'q':  byNumber(1, (*machine).put),                                  // BINPUT
	'r':  byNumber(4, (*machine).put),                                  // LONG_BINPUT
	0x94: func(m *machine) error { return m.put(uint64(len(m.memo))) }, // MEMOIZE
	'h':  byNumber(1, (*machine).get),                                  // BINGET
	'j':  byNumber(4, (*machine).get),                                  // LONG_BINGET
	'c':  namedGlobal,                                                  // GLOBAL
	0x93: one((*machine).stackGlobal, 2),                               // STACK_GLOBAL
	'R':  one((*machine).reduce, 2),                                    // REDUCE
	'b':  one((*machine).build, 1),                                     // BUILD
}

func proto(m *machine) error {
	n, err := m.byte()
	if err == nil && (n < 2 || n > 5) {
		err = fmt.Errorf("the pickle has protocol %d, and 2 to 5 are read", n)
	}
	return err
}

// frame reads the length of a frame. Frames tell a reader how much to fetch; this one has a buffer of its own.
func frame(m *machine, n uint64) error {
	if left := uint64(m.size - m.at); n > left {
		return fmt.Errorf("a frame has %s, but %d are left; the file is cut off", count.Of(n, "byte"), left)
	}
	return nil
}

func mark(m *machine) error {
	m.marks = append(m.marks, len(m.stack))
	return m.counted()
}

func constant(ref any) func(*machine) error {
	return func(m *machine) error { return m.push(ref) }
}

// long reads an integer of size bytes in two's complement.
func long(m *machine, size uint64) error {
	if size > 8 {
		return fmt.Errorf("an integer has %s, and 8 is the limit", count.Of(size, "byte"))
	}
	n, err := m.number(int(size))
	if err != nil {
		return err
	}
	unused := 64 - 8*size // bits above the sign, none for 8 bytes
	return m.pushInt(uint64(int64(n<<unused) >> unused))
}

// pushBytes reads n bytes, or a text of so many.
func pushBytes(m *machine, n uint64) error {
	b, err := m.take(n)
	if err != nil {
		return err
	}
	return m.push(b)
}

// byNumber does something with an unsigned number of width bytes that follows.
func byNumber(width int, do func(*machine, uint64) error) func(*machine) error {
	return func(m *machine) error {
		n, err := m.number(width)
		if err != nil {
			return err
		}
		return do(m, n)
	}
}

// one does something with the n values on top of the stack, and marked with those above the last mark.
func one(do func(*machine, []value) error, n int) func(*machine) error {
	return func(m *machine) error {
		vs, err := m.pop(n)
		if err != nil {
			return err
		}
		return do(m, vs)
	}
}

func marked(do func(*machine, []value) error) func(*machine) error {
	return func(m *machine) error {
		vs, err := m.popMark()
		if err != nil {
			return err
		}
		return do(m, vs)
	}
}

// extend appends values to the list on top of the stack.
func (m *machine) extend(vs []value) error {
	at, err := m.top(1)
	if err != nil {
		return err
	}
	l, is := at[0].ref.(*list)
	if !is || l.tuple {
		return fmt.Errorf("values are appended to %s, wanted a list; the pickle is damaged", at[0])
	}
	l.items = append(l.items, vs...)
	return nil
}

func (m *machine) tuple(vs []value) error { return m.push(&list{items: slices.Clone(vs), tuple: true}) }

// set adds entries to the dictionary on top of the stack.
func (m *machine) set(kvs []value) error {
	at, err := m.top(1)
	if err != nil {
		return err
	}
	d, is := at[0].ref.(*dict)
	if !is {
		return fmt.Errorf("entries are added to %s, wanted a dictionary; the pickle is damaged", at[0])
	}
	return d.add(kvs)
}
