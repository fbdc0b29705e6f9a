package pickle

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
)

// Parts of pickles: the type uint8, and an array that BUILD must fill.
const (
	u1            = "cnumpy\ndtype\n(U\x02u1\x89\x88tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
	reconstructed = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
)

func le4(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
func le8(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }

// arrayOf is a pickle of an array with a shape, type and contents.
func arrayOf(shape, dtype, contents string) string {
	return reconstructed + "(K\x01" + shape + dtype + "\x89" + contents + "tb."
}

// file is a file of testdata.
func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// source is how a pickle is handed to a reader.
func source(b []byte) (*bytes.Reader, int64) { return bytes.NewReader(b), int64(len(b)) }

// bytesOf are all bytes of an array.
func bytesOf(t *testing.T, r *io.SectionReader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantError checks that an error says something.
func wantError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want it to say %q", name, err, want)
	}
}

// le is an integer as Python writes it.
func le(n int) string { return "J" + le4(uint32(n)) }

// ints is a list of integers.
func ints(ns ...int) string {
	s := "]("
	for _, n := range ns {
		s += le(n)
	}
	return s + "e"
}

// str is a str of Python 2.
func str(s string) string { return "T" + le4(uint32(len(s))) + s }

// dictionary is a dictionary of keys and values that alternate.
func dictionary(kvs ...string) string {
	s := "}("
	for i := 0; i < len(kvs); i += 2 {
		s += str(kvs[i]) + kvs[i+1]
	}
	return s + "u"
}

// uint8s is an array of zeros.
func uint8s(shape ...int) string {
	s, n := "(", 1
	for _, d := range shape {
		s, n = s+le(d), n*d
	}
	return strings.TrimSuffix(arrayOf(s+"t", u1, str(string(make([]byte, n)))), ".")
}

func TestCIFAR(t *testing.T) {
	rows := make([]byte, 2*3072)
	for i := range rows {
		rows[i] = byte(i / 24 % 251)
	}
	for _, name := range []string{"cifar100-py2.pkl", "cifar100-4.pkl"} {
		b := file(t, name)
		c, err := ReadCIFAR(bytes.NewReader(b), int64(len(b)), 100)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(bytesOf(t, c.Images), rows) {
			t.Errorf("%s: %d images differ from the script's", name, c.Count)
		}
		if !slices.Equal(c.Labels, []int64{0, 99}) {
			t.Errorf("%s: labels %v, want [0 99]", name, c.Labels)
		}
	}
	b := file(t, "cifar10-py2.pkl")
	c, err := ReadCIFAR(bytes.NewReader(b), int64(len(b)), 10)
	if err != nil || !slices.Equal(c.Labels, []int64{9, 0}) || !bytes.Equal(bytesOf(t, c.Images), rows) {
		t.Errorf("CIFAR-10: %+v (%v)", c, err)
	}
}

func TestCIFARNames(t *testing.T) {
	names := func(b []byte, classes int) ([]string, error) {
		return ReadCIFARNames(bytes.NewReader(b), int64(len(b)), classes)
	}
	if n, err := names(file(t, "meta100-py2.pkl"), 100); err != nil || len(n) != 100 || n[42] != "fine42" {
		t.Errorf("CIFAR-100: %q (%v)", n, err)
	}
	if n, err := names(file(t, "meta10-py2.pkl"), 10); err != nil || len(n) != 10 || n[9] != "class9" {
		t.Errorf("CIFAR-10: %q (%v)", n, err)
	}
	for name, c := range map[string]struct{ pickle, want string }{
		"other names": {dictionary("names", "]"), "the pickle: found a dictionary of 'names', wanted 'label_names' in it"},
		"too few":     {dictionary("label_names", "]("+str("a")+str("b")+"e"), "['label_names']: found 2 texts, wanted 10"},
		"numbers": {dictionary("label_names", ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)),
			"['label_names'][0]: found the integer 1, wanted a text"},
		"one text": {dictionary("label_names", str("a")),
			"['label_names']: found a string of 1 byte, wanted a list of texts"},
	} {
		_, err := names([]byte(c.pickle+"."), 10)
		wantError(t, name, err, c.want)
	}
}

func TestCIFARThatIsNone(t *testing.T) {
	data := uint8s(2, 3072)
	for name, c := range map[string]struct{ pickle, want string }{
		"a list": {"]", "the pickle: found a list of 0, wanted a dictionary"},
		"the file of names": {dictionary("label_names", "]"),
			"the pickle: found a dictionary of 'label_names', wanted 'data' in it"},
		"empty": {"}", "the pickle: found an empty dictionary, wanted 'data' in it"},
		"many keys": {dictionary("a", "N", "b", "N", "c", "N", "d", "N", "e", "N", "f", "N", "g", "N", "h", "N", "i",
			"N"), "found a dictionary of 'a', 'b', 'c', 'd', 'e', and 4 more, wanted"},
		"evil keys":      {dictionary("\x1b[2J'", "N"), `found a dictionary of "\x1b[2J'", wanted`},
		"data in a list": {dictionary("data", ints(1)), "['data']: found a list of 1, wanted an array of uint8 [N,3072]"},
		"data of MNIST": {dictionary("data", uint8s(2, 784)),
			"['data']: found an array of uint8 [2,784], wanted an array of uint8 [N,3072]"},
		"four axes": {dictionary("data", uint8s(2, 3, 32, 32)), "found an array of uint8 [2,3,32,32], wanted"},
		"Fortran order": {dictionary("data", strings.Replace(data, "\x89T", "\x88T", 1)),
			"['data']: found an array of uint8 in Fortran order [2,3072], wanted"},
		"int8": {dictionary("data", strings.Replace(data, "u1", "i1", 1)),
			"['data']: found an array of int8 [2,3072], wanted"},
		"no labels": {dictionary("data", data), "found a dictionary of 'data', wanted 'labels' in it"},
		"labels of texts": {dictionary("data", data, "labels", "]("+le(1)+str("a")+"e"),
			"['labels'][1]: found a string of 1 byte, wanted an integer"},
		"labels in a text": {dictionary("data", data, "labels", str("a")),
			"['labels']: found a string of 1 byte, wanted a list or an array of integers"},
		"a label too few": {dictionary("data", data, "labels", ints(1)),
			"['labels']: found 1 label, wanted 2, one for each image"},
		"label 10":        {dictionary("data", data, "labels", ints(1, 10)), "['labels'][1]: found 10, wanted 0 to 9"},
		"label -1":        {dictionary("data", data, "labels", ints(-1, 0)), "['labels'][0]: found -1, wanted 0 to 9"},
		"the other CIFAR": {dictionary("data", data, "fine_labels", ints(9, 0)), "wanted 'labels' in it"},
		"a set":           {"\x8f", "byte 0: the pickle has the instruction 0x8f, which is not read"},
	} {
		b := []byte(c.pickle + ".")
		_, err := ReadCIFAR(bytes.NewReader(b), int64(len(b)), 10)
		wantError(t, name, err, c.want)
	}
}

