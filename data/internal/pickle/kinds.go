package pickle

import (
	"errors"
	"fmt"
	"slices"

	"ocl/internal/count"
)

// value is what the machine computes with. ref is none, integer, bool, text, data, *list, *dict, *Array, *dtype or global;
// nil is no value. An integer is in n, so that a list of a million of them is not a million allocations.
type value struct {
	ref any
	n   int64
}

type (
	none    struct{}
	integer struct{}
	text    []byte // UTF-8
	data    []byte // bytes of Python 3, or a str of Python 2, which may be text
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
	case text:
		return "a text"
	case data:
		return fmt.Sprintf("a string of %s", count.Of(len(r), "byte"))
	case *list:
		if r.tuple {
			return fmt.Sprintf("a tuple of %d", r.len())
		}
		return fmt.Sprintf("a list of %d", r.len())
	case *dict:
		return fmt.Sprintf("a dictionary of %d", len(r.entries))
	case *Array:
		return "an array of " + r.String()
	case *dtype:
		return "a type of NumPy"
	case global:
		return string(r)
	}
	return "nothing"
}

// list is a list or a tuple. One of integers alone has them in ints; any other has items.
type list struct {
	ints  []int64
	items []value
	tuple bool
	walk  walk
}

func (l *list) len() int { return len(l.ints) + len(l.items) } // one of them is empty

func (l *list) at(i int) value {
	if l.items != nil {
		return l.items[i]
	}
	return value{ref: integer{}, n: l.ints[i]}
}

// add appends values.
func (l *list) add(vs []value) {
	for i, v := range vs {
		if l.items == nil && v.isInt() {
			l.ints = append(l.ints, v.n)
			continue
		}
		if l.items == nil {
			l.items = make([]value, 0, len(l.ints)+len(vs)-i)
			for _, n := range l.ints {
				l.items = append(l.items, value{ref: integer{}, n: n})
			}
			l.ints = nil
		}
		l.items = append(l.items, v)
	}
}

// dict is a dictionary, in the order of the file.
type dict struct {
	entries []entry
	index   map[key]int // where in entries
	walk    walk
}

type entry struct {
	key   key
	value value
}

// key is a text or an integer. A str of Python 2 and a text are the same key.
type key struct {
	text   string
	n      int64
	isText bool
}

// String is the key as Python writes it.
func (k key) String() string {
	if k.isText {
		return quoted(k.text)
	}
	return fmt.Sprint(k.n)
}

// maxKey bounds the length of a key in bytes: a file that uses one long text as the key of many dictionaries makes copies.
const maxKey = 256

// add adds entries; keys and values alternate in kvs.
func (d *dict) add(kvs []value) error {
	if len(kvs)%2 != 0 {
		return errors.New("a dictionary has a key without a value; the pickle is damaged")
	}
	for kv := range slices.Chunk(kvs, 2) {
		k, err := keyOf(kv[0])
		if err != nil {
			return err
		}
		if _, twice := d.index[k]; twice {
			return fmt.Errorf("a dictionary has the key %s twice", k)
		}
		if d.index == nil {
			d.index = map[key]int{}
		}
		d.index[k] = len(d.entries)
		d.entries = append(d.entries, entry{k, kv[1]})
	}
	return nil
}

func keyOf(v value) (key, error) {
	b, isText := v.characters()
	switch {
	case v.isInt():
		return key{n: v.n}, nil
	case !isText:
		return key{}, fmt.Errorf("the key of a dictionary is %s, wanted a text or an integer", v)
	case len(b) > maxKey:
		return key{}, fmt.Errorf("the key of a dictionary has %s, wanted at most %d", count.Of(len(b), "byte"), maxKey)
	}
	return key{text: utf8Of(b), isText: true}, nil
}

// characters are the bytes of a text or of a string of bytes.
func (v value) characters() ([]byte, bool) {
	switch r := v.ref.(type) {
	case text:
		return r, true
	case data:
		return r, true
	}
	return nil, false
}

// walk is how far finite has come with a list or a dictionary.
type walk uint8

const (
	unseen walk = iota
	within
	done
)

// finite refuses a value that holds itself, and one that is nested deeper than maxDepth. It visits each list once, however
// often it is used.
func finite(v value, depth int) error {
	var at *walk
	switch r := v.ref.(type) {
	case *list:
		at = &r.walk
	case *dict:
		at = &r.walk
	default:
		return nil
	}
	switch {
	case *at == done:
		return nil
	case *at == within:
		return fmt.Errorf("%s holds itself, which is not read", v)
	case depth >= maxDepth:
		return fmt.Errorf("lists and dictionaries are nested deeper than %d, which is not read", maxDepth)
	}
	*at = within
	switch r := v.ref.(type) {
	case *list:
		for _, x := range r.items {
			if err := finite(x, depth+1); err != nil {
				return err
			}
		}
	case *dict:
		for _, e := range r.entries {
			if err := finite(e.value, depth+1); err != nil {
				return err
			}
		}
	}
	*at = done
	return nil
}
