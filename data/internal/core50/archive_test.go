package core50

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ocl/internal/fuzztest"
)

// item is an entry of an archive.
type item struct {
	name string
	kind byte // tar.TypeReg, or another
	text []byte
}

// published are all lists as an archive has them, with what lies beside them.
func published(t testing.TB) []item {
	items := []item{{name: "batches_filelists/", kind: tar.TypeDir}, {name: "batches_filelists/NIC_inc/run0/test_filelist.txt", kind: tar.TypeReg, text: []byte("of another scenario")}}
	for _, l := range Lists() {
		items = append(items, item{"batches_filelists/" + l.Path(), tar.TypeReg, l.text(t)})
	}
	return items
}

func tarOf(items []item) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, it := range items {
		h := &tar.Header{Name: it.name, Typeflag: it.kind, Size: int64(len(it.text)), Mode: 0o644}
		if it.kind != tar.TypeReg {
			h.Linkname = "/etc/passwd"
		}
		w.WriteHeader(h)
		w.Write(it.text)
	}
	w.Close()
	return buf.Bytes()
}

func zipOf(items []item) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, it := range items {
		h := &zip.FileHeader{Name: it.name, Method: zip.Store}
		h.SetMode(0o644)
		if it.kind != tar.TypeReg {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		e, _ := w.CreateHeader(h) // names that are allowed, into memory
		e.Write(it.text)
	}
	w.Close()
	return buf.Bytes()
}

// packed is b through a compressor.
func packed(b []byte, w interface {
	io.WriteCloser
	Reset(io.Writer)
}) []byte {
	var buf bytes.Buffer
	w.Reset(&buf)
	w.Write(b)
	w.Close()
	return buf.Bytes()
}

func gzipOf(b []byte) []byte {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // a level that there is
	return packed(b, w)
}

func zstdOf(b []byte) []byte {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)) // options that there are
	return packed(b, w)
}

// place writes a file into a folder of its own, which it returns.
func place(t *testing.T, name string, b []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, b, 0o644)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(file, string(filepath.Separator)+filepath.FromSlash(name))
}

// checked finds and checks the lists in a folder.
func checked(t *testing.T, folder string) error {
	t.Helper()
	lists, err := Find(folder)
	if err != nil || lists == nil {
		t.Fatalf("Find: %v, %v", lists, err)
	}
	return lists.Check(t.Context())
}

