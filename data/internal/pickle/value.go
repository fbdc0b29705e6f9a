package pickle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ocl/internal/count"
)

// value is what the machine computes with. ref is none, integer, bool, data, stored, *list, *dict, *array, dtype or global;
// nil is no value. An integer is in n, so that a list of a million of them is not a million allocations.
type value struct {
	ref any
	n   int64
}

type (
	none    struct{}
	integer struct{}
	data    []byte                // a text, or bytes
	stored  struct{ at, n int64 } // bytes that are left in the file
)

func (v value) isInt() bool { _, is := v.ref.(integer); return is }

// String says what a value is, for messages. It shows nothing that the file chose.
func (v value) String() string {
	switch r := v.ref.(type) {
	case none:
		return "None"
	case integer:
		return fmt.Sprintf("the integer %d", v.n)
	case bool:
		return "a truth value"
	case data:
		return fmt.Sprintf("a string of %s", count.Of(len(r), "byte"))
	case stored:
		return fmt.Sprintf("a string of %s", count.Of(r.n, "byte"))
	case *list:
		if r.tuple {
			return fmt.Sprintf("a tuple of %d", len(r.items))
		}
		return fmt.Sprintf("a list of %d", len(r.items))
	case *dict:
		return fmt.Sprintf("a dictionary of %d", len(r.entries))
	case *array:
		return "an array of " + r.String()
	case dtype:
		return "a type of NumPy"
	case global:
		return string(r)
	}
	return "nothing"
}

// text is a string, "" of other values. A str of Python 2 that is no UTF-8 is taken for Latin-1.
func (v value) text() string {
	b, _ := v.ref.(data)
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// quoted is a text of the file as messages show it: in single quotes as Python writes it, cut, without control characters.
func quoted(s string) string {
	const most = 40 // bytes
	cut := ""
	if len(s) > most {
		s, cut = strings.ToValidUTF8(s[:most], ""), "…"
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || r == '\'' || r == '\\' || !unicode.IsPrint(r) }) {
		return "'" + s + cut + "'"
	}
	return strconv.Quote(s + cut)
}

// list is a list or a tuple.
type list struct {
	items []value
	tuple bool
}

// dict is a dictionary of texts, in the order of the file.
type dict struct {
	entries []entry
	index   map[string]int // where in entries
}

type entry struct {
	key   string
	value value
}

// maxKey bounds the length of a key in bytes: a file that uses one long text as the key of many dictionaries makes copies.
const maxKey = 256

// add adds entries; keys and values alternate in kvs.
func (d *dict) add(kvs []value) error {
	if len(kvs)%2 != 0 {
		return errors.New("a dictionary has a key without a value; the pickle is damaged")
	}
	for kv := range slices.Chunk(kvs, 2) {
		if b, is := kv[0].ref.(data); !is || len(b) > maxKey {
			return fmt.Errorf("the key of a dictionary is %s, wanted a text of at most %d", kv[0], maxKey)
		}
		k := kv[0].text()
		if _, twice := d.index[k]; twice {
			return fmt.Errorf("a dictionary has the key %s twice", quoted(k))
		}
		if d.index == nil {
			d.index = map[string]int{}
		}
		d.index[k] = len(d.entries)
		d.entries = append(d.entries, entry{k, kv[1]})
	}
	return nil
}

// place is what stands at one place of a pickle. Its methods say of anything else than they want where it is, what it is
// and what was wanted.
type place struct {
	path string // as Python writes it behind the file's value, such as ['ni'][0]
	v    value
	file io.ReaderAt
	size int64 // bytes of the file
}

// wrong is the error of a value that is not what is wanted.
func (p place) wrong(want string) error { return p.errorf("found %s, wanted %s", p.v, want) }

func (p place) errorf(format string, args ...any) error {
	path := p.path
	if path == "" {
		path = "the pickle"
	}
	return fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...))
}

func (p place) below(index string, x value) place {
	p.path, p.v = p.path+"["+index+"]", x
	return p
}

// dict is a dictionary.
func (p place) dict() (*dict, error) {
	d, is := p.v.ref.(*dict)
	if !is {
		return nil, p.wrong("a dictionary")
	}
	return d, nil
}

// key is the value under a key of a dictionary.
func (p place) key(name string) (place, error) {
	d, err := p.dict()
	if err != nil {
		return place{}, err
	}
	i, found := d.index[name]
	if !found {
		return place{}, p.errorf("found %s, wanted %s in it", keysOf(d), quoted(name))
	}
	return p.below(quoted(name), d.entries[i].value), nil
}

// keysOf lists the first keys of a dictionary, for messages.
func keysOf(d *dict) string {
	const most = 8
	if len(d.entries) == 0 {
		return "an empty dictionary"
	}
	var names []string
	for _, e := range d.entries[:min(most, len(d.entries))] {
		names = append(names, quoted(e.key))
	}
	if len(d.entries) > most {
		names = append(names, "…")
	}
	return "a dictionary of " + strings.Join(names, ", ")
}

// ints are the integers of a list or of an array with one axis, each in [0, end).
func (p place) ints(end int) (ints []int64, err error) {
	switch r := p.v.ref.(type) {
	case *list:
		for i, x := range r.items {
			if !x.isInt() {
				return nil, p.below(fmt.Sprint(i), x).wrong("an integer")
			}
			ints = append(ints, x.n)
		}
	case *array:
		if ints, err = r.ints(); err != nil {
			return nil, p.errorf("%w", err)
		}
	default:
		return nil, p.wrong("a list or an array of integers")
	}
	for i, n := range ints {
		if n < 0 || n >= int64(end) {
			return nil, p.below(fmt.Sprint(i), value{}).errorf("found %d, wanted 0 to %d", n, end-1)
		}
	}
	return ints, nil
}

// texts are the n texts of a list under a key. A list that names one long text many times, so that its texts are longer than
// the file, is refused.
func (p place) texts(key string, n int) ([]string, error) {
	p, err := p.key(key)
	if err != nil {
		return nil, err
	}
	l, is := p.v.ref.(*list)
	if !is {
		return nil, p.wrong("a list of texts")
	}
	if len(l.items) != n {
		return nil, p.errorf("found %s, wanted %s", count.Of(len(l.items), "text"), count.Number(n))
	}
	out, total := make([]string, n), int64(0)
	for i := range out {
		b, is := l.items[i].ref.(data)
		if !is {
			return nil, p.below(fmt.Sprint(i), l.items[i]).wrong("a text")
		}
		if total += int64(len(b)); total > p.size {
			return nil, p.errorf("found texts that are longer than the file (%s)", count.Of(p.size, "byte"))
		}
		out[i] = l.items[i].text()
	}
	return out, nil
}

// images are the bytes under a key of an array of uint8 whose first axis counts images and whose others are those given,
// the last one fastest. They are read from the file when they are asked for.
func (p place) images(key string, shape ...int) (count int, pixels *io.SectionReader, err error) {
	if p, err = p.key(key); err != nil {
		return 0, nil, err
	}
	a, is := p.v.ref.(*array)
	if !is || a.dtype != "u1" || a.fortran || len(a.shape) == 0 || !slices.Equal(a.shape[1:], shape) {
		return 0, nil, p.wrong("an array of uint8 [N," + strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ","), "["))
	}
	switch d := a.data.(type) {
	case stored:
		pixels = io.NewSectionReader(p.file, d.at, d.n)
	case data:
		pixels = io.NewSectionReader(bytes.NewReader(d), 0, int64(len(d)))
	}
	return a.shape[0], pixels, nil
}
