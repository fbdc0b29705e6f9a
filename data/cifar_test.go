package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ocl/internal/fuzztest"
)

// smallFormat is CIFAR-100 in its binary layout with 3 classes, two training images and one test image of each.
var smallFormat = cifarFormat{classes: 3, coarse: true, side: 2, trainPerClass: 2, testPerClass: 1,
	layouts: cifar100.layouts}

// single10 and single100 are CIFAR-10 and CIFAR-100 with few images of each class; pickles have all classes.
var (
	single10 = cifarFormat{name: "cifar10", classes: 10, side: 32, trainPerClass: 2, testPerClass: 1,
		layouts: cifar10.layouts}
	single100 = cifarFormat{name: "cifar100", classes: 100, coarse: true, side: 32, trainPerClass: 1, testPerClass: 1,
		layouts: cifar100.layouts}
)

// records writes n records from number first on, whose fine labels go round and whose pixels count up.
func (f cifarFormat) records(first, n int) []byte {
	var b []byte
	for i := first; i < first+n; i++ {
		if f.coarse {
			b = append(b, byte(i%2))
		}
		b = append(b, byte(i%f.classes))
		for p := range 3 * f.side * f.side {
			b = append(b, byte(16*i+p))
		}
	}
	return b
}

// pickled is the same as a pickle of Python 2.
func (f cifarFormat) pickled(first, n int) []byte {
	records := f.records(first, n)
	var pixels, labels []byte
	for i := range n {
		r := records[i*f.record() : (i+1)*f.record()]
		at := f.labelBytes()
		pixels, labels = append(pixels, r[at:]...), append(labels, 'K', r[at-1])
	}
	array := "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR(K\x01" + "J" + size4(n) + "J" +
		size4(3*f.side*f.side) +
		"\x86cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89" +
		pickledText(string(pixels)) + "tb"
	key := "labels"
	if f.coarse {
		key = "fine_labels"
	}
	return []byte("\x80\x02}(" + pickledText("data") + array + pickledText(key) + "](" + string(labels) + "eu.")
}

