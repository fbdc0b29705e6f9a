package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"ocl/internal/fuzztest"
)

// smallFormat is CIFAR's layout with 2 coarse and 3 fine classes, two training records and one test record each.
var smallFormat = cifarFormat{coarse: 2, fine: 3, side: 2, trainPerFine: 2, testFine: 1}

// records writes n records whose fine labels go round and whose pixels count up.
func (f cifarFormat) records(n int) []byte {
	var b []byte
	for i := range n {
		b = append(b, byte(i%f.coarse), byte(i%f.fine))
		for p := range f.record() - 2 {
			b = append(b, byte(16*i+p))
		}
	}
	return b
}

// cifarFiles is a whole small data set: file name to content.
func cifarFiles() map[string][]byte {
	return map[string][]byte{
		"train.bin":            smallFormat.records(6),
		"test.bin":             smallFormat.records(3),
		"fine_label_names.txt": []byte("apple\nbear\ncan\n\n"),
	}
}

func writeFolder(t *testing.T, dir string, files map[string][]byte) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// packTar packs files under cifar-100-binary/, test.bin first as in the official archive's unsorted order.
func packTar(files map[string][]byte) []byte {
	var buf bytes.Buffer
	archive := tar.NewWriter(&buf)
	archive.WriteHeader(&tar.Header{Name: "cifar-100-binary/", Typeflag: tar.TypeDir, Mode: 0o755})
	for _, name := range []string{"test.bin", "fine_label_names.txt", "coarse_label_names.txt", "train.bin"} {
		if b, ok := files[name]; ok {
			archive.WriteHeader(&tar.Header{Name: "cifar-100-binary/" + name, Typeflag: tar.TypeReg, Size: int64(len(b)), Mode: 0o644})
			archive.Write(b)
		}
	}
	archive.Close()
	return buf.Bytes()
}

// packTarGz is packTar, compressed.
func packTarGz(files map[string][]byte) []byte {
	return gzipped(packTar(files), gzip.DefaultCompression)
}

func gzipped(b []byte, level int) []byte {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, level) // a level that there is
	w.Write(b)
	w.Close()
	return buf.Bytes()
}

func TestCIFARFromEveryPlace(t *testing.T) {
	root := t.TempDir()
	own := writeFolder(t, filepath.Join(root, "a", "cifar-100-binary"), cifarFiles())
	holder := writeFolder(t, filepath.Join(root, "b"), map[string][]byte{"cifar-100-binary.tar.gz": packTarGz(cifarFiles())})
	renamed := writeFolder(t, filepath.Join(root, "c"), map[string][]byte{"download": packTarGz(cifarFiles())})
	for _, dir := range []string{
		own, filepath.Dir(own), holder, filepath.Join(holder, "cifar-100-binary.tar.gz"), filepath.Join(renamed, "download"),
	} {
		set, err := smallFormat.open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if set.Train.Len() != 6 || set.Test.Len() != 3 || set.C != 3 || set.H != 2 || set.W != 2 || set.Classes != 3 {
			t.Errorf("%s: %d and %d images of %d×%d×%d, %d classes", dir, set.Train.Len(), set.Test.Len(), set.C, set.H, set.W, set.Classes)
		}
		if set.Train.Y[4] != 1 || imageOf(set.Train, 4)[3] != 67 || set.ClassName(2) != "can" {
			t.Errorf("%s: label %d, pixel %d, name %s", dir, set.Train.Y[4], imageOf(set.Train, 4)[3], set.ClassName(2))
		}
		const pinned = "sha256:cf9f40f4206a5c63691be40601e89ea0367a87b9b8d19297394e43f8dfb9e4fe"
		if got := digestOf(t, set); got != pinned {
			t.Errorf("%s: digest %s, want %s", dir, got, pinned)
		}
	}
}

func TestCIFARFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string // parts of the error
		harm func(files map[string][]byte)
	}{
		{"truncated", []string{"train.bin is truncated: it has 83 bytes instead of 84", "Download"},
			func(f map[string][]byte) { f["train.bin"] = f["train.bin"][:83] }},
		{"oversized", []string{"test.bin is too long: it has 43 bytes instead of 42"},
			func(f map[string][]byte) { f["test.bin"] = append(f["test.bin"], 0) }},
		{"missing", []string{"test.bin"}, func(f map[string][]byte) { delete(f, "test.bin") }},
		{"fine label", []string{"train.bin: record 2 has coarse label 0 and fine label 3", "below 2 and 3"},
			func(f map[string][]byte) { f["train.bin"][2*14+1] = 3 }},
		{"coarse label", []string{"record 0 has coarse label 2"}, func(f map[string][]byte) { f["test.bin"][0] = 2 }},
		{"counts", []string{"train.bin has 3 records of class 0 instead of 2"}, func(f map[string][]byte) { f["train.bin"][14+1] = 0 }},
		{"names", []string{"fine_label_names.txt: the file has 2 class names instead of 3"},
			func(f map[string][]byte) { f["fine_label_names.txt"] = []byte("apple bear") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := cifarFiles()
			c.harm(files)
			root := t.TempDir()
			folder := writeFolder(t, filepath.Join(root, "folder"), files)
			archive := filepath.Join(writeFolder(t, filepath.Join(root, "archive"), map[string][]byte{"x.tar.gz": packTarGz(files)}), "x.tar.gz")
			for _, dir := range []string{folder, archive} {
				set, err := smallFormat.open(dir)
				if err == nil {
					t.Fatalf("%s: accepted: %+v", dir, set)
				}
				for _, want := range append(c.want, dir) {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("got %q, want it to say %q", err, want)
					}
				}
			}
		})
	}
}

func TestCIFARWrongPlace(t *testing.T) {
	root := t.TempDir()
	python := writeFolder(t, filepath.Join(root, "python"), map[string][]byte{"meta": nil, "train": nil})
	empty := writeFolder(t, filepath.Join(root, "empty"), nil)
	file := filepath.Join(writeFolder(t, filepath.Join(root, "file"), map[string][]byte{"notes.txt": []byte("hello")}), "notes.txt")
	damaged := packTarGz(cifarFiles())
	cut := filepath.Join(writeFolder(t, filepath.Join(root, "cut"), map[string][]byte{"x.tar.gz": damaged[:len(damaged)/2]}), "x.tar.gz")
	for _, c := range []struct{ dir, want string }{
		{"", "--data-dir"},
		{filepath.Join(root, "nowhere"), "no such file or directory"},
		{python, "this is the Python version"},
		{empty, "The folder holds nothing"},
		{file, "not a gzip file"},
		{cut, "x.tar.gz"},
	} {
		if _, err := smallFormat.open(c.dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want it to say %q", c.dir, err, c.want)
		}
	}
}

