package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ocl/internal/fuzztest"
)

// sample is a container with some sections.
func sample() *Container {
	c := NewContainer()
	e := c.Encoder()
	e.Bytes("steps", []byte{42, 0, 0, 0, 0, 0, 0, 0})
	e.Sub("net").Bytes("params", []byte{0, 0, 128, 63})
	e.Bytes("empty", nil)
	e.Bytes("raw", []byte("bytes"))
	return c
}

func encode(t testing.TB, c *Container) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := c.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	want := sample()
	got, err := Parse(encode(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(want) || !slices.Equal(got.Names(), want.Names()) || got.Size() != want.Size() {
		t.Errorf("parsed sections %v, want %v", got.Names(), want.Names())
	}
	d := got.Decoder()
	if d.Len("raw") != 5 || d.Len("empty") != 0 || d.Len("none") != -1 {
		t.Errorf("lengths %d, %d, %d; want 5, 0, -1", d.Len("raw"), d.Len("empty"), d.Len("none"))
	}
}

func TestWritingTwicePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a section written twice: no panic")
		}
	}()
	e := NewContainer().Encoder()
	e.Bytes("a", nil)
	e.Bytes("a", nil)
}

// TestEveryFlippedBitIsFound: CRC32C finds any single flip, so no bit of a file may change unnoticed.
func TestEveryFlippedBitIsFound(t *testing.T) {
	whole := encode(t, sample())
	for i := range whole {
		for bit := range 8 {
			b := slices.Clone(whole)
			b[i] ^= 1 << bit
			_, err := Parse(b)
			version := i >= len(magic) && i < len(magic)+4 // another version is not damage, but refused
			if err == nil || errors.Is(err, ErrCorrupt) == version {
				t.Fatalf("byte %d, bit %d flipped: error %v", i, bit, err)
			}
		}
	}
}

func TestEveryLengthIsFound(t *testing.T) {
	whole := encode(t, sample())
	for n := range whole {
		if _, err := Parse(whole[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: error %v, want ErrCorrupt", n, len(whole), err)
		}
	}
	if _, err := Parse(append(slices.Clone(whole), 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("one byte too many: error %v, want ErrCorrupt", err)
	}
}

func TestErrorsName(t *testing.T) {
	whole := encode(t, sample())
	b := slices.Clone(whole)
	b[bytes.Index(b, []byte("bytes"))]++
	if _, err := Parse(b); err == nil || !strings.Contains(err.Error(), `(CRC-32C) of "raw" is`) {
		t.Errorf("error %v, want one that names the section and both sums", err)
	}
}

// craft writes a file whose sums are right and whose one section makes the given claims.
func craft(nameLen uint32, dataLen uint64, count uint32, body string) []byte {
	lengths := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, nameLen), dataLen)
	b := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte(magic), Version), count)
	b = binary.LittleEndian.AppendUint32(b, sectionCRC(lengths, []byte(body)))
	b = append(append(b, lengths...), body...)
	sum := crc32.Checksum(b, castagnoli)
	return binary.LittleEndian.AppendUint32(append(b, endMarker...), sum)
}

// TestLyingLengths: whatever a file claims with right sums, it is refused without room being made for it.
func TestLyingLengths(t *testing.T) {
	if _, err := Parse(craft(1, 2, 1, "abc")); err != nil {
		t.Fatalf("an honest file: %v", err)
	}
	for name, b := range map[string][]byte{
		"data beyond the file":  craft(1, 3, 1, "abc"),
		"data of 2⁶⁴ bytes":     craft(1, math.MaxUint64, 1, "abc"),
		"data of 2⁶³ bytes":     craft(1, 1<<63, 1, "abc"),
		"name beyond the file":  craft(4, 0, 1, "abc"),
		"name of 2³² bytes":     craft(math.MaxUint32, 0, 1, "abc"),
		"lengths that overflow": craft(3, math.MaxUint64-2, 1, "abc"),
		"data too short":        craft(1, 1, 1, "abc"),
		"2³² sections":          craft(1, 2, math.MaxUint32, "abc"),
		"no section":            craft(1, 2, 0, "abc"),
	} {
		allocated := testing.AllocsPerRun(1, func() {
			if _, err := Parse(b); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: error %v, want ErrCorrupt", name, err)
			}
		})
		if allocated > 100 {
			t.Errorf("%s: %v allocations", name, allocated)
		}
	}
}

// summed is b with right sums: that of each section as far as the lengths hold, the marker and the sum of the file.
// Without it no file that the fuzzer makes gets past the first sum.
func summed(b []byte) []byte {
	b = slices.Clone(b)
	if len(b) < minFileSize {
		return b
	}
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[len(magic):], Version)
	trailer := b[len(b)-trailerSize:]
	for rest := b[headerSize : len(b)-trailerSize]; len(rest) >= sectionSize; {
		body := rest[sectionSize:]
		size := uint64(binary.LittleEndian.Uint32(rest[4:])) + binary.LittleEndian.Uint64(rest[8:])
		if size > uint64(len(body)) {
			break
		}
		binary.LittleEndian.PutUint32(rest, sectionCRC(rest[4:sectionSize], body[:size]))
		rest = body[size:]
	}
	copy(trailer, endMarker)
	binary.LittleEndian.PutUint32(trailer[len(endMarker):], crc32.Checksum(b[:len(b)-trailerSize], castagnoli))
	return b
}

// FuzzParse: no file makes Parse panic or take more memory than a few times its length, as it is and with its sums set
// right, and what is parsed is written back to the same bytes.
func FuzzParse(f *testing.F) {
	whole := encode(f, sample())
	f.Add(whole)
	f.Add(encode(f, NewContainer()))
	f.Add(whole[:len(whole)/2])
	f.Add(craft(1, math.MaxUint64, 1, "abc"))
	f.Add(craft(1, 2, 1, "abc"))
	twins := NewContainer() // one byte from two sections of one name
	twins.Encoder().Bytes("a", nil)
	twins.Encoder().Bytes("b", []byte("x"))
	f.Add(encode(f, twins))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, summed(b)} {
			var c *Container
			var err error
			kept := slices.Clone(b)
			most := uint64(64*len(b) + 1<<16)
			if n := fuzztest.Allocated(most, func() { c, err = Parse(b) }); n > most {
				t.Fatalf("%d bytes were allocated for a file of %d", n, len(b))
			}
			if !bytes.Equal(b, kept) {
				t.Fatal("Parse changed the file")
			}
			if err != nil {
				if strings.ContainsFunc(err.Error(), unicode.IsControl) {
					t.Errorf("a message with a control character: %q", err)
				}
				continue
			}
			if c.Size() > int64(len(b)) {
				t.Fatalf("%d bytes of sections in a file of %d", c.Size(), len(b))
			}
			if back := encode(t, c); !bytes.Equal(back, b) {
				t.Fatalf("written back as %x, want %x", back, b)
			}
		}
	})
}