func size4(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

// pickledText is a str of Python 2.
func pickledText(s string) string { return "T" + size4(len(s)) + s }

// pickledNames is a pickle of n names.
func pickledNames(key string, n int) []byte {
	b := "\x80\x02}(" + pickledText(key) + "]("
	for i := range n {
		b += pickledText(fmt.Sprint("c", i))
	}
	return []byte(b + "eu.")
}

// tree is the files of layout k: their names and contents.
func (f cifarFormat) tree(k int) map[string][]byte {
	l := f.layouts[k]
	files := map[string][]byte{}
	write := func(names []string, n int) {
		each := n / len(names)
		for i, name := range names {
			if l.python {
				files[name] = f.pickled(i*each, each)
			} else {
				files[name] = f.records(i*each, each)
			}
		}
	}
	write(l.train, f.classes*f.trainPerClass)
	write(l.test, f.classes*f.testPerClass)
	switch {
	case !l.python:
		for i := range f.classes {
			files[l.names] = fmt.Appendf(files[l.names], "c%d\n", i)
		}
	case f.coarse:
		files[l.names] = pickledNames("fine_label_names", f.classes)
	default:
		files[l.names] = pickledNames("label_names", f.classes)
	}
	return files
}

// cifarFiles is a whole small data set: file name to content.
func cifarFiles() map[string][]byte {
	return map[string][]byte{
		"train.bin":              smallFormat.records(0, 6),
		"test.bin":               smallFormat.records(0, 3),
		"fine_label_names.txt":   []byte("apple\nbear\ncan\n\n"),
		"coarse_label_names.txt": []byte("not read"),
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

// packTar packs files below a folder, test.bin before train.bin as in the official archive's unsorted order.
func packTar(folder string, files map[string][]byte) []byte {
	var buf bytes.Buffer
	archive := tar.NewWriter(&buf)
	archive.WriteHeader(&tar.Header{Name: folder + "/", Typeflag: tar.TypeDir, Mode: 0o755})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		archive.WriteHeader(&tar.Header{Name: folder + "/" + name, Typeflag: tar.TypeReg, Size: int64(len(files[name])),
			Mode: 0o644})
		archive.Write(files[name])
	}
	archive.Close()
	return buf.Bytes()
}

// packTarGz is packTar, compressed.
func packTarGz(files map[string][]byte) []byte {
	return gzipped(packTar("cifar-100-binary", files), gzip.DefaultCompression)
}

func gzipped(b []byte, level int) []byte {
	var buf bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buf, level) // a level that there is
	w.Write(b)
	w.Close()
	return buf.Bytes()
}

// TestCIFARDigest: records of a folder and of an archive that has another name are the same, to the bit.
func TestCIFARDigest(t *testing.T) {
	own := writeFolder(t, t.TempDir(), cifarFiles())
	renamed := writeFolder(t, t.TempDir(), map[string][]byte{"download": packTarGz(cifarFiles())})
	for _, dir := range []string{own, filepath.Join(renamed, "download")} {
		set, err := smallFormat.open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
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

// TestCIFARLayouts: both layouts of both data sets, as a folder, an archive or a folder that holds either, give the
// same images, labels and names.
func TestCIFARLayouts(t *testing.T) {
	for _, f := range []cifarFormat{single10, single100} {
		var want *Set
		for k, l := range f.layouts {
			root := t.TempDir()
			files := f.tree(k)
			own := writeFolder(t, filepath.Join(root, "a", l.folder), files)
			holder := writeFolder(t, filepath.Join(root, "b"),
				map[string][]byte{l.archive: gzipped(packTar(l.folder, files), gzip.BestSpeed)})
			for _, dir := range []string{own, filepath.Dir(own), holder, filepath.Join(holder, l.archive)} {
				set, err := f.open(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = set
				}
				if digestOf(t, set) != digestOf(t, want) || !bytes.Equal(pixelsOf(set.Train), pixelsOf(want.Train)) {
					t.Errorf("%s: the images or labels differ from those of the binary folder", dir)
				}
				if !slices.Equal(set.ClassNames, want.ClassNames) {
					t.Errorf("%s: names %v differ", dir, set.ClassNames)
				}
			}
		}
		last := f.classes*f.trainPerClass - 1
		if want.Train.Len() != last+1 || want.Train.Y[last] != int32(f.classes-1) ||
			imageOf(want.Train, last)[5] != byte(16*last+5) ||
			want.Name != f.name || len(want.ClassNames) != f.classes {
			t.Errorf("%s: %d images, %d names, the last image has label %d", f.name, want.Train.Len(), len(want.ClassNames),
				want.Train.Y[last])
		}
	}
}

// TestCIFARFaults: what is wrong with a file is said with its name, in a folder and in an archive, of records and of
// pickles.
func TestCIFARFaults(t *testing.T) {
	type files = map[string][]byte
	small := func() files { return cifarFiles() }
	ten, hundred := func() files { return single10.tree(1) }, func() files { return single100.tree(1) }
	for _, c := range []struct {
		name, want string
		format     cifarFormat
		files      func() files
		harm       func(f files)
	}{
		{"truncated", "train.bin: the file is truncated: it has 83 bytes instead of 84", smallFormat, small,
			func(f files) { f["train.bin"] = f["train.bin"][:83] }},
		{"oversized", "test.bin: the file is too long: it has 43 bytes, but at most 42", smallFormat, small,
			func(f files) { f["test.bin"] = append(f["test.bin"], 0) }},
		{"missing", "test.bin", smallFormat, small, func(f files) { delete(f, "test.bin") }},
		{"fine label", "train.bin: record 2 has label 3, which must be below 3", smallFormat, small,
			func(f files) { f["train.bin"][2*14+1] = 3 }},
		{"counts", "train.bin: class 0 has 3 images instead of 2", smallFormat, small,
			func(f files) { f["train.bin"][14+1] = 0 }},
		{"names", "fine_label_names.txt: the file has 2 class names instead of 3", smallFormat, small,
			func(f files) { f["fine_label_names.txt"] = []byte("apple bear") }},
		{"truncated pickle", "data_batch_2: byte", single10, ten,
			func(f files) { f["data_batch_2"] = f["data_batch_2"][:5000] }},
		{"empty pickle", "test: byte 0: the file is cut off", single100, hundred, func(f files) { f["test"] = nil }},
		{"oversized pickle", "test_batch: the file is too long: it has 20,000,000 bytes", single10, ten,
			func(f files) { f["test_batch"] = make([]byte, 2e7) }},
		{"too few", "data_batch_1: the file has 3 images instead of 4", single10, ten,
			func(f files) { f["data_batch_1"] = single10.pickled(0, 3) }},
		{"other counts", "data_batch_1 to data_batch_5: class 0 has 3 images instead of 2", single10, ten,
			func(f files) { f["data_batch_5"] = single10.pickled(0, 4) }},
		{"the other CIFAR", "train: the pickle: found a dictionary of 'data', 'labels', wanted 'fine_labels' in it",
			single100, hundred, func(f files) { f["train"] = single10.pickled(0, 100) }},
		{"a call", "train: byte 0: the pickle calls 'os.system'", single100, hundred,
			func(f files) { f["train"] = []byte("cos\nsystem\n(S'id'\ntR.") }},
		{"missing pickle", "data_batch_3", single10, ten, func(f files) { delete(f, "data_batch_3") }},
		{"names in a pickle", "meta: ['fine_label_names']: found 99 texts, wanted 100", single100, hundred,
			func(f files) { f["meta"] = pickledNames("fine_label_names", 99) }},
		{"long names", "batches.meta: the file has more than 65,536 bytes", single10, ten,
			func(f files) { f["batches.meta"] = make([]byte, 70000) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := c.files()
			c.harm(files)
			folder := writeFolder(t, t.TempDir(), files)
			archive := filepath.Join(writeFolder(t, t.TempDir(),
				map[string][]byte{"x.tar.gz": gzipped(packTar("x", files), gzip.BestSpeed)}), "x.tar.gz")
			for _, dir := range []string{folder, archive} {
				_, err := c.format.open(t.Context(), dir)
				wantFault(t, dir, err, c.want)
				if err != nil && (!strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "Download cifar-10")) {
					t.Errorf("%v does not say where, or what to do", err)
				}
			}
		})
	}
}

// TestCIFARArchiveEntriesThatLeadElsewhere: links are not followed, and entries outside the archive's folder are not
// read. Nothing is written.
func TestCIFARArchiveEntriesThatLeadElsewhere(t *testing.T) {
	files := cifarFiles()
	root := t.TempDir()
	outside := writeFolder(t, filepath.Join(root, "outside"), files)
	other := slices.Clone(files["train.bin"])
	other[5]++
	for name, h := range map[string]tar.Header{
		"above":     {Name: "../train.bin", Typeflag: tar.TypeReg},
		"far above": {Name: "cifar-100-binary/../../outside/train.bin", Typeflag: tar.TypeReg},
		"absolute":  {Name: "/tmp/train.bin", Typeflag: tar.TypeReg},
		"a link": {Name: "cifar-100-binary/train.bin", Typeflag: tar.TypeSymlink,
			Linkname: filepath.Join(outside, "train.bin")},
		"a hard link":    {Name: "cifar-100-binary/train.bin", Typeflag: tar.TypeLink, Linkname: "../outside/train.bin"},
		"a folder":       {Name: "cifar-100-binary/train.bin", Typeflag: tar.TypeDir},
		"a device":       {Name: "cifar-100-binary/train.bin", Typeflag: tar.TypeChar},
		"a named socket": {Name: "cifar-100-binary/train.bin", Typeflag: tar.TypeFifo},
	} {
		t.Run(name, func(t *testing.T) {
			pack := func(withTrain bool) []byte {
				var buf bytes.Buffer
				w := tar.NewWriter(&buf)
				h.Mode = 0o644
				if h.Typeflag == tar.TypeReg {
					h.Size = int64(len(other))
				}
				w.WriteHeader(&h)
				if h.Typeflag == tar.TypeReg {
					w.Write(other)
				}
				w.Close()
				rest := map[string][]byte{"test.bin": files["test.bin"]}
				if withTrain {
					rest["train.bin"] = files["train.bin"]
				}
				return gzipped(append(buf.Bytes()[:buf.Len()-1024], packTar("cifar-100-binary", rest)...), gzip.BestSpeed)
			}
			_, err := smallFormat.readArchive(bytes.NewReader(pack(false)))
			wantFault(t, name, err, "train.bin is missing in the archive")
			set, err := smallFormat.readArchive(bytes.NewReader(pack(true)))
			if err != nil || imageOf(set.Train, 0)[3] != files["train.bin"][5] {
				t.Errorf("with the right file after it: %v, or its image is that of the wrong file", err)
			}
		})
	}
	if found, err := os.ReadDir(root); err != nil || len(found) != 1 {
		t.Errorf("something was written: %v, %v", found, err)
	}
}

func TestCIFARWrongPlace(t *testing.T) {
	root := t.TempDir()
	folders := filepath.Join(root, "folders")
	writeFolder(t, filepath.Join(folders, "train"), nil)
	empty := writeFolder(t, filepath.Join(root, "empty"), nil)
	file := filepath.Join(writeFolder(t, filepath.Join(root, "file"), map[string][]byte{"notes.txt": []byte("hello")}),
		"notes.txt")
	damaged := packTarGz(cifarFiles())
	cut := filepath.Join(writeFolder(t, filepath.Join(root, "cut"),
		map[string][]byte{"x.tar.gz": damaged[:len(damaged)/2]}), "x.tar.gz")
	for _, c := range []struct{ dir, want string }{
		{"", "--data-dir"},
		{filepath.Join(root, "nowhere"), "no such file or directory"},
		{folders, "train.bin and test.bin are not here, and neither is cifar-100-binary or cifar-100-binary.tar.gz. The folder holds train"},
		{empty, "The folder holds nothing"},
		{file, "not a gzip file"},
		{cut, "x.tar.gz"},
	} {
		if _, err := smallFormat.open(t.Context(), c.dir); err == nil || !strings.Contains(err.Error(), c.want) {
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
		t.Errorf("%d and %d images, first class %s, last %s", set.Train.Len(), set.Test.Len(), set.ClassName(0),
			set.ClassName(99))
	}
	// This is the digest in every result of CIFAR-100 under results/: of the official files, unpacked or not.
	const official = "sha256:5c84f78bbf0fe3499fba1bb43681507c72a6894aaf77d1913127dfe211deef41"
	if set.Digest != official {
		t.Errorf("digest %s, want %s; runs of before are not continued, or these files are not the official ones", set.Digest,
			official)
	}
}

// FuzzCIFARRecords: records that are read are those of the file, byte for byte.
func FuzzCIFARRecords(f *testing.F) {
	f.Add(smallFormat.records(0, 6))
	f.Add(smallFormat.records(0, 6)[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		set := decode(t, len(b), func() (*Set, error) {
			r := smallFormat.reader(smallFormat.layouts[0])
			return r.set, r.read("train.bin", bytes.NewReader(b), 84)
		})
		if set != nil {
			checkRecords(t, set.Train, b[:84])
		}
	})
}

// FuzzCIFARArchive reads the fuzzer's bytes as an archive, and as the three files in one.
func FuzzCIFARArchive(f *testing.F) {
	files := cifarFiles()
	train, test, names := files["train.bin"], files["test.bin"], files["fine_label_names.txt"]
	whole := packTarGz(files)
	f.Add(whole, train, test, names)
	f.Add(whole[:len(whole)/2], train[:83], test, []byte("a b c"))
	f.Add([]byte("\x1f\x8b\x08\x00"), train, test, names)
	f.Fuzz(func(t *testing.T, whole, train, test, names []byte) {
		read := func(b []byte) *Set {
			return decode(t, len(b), func() (*Set, error) { return smallFormat.readArchive(bytes.NewReader(b)) })
		}
		read(whole)
		files := map[string][]byte{"train.bin": train, "test.bin": test, "fine_label_names.txt": names}
		set := read(gzipped(packTar("cifar-100-binary", files), gzip.NoCompression))
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

// checkRecords compares a half of a set with the records that it was read from.
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
