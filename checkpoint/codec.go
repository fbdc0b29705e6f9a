package checkpoint

import (
	"bytes"
	"fmt"
)

// Encoder collects named sections. Sub gives a part of the state its own prefix, so that parts need not know each
// other.
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

// Bytes writes a section. The container keeps b, so that a memory of many megabytes is copied once, not twice. Writing
// a name twice is a bug and panics.
func (e *Encoder) Bytes(name string, b []byte) {
	full := e.prefix + name
	if _, twice := e.c.sections[full]; twice {
		panic("checkpoint: section " + full + " is written twice")
	}
	e.c.names = append(e.c.names, full)
	e.c.sections[full] = b
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
		return nil, fmt.Errorf("checkpoint: section %q is missing. The file belongs to another version of ocl or to another config",
			d.prefix+name)
	}
	return b, nil
}

// Len is the number of bytes in a section, or -1 when it is missing.
func (d *Decoder) Len(name string) int {
	if b, ok := d.c.sections[d.prefix+name]; ok {
		return len(b)
	}
	return -1
}
