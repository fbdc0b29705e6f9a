package data

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ocl/internal/fuzztest"
)

// idxImages is a file of n images; pixel p of image i is i+p, so rows and columns differ.
func idxImages(n int) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0x803)
	for _, v := range []int{n, idxSide, idxSide} {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	for i := range n {
		for p := range idxSide * idxSide {
			b = append(b, byte(i+p))
		}
	}
	return b
}

// idxLabels is a file of labels that go round from first.
func idxLabels(n, classes, first int) []byte {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 0x801), uint32(n))
	for i := range n {
		b = append(b, byte(first+i%classes))
	}
	return b
}

// idxSet are the four files of a set, two training images and one test image of each class.
func idxSet(prefix, test string, classes, first int) map[string][]byte {
	return map[string][]byte{
		prefix + "train-images-idx3-ubyte":   idxImages(2 * classes),
		prefix + "train-labels-idx1-ubyte":   idxLabels(2*classes, classes, first),
		prefix + test + "-images-idx3-ubyte": idxImages(classes),
		prefix + test + "-labels-idx1-ubyte": idxLabels(classes, classes, first),
	}
}

// allGzipped are the files, packed by gzip.
func allGzipped(files map[string][]byte) map[string][]byte {
	all := map[string][]byte{}
	for name, b := range files {
		all[name+".gz"] = gzipped(b, gzip.DefaultCompression)
	}
	return all
}

// TestMNISTFromEveryPlace: packed or not, with a hyphen or a dot, in each folder, the set is the same. A folder of the
// name of the set comes before files beside it.
func TestMNISTFromEveryPlace(t *testing.T) {
	plain := idxSet("", "t10k", 10, 0)
	dotted, digest := map[string][]byte{}, ""
	for name, b := range plain {
		dotted[strings.Replace(name, "-idx", ".idx", 1)] = b
	}
	other := idxSet("", "t10k", 10, 0)
	other["train-images-idx3-ubyte"] = append(other["train-images-idx3-ubyte"][:len(other["train-images-idx3-ubyte"])-1],
		99)
	for _, name := range []string{"mnist", "fashion-mnist"} {
		torch := map[string]string{"mnist": "MNIST", "fashion-mnist": "FashionMNIST"}[name]
		for _, c := range []struct {
			folder string
			files  map[string][]byte
		}{{"", plain}, {"", allGzipped(plain)}, {"", dotted}, {"raw", plain}, {name, allGzipped(plain)},
			{name + "/raw", plain}, {torch + "/raw", plain}} {
			root := t.TempDir()
			if c.folder == name {
				writeFolder(t, root, other)
			}
			writeFolder(t, filepath.Join(root, filepath.FromSlash(c.folder)), c.files)
			set := openSmall(t, Spec{Name: name, Dir: root})
			if set.Name != name || set.C != 1 || set.H != 28 || set.W != 28 || set.Classes != 10 || len(set.ClassNames) != 10 ||
				set.DefaultTasks != 5 {
				t.Errorf("%s in %q: %+v", name, c.folder, set)
			}
			if set.Train.Len() != 20 || set.Test.Len() != 10 || set.Train.Y[13] != 3 || imageOf(set.Train, 13)[5] != 18 {
				t.Errorf("%s in %q: %d and %d images, %v", name, c.folder, set.Train.Len(), set.Test.Len(), set.Train.Y)
			}
			if digest == "" {
				digest = set.Digest
			}
			if set.Digest != digest {
				t.Errorf("%s in %q has another digest", name, c.folder)
			}
		}
	}
}

// TestMNISTPadded: a larger side pads with zeros on all sides; three channels are equal; a part has so many of each
// class.
func TestMNISTPadded(t *testing.T) {
	root := writeFolder(t, t.TempDir(), idxSet("", "t10k", 10, 0))
	plain := openSmall(t, Spec{Name: "mnist", Dir: root})
	for _, c := range []struct{ side, before int }{{32, 2}, {33, 2}, {64, 18}} {
		set := openSmall(t, Spec{Name: "mnist", Dir: root, Size: c.side, Channels: 3, TrainPerClass: 1})
		if set.C != 3 || set.H != c.side || set.W != c.side || set.Train.Len() != 10 {
			t.Fatalf("%d×%d×%d, %d images", set.C, set.H, set.W, set.Train.Len())
		}
		// they stay grey in memory, and the part is all there is
		if got, want := set.Train.MemoryBytes(), int64(10*c.side*c.side); got != want {
			t.Errorf("side %d: the training images take %d bytes, want %d", c.side, got, want)
		}
		image, err := set.Test.Images.Image(4, make([]uint8, set.ImageLen()))
		if err != nil {
			t.Fatal(err)
		}
		for at, v := range image {
			x, y := at%c.side-c.before, at/c.side%c.side-c.before
			want := uint8(0)
			if x >= 0 && x < 28 && y >= 0 && y < 28 {
				want = imageOf(plain.Test, 4)[y*28+x]
			}
			if v != want {
				t.Fatalf("side %d: pixel %d is %d, want %d", c.side, at, v, want)
			}
		}
	}
}

