// Package fuzztest is shared by the fuzz targets: it turns the bytes of the fuzzer into changes of a good file, and
// counts what a decoder allocates. Random bytes are hardly ever a file with right checksums, or JSON of the right
// shape. A good file with a few changes is, so it tests more of a decoder.
package fuzztest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
)

// Choices are the fuzzer's bytes, read as small numbers. After the last byte every choice is 0.
type Choices struct{ rest []byte }

// Of returns the choices that b holds.
func Of(b []byte) *Choices { return &Choices{b} }

// More says whether there are choices left.
func (c *Choices) More() bool { return len(c.rest) > 0 }

// Byte takes the next byte.
func (c *Choices) Byte() byte {
	if len(c.rest) == 0 {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

// Below takes a number in [0, n), n ≥ 1: one byte of choices, two where n is larger than 256.
func (c *Choices) Below(n int) int {
	v := int(c.Byte())
	if n > 1<<8 {
		v |= int(c.Byte()) << 8
	}
	return v % n
}

// words are numbers that decoders trip over, as 8 bytes; a field of 4 takes the first four.
var words = []uint64{
	0, 1, 2, 3, 7, 100, 255, 1 << 16, 1 << 31, math.MaxInt32, 1 << 32, 1 << 62, 1 << 63, math.MaxInt64, math.MaxUint64,
	math.MaxUint64 - 1,
	0x7fc00000_7fc00000, 0xff800000_ff800000, math.Float64bits(math.NaN()), math.Float64bits(math.Inf(-1)),
	math.Float64bits(-1), math.Float64bits(0.5),
}

// Bounds of what changes may do to a document, so that an input is read in milliseconds.
const (
	maxGrown   = 1 << 12 // bytes that it may gain
	maxChanges = 32
)

// Bytes returns a copy of b with one change: cut, grown, a byte or a number in it replaced, a part of it repeated, or
// emptied.
func Bytes(b []byte, c *Choices) []byte {
	b = slices.Clone(b)
	at := c.Below(len(b) + 1)
	switch op := c.Byte() % 8; op {
	case 0:
		return b[:at]
	case 1:
		return b[at:]
	case 2:
		return append(b, make([]byte, c.Byte())...)
	case 3, 4: // numbers are where their size says they may be
		size := 4 << (op - 3)
		if at -= at % size; at+size <= len(b) {
			word := binary.LittleEndian.AppendUint64(nil, words[c.Below(len(words))])
			copy(b[at:at+size], word)
		}
	case 5:
		if at < len(b) {
			b[at] = c.Byte()
		}
	case 6:
		end := min(len(b), at+1+int(c.Byte()))
		return slices.Insert(b, at, slices.Clone(b[min(at, end):end])...)
	case 7:
		return nil
	}
	return b
}

// values are what a change puts into a JSON document.
var values = []any{
	nil, true, false, json.Number("0"), json.Number("1"), json.Number("-1"), json.Number("2"), json.Number("0.5"),
	json.Number("1e300"),
	json.Number("-1e300"), json.Number("1e-320"), json.Number("1e999"), json.Number("9223372036854775807"),
	json.Number("-9223372036854775808"),
	json.Number("18446744073709551615"), json.Number("4294967296"), json.Number("1048577"), json.Number("1.0"),
	json.Number("-0"),
	"", "x", "er", "+", "a+b", "..", "/", "\x1b[2J", "\u2028", "\ufffd", "<b>&", "9", strings.Repeat("long", 100),
	map[string]any{}, []any{},
	[]any{nil}, []any{[]any{}}, map[string]any{"": nil},
}

// JSON returns a JSON document with changes in it, one for every few choices: a value replaced by an odd one, a small
// number or a value from elsewhere in the document, a key or an element taken away, added or renamed, a list repeated
// or cut. Texts that are no JSON object or list come back as they are.
func JSON(text []byte, c *Choices) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if d.Decode(&root) != nil {
		return text
	}
	most := len(text) + maxGrown
	for n := 0; n < maxChanges && c.More(); n++ {
		places := placesIn(root, nil)
		if len(places) == 0 {
			return text
		}
		at := places[c.Below(len(places))]
		change(at, places, c)
		out, err := json.Marshal(root)
		if err != nil || len(out) > most {
			break
		}
		text = out
	}
	return text
}

// place is a value within an object or a list.
type place struct {
	object map[string]any
	key    string
	list   *[]any // nil in an object
	index  int
	set    func([]any) // replaces the list where it stands
}

// placesIn lists the places below a value, in an order that depends on nothing else.
func placesIn(v any, set func([]any)) (all []place) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, place{object: v, key: k})
			all = append(all, placesIn(v[k], func(l []any) { v[k] = l })...)
		}
	case []any:
		for i := range v {
			all = append(all, place{list: &v, index: i, set: set})
			all = append(all, placesIn(v[i], func(l []any) { v[i] = l })...)
		}
	}
	return all
}

func (p place) get() any {
	if p.list != nil {
		return (*p.list)[p.index]
	}
	return p.object[p.key]
}

func (p place) put(v any) {
	if p.list != nil {
		(*p.list)[p.index] = v
		return
	}
	p.object[p.key] = v
}

// change makes one change at a place.
func change(at place, places []place, c *Choices) {
	switch c.Byte() % 8 {
	case 0:
		at.put(copied(values[c.Below(len(values))]))
	case 1:
		at.put(json.Number(jsonInt(int(c.Byte()) - 2)))
	case 2:
		at.put(copied(places[c.Below(len(places))].get()))
	case 3:
		if at.list == nil {
			delete(at.object, at.key)
		} else if at.set != nil {
			at.set(slices.Delete(slices.Clone(*at.list), at.index, at.index+1))
		}
	case 4:
		v := at.get()
		if at.list == nil {
			at.object[string('a'+rune(c.Byte()%26))] = copied(v)
		} else if at.set != nil {
			more := slices.Clone(*at.list)
			for range 1 + c.Byte()%32 {
				more = append(more, copied(v))
			}
			at.set(more)
		}
	case 5:
		if at.list == nil {
			v := at.object[at.key]
			delete(at.object, at.key)
			at.object[places[c.Below(len(places))].key] = v
		}
	case 6: // a number or a text becomes another one near it
		switch v := at.get().(type) {
		case json.Number:
			if n, err := v.Int64(); err == nil {
				at.put(json.Number(jsonInt(int(n) + int(int8(c.Byte())))))
			} else if f, err := v.Float64(); err == nil {
				text, _ := json.Marshal(f * (float64(c.Byte())/64 - 1))
				at.put(json.Number(text))
			}
		case string:
			at.put(v + string(rune(c.Byte())))
		}
	case 7:
		if at.list != nil && at.set != nil {
			at.set(slices.Clone((*at.list)[:at.index]))
		}
	}
}

func jsonInt(n int) string {
	text, _ := json.Marshal(n) // an int always marshals
	return string(text)
}

// copied is a deep copy of a JSON value.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[k] = copied(x)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, x := range v {
			l[i] = copied(x)
		}
		return l
	}
	return v
}

// Allocated calls f and returns how many bytes it allocated, or some number up to most where it allocated no more than
// that.
//
// The quick count takes in what the rest of the program allocates meanwhile, the fuzzer's own goroutines too, and small
// things from before the call. So a count above most is taken again, exactly, and the least of several calls is
// returned: what f allocates is in each of them. f may be called more than once and must do the same each time.
func Allocated(most uint64, f func()) uint64 {
	before := Total()
	f()
	least := Total() - before
	for n := 0; n < 5 && least > most; n++ {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// Total is how many bytes the program has allocated since its start, by a quick count.
func Total() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
