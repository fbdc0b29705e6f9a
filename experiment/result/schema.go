package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what one file may hold, so that a damaged one cannot ask for all memory.
const (
	maxValues = 1 << 23 // a file with the error analyses of 200 tasks by two classifiers holds 6 million
	maxFree   = 1 << 20 // bytes of an object whose keys are not of this schema, such as the config
)

// comparison compares a JSON text with the schema, the Go type [Result]: the keys of every object, and the type of
// every value. encoding/json alone accepts keys in any case, repeated keys, lists of any length and objects without
// keys, and does not say which element of a list is wrong.
type comparison struct {
	d       *json.Decoder
	path    []step
	keys    map[reflect.Type]map[string]key
	values  int
	most    int    // values
	unknown string // the first key that is not in the schema
	fault   error  // the first other one
}

// step is a key, or an index where the key is nil, on the way to a value.
type step struct {
	key   *string
	index int
}

// key is a field of a struct of the schema.
type key struct {
	of       reflect.Type
	optional bool
}

// compare returns the first key that the schema does not know, "" if there is none, and the first other fault. The text is
// valid JSON; at most so many of its values are looked at.
func compare(text []byte, most int) (unknown string, fault error) {
	c := comparison{d: json.NewDecoder(bytes.NewReader(text)), keys: map[reflect.Type]map[string]key{}, most: most}
	c.d.UseNumber()
	c.value(reflect.TypeFor[Result]())
	return c.unknown, c.fault
}

// free says that a value of type t is read by somebody else, or may be anything.
func free(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// value reads one value that should be of type t.
func (c *comparison) value(t reflect.Type) {
	if c.values++; c.values == c.most {
		c.wrong("the file has more than %d values, too many for one result", c.most)
	}
	if free(t) {
		var raw json.RawMessage
		if err := c.d.Decode(&raw); err != nil {
			c.wrong("%v", err)
		} else if len(raw) > maxFree {
			c.wrong("%s has %d bytes, but must have at most %d", c.at(), len(raw), maxFree)
		} else if t.Kind() == reflect.Struct && raw[0] != '{' {
			c.wrong("%s is %s, but must be an object", c.at(), cut(string(raw)))
		}
		return
	}
	token, err := c.d.Token()
	if err != nil {
		c.wrong("%v", err)
		return
	}
	optional := t.Kind() == reflect.Pointer
	if optional {
		t = t.Elem()
	}
	kind := t.Kind()
	switch v := token.(type) {
	case json.Delim:
		switch {
		case v == '{' && kind == reflect.Struct:
			c.object(t)
		case v == '{' && kind == reflect.Map:
			c.table(t)
		case v == '[' && (kind == reflect.Slice || kind == reflect.Array):
			c.list(t)
		default:
			c.wrong("%s is %s, but must be %s", c.at(), map[json.Delim]string{'{': "an object", '[': "a list"}[v], wanted(t))
			c.skip()
		}
	case nil:
		if !optional && kind != reflect.Slice && kind != reflect.Map {
			c.wrong("%s is null, but must be %s", c.at(), wanted(t))
		}
	case string:
		if kind != reflect.String {
			c.wrong("%s is the text %s, but must be %s", c.at(), cut(v), wanted(t))
		}
	case bool:
		if kind != reflect.Bool {
			c.wrong("%s is %v, but must be %s", c.at(), v, wanted(t))
		}
	case json.Number:
		switch {
		case t.Kind() == reflect.Float64:
			_, err = strconv.ParseFloat(string(v), 64)
		case t.ConvertibleTo(reflect.TypeFor[int64]()) && kind != reflect.String:
			_, err = strconv.ParseInt(string(v), 10, t.Bits())
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			c.wrong("%s is the number %s, but must be %s", c.at(), strings.Trim(cut(string(v)), `"`), wanted(t))
		}
	}
}

// object reads what follows the { of a struct.
func (c *comparison) object(t reflect.Type) {
	keys, seen := c.keysOf(t), map[string]bool{}
	c.each(func(name string) {
		k, ok := keys[name]
		switch {
		case !ok:
			if c.unknown == "" {
				c.unknown = c.at()
			}
			c.any()
			return
		case seen[name]:
			c.wrong("%s is given twice", c.at())
		}
		seen[name] = true
		c.value(k.of)
	})
	for name, k := range keys {
		if !seen[name] && !k.optional {
			c.missing(t, keys, seen)
			return
		}
	}
}

// missing names the first key of a struct that is not there and should be.
func (c *comparison) missing(t reflect.Type, keys map[string]key, seen map[string]bool) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !seen[name] && !keys[name].optional {
			c.path = append(c.path, step{key: &name})
			c.wrong("%s is missing (%s)", c.at(), wanted(f.Type))
			c.path = c.path[:len(c.path)-1]
			return
		}
	}
}

