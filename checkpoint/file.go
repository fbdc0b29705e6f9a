package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"ocl/internal/budget"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// Version is that of the file format. A file with another version is refused. There were files of version 2, which had
// stored images in files beside them.
const Version = 1

const (
	magic     = "OCLCKPT\n" // the newline shows a file mangled by a text-mode copy
	endMarker = "OCLEND.\n"

	headerSize  = len(magic) + 4 + 4 // magic, version, number of sections
	sectionSize = 4 + 4 + 8          // CRC, length of the name, length of the data
	trailerSize = len(endMarker) + 4 // marker, CRC of everything before the marker
	minFileSize = headerSize + trailerSize
)

// ErrCorrupt says that a file is not a whole checkpoint: it was cut short, or bytes in it changed.
var ErrCorrupt = errors.New("the file is damaged")

// castagnoli is CRC32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Loaded is a checkpoint that was read. Skipped says, newest first, what is wrong with the files newer than Path. A
// person should see it, as the work after Path is repeated.
type Loaded struct {
	*Container
	Path    string
	Number  int64  // of a file of [Numbered]
	File    []byte // all of the file at Path as it was read, which the container has views of; it must not be changed
	Skipped []error
}

// Read reads a checkpoint file. A file that is damaged is an error that wraps [ErrCorrupt].
func Read(path string) (Loaded, error) {
	b, err := read(path)
	if err != nil {
		return Loaded{}, fmt.Errorf("checkpoint: %w", err)
	}
	c, err := Parse(b)
	if err != nil {
		return Loaded{}, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	return Loaded{Container: c, Path: path, File: b}, nil
}

// read reads a file as a whole, if it has the beginning and the end of a checkpoint. A huge file with holes, or one
// that was cut, is refused before it takes any memory.
func read(path string) ([]byte, error) {
	want := input.Want{Most: min(limit.Checkpoint, budget.Bytes())}
	file, size, err := input.Open(path, want)
	if err != nil {
		return nil, err
	}
	err = checkEnds(file, size)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return input.ReadFile(path, want)
}

// WriteTo writes the container in the file format, with all sections, and returns the number of bytes written.
func (c *Container) WriteTo(w io.Writer) (int64, error) {
	out := &summer{w: w}
	head := binary.LittleEndian.AppendUint32([]byte(magic), Version)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(c.names)))
	out.write(head)
	for _, name := range c.names {
		data := c.sections[name]
		out.write(binary.LittleEndian.AppendUint32(nil, c.CRC(name)))
		out.write(lengths(name, data))
		out.write([]byte(name))
		out.write(data)
	}
	sum := out.sum
	out.write(binary.LittleEndian.AppendUint32([]byte(endMarker), sum))
	return out.n, out.err
}

// CRC is the CRC-32C of a section in a file: of its lengths, its name and its data.
func (c *Container) CRC(name string) uint32 {
	data := c.sections[name]
	return sectionCRC(lengths(name, data), []byte(name), data)
}

// lengths are those of a section in a file.
func lengths(name string, data []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, uint32(len(name))), uint64(len(data)))
}

// Parse reads a whole file. The container keeps views of b, so the file cannot claim memory that it does not fill; b
// must not change afterwards. A damaged file gives an error that wraps [ErrCorrupt].
func Parse(b []byte) (*Container, error) {
	if err := checkEnds(bytes.NewReader(b), int64(len(b))); err != nil {
		return nil, err
	}
	count := binary.LittleEndian.Uint32(b[len(magic)+4:])
	rest := b[headerSize : len(b)-trailerSize]
	c := NewContainer()
	for i := range count {
		var err error
		if rest, err = c.parseSection(rest); err != nil {
			return nil, fmt.Errorf("section %d of %d, byte %d: %w", i+1, count, len(b)-trailerSize-len(rest), err)
		}
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%w: there are %d bytes after the last section", ErrCorrupt, len(rest))
	}
	want := binary.LittleEndian.Uint32(b[len(b)-trailerSize+len(endMarker):])
	if got := crc32.Checksum(b[:len(b)-trailerSize], castagnoli); got != want {
		return nil, fmt.Errorf("%w: the checksum (CRC-32C) of the file is %08x instead of %08x", ErrCorrupt, got, want)
	}
	return c, nil
}

