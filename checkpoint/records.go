package checkpoint

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
)

// Records is a section of byte strings of one length, such as stored images. A container keeps it as it was given, without
// a copy, and a [Dir] writes only the records that it has not written before.
type Records struct {
	Size int // bytes of each
	// IDs are those of the records, in order. In one process, records of one ID have the same bytes: what gets other bytes
	// gets another ID from [NewID].
	IDs []uint64
	// Append appends the bytes of record i to dst. It is called by any goroutine until Release, and gives the same bytes.
	Append func(dst []byte, i int) []byte
	// Release says that Append will not be called again; nil for nobody. See [Container.Release].
	Release func()
}

var lastID atomic.Uint64

// NewID is an ID that no other record of this process has.
func NewID() uint64 { return lastID.Add(1) }

// total is the number of bytes of all records.
func (r *Records) total() int64 { return int64(r.Size) * int64(len(r.IDs)) }

// all is all records in one piece.
func (r *Records) all() []byte {
	b := make([]byte, 0, r.total())
	for i := range r.IDs {
		b = r.Append(b, i)
	}
	return b
}

// Records writes a section of records. It is a section like others: a decoder reads it as bytes too. The container owns r
// until [Container.Release].
func (e *Encoder) Records(name string, r Records) {
	if r.Size < 1 {
		panic(fmt.Sprintf("checkpoint: section %s: records of %d bytes. Use at least 1", name, r.Size))
	}
	e.put(name, nil)
	full := e.prefix + name
	delete(e.c.sections, full)
	if e.c.records == nil {
		e.c.records = map[string]*records{}
	}
	e.c.records[full] = &records{Records: r}
}

// records is a section of records in a container.
type records struct {
	Records
	loaded []byte // all of them, if a Dir has read them; nil once they were taken
}

// bytes is the section in one piece, which must not be changed.
func (r *records) bytes() []byte {
	if r.loaded != nil {
		return r.loaded
	}
	return r.all()
}

// Release says that the container is not needed any more. Who gave it records may then change them. Reading its records
// afterwards is a bug.
func (c *Container) Release() {
	for _, r := range c.records {
		if r.Release != nil {
			r.Release()
			r.Release = nil
		}
	}
}

// Records reads a section of records of so many bytes each, and returns their IDs and all of their bytes, which the caller
// may keep and change. A section is taken from a container that a [Dir] has read; a second call is then an error.
func (d *Decoder) Records(name string, size int) (ids []uint64, data []byte, err error) {
	full := d.prefix + name
	if r := d.c.records[full]; r != nil && r.Size == size && r.loaded != nil {
		data, r.loaded = r.loaded, nil
		delete(d.c.records, full)
		return r.IDs, data, nil
	}
	b, err := d.Bytes(name)
	if err != nil {
		return nil, nil, err
	}
	if len(b)%size != 0 {
		return nil, nil, fmt.Errorf("checkpoint: section %q has %d bytes, which are no records of %d. The file belongs to another config", full, len(b), size)
	}
	ids = make([]uint64, len(b)/size)
	for i := range ids {
		ids[i] = NewID()
	}
	return ids, bytes.Clone(b), nil
}

// RecordList is a section of records of size bytes each. get gives them, and set keeps the bytes and IDs that were loaded, or
// refuses them.
func RecordList(name string, size int, get func() Records, set func(ids []uint64, data []byte) error) Part {
	return Part{
		save: func(e *Encoder) error { e.Records(name, get()); return nil },
		load: func(d *Decoder) error {
			ids, data, err := d.Records(name, size)
			if err != nil {
				return err
			}
			return set(ids, data)
		},
	}
}

// section is the bytes of a section, which must not be changed.
func (c *Container) section(name string) ([]byte, bool) {
	if r := c.records[name]; r != nil {
		return r.bytes(), true
	}
	b, ok := c.sections[name]
	return b, ok
}

// length is the number of bytes of a section, or -1 when it is missing.
func (c *Container) length(name string) int {
	if r := c.records[name]; r != nil {
		return int(r.total())
	}
	if b, ok := c.sections[name]; ok {
		return len(b)
	}
	return -1
}

// equal compares a section with that of another container.
func (c *Container) equal(o *Container, name string) bool {
	a, _ := c.section(name)
	b, ok := o.section(name)
	return ok && slices.Equal(a, b)
}