// zipped is an archive of files in a folder.
func zipped(t *testing.T, folder string, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, b := range files {
		e, err := w.Create(folder + name)
		if err != nil {
			t.Fatal(err)
		}
		e.Write(b)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestEMNIST: images are turned upright; each split is read from files and from the archive, whose other entries, such
// as one with ../ in its name, do no harm.
func TestEMNIST(t *testing.T) {
	for split, chars := range emnistSplits {
		first := 0
		if split == "letters" {
			first = 1
		}
		files := allGzipped(idxSet("emnist-"+split+"-", "test", len(chars), first))
		more := map[string][]byte{"../../evil.gz": {1}, "emnist-" + split + "-mapping.txt": []byte("0 48\n")}
		for name, b := range files {
			more[name] = b
		}
		archive := writeFolder(t, filepath.Join(t.TempDir(), "emnist"),
			map[string][]byte{"gzip.zip": zipped(t, "gzip/", more)})
		folder := writeFolder(t, t.TempDir(), files)
		inner := t.TempDir()
		writeFolder(t, filepath.Join(inner, "emnist", "raw"), idxSet("emnist-"+split+"-", "test", len(chars), first))
		places := []string{filepath.Join(archive, "gzip.zip"), archive, filepath.Dir(archive), folder, inner}
		digest := ""
		for _, place := range places {
			if split == "balanced" {
				openSmall(t, Spec{Name: "emnist", Dir: place})
			}
			set := openSmall(t, Spec{Name: "emnist", Dir: filepath.Join(place, "emnist-"+split)})
			if set.Classes != len(chars) || set.Train.Len() != 2*len(chars) || set.ClassName(0) != chars[:1] ||
				set.Train.Y[1] != 1 {
				t.Errorf("%s from %s: %d classes, %d images, names %q", split, place, set.Classes, set.Train.Len(), set.ClassNames)
			}
			// In the file, pixel p of image i is i+p.
			if p := imageOf(set.Train, 3); p[1] != 3+28 || p[28] != 4 {
				t.Errorf("%s: the image begins with %v, so it is not upright", split, p[:3])
			}
			if digest == "" {
				digest = set.Digest
			}
			if set.Digest != digest || !slices.Contains(set.Notes, "the split "+split+" of EMNIST") {
				t.Errorf("%s from %s: digest %s, notes %q", split, place, set.Digest, set.Notes)
			}
		}
	}
	folder := writeFolder(t, filepath.Join(t.TempDir(), "emnist-all"),
		allGzipped(idxSet("emnist-balanced-", "test", 47, 0)))
	openSmall(t, Spec{Name: "emnist", Dir: folder})
	for dir, want := range map[string]string{
		"":                                     "no folder is given. Use --data-dir with the folder of emnist-balanced-train-images",
		filepath.Join(folder, "emnist-all"):    `there is no split "all". Use one of balanced, byclass`,
		filepath.Join(folder, "emnist-digits"): "emnist-digits-train-images-idx3-ubyte.gz is not here",
		filepath.Join(folder,
			"emnist-balanced-train-images-idx3-ubyte.gz"): "this is no zip archive that can be read",
		filepath.Join(folder, "nowhere"): "nowhere: ",
		writeFolder(t, t.TempDir(), map[string][]byte{"gzip.zip": []byte("PK\x03\x04")}): "gzip.zip: this is no zip archive",
	} {
		if _, err := Open(t.Context(), Spec{Name: "emnist", Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to say %q", dir, err, want)
		}
	}
}

// TestIDXFaults: each fault of a file is named, and what to do.
func TestIDXFaults(t *testing.T) {
	type files = map[string][]byte
	const images, labels = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
	for name, c := range map[string]struct {
		want string
		harm func(files)
	}{
		"missing":   {"t10k-images-idx3-ubyte.gz is missing. Get", func(f files) { delete(f, "t10k-images-idx3-ubyte") }},
		"none":      {"train-images-idx3-ubyte.gz is not here. The folder holds nothing", func(f files) { clear(f) }},
		"zero-byte": {images + ": the file is empty", func(f files) { f[images] = nil }},
		"header":    {"the header cannot be read", func(f files) { f[images] = f[images][:15] }},
		"magic":     {"the file begins with 0x801 instead of 0x803", func(f files) { f[images] = f[labels] }},
		"truncated": {"the header says 20 records, more than a file of 15,695 bytes can have",
			func(f files) { f[images] = f[images][:16+20*784-1] }},
		"oversized":   {"the file has bytes after its 20 records", func(f files) { f[labels] = append(f[labels], 0) }},
		"no record":   {"the file has no record", func(f files) { f[labels] = idxLabels(0, 10, 0) }},
		"wrong shape": {"the images are 27×28 instead of 28×28", func(f files) { f[images][11] = 27 }},
		"wrong width": {"the images are 28×29 instead of 28×28", func(f files) { f[images][15] = 29 }},
		"huge":        {"the header says 4,294,967,295 records", func(f files) { copy(f[images][4:], "\xff\xff\xff\xff") }},
		"label": {labels + ": record 3 has label 10, but labels go from 0 to 9",
			func(f files) { f[labels][8+3] = 10 }},
		"class": {labels + ": no image has label 4", func(f files) { f[labels][8+4], f[labels][8+14] = 0, 0 }},
		"counts": {labels + " has 30 labels for the 20 images of " + images,
			func(f files) { f[labels] = idxLabels(30, 10, 0) }},
		"packed cut": {"the file is truncated or damaged: record",
			func(f files) { b := allGzipped(f)[images+".gz"]; f[images] = b[:len(b)-20] }},
		"packed wrong": {"gzip: invalid checksum",
			func(f files) { b := allGzipped(f)[images+".gz"]; b[len(b)-6]++; f[images] = b }},
		"packed magic": {"the file is damaged (", func(f files) { f[images] = []byte("\x1f\x8b\x01\x02") }},
	} {
		f := idxSet("", "t10k", 10, 0)
		c.harm(f)
		root := writeFolder(t, t.TempDir(), f)
		_, err := Open(t.Context(), Spec{Name: "mnist", Dir: root})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", name, err, c.want)
			continue
		}
		plainMessage(t, err)
	}
	file := filepath.Join(writeFolder(t, t.TempDir(), files{"a": nil}), "a")
	for dir, want := range map[string]string{"": "no folder is given. Use --data-dir",
		file: "this is a file. Use --data-dir with the folder", file + "b": "no such file or directory. Use --data-dir"} {
		if _, err := Open(t.Context(), Spec{Name: "fashion-mnist", Dir: dir}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want it to say %q", dir, err, want)
		}
	}
}

// TestIDXBomb: a small file that unpacks to gigabytes of zeros is refused before memory is taken.
func TestIDXBomb(t *testing.T) {
	head := idxImages(0)
	binary.BigEndian.PutUint32(head[4:], 4_000_000)
	var file bytes.Buffer
	file.Write([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
	file.Write(zeros(t, head, 3000))
	var err error
	if n := fuzztest.Allocated(1<<20, func() {
		_, err = readIDX(bytes.NewReader(file.Bytes()), int64(file.Len()), 0x803, 784)
	}); n > 1<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
	if err == nil || !strings.Contains(err.Error(), "the header says 4,000,000 records, more than a file of") {
		t.Errorf("got %v", err)
	}
}

// TestRealMNIST reads the official files, whose first labels and numbers of images are known.
func TestRealMNIST(t *testing.T) {
	dir := os.Getenv("OCL_DATA")
	if dir == "" || !exists(filepath.Join(dir, "mnist", "train-images-idx3-ubyte.gz")) {
		t.Skip("OCL_DATA is unset or holds no mnist; set it to the folder that holds mnist to read the real files")
	}
	set := openSmall(t, Spec{Name: "mnist", Dir: dir})
	if set.Train.Len() != 60000 || set.Test.Len() != 10000 ||
		!slices.Equal(set.Train.Y[:10], []int32{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}) ||
		!slices.Equal(set.Test.Y[:5], []int32{7, 2, 1, 0, 4}) {
		t.Errorf("%d and %d images, labels %v and %v", set.Train.Len(), set.Test.Len(), set.Train.Y[:10], set.Test.Y[:5])
	}
	if !slices.Contains(mnistInfo.KnownDigests, set.Digest) {
		t.Errorf("digest %s, want that of the official files", set.Digest)
	}
	sum := 0
	for _, v := range pixelsOf(set.Train) {
		sum += int(v)
	}
	if mean := fmt.Sprintf("%.4f", float64(sum)/255/60000/784); mean != "0.1307" { // as everybody normalises it
		t.Errorf("mean %s", mean)
	}
}

// FuzzIDX reads files of images and of labels: good ones with changes, packed or not.
func FuzzIDX(f *testing.F) {
	small := idxFormat{ctx: context.Background(), train: "train", test: "t10k", names: []string{"a", "b"},
		transposed: true}
	good := idxSet("", "t10k", 2, 0)
	f.Add(good["train-images-idx3-ubyte"], good["train-labels-idx1-ubyte"], []byte{}, false)
	f.Add(good["train-images-idx3-ubyte"], good["train-labels-idx1-ubyte"], []byte{4, 3, 10}, true)
	f.Add(gzipped(good["train-images-idx3-ubyte"], 1), good["train-labels-idx1-ubyte"], []byte{7, 0, 5, 255}, false)
	f.Fuzz(func(t *testing.T, images, labels, choices []byte, pack bool) {
		for c := fuzztest.Of(choices); c.More(); {
			images = fuzztest.Bytes(images, c)
			labels = fuzztest.Bytes(labels, c)
		}
		if pack {
			images, labels = gzipped(images, 1), gzipped(labels, 1)
		}
		fsys := fstest.MapFS{}
		for name, b := range good {
			fsys[name] = &fstest.MapFile{Data: b}
		}
		fsys["train-images-idx3-ubyte"], fsys["train-labels-idx1-ubyte"] = &fstest.MapFile{Data: images},
			&fstest.MapFile{Data: labels}
		decode(t, len(images)+len(labels), func() (*Set, error) {
			return small.openFirst(fsys, []string{"."}, 1<<30)
		})
	})
}
