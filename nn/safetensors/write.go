package safetensors

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// Write writes a file of tensors and of what describes them. The same content gives the same bytes: metadata are in the
// order of their keys, and tensors are in the order of the reference implementation (wider types first, then by name),
// so that each begins at a multiple of its width. It panics where a tensor's values do not fill its shape or two have
// one name.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	tensors = slices.Clone(tensors)
	slices.SortFunc(tensors, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.width(), a.width()), cmp.Compare(a.Name, b.Name))
	})
	header, err := headerOf(tensors, metadata)
	if err != nil {
		return fmt.Errorf("safetensors: header: %w", err)
	}
	out := bufio.NewWriterSize(w, 1<<16) // it keeps its first error, which Flush returns
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], uint64(len(header)))
	_, _ = out.Write(word[:])
	_, _ = out.Write(header)
	for _, t := range tensors {
		for _, v := range t.Floats {
			binary.LittleEndian.PutUint32(word[:], math.Float32bits(v))
			_, _ = out.Write(word[:4])
		}
		for _, v := range t.Ints {
			binary.LittleEndian.PutUint64(word[:], uint64(v))
			_, _ = out.Write(word[:])
		}
	}
	return out.Flush()
}

// width is the bytes of a value.
func (t Tensor) width() int {
	if t.Floats == nil && t.Ints != nil {
		return 8
	}
	return 4
}

// headerOf is the JSON of a header, filled up with spaces to a multiple of 8 bytes.
func headerOf(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	next := func(key string) error {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		return writeJSON(&b, key, ':')
	}
	if len(metadata) > 0 {
		if err := next(metadataKey); err != nil {
			return nil, err
		}
		for i, key := range slices.Sorted(maps.Keys(metadata)) {
			b.WriteByte("{,"[min(i, 1)])
			if err := writeJSON(&b, key, ':'); err != nil {
				return nil, err
			}
			if err := writeJSON(&b, metadata[key], 0); err != nil {
				return nil, err
			}
		}
		b.WriteByte('}')
	}
	at, named := int64(0), map[string]bool{metadataKey: true}
	for _, t := range tensors {
		if named[t.Name] || max(len(t.Floats), len(t.Ints)) != t.Len() || len(t.Floats) > 0 && len(t.Ints) > 0 {
			panic(fmt.Sprintf("safetensors: %s of shape %v: %d floats and %d integers, or its name is there already", t.Name,
				t.Shape, len(t.Floats), len(t.Ints)))
		}
		named[t.Name] = true
		if err := next(t.Name); err != nil {
			return nil, err
		}
		end := at + int64(t.Len()*t.width())
		kind := map[int]string{4: typeFloat, 8: typeInt}[t.width()]
		entry, err := json.Marshal(entry{kind, append([]int{}, t.Shape...), []int64{at, end}})
		if err != nil {
			return nil, err
		}
		b.Write(entry)
		at = end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	return b.Bytes(), nil
}

// entry is what a header says of a tensor.
type entry struct {
	Type    string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// writeJSON writes a text as JSON, with a sign after it if there is one.
func writeJSON(b *bytes.Buffer, text string, sign byte) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder ends a line
	if sign != 0 {
		b.WriteByte(sign)
	}
	return nil
}
