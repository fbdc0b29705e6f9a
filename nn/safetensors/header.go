package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"ocl/internal/limit"
)

// parse reads a header token by token. Unmarshal into a map would hide names that occur twice, and would allocate the
// whole header before anything is checked.
func (f *Reader) parse(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	p := parser{d}
	seen := map[string]bool{}
	err := p.object(func(name string) (err error) {
		if seen[name] {
			return fmt.Errorf("the name %s is given twice", quoted(name))
		}
		seen[name] = true
		if name == metadataKey {
			f.Metadata, err = p.texts()
			return err
		}
		t, err := p.tensor(name)
		f.Tensors = append(f.Tensors, t)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the closing brace")
	}
	return nil
}

// parser reads JSON of a known shape.
type parser struct{ d *json.Decoder }

// delim reads one of the signs of objects and lists.
func (p parser) delim(want json.Delim) error {
	token, err := p.token()
	if err == nil && token != want {
		err = fmt.Errorf("there is %.40q instead of %v", fmt.Sprint(token), want)
	}
	return err
}

func (p parser) token() (json.Token, error) {
	token, err := p.d.Token()
	if err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	return token, nil
}

// object reads an object; f reads the value of each key.
func (p parser) object(f func(key string) error) error {
	if err := p.delim('{'); err != nil {
		return err
	}
	for p.d.More() {
		key, err := p.text()
		if err != nil {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
	}
	return p.delim('}')
}

func (p parser) text() (string, error) {
	token, err := p.token()
	text, ok := token.(string)
	if err == nil && !ok {
		err = fmt.Errorf("there is %.40q instead of a text", fmt.Sprint(token))
	}
	return text, err
}

// texts reads an object of texts.
func (p parser) texts() (map[string]string, error) {
	all := map[string]string{}
	return all, p.object(func(key string) (err error) {
		if _, twice := all[key]; twice {
			return fmt.Errorf("the metadata %s are given twice", quoted(key))
		}
		all[key], err = p.text()
		return err
	})
}

// numbers reads a list of at most so many whole numbers from 0.
func (p parser) numbers(most int) (list []int64, err error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	for p.d.More() {
		token, err := p.token()
		if err != nil {
			return nil, err
		}
		word, ok := token.(json.Number)
		n, err := strconv.ParseInt(word.String(), 10, strconv.IntSize)
		if !ok || err != nil || n < 0 {
			return nil, fmt.Errorf("there is %.40q instead of a whole number from 0", fmt.Sprint(token))
		}
		if len(list) == most {
			return nil, fmt.Errorf("a list has more than %d numbers", most)
		}
		list = append(list, n)
	}
	return list, p.delim(']')
}

// tensor reads what a header says of a tensor.
func (p parser) tensor(name string) (Info, error) {
	t := Info{Name: name}
	seen := map[string]bool{}
	err := p.object(func(key string) error {
		if seen[key] {
			return fmt.Errorf("%s is given twice", quoted(key))
		}
		seen[key] = true
		switch key {
		case "dtype":
			text, err := p.text()
			t.Type = text
			return err
		case "shape":
			list, err := p.numbers(limit.SafetensorsAxes)
			for _, n := range list {
				t.Shape = append(t.Shape, int(n))
			}
			return err
		case "data_offsets":
			list, err := p.numbers(2)
			if err == nil && (len(list) != 2 || list[0] > list[1]) {
				err = fmt.Errorf("data_offsets is %v instead of a begin and an end after it", list)
			}
			if err == nil {
				t.begin, t.end = list[0], list[1]
			}
			return err
		}
		return fmt.Errorf("the key %s is unknown", quoted(key))
	})
	if err == nil && len(seen) != 3 {
		err = errors.New("dtype, shape or data_offsets is missing")
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", quoted(name), err)
	}
	return t, nil
}
