package pickle

import (
	"bytes"
	"fmt"
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
	f.Add([]byte(dictionary("image_data", uint8s(2, 2, 2, 3), "class_dict", dictionary("n01", ints(0, 1)))+"."), []byte{40, 5, 40})
	f.Add([]byte("]q\x00h\x00a."), []byte{})
	f.Add([]byte("(X\x02\x00\x00\x00abq\x00c_codecs\nencode\n(h\x00U\x06latin1tRl."), []byte{})
	f.Fuzz(func(t *testing.T, b, changes []byte) {
		for c := fuzztest.Of(changes); c.More() && len(b) < 1<<16; {
			b = fuzztest.Bytes(b, c)
		}
		most := mostFor(b)
		if grown := fuzztest.Allocated(most, func() { Read(source(b)) }); grown > most {
			t.Errorf("%d bytes are allocated for %d of the file", grown, len(b))
		}
		checkView(t, b)
		readers := 5 * most // each reads the file again
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

// checkView holds that a file in memory is read as one behind a reader is, and is not changed.
func checkView(t *testing.T, b []byte) {
	t.Helper()
	before := bytes.Clone(b)
	got, gotErr := View(b)
	want, wantErr := Read(source(b))
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		t.Errorf("a view has the error %v, a reader %v", gotErr, wantErr)
	}
	if gotErr == nil && wantErr == nil && got.v.String() != want.v.String() {
		t.Errorf("a view is %s, a reader has %s", got.v, want.v)
	}
	if !bytes.Equal(b, before) {
		t.Error("the file was changed")
	}
}

// readAll reads b as each kind of file.
func readAll(b []byte) (errs []error) {
	_, err := ReadCIFAR(source(b))
	errs = append(errs, err)
	_, err = ReadCIFARNames(source(b))
	errs = append(errs, err)
	_, err = miniOf(b)
	errs = append(errs, err)
	_, err = ReadCORe50Paths(source(b))
	errs = append(errs, err)
	if lists, err := ReadCORe50(source(b)); err != nil {
		errs = append(errs, err)
	} else if scenarios := lists.Scenarios(); len(scenarios) > 0 {
		_, err := lists.Batches(scenarios[0], 0, 1<<20)
		names := CORe50Names{lists.root} // both are a dictionary of scenarios
		_, alsoErr := names.Names(scenarios[0], 0)
		errs = append(errs, err, alsoErr)
	}
	return errs
}