// miniOf reads a file of images 2×2.
func miniOf(b []byte) (*MiniImageNet, error) {
	r, size := source(b)
	return miniImageNet(r, size, 2)
}

// TestMiniImageNet: each image has the class that the dictionary gives it.
func TestMiniImageNet(t *testing.T) {
	for _, name := range []string{"mini-py2.pkl", "mini-5.pkl"} {
		b := file(t, name)
		m, err := miniOf(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b := bytesOf(t, m.Images); len(b) != 60 || b[59] != 59 {
			t.Errorf("%s: images of %d bytes, want 60", name, len(b))
		}
		if !slices.Equal(m.Classes, []string{"n01", "n01", "n02", "n02", "n03"}) {
			t.Errorf("%s: classes %q", name, m.Classes)
		}
		_, err = ReadMiniImageNet(source(b))
		wantError(t, name, err, "['image_data']: found an array of uint8 [5,2,2,3], wanted an array of uint8 [N,84,84,3]")
	}
}

// TestImagesStayInTheFile: many images take no memory, however their array is written.
func TestImagesStayInTheFile(t *testing.T) {
	const n = 100
	size := n * 84 * 84 * 3
	pixels := string(slices.Repeat([]byte{7}, size))
	shape := "(" + le(n) + le(84) + le(84) + le(3) + "t"
	for _, images := range []string{
		"cnumpy._core.numeric\n_frombuffer\n(\x96" + le8(uint64(size)) + pixels + u1 + shape + "\x8c\x01CtR",
		strings.TrimSuffix(arrayOf(shape, u1, "B"+le4(uint32(size))+pixels), "."),
		strings.TrimSuffix(arrayOf(shape, u1, str(pixels)), "."),
	} {
		classes := make([]int, n)
		for i := range classes {
			classes[i] = i
		}
		b := []byte("\x80\x04" + dictionary("image_data", images, "class_dict", dictionary("n01", ints(classes...))) + ".")
		var m *MiniImageNet
		var err error
		if grown := fuzztest.Allocated(0, func() { m, err = ReadMiniImageNet(source(b)) }); err != nil || grown > 1<<18 {
			t.Fatalf("%d bytes are allocated for %d images (%v)", grown, n, err)
		}
		if got := bytesOf(t, m.Images); string(got) != pixels {
			t.Errorf("%d bytes of images, want %d", len(got), size)
		}
		_, err = ReadMiniImageNet(source(b[:len(b)-1]))
		wantError(t, "cut off", err, "the file is cut off here")
	}
}

func TestMiniImageNetThatIsNone(t *testing.T) {
	images := uint8s(3, 84, 84, 3)
	for name, c := range map[string]struct{ pickle, want string }{
		"no images": {"}", "wanted 'image_data' in it"},
		"no classes": {dictionary("image_data", images),
			"found a dictionary of 'image_data', wanted 'class_dict' in it"},
		"a list of classes": {dictionary("image_data", images, "class_dict", "]"),
			"['class_dict']: found a list of 0, wanted a dictionary"},
		"numbered classes": {dictionary("image_data", images, "class_dict", "}"+le(7)+"]s"),
			"the key of a dictionary is the integer 7, wanted a text"},
		"an empty class": {dictionary("image_data", images, "class_dict", dictionary("n01", "]")),
			"['class_dict']['n01']: found no images, wanted at least 1"},
		"no list": {dictionary("image_data", images, "class_dict", dictionary("n01", le(1))),
			"['class_dict']['n01']: found the integer 1, wanted a list or"},
		"image 3": {dictionary("image_data", images, "class_dict", dictionary("n01", ints(0, 3))),
			"['class_dict']['n01'][1]: found 3, wanted 0 to 2"},
		"image -1": {dictionary("image_data", images, "class_dict", dictionary("n01", ints(-1))),
			"['class_dict']['n01'][0]: found -1, wanted 0 to 2"},
		"in two classes": {dictionary("image_data", images, "class_dict",
			dictionary("n01", ints(0, 1), "n02", ints(2, 1))),
			"['class_dict']['n02']: found image 1, which is also in 'n01'; wanted one class for each image"},
		"in no class": {dictionary("image_data", images, "class_dict", dictionary("n01", ints(0, 2))),
			"['class_dict']: image 1 is in no class; wanted one class for each of 3 images"},
	} {
		_, err := ReadMiniImageNet(source([]byte(c.pickle + ".")))
		wantError(t, name, err, c.want)
	}
}
