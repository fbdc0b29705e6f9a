package checkpoint

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// State is what can be saved and loaded. Save, load and continue equals continue, bit for bit.
type State interface {
	SaveState(*Encoder) error
	LoadState(*Decoder) error
}

// Part is one part of a state. It defines both how it is saved and how it is loaded, so that the two always agree.
type Part struct {
	save func(*Encoder) error
	load func(*Decoder) error
}

// Parts is a state as the list of its parts. They are saved and loaded in the order of the list. After a load that
// failed, the owner of the parts must not be used.
type Parts []Part

var _ State = Parts(nil)

// SaveState implements [State].
func (p Parts) SaveState(e *Encoder) error {
	for _, part := range p {
		if part.save == nil {
			continue
		}
		if err := part.save(e); err != nil {
			return err
		}
	}
	return nil
}

// LoadState implements [State]. It ends at the first error.
func (p Parts) LoadState(d *Decoder) error {
	for _, part := range p {
		if err := part.load(d); err != nil {
			return err
		}
	}
	return nil
}

// Made is a section of bytes that save makes and load reads. The section keeps what save returns, and load must not
// keep or change what it gets: so a large state is copied once. An error of either is about the section.
func Made(name string, save func() ([]byte, error), load func([]byte) error) Part {
	return Part{
		save: func(e *Encoder) error {
			b, err := save()
			if err != nil {
				return fmt.Errorf("checkpoint: section %q: %w", e.prefix+name, err)
			}
			e.Bytes(name, b)
			return nil
		},
		load: func(d *Decoder) error {
			b, err := d.Bytes(name)
			if err != nil {
				return err
			}
			if err := load(b); err != nil {
				return fmt.Errorf("checkpoint: section %q: %w", d.prefix+name, err)
			}
			return nil
		},
	}
}

// number are the types of the numbers of a section, which are little-endian.
type number interface {
	int32 | int64 | float32 | float64
}

// Numbers is a section of numbers, as many as v has; it is loaded into v.
func Numbers[T number](name string, v []T) Part {
	return Made(name, func() ([]byte, error) { return binary.Append(nil, binary.LittleEndian, v) },
		func(b []byte) error { return fill(v, b) })
}

// List is a section of numbers, as many as there were when it was saved; none is loaded as nil.
func List[T number](name string, v *[]T) Part {
	return Made(name, func() ([]byte, error) { return binary.Append(nil, binary.LittleEndian, *v) }, func(b []byte) error {
		*v = nil
		if n := len(b) / binary.Size(T(0)); n > 0 {
			*v = make([]T, n)
		}
		return fill(*v, b)
	})
}

// fill fills v with the numbers of a section, which has as many.
func fill[T number](v []T, b []byte) error {
	if want := len(v) * binary.Size(T(0)); len(b) != want {
		return fmt.Errorf("it has %d bytes instead of %d. The file belongs to another config", len(b), want)
	}
	_, err := binary.Decode(b, binary.LittleEndian, v)
	return err
}

// Int32List is [List] for other whole numbers that fit into 32 bits, such as labels or slots.
func Int32List[T ~int | ~int32](name string, v *[]T) Part {
	return Via(func() []int32 { return converted[int32](*v) },
		func(words []int32) error { *v = converted[T](words); return nil },
		func(words *[]int32) Part { return List(name, words) })
}

// converted are numbers as another type; nil for none.
func converted[To, From ~int | ~int32](from []From) (to []To) {
	for _, x := range from {
		to = append(to, To(x))
	}
	return to
}

// Values is a section of 8 bytes for each value that is pointed to: an *int, *int64, *float64 (its bits) or *bool (0 or
// 1). It panics on another type.
func Values(name string, to ...any) Part {
	words := make([]int64, len(to))
	get := func() {
		for i, p := range to {
			words[i] = bitsOf(p)
		}
	}
	get() // panics if a type is another one
	part := Numbers(name, words)
	return Part{
		save: func(e *Encoder) error { get(); return part.save(e) },
		load: func(d *Decoder) error {
			if err := part.load(d); err != nil {
				return err
			}
			for i, p := range to {
				if err := setBits(p, words[i]); err != nil {
					return fmt.Errorf("checkpoint: section %q: %w", d.prefix+name, err)
				}
			}
			return nil
		},
	}
}

