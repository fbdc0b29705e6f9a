package pickle

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"ocl/internal/count"
)

// opcode is an instruction: its name in Python's pickletools, and what it does, or how messages call what is refused.
type opcode struct {
	name    string
	do      func(*machine) error
	refused string
}

const opStop = '.'

// opcodes are the instructions of protocols 0 to 5. Those without do are refused by name; the writer of Python uses them
// for nothing that a data set holds.
var opcodes = [256]opcode{
	opStop: {name: "STOP"}, // ends the loop of run
	0x80:   {name: "PROTO", do: proto},
	0x95:   {name: "FRAME", do: frame},
	'(':    {name: "MARK", do: mark},

	'N':  {name: "NONE", do: constant(none{})},
	0x88: {name: "NEWTRUE", do: constant(true)},
	0x89: {name: "NEWFALSE", do: constant(false)},
	'I':  {name: "INT", do: decimal},
	'L':  {name: "LONG", do: decimal},
	'K':  {name: "BININT1", do: unsigned(1)},
	'M':  {name: "BININT2", do: unsigned(2)},
	'J':  {name: "BININT", do: binint},
	0x8a: {name: "LONG1", do: long(1)},
	0x8b: {name: "LONG4", do: long(4)},

	'S':  {name: "STRING", do: quotedString},
	'T':  {name: "BINSTRING", do: counted(4)},
	'U':  {name: "SHORT_BINSTRING", do: counted(1)},
	'B':  {name: "BINBYTES", do: counted(4)},
	'C':  {name: "SHORT_BINBYTES", do: counted(1)},
	0x8e: {name: "BINBYTES8", do: counted(8)},
	0x96: {name: "BYTEARRAY8", do: counted(8)},
	'V':  {name: "UNICODE", do: escapedText},
	'X':  {name: "BINUNICODE", do: countedText(4)},
	0x8c: {name: "SHORT_BINUNICODE", do: countedText(1)},
	0x8d: {name: "BINUNICODE8", do: countedText(8)},

	']':  {name: "EMPTY_LIST", do: func(m *machine) error { return m.push(&list{}) }},
	'l':  {name: "LIST", do: newList},
	'a':  {name: "APPEND", do: appendOne},
	'e':  {name: "APPENDS", do: appendAll},
	')':  {name: "EMPTY_TUPLE", do: tuple(0)},
	0x85: {name: "TUPLE1", do: tuple(1)},
	0x86: {name: "TUPLE2", do: tuple(2)},
	0x87: {name: "TUPLE3", do: tuple(3)},
	't':  {name: "TUPLE", do: markedTuple},
	'}':  {name: "EMPTY_DICT", do: func(m *machine) error { return m.push(&dict{}) }},
	'd':  {name: "DICT", do: newDict},
	's':  {name: "SETITEM", do: setOne},
	'u':  {name: "SETITEMS", do: setAll},

	'p':  {name: "PUT", do: byLine((*machine).put)},
	'q':  {name: "BINPUT", do: byNumber(1, (*machine).put)},
	'r':  {name: "LONG_BINPUT", do: byNumber(4, (*machine).put)},
	0x94: {name: "MEMOIZE", do: func(m *machine) error { return m.put(uint64(len(m.memo))) }},
	'g':  {name: "GET", do: byLine((*machine).get)},
	'h':  {name: "BINGET", do: byNumber(1, (*machine).get)},
	'j':  {name: "LONG_BINGET", do: byNumber(4, (*machine).get)},

	'c':  {name: "GLOBAL", do: namedGlobal},
	0x93: {name: "STACK_GLOBAL", do: stackGlobal},
	'i':  {name: "INST", do: inst},
	'R':  {name: "REDUCE", do: reduce},
	'b':  {name: "BUILD", do: build},

	'F':  {name: "FLOAT", refused: "a number with a fraction"},
	'G':  {name: "BINFLOAT", refused: "a number with a fraction"},
	'0':  {name: "POP", refused: "a tuple that holds itself"},
	'1':  {name: "POP_MARK", refused: "a tuple that holds itself"},
	'2':  {name: "DUP", refused: "a copy of the last value"},
	'P':  {name: "PERSID", refused: "a reference to something outside the file"},
	'Q':  {name: "BINPERSID", refused: "a reference to something outside the file"},
	'o':  {name: "OBJ", refused: "an object of a class"},
	0x81: {name: "NEWOBJ", refused: "an object of a class"},
	0x92: {name: "NEWOBJ_EX", refused: "an object of a class"},
	0x82: {name: "EXT1", refused: "a class from a registry of the program that wrote it"},
	0x83: {name: "EXT2", refused: "a class from a registry of the program that wrote it"},
	0x84: {name: "EXT4", refused: "a class from a registry of the program that wrote it"},
	0x8f: {name: "EMPTY_SET", refused: "a set"},
	0x90: {name: "ADDITEMS", refused: "a set"},
	0x91: {name: "FROZENSET", refused: "a set"},
	0x97: {name: "NEXT_BUFFER", refused: "an array that is stored outside the file"},
	0x98: {name: "READONLY_BUFFER", refused: "an array that is stored outside the file"},
}