// TestRealCIFAR100 reads the real data where OCL_DATA names their folder; everything else about the format is tested
// without them.
func TestRealCIFAR100(t *testing.T) {
	dir := os.Getenv("OCL_DATA")
	if dir == "" {
		t.Skip("OCL_DATA is unset; set it to the folder that holds cifar-100-binary to test the real data")
	}
	set, err := Open(t.Context(), Spec{Name: "cifar100", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if set.Train.Len() != 50000 || set.Test.Len() != 10000 || set.ClassName(0) != "apple" || set.ClassName(99) != "worm" {
		t.Errorf("%d and %d images, first class %s, last %s", set.Train.Len(), set.Test.Len(), set.ClassName(0), set.ClassName(99))
	}
	// This is the digest in every result of CIFAR-100 under results/: of the official files, unpacked or not.
	const official = "sha256:5c84f78bbf0fe3499fba1bb43681507c72a6894aaf77d1913127dfe211deef41"
	if set.Digest != official {
		t.Errorf("digest %s, want %s; runs of before are not continued, or these files are not the official ones", set.Digest, official)
	}
	// Copies of the data may differ in the order of their records, so the exclusive or of the SHA-256 of all is pinned too.
	const pinned = "a6c7ef771aa10daeaa40107d97501a33dc219aa4a44af40eba95baa6579ba092"
	var sum [sha256.Size]byte
	for _, split := range []Split{set.Train, set.Test} {
		for i := range split.Len() {
			h := sha256.Sum256(append([]byte{byte(split.Y[i])}, imageOf(split, i)...))
			for k, b := range h {
				sum[k] ^= b
			}
		}
	}
	if got := hex.EncodeToString(sum[:]); got != pinned {
		t.Errorf("sum of the records %s, want %s", got, pinned)
	}
}

// FuzzCIFARRecords: records that are read are those of the file, byte for byte but for the coarse label, which is dropped.
func FuzzCIFARRecords(f *testing.F) {
	f.Add(smallFormat.records(6))
	f.Add(smallFormat.records(6)[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		set := decode(t, len(b), func() (*Set, error) {
			set := smallFormat.newSet()
			return set, smallFormat.read(smallFormat.parts(set)[0], "train.bin", bytes.NewReader(b), 84)
		})
		if set != nil {
			checkRecords(t, set.Train, b[:84])
		}
	})
}

// FuzzCIFARArchive reads the fuzzer's bytes as an archive, as what a gzip file holds, and as the three files in an
// archive: a gzip file has a sum at its end and each entry of a tar file one at its start, which bytes that were drawn
// hardly ever have.
func FuzzCIFARArchive(f *testing.F) {
	files := cifarFiles()
	train, test, names := files["train.bin"], files["test.bin"], files["fine_label_names.txt"]
	whole, inner := packTarGz(files), packTar(files)
	f.Add(whole, inner, train, test, names)
	f.Add(whole[:len(whole)/2], inner[:1100], train[:83], test, []byte("a b c"))
	f.Add([]byte("\x1f\x8b\x08\x00"), []byte{}, train, test, names)
	f.Fuzz(func(t *testing.T, whole, inner, train, test, names []byte) {
		read := func(b []byte) *Set {
			return decode(t, len(b), func() (*Set, error) { return smallFormat.readArchive(bytes.NewReader(b)) })
		}
		read(whole)
		read(gzipped(summedTar(inner), gzip.NoCompression))
		files := map[string][]byte{"train.bin": train, "test.bin": test, "fine_label_names.txt": names}
		set := read(gzipped(packTar(files), gzip.NoCompression))
		if set == nil {
			return
		}
		checkRecords(t, set.Train, train)
		checkRecords(t, set.Test, test)
		if len(set.ClassNames) != 3 || strings.Join(set.ClassNames, " ") != strings.Join(strings.Fields(string(names)), " ") {
			t.Errorf("class names %q of %q", set.ClassNames, names)
		}
	})
}

// summedTar is b with the sum of every header set right, as far as the sizes in the headers lead.
func summedTar(b []byte) []byte {
	const block, sumAt = 512, 148
	b = slices.Clone(b)
	for rest := b; len(rest) >= block; {
		head := rest[:block]
		copy(head[sumAt:], "        ")
		sum := 0
		for _, v := range head {
			sum += int(v)
		}
		copy(head[sumAt:], fmt.Sprintf("%06o\x00 ", sum))
		size, err := strconv.ParseInt(strings.Trim(string(head[124:136]), " \x00"), 8, 32)
		if err != nil || size < 0 {
			break
		}
		rest = rest[min(len(rest), block+(int(size)+block-1)/block*block):]
	}
	return b
}

// decode calls read, which decodes size bytes. It holds that no more is allocated than they may ask for, that a message
// shows nothing raw, and what holds of every set; it returns nil where there is none.
func decode(t *testing.T, size int, read func() (*Set, error)) *Set {
	t.Helper()
	var set *Set
	var err error
	// Deflate expands by at most 1,032, an image is held once, its label in four bytes; readers have buffers.
	most := uint64(5*1032*size + 8<<20)
	if n := fuzztest.Allocated(most, func() { set, err = read() }); n > most {
		t.Fatalf("%d bytes were allocated for a file of %d", n, size)
	}
	if err != nil {
		plainMessage(t, err)
		return nil
	}
	checkSplit(t, set, set.Train)
	if set.Test.Images != nil {
		checkSplit(t, set, set.Test)
	}
	return set
}

// plainMessage holds that a message shows nothing of a file raw.
func plainMessage(t *testing.T, err error) {
	t.Helper()
	if strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Errorf("a message with a control character: %q", err)
	}
}

// checkRecords holds a half of a set to the records that it was read from.
func checkRecords(t *testing.T, s Split, b []byte) {
	t.Helper()
	image := smallFormat.record() - 2
	for i, y := range s.Y {
		record := b[i*(2+image) : (i+1)*(2+image)]
		if record[1] != byte(y) || !bytes.Equal(record[2:], imageOf(s, i)) {
			t.Fatalf("record %d is %v, and was read as class %d with %v", i, record, y, imageOf(s, i))
		}
	}
}

// checkSplit is what holds of every split that was accepted.
func checkSplit(t *testing.T, set *Set, s Split) {
	t.Helper()
	if s.Images.Len() != s.Len() || len(pixelsOf(s)) != s.Len()*set.ImageLen() || s.Len() == 0 {
		t.Errorf("%d bytes for %d images of %d", len(pixelsOf(s)), s.Len(), set.ImageLen())
	}
	for i, y := range s.Y {
		if y < 0 || int(y) >= set.Classes {
			t.Errorf("image %d has label %d of %d classes", i, y, set.Classes)
		}
	}
}