// bitsOf is how Values saves what p points to.
func bitsOf(p any) int64 {
	switch p := p.(type) {
	case *int:
		return int64(*p)
	case *int64:
		return *p
	case *float64:
		return int64(math.Float64bits(*p))
	case *bool:
		if *p {
			return 1
		}
		return 0
	}
	panic(fmt.Sprintf("checkpoint: a value of type %T; want *int, *int64, *float64 or *bool", p))
}

// setBits undoes bitsOf.
func setBits(p any, bits int64) error {
	switch p := p.(type) {
	case *int:
		*p = int(bits)
	case *int64:
		*p = bits
	case *float64:
		*p = math.Float64frombits(uint64(bits))
	case *bool:
		if bits != 0 && bits != 1 {
			return fmt.Errorf("it has %d instead of 0 or 1. The file belongs to another config", bits)
		}
		*p = bits == 1
	}
	return nil
}

// Bytes is a section of bytes. What is loaded is a copy.
func Bytes[T ~[]byte | ~string](name string, v *T) Part {
	return Made(name, func() ([]byte, error) { return append([]byte(nil), *v...), nil }, func(b []byte) error {
		*v = T(append([]byte(nil), b...))
		return nil
	})
}

// JSON is a section with what v points to as JSON.
func JSON(name string, v any) Part {
	return Made(name, func() ([]byte, error) { return json.Marshal(v) },
		func(b []byte) error { return json.Unmarshal(b, v) })
}

// Marshaler can encode itself as bytes, as a random source does.
type Marshaler interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Binary is a section of a value that can encode itself as bytes.
func Binary(name string, v Marshaler) Part { return Made(name, v.MarshalBinary, v.UnmarshalBinary) }

// Sub is a state below its own name.
func Sub(name string, s State) Part {
	return Part{
		save: func(e *Encoder) error { return s.SaveState(e.Sub(name)) },
		load: func(d *Decoder) error { return s.LoadState(d.Sub(name)) },
	}
}

// Inline is a state among the other parts, without its own name.
func Inline(s State) Part { return Part{save: s.SaveState, load: s.LoadState} }

// Later is parts that depend on those before it: list is called when these are saved or loaded.
func Later(list func() Parts) Part {
	return Part{
		save: func(e *Encoder) error { return list().SaveState(e) },
		load: func(d *Decoder) error { return list().LoadState(d) },
	}
}

// Either is parts if there is true, and otherwise if it is false. When loading, there is set to whether the state has a
// section with the given name. So parts must have such a section, and otherwise must not.
func Either(there *bool, section string, parts, otherwise Parts) Part {
	choose := func() Parts {
		if *there {
			return parts
		}
		return otherwise
	}
	return Part{
		save: func(e *Encoder) error { return choose().SaveState(e) },
		load: func(d *Decoder) error {
			*there = d.Len(section) >= 0
			return choose().LoadState(d)
		},
	}
}

// Via is a part that is saved in another form than in memory: get makes the saved form, and set reads it and may refuse
// it.
func Via[T any](get func() T, set func(T) error, part func(*T) Part) Part {
	return Part{
		save: func(e *Encoder) error {
			v := get()
			return part(&v).save(e)
		},
		load: func(d *Decoder) error {
			var v T
			if err := part(&v).load(d); err != nil {
				return err
			}
			return set(v)
		},
	}
}

// Then calls f after the parts before it are loaded, to check them or to compute what depends on them. Saving ignores
// it.
func Then(f func() error) Part {
	return Part{load: func(*Decoder) error { return f() }}
}
