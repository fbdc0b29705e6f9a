package safetensors

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// Write writes a file of tensors and of what describes them. The same content gives the same bytes: metadata are in the
// order of their keys, and tensors are in the order of the reference implementation (wider types first, then by name),
// so that each begins at a multiple of its width. It panics where a tensor's values do not fill its shape or two have one
// name.
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
	b := bytes.NewBufferString("{")
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	add := func(name string, v any) error {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		for _, part := range []any{name, v} {
			if err := e.Encode(part); err != nil {
				return err
			}
			b.Truncate(b.Len() - 1) // the encoder ends a line
			b.WriteByte(':')
		}
		b.Truncate(b.Len() - 1)
		return nil
	}
	if len(metadata) > 0 {
		if err := add(metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	at, named := int64(0), map[string]bool{metadataKey: true}
	for _, t := range tensors {
		if named[t.Name] || max(len(t.Floats), len(t.Ints)) != t.Len() || len(t.Floats) > 0 && len(t.Ints) > 0 {
			panic(fmt.Sprintf("safetensors: %s of shape %v: %d floats and %d integers, or its name is there already", t.Name, t.Shape, len(t.Floats), len(t.Ints)))
		}
		named[t.Name] = true
		end := at + int64(t.Len()*t.width())
		kind := map[int]string{4: typeFloat, 8: typeInt}[t.width()]
		if err := add(t.Name, entry{kind, append([]int{}, t.Shape...), []int64{at, end}}); err != nil {
			return nil, err
		}
		at = end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	return b.Bytes(), nil
}