// checkHead checks the header of a file.
func checkHead(head []byte) error {
	if len(head) < headerSize {
		return fmt.Errorf("%w: it has %d bytes, but a checkpoint has at least %d", ErrCorrupt, len(head), minFileSize)
	}
	if string(head[:len(magic)]) != magic {
		return fmt.Errorf("%w: it starts with %q instead of %q", ErrCorrupt, head[:len(magic)], magic)
	}
	if version := binary.LittleEndian.Uint32(head[len(magic):]); version != Version {
		return fmt.Errorf("the file has format version %d, but this ocl reads %d. Use the ocl that wrote it", version,
			Version)
	}
	return nil
}

// ReadFirst reads the first section of a file alone, which has its name and its data in at most 480 bytes. What is
// damaged in the others is not noticed.
func ReadFirst(path string) (*Container, error) {
	b := make([]byte, headerSize+480+sectionSize)
	f, _, err := input.Open(path, input.Want{Most: limit.Checkpoint, NoLinks: true})
	if err == nil {
		var n int
		if n, err = io.ReadFull(f, b); errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			b, err = b[:n], nil
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	c := NewContainer()
	err = checkHead(b)
	if err == nil {
		_, err = c.parseSection(b[headerSize:])
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	return c, nil
}

// checkEnds checks the header and the end marker of a file of size bytes.
func checkEnds(r io.ReaderAt, size int64) error {
	if size < int64(minFileSize) {
		return fmt.Errorf("%w: it has %d bytes, but a checkpoint has at least %d", ErrCorrupt, size, minFileSize)
	}
	head, end := make([]byte, headerSize), make([]byte, len(endMarker))
	if _, err := r.ReadAt(head, 0); err != nil {
		return err
	}
	if err := checkHead(head); err != nil {
		return err
	}
	if _, err := r.ReadAt(end, size-int64(trailerSize)); err != nil {
		return err
	}
	if string(end) != endMarker {
		return fmt.Errorf("%w: the end marker is %q instead of %q", ErrCorrupt, end, endMarker)
	}
	return nil
}

// parseSection takes one section off the front of b and returns what follows it, or b itself with an error.
func (c *Container) parseSection(b []byte) ([]byte, error) {
	if len(b) < sectionSize {
		return b, fmt.Errorf("%w: %d bytes are left, but a section has at least %d", ErrCorrupt, len(b), sectionSize)
	}
	want := binary.LittleEndian.Uint32(b)
	nameLen, dataLen := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
	body := b[sectionSize:]
	if nameLen > limit.SectionName || uint64(nameLen) > uint64(len(body)) || dataLen > uint64(len(body))-uint64(nameLen) {
		return b, fmt.Errorf("%w: the name has %d and the data have %d bytes, but %d bytes are left", ErrCorrupt, nameLen,
			dataLen, len(body))
	}
	end := int(nameLen) + int(dataLen)
	name, data := body[:nameLen], body[nameLen:end:end]
	if got := sectionCRC(b[4:sectionSize], name, data); got != want {
		return b, fmt.Errorf("%w: the checksum (CRC-32C) of %q is %08x instead of %08x", ErrCorrupt, name, got, want)
	}
	if _, twice := c.sections[string(name)]; twice {
		return b, fmt.Errorf("%w: %q occurs twice", ErrCorrupt, name)
	}
	c.names = append(c.names, string(name))
	c.sections[string(name)] = data
	return body[end:], nil
}

func sectionCRC(parts ...[]byte) uint32 {
	sum := uint32(0)
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli, p)
	}
	return sum
}

// summer writes, counts and sums until the first error.
type summer struct {
	w   io.Writer
	n   int64
	sum uint32
	err error
}

func (s *summer) write(b []byte) {
	if s.err != nil {
		return
	}
	n, err := s.w.Write(b)
	s.n += int64(n)
	s.sum = crc32.Update(s.sum, castagnoli, b[:n])
	s.err = err
}
