package cache

import (
	"bytes"
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
	t.Setenv(Folder, t.TempDir())
	m, err := Open(t.Context(), Spec{Name: "good", Source: "a test", Key: "k", Shape: [3]int{1, 2, 2}, N: 4, Skip: true,
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

// summed is a copy of a file with its sum set right, for the index as good has it. Without it hardly a file of the
// fuzzer gets past the sum.
func summed(b []byte) []byte {
	b = slices.Clone(b)
	if at := prefixSize + 4*4; len(b) > at {
		copy(b[summedPrefix:], sumOf(b[:summedPrefix], b[at:]))
	}
	return b
}

// No changed byte of prefix, index or header goes unnoticed.
func TestEveryChangedByteIsFound(t *testing.T) {
	whole := good(t)
	if _, _, _, err := read(bytes.NewReader(whole), int64(len(whole))); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		b := slices.Clone(whole)
		b[i] ^= 4
		_, _, _, err := read(bytes.NewReader(b), int64(len(b)))
		pixel, otherVersion := i >= prefixSize && i < prefixSize+16, i >= 8 && i < 12
		if (err == nil) != pixel || errors.Is(err, ErrDamaged) == (pixel || otherVersion) {
			t.Errorf("byte %d changed: error %v", i, err)
		}
	}
}

// FuzzRead: no file makes read panic or take more memory than some times its length, and no message shows raw bytes.
// The first input is changes of the bytes of a good file, the second those of its header.
func FuzzRead(f *testing.F) {
	whole := good(f)
	n := int(binary.LittleEndian.Uint32(whole[12:]))
	f.Add([]byte{}, []byte{})
	f.Add([]byte{13, 0, 5, 0}, []byte{})
	f.Add([]byte{12, 0, 3, 10}, []byte{})
	f.Add([]byte{}, []byte{3, 1, 7})
	f.Add([]byte{}, []byte{1, 4, 9, 30})
	f.Add([]byte{60, 1, 6, 200}, []byte{2, 6, 1, 5, 1, 200})
	f.Fuzz(func(t *testing.T, changes, inHeader []byte) {
		text := fuzztest.JSON(whole[len(whole)-n:], fuzztest.Of(inHeader))
		b := slices.Concat(whole[:len(whole)-n], text)
		binary.LittleEndian.PutUint32(b[12:], uint32(len(text)))
		for c, k := fuzztest.Of(changes), 0; c.More() && k < 8; k++ {
			b = fuzztest.Bytes(b, c)
		}
		for _, b := range [][]byte{b, summed(b)} {
			var h header
			var l layout
			var err error
			most := uint64(64*len(b) + 1<<16)
			if got := fuzztest.Allocated(most, func() { h, l, _, err = read(bytes.NewReader(b), int64(len(b))) }); got > most {
				t.Fatalf("%d bytes were allocated for a file of %d", got, len(b))
			}
			if err != nil && (strings.ContainsFunc(err.Error(), unicode.IsControl) || !utf8.ValidString(err.Error())) {
				t.Errorf("a message with raw bytes: %q", err)
			}
			if err == nil && (l.size() != int64(len(b)) || h.Images < 1) {
				t.Fatalf("%+v, %+v in a file of %d bytes", h, l, len(b))
			}
		}
	})
}
