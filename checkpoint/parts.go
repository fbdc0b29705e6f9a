package checkpoint

import (
	"encoding"
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

// Values is a section of 8 bytes for each value that is pointed to: an *int, *int64, *float64 (its bits) or *bool (0 or
// 1). It panics on another type.
func Values(name string, to ...any) Part {
	for _, p := range to {
		switch p.(type) {
		case *int, *int64, *float64, *bool:
		default:
			panic(fmt.Sprintf("checkpoint: section %s: a value of type %T; want *int, *int64, *float64 or *bool", name, p))
		}
	}
	return Part{
		save: func(e *Encoder) error {
			bits := make([]int64, len(to))
			for i, p := range to {
				bits[i] = bitsOf(p)
			}
			e.Int64s(name, bits...)
			return nil
		},
		load: func(d *Decoder) error {
			bits := make([]int64, len(to))
			into := make([]*int64, len(to))
			for i := range bits {
				into[i] = &bits[i]
			}
			if err := d.Int64s(name, into...); err != nil {
				return err
			}
			for i, p := range to {
				if _, is := p.(*bool); is && bits[i] != 0 && bits[i] != 1 {
					return fmt.Errorf("checkpoint: section %q has %d instead of 0 or 1. The file belongs to another config", d.prefix+name, bits[i])
				}
				setBits(p, bits[i])
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
	}
	return 0
}

// setBits undoes bitsOf.
func setBits(p any, bits int64) {
	switch p := p.(type) {
	case *int:
		*p = int(bits)
	case *int64:
		*p = bits
	case *float64:
		*p = math.Float64frombits(uint64(bits))
	case *bool:
		*p = bits == 1
	}
}

// Float32s is a section of numbers, as many as v has; it is loaded into v.
func Float32s(name string, v []float32) Part {
	return Part{
		save: func(e *Encoder) error { e.Float32s(name, v); return nil },
		load: func(d *Decoder) error { return d.Float32s(name, v) },
	}
}

// Float64s is a section of numbers, as many as v has; it is loaded into v.
func Float64s(name string, v []float64) Part {
	return Part{
		save: func(e *Encoder) error { e.Float64s(name, v); return nil },
		load: func(d *Decoder) error { return d.Float64s(name, v) },
	}
}

// Float32List is a section of numbers, as many as there were when it was saved; none is loaded as nil.
func Float32List(name string, v *[]float32) Part {
	return Part{
		save: func(e *Encoder) error { e.Float32s(name, *v); return nil },
		load: func(d *Decoder) error { *v = room[float32](d, name, 4); return d.Float32s(name, *v) },
	}
}

// Float64List is a section of numbers, as many as there were when it was saved; none is loaded as nil.
func Float64List(name string, v *[]float64) Part {
	return Part{
		save: func(e *Encoder) error { e.Float64s(name, *v); return nil },
		load: func(d *Decoder) error { *v = room[float64](d, name, 8); return d.Float64s(name, *v) },
	}
}

// Int32List is a section of whole numbers that fit into 32 bits, such as labels or slots, as many as there were when it
// was saved; none is loaded as nil.
func Int32List[T ~int | ~int32](name string, v *[]T) Part {
	return Part{
		save: func(e *Encoder) error {
			words := make([]int32, len(*v))
			for i, x := range *v {
				words[i] = int32(x)
			}
			e.Int32s(name, words)
			return nil
		},
		load: func(d *Decoder) error {
			words := room[int32](d, name, 4)
			if err := d.Int32s(name, words); err != nil {
				return err
			}
			*v = nil
			for _, x := range words {
				*v = append(*v, T(x))
			}
			return nil
		},
	}
}

// Int64List is a section of whole numbers that need more than 32 bits, such as places in a stream, as many as there were
// when it was saved; none is loaded as nil.
func Int64List(name string, v *[]int64) Part {
	return Part{
		save: func(e *Encoder) error { e.Int64s(name, *v...); return nil },
		load: func(d *Decoder) error {
			*v = room[int64](d, name, 8)
			into := make([]*int64, len(*v))
			for i := range into {
				into[i] = &(*v)[i]
			}
			return d.Int64s(name, into...)
		},
	}
}

// room is for all values of a section, each of so many bytes.
func room[T any](d *Decoder, name string, size int) []T {
	if n := d.Len(name) / size; n > 0 {
		return make([]T, n)
	}
	return nil
}

// Bytes is a section of bytes. What is loaded is a copy.
func Bytes[T ~[]byte | ~string](name string, v *T) Part {
	return Part{
		save: func(e *Encoder) error { e.Bytes(name, []byte(*v)); return nil },
		load: func(d *Decoder) error {
			b, err := d.Bytes(name)
			if err == nil {
				*v = T(append([]byte(nil), b...))
			}
			return err
		},
	}
}

// Made is a section of bytes that save makes and load reads. The section keeps what save returns, and load must not keep or
// change what it gets: so a large state is copied once.
func Made(name string, save func() []byte, load func([]byte) error) Part {
	return Part{
		save: func(e *Encoder) error { e.put(name, save()); return nil },
		load: func(d *Decoder) error {
			b, err := d.Bytes(name)
			if err != nil {
				return err
			}
			return load(b)
		},
	}
}

// JSON is a section with what v points to as JSON.
func JSON(name string, v any) Part {
	return Part{
		save: func(e *Encoder) error {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("checkpoint: section %s: %w", name, err)
			}
			e.Bytes(name, text)
			return nil
		},
		load: func(d *Decoder) error {
			text, err := d.Bytes(name)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(text, v); err != nil {
				return fmt.Errorf("checkpoint: section %s: %w", name, err)
			}
			return nil
		},
	}
}

// Marshaler can encode itself as bytes, as a random source does.
type Marshaler interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Binary is a section of a value that can encode itself as bytes.
func Binary(name string, v Marshaler) Part {
	return Part{
		save: func(e *Encoder) error {
			b, err := v.MarshalBinary()
			if err != nil {
				return fmt.Errorf("checkpoint: section %s: %w", name, err)
			}
			e.Bytes(name, b)
			return nil
		},
		load: func(d *Decoder) error {
			b, err := d.Bytes(name)
			if err != nil {
				return err
			}
			if err := v.UnmarshalBinary(b); err != nil {
				return fmt.Errorf("checkpoint: section %s: %w", name, err)
			}
			return nil
		},
	}
}

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

// Via is a part that is saved in another form than in memory: get makes the saved form, and set reads it and may refuse it.
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

// Then calls f after the parts before it are loaded, to check them or to compute what depends on them. Saving ignores it.
func Then(f func() error) Part {
	return Part{load: func(*Decoder) error { return f() }}
}
