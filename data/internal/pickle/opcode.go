package pickle

import (
	"fmt"

	"ocl/internal/count"
)

const opStop = '.'

// operations are the instructions of protocols 2 to 5 that data sets are made of, with their names in Python's pickletools.
// All others are refused: floats, sets, objects of classes, what lies outside the file, and the lines of text of protocol 0.
var operations = [256]func(*machine) error{
	0x80: proto, // PROTO
	0x95: frame, // FRAME
	'(':  mark,  // MARK

	'N':  constant(none{}), // NONE
	0x88: constant(true),   // NEWTRUE
	0x89: constant(false),  // NEWFALSE
	'K':  unsigned(1),      // BININT1
	'M':  unsigned(2),      // BININT2
	'J':  binint,           // BININT
	0x8a: long,             // LONG1

	'T':  behindLength(4), // BINSTRING
	'U':  behindLength(1), // SHORT_BINSTRING
	'B':  behindLength(4), // BINBYTES
	'C':  behindLength(1), // SHORT_BINBYTES
	0x8e: behindLength(8), // BINBYTES8
	0x96: behindLength(8), // BYTEARRAY8
	'X':  behindLength(4), // BINUNICODE
	0x8c: behindLength(1), // SHORT_BINUNICODE
	0x8d: behindLength(8), // BINUNICODE8

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
func frame(m *machine) error {
	n, err := m.number(8)
	if left := uint64(m.size - m.at); err == nil && n > left {
		err = fmt.Errorf("a frame has %s, but %d are left; the file is cut off", count.Of(n, "byte"), left)
	}
	return err
}

func mark(m *machine) error {
	if len(m.marks) >= maxStack {
		return fmt.Errorf("%d marks are open, which is the limit", maxStack)
	}
	m.marks = append(m.marks, len(m.stack))
	return nil
}

func constant(ref any) func(*machine) error {
	return func(m *machine) error { return m.push(ref) }
}

func unsigned(width int) func(*machine) error {
	return byNumber(width, func(m *machine, n uint64) error { return m.pushInt(int64(n)) })
}

func binint(m *machine) error {
	n, err := m.number(4)
	if err != nil {
		return err
	}
	return m.pushInt(int64(int32(n)))
}

// long reads an integer in two's complement behind its length.
func long(m *machine) error {
	size, err := m.number(1)
	if err != nil {
		return err
	}
	if size > 8 {
		return fmt.Errorf("an integer has %s, and 8 is the limit", count.Of(size, "byte"))
	}
	n, err := m.number(int(size))
	if err != nil {
		return err
	}
	unused := 64 - 8*size // bits above the sign, none for 8 bytes
	return m.pushInt(int64(n<<unused) >> unused)
}

// behindLength reads bytes or a text behind their length, which has width bytes.
func behindLength(width int) func(*machine) error {
	return byNumber(width, func(m *machine, n uint64) error {
		b, err := m.take(n)
		if err != nil {
			return err
		}
		return m.push(b)
	})
}

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
	l.add(vs)
	return nil
}

func (m *machine) tuple(vs []value) error {
	t := &list{tuple: true}
	t.add(vs)
	return m.push(t)
}

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