// table reads what follows the { of a map.
func (c *comparison) table(t reflect.Type) {
	seen := map[string]bool{}
	c.each(func(name string) {
		if seen[name] {
			c.wrong("%s is given twice", c.at())
		}
		seen[name] = true
		if t.Key().Kind() == reflect.Int {
			if n, err := strconv.Atoi(name); err != nil || strconv.Itoa(n) != name {
				c.wrong("%s: the key is %s, but must be a whole number", c.at(), cut(name))
			}
		}
		c.value(t.Elem())
	})
}

// list reads what follows the [ of a list.
func (c *comparison) list(t reflect.Type) {
	c.path = append(c.path, step{})
	n := 0
	for ; c.d.More(); n++ {
		c.path[len(c.path)-1].index = n
		c.value(t.Elem())
		if c.stopped() {
			return
		}
	}
	c.path = c.path[:len(c.path)-1]
	_, _ = c.d.Token() // the ] of a text that is valid
	if t.Kind() == reflect.Array && n != t.Len() {
		c.wrong("%s has %d values, but must have %d", c.at(), n, t.Len())
	}
}

// each calls f for each key of an object, which is to read its value, and reads the }.
func (c *comparison) each(f func(name string)) {
	c.path = append(c.path, step{})
	for c.d.More() {
		token, err := c.d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			c.wrong("%s has no key", c.at())
			return
		}
		c.path[len(c.path)-1].key = &name
		f(name)
		if c.stopped() {
			return
		}
	}
	c.path = c.path[:len(c.path)-1]
	_, _ = c.d.Token()
}

// stopped says that the file has too many values to go on.
func (c *comparison) stopped() bool { return c.values >= c.most }

// any reads a value of which nothing is wanted.
func (c *comparison) any() {
	var raw json.RawMessage
	if err := c.d.Decode(&raw); err != nil {
		c.wrong("%v", err)
	}
}

// skip reads up to the end of the object or list that was just opened.
func (c *comparison) skip() {
	for depth := 1; depth > 0; {
		token, err := c.d.Token()
		if err != nil {
			return
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// wrong keeps the first fault.
func (c *comparison) wrong(format string, a ...any) {
	if c.fault == nil {
		c.fault = fmt.Errorf(format, a...)
	}
}

// at is where the comparison is: stream.tasks[3].train. Keys that are not plain words are quoted.
func (c *comparison) at() string {
	var b strings.Builder
	for _, s := range c.path {
		switch {
		case s.key == nil:
			fmt.Fprintf(&b, "[%d]", s.index)
		case plain(*s.key):
			b.WriteString("." + *s.key)
		default:
			b.WriteString("." + cut(*s.key))
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// plain says that a key can stand in a message as it is.
func plain(key string) bool {
	return key != "" && len(key) <= maxShown && !strings.ContainsFunc(key, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+*", r))
	})
}

// keysOf lists the keys of a struct.
func (c *comparison) keysOf(t reflect.Type) map[string]key {
	if keys, ok := c.keys[t]; ok {
		return keys
	}
	keys := map[string]key{}
	for f := range t.Fields() {
		words := strings.Split(f.Tag.Get("json"), ",")
		keys[words[0]] = key{of: f.Type, optional: slices.Contains(words[1:], "omitempty") || slices.Contains(words[1:], "omitzero")}
	}
	c.keys[t] = keys
	return keys
}

// wanted says in words what a value of a type is.
func wanted(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Float64:
		return "a number"
	case free(t), t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return "an object"
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		return "a list"
	}
	return "a whole number"
}
