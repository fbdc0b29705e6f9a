package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"ocl/internal/fuzztest"
)

// good is a file of 4 images 1×2×2, of which one is left out.
func good(t testing.TB) []byte {
	m, err := Open(context.Background(), Spec{Name: "good", Source: "a test", Key: "k", Shape: [3]int{1, 2, 2}, N: 4, Skip: true, Dir: t.TempDir(),
		Decode: func(i int, dst []uint8) error {
			if i == 2 {
				return errors.New("<refused>")
			}
			dst[0] = uint8(i)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b, err := os.ReadFile(m.path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// summed is a copy of a file with its sum set right, if the lengths allow it. Without it hardly a file of the fuzzer gets
// past the sum.
func summed(b []byte) []byte {
	b = slices.Clone(b)
	if len(b) < pixelsAt {
		return b
	}
	n := int(binary.LittleEndian.Uint32(b[12:]))
	if n > len(b)-pixelsAt {
		return b
	}
	text := b[len(b)-n:]
	h, l, err := parse(text)
	if err != nil || l.size() != int64(len(b)) {
		return b
	}
	sum := sumOf(b[:summedPrefix], b[l.indexAt():l.indexAt()+int64(h.Images)*32], text)
	copy(b[summedPrefix:], sum[:])
	return b
}

// No changed byte of prefix, index or header goes unnoticed.
func TestEveryChangedByteIsFound(t *testing.T) {
	whole := good(t)
	if _, _, err := read(bytes.NewReader(whole), int64(len(whole))); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if i >= prefixSize && i < pixelsAt+16 {
			continue
		}
		b := slices.Clone(whole)
		b[i] ^= 4
		_, _, err := read(bytes.NewReader(b), int64(len(b)))
		if otherVersion := i >= 8 && i < 12; err == nil || errors.Is(err, ErrDamaged) == otherVersion {
			t.Errorf("byte %d changed: error %v", i, err)
		}
	}
}

// Headers whose sums are right and which no build writes are refused.
func TestLyingHeaders(t *testing.T) {
	whole := good(t)
	n := int(binary.LittleEndian.Uint32(whole[12:]))
	text := string(whole[len(whole)-n:])
	for _, tt := range [][2]string{
		{`"images":4`, `"images":3`}, {`"images":4`, `"images":-4`}, {`"images":4`, `"images":288230376151711744`}, {`"images":4`, `"images":4.0`},
		{`[1,2,2]`, `[1,2,3]`}, {`[1,2,2]`, `[-1,-2,2]`}, {`[1,2,2]`, `[1,4,0]`}, {`[1,2,2]`, `[4294967296,4294967296,4]`}, {`[1,2,2]`, `[2,2]`},
		{`"image":2`, `"image":4`}, {`"image":2`, `"image":-1`}, {`[{`, `[{"image":2,"message":""},{`}, {`"good"`, `"a\u001b"`}, {`"good"`, `"` + strings.Repeat("x", 401) + `"`},
		{`"key":"`, `"key":"0`}, {`{"name"`, `{"more":1,"name"`}, {`"name"`, `"Name"`}, {`"name":"good"`, `"name":"good","name":"good"`}, {`}]}`, `}]} `},
	} {
		changed := strings.Replace(text, tt[0], tt[1], 1)
		if changed == text {
			t.Fatalf("%s is not in %s", tt[0], text)
		}
		b := append(slices.Clone(whole[:len(whole)-n]), changed...)
		binary.LittleEndian.PutUint32(b[12:], uint32(len(changed)))
		if h, _, err := read(bytes.NewReader(summed(b)), int64(len(b))); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: read as %+v, error %v", changed, h, err)
		}
	}
}

// FuzzRead: no file makes read panic or take more memory than some times its length, no message shows raw bytes, and what
// was read is written back to the same bytes. The first input is changes of the bytes of a good file, the second those of
// its header.
func FuzzRead(f *testing.F) {
	whole := good(f)
	n := int(binary.LittleEndian.Uint32(whole[12:]))
	f.Add([]byte{}, []byte{})
	f.Add([]byte{13, 0, 5, 0}, []byte{})
	f.Add([]byte{0, 0, 0}, []byte{})
	f.Add([]byte{12, 0, 3, 10}, []byte{})
	f.Add([]byte{}, []byte{3, 1, 7})
	f.Add([]byte{}, []byte{1, 4, 9, 30})
	f.Add([]byte{60, 1, 6, 200}, []byte{2, 6, 1, 5, 1, 200})
	f.Fuzz(func(t *testing.T, changes, inHeader []byte) {
		text := fuzztest.JSON(whole[len(whole)-n:], fuzztest.Of(inHeader))
		// The zeros between prefix and pixels are left out while bytes are changed.
		ends := slices.Concat(whole[:prefixSize], whole[pixelsAt:len(whole)-n], text)
		if len(text) != n {
			binary.LittleEndian.PutUint32(ends[12:], uint32(len(text)))
		}
		for c, k := fuzztest.Of(changes), 0; c.More() && k < 8; k++ {
			ends = fuzztest.Bytes(ends, c)
		}
		b := slices.Clone(ends)
		if len(ends) >= prefixSize {
			b = slices.Concat(ends[:prefixSize], make([]byte, pixelsAt-prefixSize), ends[prefixSize:])
		}
		for _, b := range [][]byte{b, summed(b)} {
			var h header
			var index []byte
			var err error
			most := uint64(64*len(ends) + 1<<16)
			if got := fuzztest.Allocated(most, func() { h, index, err = read(bytes.NewReader(b), int64(len(b))) }); got > most {
				t.Fatalf("%d bytes were allocated for a file of %d", got, len(b))
			}
			if err != nil {
				if strings.ContainsFunc(err.Error(), unicode.IsControl) || !utf8.ValidString(err.Error()) {
					t.Errorf("a message with raw bytes: %q", err)
				}
				continue
			}
			prefix, text, err := h.tail(index)
			if err != nil || !bytes.Equal(prefix, b[:prefixSize]) || !bytes.Equal(text, b[len(b)-len(text):]) {
				t.Fatalf("written back as %x and %s (%v), read from %x", prefix, text, err, b[:prefixSize])
			}
			l, err := layoutOf(h.Shape, h.Images)
			if l.header = int64(len(text)); err != nil || l.size() != int64(len(b)) || !bytes.Equal(index, b[l.indexAt():l.headerAt()]) {
				t.Fatalf("%+v in a file of %d bytes (%v)", l, len(b), err)
			}
		}
	})
}