func proto(m *machine) error {
	n, err := m.byte()
	if err == nil && n > 5 {
		err = fmt.Errorf("the pickle has protocol %d, and 0 to 5 are read", n)
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

// decimal reads INT, where 00 and 01 are the truth values of Python 2, and LONG, which ends in L.
func decimal(m *machine) error {
	line, err := m.line()
	if err != nil {
		return err
	}
	switch s := string(line[:min(len(line), 40)]); s { // no int64 is longer
	case "00":
		return m.push(false)
	case "01":
		return m.push(true)
	default:
		if n := len(s) - 1; n > 0 && s[n] == 'L' {
			s = s[:n]
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return fmt.Errorf("%s is no integer of 64 bits", quoted(s))
		}
		return m.pushInt(n)
	}
}

func unsigned(width int) func(*machine) error {
	return func(m *machine) error {
		n, err := m.number(width)
		if err != nil {
			return err
		}
		return m.pushInt(int64(n))
	}
}

func binint(m *machine) error {
	n, err := m.number(4)
	if err != nil {
		return err
	}
	return m.pushInt(int64(int32(n)))
}

// long reads an integer in two's complement behind its length, which has width bytes.
func long(width int) func(*machine) error {
	return func(m *machine) error {
		size, err := m.number(width)
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
}

// counted reads bytes behind their length, which has width bytes.
func counted(width int) func(*machine) error {
	return func(m *machine) error {
		b, err := m.behindLength(width)
		if err != nil {
			return err
		}
		return m.push(data(b))
	}
}

func countedText(width int) func(*machine) error {
	return func(m *machine) error {
		b, err := m.behindLength(width)
		if err != nil {
			return err
		}
		return m.pushText(b)
	}
}

func (m *machine) behindLength(width int) ([]byte, error) {
	n, err := m.number(width)
	if err != nil {
		return nil, err
	}
	return m.take(n)
}

func newList(m *machine) error {
	vs, err := m.popMark()
	if err != nil {
		return err
	}
	l := &list{}
	l.add(vs)
	return m.push(l)
}

func appendOne(m *machine) error {
	vs, err := m.pop(1)
	if err != nil {
		return err
	}
	return m.extend(vs)
}

func appendAll(m *machine) error {
	vs, err := m.popMark()
	if err != nil {
		return err
	}
	return m.extend(vs)
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

func tuple(n int) func(*machine) error {
	return func(m *machine) error {
		vs, err := m.pop(n)
		if err != nil {
			return err
		}
		return m.pushTuple(vs)
	}
}

func markedTuple(m *machine) error {
	vs, err := m.popMark()
	if err != nil {
		return err
	}
	return m.pushTuple(vs)
}

func (m *machine) pushTuple(vs []value) error {
	t := &list{tuple: true}
	t.add(vs)
	return m.push(t)
}

func newDict(m *machine) error {
	kvs, err := m.popMark()
	if err != nil {
		return err
	}
	d := &dict{}
	if err := d.add(kvs); err != nil {
		return err
	}
	return m.push(d)
}

func setOne(m *machine) error {
	kvs, err := m.pop(2)
	if err != nil {
		return err
	}
	return m.set(kvs)
}

func setAll(m *machine) error {
	kvs, err := m.popMark()
	if err != nil {
		return err
	}
	return m.set(kvs)
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

func byNumber(width int, do func(*machine, uint64) error) func(*machine) error {
	return func(m *machine) error {
		n, err := m.number(width)
		if err != nil {
			return err
		}
		return do(m, n)
	}
}

func byLine(do func(*machine, uint64) error) func(*machine) error {
	return func(m *machine) error {
		line, err := m.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(line[:min(len(line), 12)]), 10, 32)
		if err != nil {
			return errors.New("the number of a memo is none below " + strconv.FormatUint(math.MaxUint32, 10) + "; the pickle is damaged")
		}
		return do(m, n)
	}
}
