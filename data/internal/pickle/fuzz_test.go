package pickle

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"ocl/internal/fuzztest"
)

// FuzzRead: whatever the bytes are, reading them neither panics nor allocates beyond what their number allows, and no
// message shows a control character. The first argument is a pickle; the second are changes of it.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.pkl")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 4<<10 {
			f.Add(b, []byte{})
		}
	}
	f.Add([]byte(dictionary("data", uint8s(1, 3072), "labels", ints(3))+"."), []byte{1, 2, 3})
	f.Add([]byte(dictionary("image_data", uint8s(2, 2, 2, 3), "class_dict", dictionary("n01", ints(0, 1)))+"."),
		[]byte{40, 5, 40})
	f.Add([]byte("]q\x00h\x00a."), []byte{})
	f.Fuzz(func(t *testing.T, b, changes []byte) {
		for c := fuzztest.Of(changes); c.More() && len(b) < 1<<16; {
			b = fuzztest.Bytes(b, c)
		}
		most := mostFor(b)
		if grown := fuzztest.Allocated(most, func() { read(source(b)) }); grown > most {
			t.Errorf("%d bytes are allocated for %d of the file", grown, len(b))
		}
		readers := 3 * most // each reads the file again
		if grown := fuzztest.Allocated(readers, func() {
			for _, err := range readAll(b) {
				if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("the message %q has a character that is not printed", err)
				}
			}
		}); grown > readers {
			t.Errorf("%d bytes are allocated by the readers of data sets, for %d of the file", grown, len(b))
		}
	})
}

// readAll reads b as each kind of file.
func readAll(b []byte) (errs []error) {
	_, err := ReadCIFAR(bytes.NewReader(b), int64(len(b)), 10)
	errs = append(errs, err)
	_, err = ReadCIFARNames(bytes.NewReader(b), int64(len(b)), 100)
	errs = append(errs, err)
	_, err = miniOf(b)
	errs = append(errs, err)
	return errs
}