// TestEveryFormOfLists: the published lists are accepted in every form.
func TestEveryFormOfLists(t *testing.T) {
	if testing.Short() {
		t.Skip("82 MB in five forms")
	}
	items := published(t)
	packed := tarOf(items)
	for name, b := range map[string][]byte{
		"batches_filelists.tar": packed, "batches_filelists.tgz": gzipOf(packed), "batches_filelists.tar.gz": gzipOf(packed),
		"batches_filelists_NI_NC.tar.zst": zstdOf(packed), "batches_filelists.zip": zipOf(items),
	} {
		if err := checked(t, place(t, name, b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	folder := t.TempDir()
	for _, it := range items {
		if it.kind == tar.TypeReg {
			file := filepath.Join(folder, filepath.FromSlash(it.name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, it.text, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := checked(t, folder); err != nil {
		t.Errorf("a folder: %v", err)
	}
}

// TestArchiveFaults: what is wrong with an archive is said, and where.
func TestArchiveFaults(t *testing.T) {
	const name = "batches_filelists/NI_inc/run0/train_batch_00_filelist.txt"
	good := item{name, tar.TypeReg, List{NI, 0, 0}.text(t)}
	wrong := item{name, tar.TypeReg, bytes.Replace(good.text, []byte("_002.png 0"), []byte("_002.png 7"), 1)}
	for _, c := range []struct {
		name  string
		items []item
		want  string
	}{
		{"another label", []item{wrong}, `NI_inc/run0/train_batch_00_filelist.txt: line 3 is "s11/o1/C_11_01_002.png 7", wanted "s11/o1/C_11_01_002.png 0"`},
		{"nothing", nil, "190 of 190 lists are missing, such as NC_inc/run0/test_filelist.txt"},
		{"one list", []item{good}, "189 of 190 lists are missing"},
		{"twice", []item{good, good}, "NI_inc/run0/train_batch_00_filelist.txt is there twice"},
		{"a link", []item{{name, tar.TypeSymlink, nil}}, "NI_inc/run0/train_batch_00_filelist.txt is not a plain file"},
		{"out of the archive", []item{{"../" + name, tar.TypeReg, good.text}}, `the entry "../batches_filelists/NI_inc/run0/train_batch_00_filelist.txt" has a name that leads out`},
		{"from the root", []item{{"/" + name, tar.TypeReg, good.text}}, "leads out of the archive"},
	} {
		if c.name != "nothing" { // an empty archive
			wantError(t, c.name+" in a zip archive", checked(t, place(t, "batches_filelists.zip", zipOf(c.items))), c.want)
		}
		wantError(t, c.name+" in a tar archive", checked(t, place(t, "batches_filelists.tgz", gzipOf(tarOf(c.items)))), c.want)
	}
	whole := tarOf([]item{good})
	for file, c := range map[string]struct {
		b    []byte
		want string
	}{
		"batches_filelists.zip":      {nil, "this is not a zip archive"},
		"batches_filelists.tgz":      {[]byte("PK"), "this is not a gzip file"},
		"batches_filelists.tar":      {whole[:len(whole)/2], "unexpected EOF"},
		"batches_filelists.tar.gz":   {gzipOf(whole)[:20000], "unexpected EOF"},
		"batches_filelists.tar.zst":  {zstdOf(whole)[:2000], "unexpected EOF"},
		"batches_filelists2.tar.zst": {[]byte("no zstd at all, but long enough for a header"), "the archive is damaged"},
	} {
		wantError(t, file, checked(t, place(t, file, c.b)), c.want)
	}
}

// TestFolderFaults: the same for a folder.
func TestFolderFaults(t *testing.T) {
	const name = "batches_filelists/NC_inc/run0/train_batch_00_filelist.txt"
	folder := place(t, name, []byte("s1/o1/C_01_01_000.png 1\n"))
	wantError(t, "label", checked(t, folder), "NC_inc/run0/train_batch_00_filelist.txt: line 1 is")
	wantError(t, "empty", checked(t, place(t, name, nil)), "the list ends after line 0")
	wantError(t, "missing", checked(t, place(t, "batches_filelists/readme.txt", nil)), "190 of 190 lists are missing")
	wantError(t, "a folder as list", checked(t, place(t, name+"/x", nil)), "is not a plain file")
}

// TestFind: lists have their published names, and a folder comes before archives.
func TestFind(t *testing.T) {
	if lists, err := Find(place(t, "filelists.zip", nil)); lists != nil || err != nil {
		t.Errorf("a file of another name: %v, %v", lists, err)
	}
	_, err := Find(filepath.Join(t.TempDir(), "nowhere"))
	wantError(t, "no folder", err, "no such file")
	folder := place(t, "batches_filelists/x", nil)
	if err := os.WriteFile(filepath.Join(folder, "batches_filelists.zip"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lists, err := Find(folder)
	if err != nil || filepath.Base(lists.Name) != "batches_filelists" {
		t.Errorf("found %+v, %v", lists, err)
	}
}

// TestCheckEnds: an ended context ends the check.
func TestCheckEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lists, err := Find(place(t, "batches_filelists.tar", tarOf([]item{{"x", tar.TypeReg, nil}})))
	if err != nil {
		t.Fatal(err)
	}
	if err := lists.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestRealLists compares the published lists with the tables, line by line, where OCL_DATA has them.
func TestRealLists(t *testing.T) {
	lists, err := Find(filepath.Join(os.Getenv("OCL_DATA"), "core50"))
	if os.Getenv("OCL_DATA") == "" || err != nil || lists == nil {
		t.Skip("OCL_DATA has no core50/batches_filelists…, so the published lists are not compared")
	}
	if err := lists.Check(t.Context()); err != nil {
		t.Errorf("%s: %v", lists.Name, err)
	}
}

// FuzzArchive reads the fuzzer's bytes as a zip and as a tar archive, and a small archive with changes. Nothing panics,
// memory use is bounded, and a message shows nothing raw.
func FuzzArchive(f *testing.F) {
	small := []item{{"batches_filelists/NI_inc/run0/train_batch_00_filelist.txt", tar.TypeReg, []byte("s11/o1/C_11_01_000.png 0\ns11/o1/C_11_01_001.png 0\n")}}
	f.Add(tarOf(small), []byte{})
	f.Add(zipOf(small), []byte{3, 1, 4, 1, 5})
	f.Add([]byte("PK\x03\x04"), []byte{200, 100, 50})
	f.Fuzz(func(t *testing.T, b, changes []byte) {
		c := fuzztest.Of(changes)
		for _, b := range [][]byte{b, fuzztest.Bytes(tarOf(small), c), fuzztest.Bytes(zipOf(small), c)} {
			for _, read := range []func() error{
				func() error { return readTar(t.Context(), bytes.NewReader(b)) },
				func() error { return readZip(t.Context(), bytes.NewReader(b), int64(len(b))) },
			} {
				wantSober(t, len(b), read)
			}
		}
	})
}

// FuzzList reads the fuzzer's bytes as a list, and a good list with changes: a list that is accepted is the published one.
func FuzzList(f *testing.F) {
	l := List{NI, 0, 0}
	good := l.text(f)
	f.Add([]byte("s11/o1/C_11_01_000.png 0\r\n"), []byte{})
	f.Add(good[:1000], []byte{9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, b, changes []byte) {
		for _, b := range [][]byte{b, fuzztest.Bytes(good, fuzztest.Of(changes))} {
			err := wantSober(t, len(b), func() error { return l.Check(bytes.NewReader(b)) })
			plain := bytes.TrimSuffix(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"))
			if same := bytes.Equal(plain, bytes.TrimSuffix(good, []byte("\n"))); same != (err == nil) {
				t.Errorf("equal to the published list: %v, error %v", same, err)
			}
		}
	})
}

// wantSober calls read, which reads size bytes and has to refuse most of them.
func wantSober(t *testing.T, size int, read func() error) error {
	t.Helper()
	var err error
	most := uint64(64*size + 4<<20)
	if n := fuzztest.Allocated(most, func() { err = read() }); n > most {
		t.Errorf("%d bytes were allocated for %d", n, size)
	}
	if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("a message with a control character: %q", err)
	}
	return err
}
