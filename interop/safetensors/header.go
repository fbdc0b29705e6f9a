package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// entry is what a header says of a tensor.
type entry struct {
	Type    string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// parse reads a header, one name after the other. Unmarshal into a map would hide names that occur twice, and would allocate the whole
// header before anything is checked.
func (f *Reader) parse(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	seen := map[string]bool{}
	_, err := d.Token() // the brace that text begins with
	for err == nil && d.More() {
		var token json.Token
		if token, err = d.Token(); err != nil {
			break
		}
		name, _ := token.(string) // keys of an object are texts
		switch {
		case seen[name]:
			return fmt.Errorf("the name %.60q is given twice", name)
		case name == metadataKey:
			err = d.Decode(&f.Metadata)
		default:
			var e entry
			if err = d.Decode(&e); err == nil {
				if err := e.check(); err != nil {
					return fmt.Errorf("%.60q: %w", name, err)
				}
				f.Tensors = append(f.Tensors, Info{Name: name, Type: e.Type, Shape: e.Shape, begin: e.Offsets[0], end: e.Offsets[1]})
			}
		}
		seen[name] = true
		if err != nil {
			return fmt.Errorf("%.60q: it is not what the format says: %.200s", name, err.Error()) // a text of the file may be in it
		}
	}
	if err == nil {
		_, err = d.Token() // the closing brace
	}
	if err != nil {
		return fmt.Errorf("it is not valid JSON: %.200s", err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the closing brace")
	}
	return nil
}

func (e entry) check() error {
	switch {
	case e.Type == "" || e.Shape == nil || e.Offsets == nil:
		return errors.New("dtype, shape or data_offsets is missing")
	case len(e.Shape) > maxAxes:
		return fmt.Errorf("the shape has %d axes, but at most %d are possible", len(e.Shape), maxAxes)
	case len(e.Shape) > 0 && slices.Min(e.Shape) < 0:
		return fmt.Errorf("the shape %v has a negative number", e.Shape)
	case len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[0] > e.Offsets[1]:
		return fmt.Errorf("data_offsets are %.40s instead of a begin and an end after it", fmt.Sprint(e.Offsets))
	}
	return nil
}

// product is the number of bytes of a shape; ok is false where it does not fit into 63 bits.
func product(shape []int, size int64) (bytes int64, ok bool) {
	if slices.Contains(shape, 0) {
		return 0, true
	}
	for _, d := range shape {
		if int64(d) > math.MaxInt64/size {
			return 0, false
		}
		size *= int64(d)
	}
	return size, true
}
