package pickle

import (
	"fmt"
	"strings"

	"ocl/internal/count"
)

// Value is what stands at one place of a pickle. Its methods say of anything else than they want where it is, what it is
// and what was wanted.
type Value struct {
	path string // as Python writes it behind the file's value, such as ['ni'][0]
	v    value
	size int64 // bytes of the file
}

// wrong is the error of a value that is not what is wanted.
func (v Value) wrong(want string) error { return v.errorf("found %s, wanted %s", v.v, want) }

func (v Value) errorf(format string, args ...any) error {
	path := v.path
	if path == "" {
		path = "the pickle"
	}
	return fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...))
}

func (v Value) below(index string, x value) Value {
	return Value{path: v.path + "[" + index + "]", v: x, size: v.size}
}

// Keys are the keys of a dictionary of texts, in the order of the file.
func (v Value) Keys() ([]string, error) {
	d, is := v.v.ref.(*dict)
	if !is {
		return nil, v.wrong("a dictionary")
	}
	keys := make([]string, len(d.entries))
	for i, e := range d.entries {
		if !e.key.isText {
			return nil, v.errorf("found the key %s, wanted texts", e.key)
		}
		keys[i] = e.key.text
	}
	return keys, nil
}

// Key is the value under a text in a dictionary. A str of Python 2 is found by its text.
func (v Value) Key(name string) (Value, error) {
	x, found, err := v.find(key{text: name, isText: true})
	if err == nil && !found {
		err = v.errorf("found %s, wanted %s in it", keysOf(v.v.ref.(*dict)), quoted(name))
	}
	return x, err
}

// Has says whether the value is a dictionary with a text as a key.
func (v Value) Has(name string) bool {
	_, found, err := v.find(key{text: name, isText: true})
	return err == nil && found
}

func (v Value) find(k key) (x Value, found bool, err error) {
	d, is := v.v.ref.(*dict)
	if !is {
		return Value{}, false, v.wrong("a dictionary")
	}
	i, found := d.index[k]
	if !found {
		return Value{}, false, nil
	}
	return v.below(k.String(), d.entries[i].value), true, nil
}

// keysOf lists the first keys of a dictionary, for messages.
func keysOf(d *dict) string {
	const most = 8
	if len(d.entries) == 0 {
		return "an empty dictionary"
	}
	var names []string
	for _, e := range d.entries[:min(most, len(d.entries))] {
		names = append(names, e.key.String())
	}
	if len(d.entries) > most {
		names = append(names, "…")
	}
	return "a dictionary of " + strings.Join(names, ", ")
}

// Len is the number of values in a list or tuple.
func (v Value) Len() (int, error) {
	l, is := v.v.ref.(*list)
	if !is {
		return 0, v.wrong("a list")
	}
	return l.len(), nil
}

// Item is value i of a list or tuple.
func (v Value) Item(i int) (Value, error) {
	n, err := v.Len()
	if err != nil {
		return Value{}, err
	}
	if i < 0 || i >= n {
		return Value{}, v.errorf("found %s, wanted number %d in it", v.v, i)
	}
	return v.below(fmt.Sprint(i), v.v.ref.(*list).at(i)), nil
}

// Ints are the integers of a list or of an array with one axis. The caller must not change them: a list that is used
// twice in the file is there once.
func (v Value) Ints() ([]int64, error) {
	switch r := v.v.ref.(type) {
	case *list:
		for i, x := range r.items {
			if !x.isInt() {
				return nil, v.below(fmt.Sprint(i), x).wrong("an integer")
			}
		}
		if len(r.items) == 0 {
			return r.ints, nil
		}
	case *Array:
		if len(r.Shape) == 1 {
			ints, err := r.ints()
			if err != nil {
				err = v.errorf("%w", err)
			}
			return ints, err
		}
	}
	return nil, v.wrong("a list or an array of integers")
}

// Text is a text. A str of Python 2 that is no UTF-8 is taken for Latin-1.
func (v Value) Text() (string, error) {
	b, is := v.v.characters()
	if !is {
		return "", v.wrong("a text")
	}
	return utf8Of(b), nil
}

// Texts are the texts of a list, read as Text does. A list that names one long text many times, so that its texts are
// longer than the file, is refused.
func (v Value) Texts() ([]string, error) {
	n, err := v.Len()
	if err != nil {
		return nil, v.wrong("a list of texts")
	}
	l, total := v.v.ref.(*list), int64(0)
	out := make([]string, n)
	for i := range out {
		b, is := l.at(i).characters()
		if !is {
			return nil, v.below(fmt.Sprint(i), l.at(i)).wrong("a text")
		}
		if total += int64(len(b)); total > v.size {
			return nil, v.errorf("found texts that are longer than the file (%s)", count.Of(v.size, "byte"))
		}
		out[i] = utf8Of(b)
	}
	return out, nil
}

// Array is an array of any type and shape.
func (v Value) Array() (*Array, error) {
	a, is := v.v.ref.(*Array)
	if !is {
		return nil, v.wrong("an array")
	}
	return a, nil
}

// images are the bytes of an array of uint8 whose first axis counts images and whose others are those given, the last one
// fastest.
func (v Value) images(shape ...int) (count int, pixels []byte, err error) {
	want := "an array of uint8 [N"
	for _, n := range shape {
		want += fmt.Sprintf(",%d", n)
	}
	a, is := v.v.ref.(*Array)
	if !is || a.DType != "|u1" || a.Fortran || len(a.Shape) != 1+len(shape) {
		return 0, nil, v.wrong(want + "]")
	}
	for i, n := range shape {
		if a.Shape[1+i] != n {
			return 0, nil, v.wrong(want + "]")
		}
	}
	return a.Shape[0], a.Data, nil
}
