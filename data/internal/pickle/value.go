package pickle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ocl/internal/count"
	"ocl/internal/limit"
)

// A value of a pickle is one of these, or an int64, a bool, a text or bytes as []byte, an array, a dtype or a global of
// NumPy.
type (
	none   struct{}
	stored struct{ at, n int64 } // bytes that are left in the file
	list   struct{ items []any }
	tuple  []any
	dict   struct {
		keys   []string // in the order of the file
		values map[string]any
	}
)

// describe says what a value is, for messages. It shows nothing that the file chose.
func describe(v any) string {
	switch v := v.(type) {
	case none:
		return "None"
	case int64:
		return fmt.Sprintf("the integer %d", v)
	case bool:
		return "a truth value"
	case []byte:
		return "a string of " + count.Of(len(v), "byte")
	case stored:
		return "a string of " + count.Of(v.n, "byte")
	case tuple:
		return fmt.Sprintf("a tuple of %d", len(v))
	case *list:
		return fmt.Sprintf("a list of %d", len(v.items))
	case *dict:
		return fmt.Sprintf("a dictionary of %d", len(v.keys))
	case *array:
		return "an array of " + v.String()
	case dtype:
		return "a type of NumPy"
	case global:
		return string(v)
	}
	return "nothing"
}

// text is a string, "" of other values. A str of Python 2 that is no UTF-8 is taken for Latin-1.
func text(v any) string {
	b, _ := v.([]byte)
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// quoted is a text of the file as messages show it: in single quotes as Python writes it, cut, without control
// characters.
func quoted(s string) string {
	const most = 40 // bytes
	cut := ""
	if len(s) > most {
		s, cut = strings.ToValidUTF8(s[:most], ""), "…"
	}
	if !strings.ContainsFunc(s, func(r rune) bool {
		return r == utf8.RuneError || r == '\'' || r == '\\' ||
			!unicode.IsPrint(r)
	}) {
		return "'" + s + cut + "'"
	}
	return strconv.Quote(s + cut)
}

// place is what stands at one place of a pickle. Its methods fail for anything else than they want, and say where it
// is, what it is and what was wanted.
type place struct {
	path string // as Python writes it behind the file's value, such as ['ni'][0]
	v    any
	file io.ReaderAt
}

// wrong fails for a value that is not what is wanted.
func (p place) wrong(want string) { p.fail("found %s, wanted %s", describe(p.v), want) }

func (p place) fail(format string, args ...any) {
	path := p.path
	if path == "" {
		path = "the pickle"
	}
	fail("%s: %w", path, fmt.Errorf(format, args...))
}

func (p place) below(index string, v any) place {
	p.path, p.v = p.path+"["+index+"]", v
	return p
}

// keys are those of a dictionary.
func (p place) keys() []string {
	d, is := p.v.(*dict)
	if !is {
		p.wrong("a dictionary")
	}
	return d.keys
}

// key is the value under a key of a dictionary.
func (p place) key(name string) place {
	keys := p.keys()
	v, found := p.v.(*dict).values[name]
	if !found {
		has := "an empty dictionary"
		if len(keys) > 0 {
			has = "a dictionary of " + firstKeys(keys)
		}
		p.fail("found %s, wanted %s in it", has, quoted(name))
	}
	return p.below(quoted(name), v)
}

// firstKeys lists the first keys of a dictionary, for messages.
func firstKeys(keys []string) string {
	names := make([]string, len(keys))
	for i, k := range keys[:min(5, len(keys))] { // no more are listed
		names[i] = quoted(k)
	}
	return count.Some(names)
}

// ints are the integers of a list or of an array with one axis, each in [0, end).
func (p place) ints(end int) (ints []int64) {
	switch v := p.v.(type) {
	case *list:
		for i, x := range v.items {
			n, is := x.(int64)
			if !is {
				p.below(fmt.Sprint(i), x).wrong("an integer")
			}
			ints = append(ints, n)
		}
	case *array:
		b, is := v.data.([]byte)
		if !is || len(v.shape) != 1 {
			p.wrong("an array with one axis of less than " + count.Of(large, "byte"))
		}
		for x := range slices.Chunk(b, v.width()) {
			var word [8]byte
			copy(word[:], x)
			n := int64(binary.LittleEndian.Uint64(word[:]))
			if unused := 64 - 8*v.width(); v.dtype[0] == 'i' {
				n = n << unused >> unused
			}
			ints = append(ints, n)
		}
	default:
		p.wrong("a list or an array of integers")
	}
	for i, n := range ints {
		if n < 0 || n >= int64(end) {
			p.below(fmt.Sprint(i), nil).fail("found %d, wanted 0 to %d", n, end-1)
		}
	}
	return ints
}

// texts are the n texts of a list.
func (p place) texts(n int) []string {
	l, is := p.v.(*list)
	if !is {
		p.wrong("a list of texts")
	}
	if len(l.items) != n {
		p.fail("found %s, wanted %s", count.Of(len(l.items), "text"), count.Number(n))
	}
	out := make([]string, n)
	for i, x := range l.items {
		if b, is := x.([]byte); !is || len(b) > limit.PickleText {
			p.below(fmt.Sprint(i), x).wrong(fmt.Sprintf("a text of at most %d bytes", limit.PickleText))
		}
		out[i] = text(x)
	}
	return out
}

// images are the bytes of an array of uint8 whose first axis counts images and whose others are those given, the last
// one fastest. They are read from the file when they are asked for.
func (p place) images(shape ...int) (n int, pixels *io.SectionReader) {
	a, is := p.v.(*array)
	if !is || a.dtype != "u1" || a.fortran || len(a.shape) == 0 || !slices.Equal(a.shape[1:], shape) {
		p.wrong("an array of uint8 [N," + strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ","), "["))
	}
	switch d := a.data.(type) {
	case stored:
		pixels = io.NewSectionReader(p.file, d.at, d.n)
	case []byte:
		pixels = io.NewSectionReader(bytes.NewReader(d), 0, int64(len(d)))
	}
	return a.shape[0], pixels
}
