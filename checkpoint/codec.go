package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Encoder collects named sections. Sub gives a part of the state its own prefix, so that parts need not know each other.
type Encoder struct {
	prefix string
	c      *Container
}

// Container is the saved state in memory: sections in the order they were written.
type Container struct {
	names    []string
	sections map[string][]byte
}

// Names returns the names of the sections in the order they were written.
func (c *Container) Names() []string { return append([]string(nil), c.names...) }

// Equal tells whether two containers hold the same sections with the same bytes, in whatever order.
func (c *Container) Equal(o *Container) bool {
	if len(c.names) != len(o.names) {
		return false
	}
	for _, name := range c.names {
		if b, ok := o.sections[name]; !ok || !bytes.Equal(c.sections[name], b) {
			return false
		}
	}
	return true
}

// NewContainer returns an empty container.
func NewContainer() *Container { return &Container{sections: map[string][]byte{}} }

// Encoder returns an encoder that writes into c.
func (c *Container) Encoder() *Encoder { return &Encoder{c: c} }

// Decoder returns a decoder that reads from c.
func (c *Container) Decoder() *Decoder { return &Decoder{c: c} }

// Size is the number of bytes in all sections.
func (c *Container) Size() int64 {
	n := int64(0)
	for _, b := range c.sections {
		n += int64(len(b))
	}
	return n
}

// Sub returns an encoder whose section names start with name and a slash.
func (e *Encoder) Sub(name string) *Encoder { return &Encoder{e.prefix + name + "/", e.c} }

// Bytes writes a section; it copies b. Writing a name twice is a bug and panics.
func (e *Encoder) Bytes(name string, b []byte) { e.put(name, append([]byte(nil), b...)) }

// put writes a section that the container may keep, so that a memory of many megabytes is copied once, not twice.
func (e *Encoder) put(name string, b []byte) {
	full := e.prefix + name
	if _, twice := e.c.sections[full]; twice {
		panic("checkpoint: section " + full + " is written twice")
	}
	e.c.names = append(e.c.names, full)
	e.c.sections[full] = b
}

// Int32s writes values as little-endian int32.
func (e *Encoder) Int32s(name string, v []int32) {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	e.put(name, b)
}

// Float32s writes values as little-endian float32.
func (e *Encoder) Float32s(name string, v []float32) {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	e.put(name, b)
}

// Float64s writes values as little-endian float64.
func (e *Encoder) Float64s(name string, v []float64) {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	e.put(name, b)
}

// Int64s writes values as little-endian int64.
func (e *Encoder) Int64s(name string, v ...int64) {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	e.put(name, b)
}

// Decoder reads named sections.
type Decoder struct {
	prefix string
	c      *Container
}

// Sub returns a decoder for the part that was written through Encoder.Sub(name).
func (d *Decoder) Sub(name string) *Decoder { return &Decoder{d.prefix + name + "/", d.c} }

// Bytes returns a section; the caller must not modify it.
func (d *Decoder) Bytes(name string) ([]byte, error) {
	b, ok := d.c.sections[d.prefix+name]
	if !ok {
		return nil, fmt.Errorf("checkpoint: section %q is missing. The file belongs to another version of ocl or to another config", d.prefix+name)
	}
	return b, nil
}

func (d *Decoder) sized(name string, unit, n int) ([]byte, error) {
	b, err := d.Bytes(name)
	if err == nil && len(b) != unit*n {
		err = fmt.Errorf("checkpoint: section %q has %d bytes instead of %d. The file belongs to another config", d.prefix+name, len(b), unit*n)
	}
	return b, err
}

// Len is the number of bytes in a section, or -1 when it is missing.
func (d *Decoder) Len(name string) int {
	if b, ok := d.c.sections[d.prefix+name]; ok {
		return len(b)
	}
	return -1
}

// Int32s fills dst, whose length must be the stored one.
func (d *Decoder) Int32s(name string, dst []int32) error {
	b, err := d.sized(name, 4, len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

// Float32s fills dst, whose length must be the stored one.
func (d *Decoder) Float32s(name string, dst []float32) error {
	b, err := d.sized(name, 4, len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

// Float64s fills dst, whose length must be the stored one.
func (d *Decoder) Float64s(name string, dst []float64) error {
	b, err := d.sized(name, 8, len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return nil
}

// Int64s fills the pointed-to values, whose number must be the stored one.
func (d *Decoder) Int64s(name string, dst ...*int64) error {
	b, err := d.sized(name, 8, len(dst))
	if err != nil {
		return err
	}
	for i, p := range dst {
		*p = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return nil
}
