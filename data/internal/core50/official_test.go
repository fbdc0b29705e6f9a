package core50

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"ocl/internal/fuzztest"
)

// TestOfficialLists: the published lists are accepted, and an archive of them is read, which has their folder in it.
func TestOfficialLists(t *testing.T) {
	if testing.Short() {
		t.Skip("41 MB of lists")
	}
	files := fstest.MapFS{}
	for _, l := range Lists() {
		files[l.Path()] = &fstest.MapFile{Data: l.text()}
	}
	if err := check(t.Context(), files); err != nil {
		t.Error(err)
	}
	folder, first := t.TempDir(), Lists()[0].Path()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err := errors.Join(w.AddFS(fstest.MapFS{"batches_filelists/" + first: files[first]}), w.Close())
	if err := errors.Join(err, os.WriteFile(filepath.Join(folder, "batches_filelists.zip"), b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	wantError(t, "an archive of one list", Check(t.Context(), Find(folder)), "NC_inc/run0/train_batch_01_filelist.txt: the list is missing")
}

// TestOfficialFaults: what is wrong is said, with the list and its line.
func TestOfficialFaults(t *testing.T) {
	first := Lists()[0]
	good := first.text()
	for _, c := range []struct {
		name, want string
		files      fstest.MapFS
	}{
		{"another label", `NC_inc/run0/train_batch_00_filelist.txt: line 3 is "s1/o1/C_01_01_002.png 7", wanted "s1/o1/C_01_01_002.png 0"`,
			fstest.MapFS{first.Path(): {Data: bytes.Replace(good, []byte("_002.png 0"), []byte("_002.png 7"), 1)}}},
		{"nothing", "NC_inc/run0/train_batch_00_filelist.txt: the list is missing", fstest.MapFS{}},
		{"one list", "NC_inc/run0/train_batch_01_filelist.txt: the list is missing", fstest.MapFS{"batches_filelists/" + first.Path(): {Data: good}}},
		{"a folder as list", "NC_inc/run0/train_batch_00_filelist.txt: ", fstest.MapFS{first.Path() + "/x": {}}},
	} {
		wantError(t, c.name, check(t.Context(), c.files), c.want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := check(ended, fstest.MapFS{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestFind: a folder comes before its archive, and what is no archive is said.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	if found := Find(dir); found != "" {
		t.Errorf("found %s in an empty folder", found)
	}
	archive := filepath.Join(dir, "batches_filelists.zip")
	if err := os.WriteFile(archive, []byte("PK"), 0o644); err != nil {
		t.Fatal(err)
	}
	if found := Find(dir); found != archive {
		t.Errorf("found %q", found)
	}
	wantError(t, "no archive", Check(t.Context(), archive), "this is not a zip archive")
	folder := filepath.Join(dir, "batches_filelists")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if found := Find(dir); found != folder {
		t.Errorf("found %q", found)
	}
	wantError(t, "an empty folder", Check(t.Context(), folder), "is missing")
}

// TestRealLists compares the published lists with the tables, line by line, where OCL_DATA has them.
func TestRealLists(t *testing.T) {
	found := Find(filepath.Join(os.Getenv("OCL_DATA"), "core50"))
	if os.Getenv("OCL_DATA") == "" || found == "" {
		t.Skip("OCL_DATA has no core50/batches_filelists, so the published lists are not compared")
	}
	if err := Check(t.Context(), found); err != nil {
		t.Errorf("%s: %v", found, err)
	}
}

// FuzzList reads the fuzzer's bytes as a list, and a good list with changes: a list that is accepted is the published one.
func FuzzList(f *testing.F) {
	l := List{NI, 0, 0}
	good := l.text()
	f.Add([]byte("s11/o1/C_11_01_000.png 0\r\n"), []byte{})
	f.Add(good[:1000], []byte{9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, b, changes []byte) {
		for _, b := range [][]byte{b, fuzztest.Bytes(good, fuzztest.Of(changes))} {
			var err error
			most := uint64(64*len(b) + 4<<20)
			if n := fuzztest.Allocated(most, func() { err = l.Check(bytes.NewReader(b)) }); n > most {
				t.Errorf("%d bytes were allocated for %d", n, len(b))
			}
			if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("a message with a control character: %q", err)
			}
			plain := bytes.TrimSuffix(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"))
			if same := bytes.Equal(plain, bytes.TrimSuffix(good, []byte("\n"))); same != (err == nil) {
				t.Errorf("equal to the published list: %v, error %v", same, err)
			}
		}
	})
}
