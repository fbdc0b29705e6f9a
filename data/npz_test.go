package data

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/data/npz"
)

// array is an array as NumPy writes it.
type array struct {
	descr, shape, fortran string
	data                  []byte
}

func (a array) bytes() []byte {
	if a.fortran == "" {
		a.fortran = "False"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", a.descr, a.fortran, a.shape)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(b, header...), a.data...)
}

// arrays is a whole small data set of three classes: NHWC training images 2×2×3, NCHW would be the same bytes read
// otherwise.
func arrays() map[string]array {
	return map[string]array{
		"x_train": {descr: "|u1", shape: "(3, 2, 2, 3)", data: counting(36)},
		"y_train": {descr: "<i8", shape: "(3,)", data: words(8, binary.LittleEndian, 2, 0, 1)},
		"x_test":  {descr: "|u1", shape: "(1, 2, 2, 3)", data: counting(12)},
		"y_test":  {descr: "|u1", shape: "(1, 1)", data: []byte{2}},
	}
}

func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func words(width int, order binary.ByteOrder, values ...int64) []byte {
	var b []byte
	for _, v := range values {
		var w [8]byte
		order.PutUint64(w[:], uint64(v))
		if order == binary.ByteOrder(binary.BigEndian) {
			b = append(b, w[8-width:]...)
		} else {
			b = append(b, w[:width]...)
		}
	}
	return b
}

func packNPZ(files map[string]array, method uint16) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range []string{"y_train", "class_names", "__metadata__", "x_train", "x_test", "y_test"} {
		if a, ok := files[name]; ok {
			e, _ := w.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
			e.Write(a.bytes())
		}
	}
	w.Close()
	return buf.Bytes()
}

func TestNPZLayouts(t *testing.T) {
	type files = map[string]array
	for _, c := range []struct {
		name    string
		c, h, w int
		pixel   byte // channel 1 (or 0), row 1, column 0 of image 2
		set     func(files)
	}{
		{"NHWC", 3, 2, 2, 2*12 + (1*2+0)*3 + 1, func(files) {}},
		{"NCHW", 3, 2, 2, 2*12 + 1*4 + 2, func(f files) {
			f["x_train"] = array{descr: "|u1", shape: "(3, 3, 2, 2)", data: counting(36)}
			f["x_test"] = array{descr: "|u1", shape: "(1, 3, 2, 2)", data: counting(12)}
		}},
		{"grey", 1, 4, 3, 2*12 + 3, func(f files) {
			f["x_train"] = array{descr: "|u1", shape: "(3, 4, 3)", data: counting(36)}
			f["x_test"] = array{descr: "|u1", shape: "(1, 4, 3)", data: counting(12)}
		}},
		{"grey with axis", 1, 4, 3, 2*12 + 3, func(f files) {
			f["x_train"] = array{descr: "|u1", shape: "(3, 4, 3, 1)", data: counting(36)}
			f["x_test"] = array{descr: "|u1", shape: "(1, 4, 3, 1)", data: counting(12)}
		}},
	} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			f := arrays()
			c.set(f)
			b := packNPZ(f, method)
			set, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if set.C != c.c || set.H != c.h || set.W != c.w || set.Classes != 3 || set.Train.Len() != 3 || set.Test.Len() != 1 {
				t.Errorf("%s: %d×%d×%d, %d classes", c.name, set.C, set.H, set.W, set.Classes)
			}
			at := min(1, c.c-1)*c.h*c.w + 1*c.w
			if got := imageOf(set.Train, 2)[at]; got != c.pixel {
				t.Errorf("%s: pixel %d, want %d", c.name, got, c.pixel)
			}
		}
	}
}

func TestNPZLabelsOfEveryWidth(t *testing.T) {
	for _, width := range []int{1, 2, 4, 8} {
		for _, kind := range []string{"i", "u"} {
			for _, order := range []string{"<", ">", "=", "|"} {
				f := arrays()
				var bytesOrder binary.ByteOrder = binary.LittleEndian
				if order == ">" {
					bytesOrder = binary.BigEndian
				}
				f["y_train"] = array{descr: fmt.Sprintf("%s%s%d", order, kind, width), shape: "(3,)",
					data: words(width, bytesOrder, 1, 0, 2)}
				b := packNPZ(f, zip.Store)
				set, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b)))
				if err != nil {
					t.Fatalf("%s%s%d: %v", order, kind, width, err)
				}
				if y := set.Train.Y; y[0] != 1 || y[1] != 0 || y[2] != 2 {
					t.Errorf("%s%s%d: labels %v, want 1 0 2", order, kind, width, y)
				}
			}
		}
	}
}

// floats makes an array three grey images of 1×2 floats.
func floats(descr string, values ...float64) func(*array) {
	return func(a *array) {
		a.descr, a.shape, a.data = descr, "(3, 1, 2)", nil
		for _, v := range values {
			var order binary.AppendByteOrder = binary.LittleEndian
			if descr[0] == '>' {
				order = binary.BigEndian
			}
			if descr[1:] == "f4" {
				a.data = order.AppendUint32(a.data, math.Float32bits(float32(v)))
			} else {
				a.data = order.AppendUint64(a.data, math.Float64bits(v))
			}
		}
	}
}

// TestNPZFloats: floats of each width and byte order become the nearest level, and k/255 becomes k.
func TestNPZFloats(t *testing.T) {
	for _, descr := range []string{"<f4", ">f4", "=f4", "<f8", ">f8"} {
		f := arrays()
		a := f["x_train"]
		floats(descr, 0, 1, 7.0/255, 254.0/255, 0.4/255, 0.6/255)(&a)
		f["x_train"] = a
		f["x_test"] = array{descr: "|u1", shape: "(1, 1, 2)", data: []byte{9, 8}}
		b := packNPZ(f, zip.Deflate)
		set, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%s: %v", descr, err)
		}
		if got, want := pixelsOf(set.Train), []uint8{0, 255, 7, 254, 0, 1}; !bytes.Equal(got, want) {
			t.Errorf("%s: %v, want %v", descr, got, want)
		}
	}
	for _, descr := range []string{"<f4", "<f8"} {
		var levels []float64
		for k := range 256 {
			levels = append(levels, float64(k)/255)
		}
		a := array{}
		floats(descr, levels...)(&a)
		f := map[string]array{
			"x_train": {descr: descr, shape: "(1, 16, 16)", data: a.data},
			"y_train": {descr: "|u1", shape: "(1,)", data: []byte{0}},
			"x_test":  {descr: "|u1", shape: "(1, 16, 16)", data: counting(256)},
			"y_test":  {descr: "|u1", shape: "(1,)", data: []byte{0}},
		}
		b := packNPZ(f, zip.Store)
		set, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%s: %v", descr, err)
		}
		if got := pixelsOf(set.Train); !bytes.Equal(got, counting(256)) {
			t.Errorf("%s: k/255 becomes %v", descr, got)
		}
	}
}

// embedded3 is a whole small data set of three classes: embeddings of two numbers, float16.
func embedded3() map[string]array {
	f := arrays()
	f["x_train"] = array{descr: "<f2", shape: "(3, 2)",
		data: words(2, binary.LittleEndian, 0x3c00, 0xc000, 0, 1, 0x7bff, 0x3555)}
	f["x_test"] = array{descr: "<f2", shape: "(1, 2)", data: words(2, binary.LittleEndian, 0x3800, 0x4248)}
	return f
}

// TestNPZEmbeddings: floats of two axes are embeddings, of each width and byte order, kept as the nearest numbers of
// float16.
func TestNPZEmbeddings(t *testing.T) {
	for _, descr := range []string{"<f2", "<f4", ">f4", "<f8", ">f8"} {
		f := embedded3()
		if descr != "<f2" {
			a := f["x_train"]
			floats(descr, 1, -2, 0, 1.0/(1<<24), 65504, 0.333251953125+1.0/(1<<14))(&a)
			f["x_train"] = array{descr: a.descr, shape: "(3, 2)", data: a.data}
		}
		b := packNPZ(f, zip.Deflate)
		set, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%s: %v", descr, err)
		}
		if !set.Embeddings || set.C != 2 || set.H != 1 || set.W != 1 || set.ImageLen() != 4 {
			t.Errorf("%s: %+v", descr, set)
		}
		if got, want := pixelsOf(set.Train), embedded3()["x_train"].data; !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x", descr, got, want)
		}
	}
}

// TestEmbeddingsAreNoImages: what is about pixels refuses embeddings, and their digest is not that of images of the
// same bytes.
func TestEmbeddingsAreNoImages(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "e.npz")
	if err := os.WriteFile(name, packNPZ(embedded3(), zip.Store), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Open(t.Context(), Spec{Name: "npz", Dir: name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Spec{Name: "npz", Dir: name, Channels: 3}); err == nil ||
		!strings.Contains(err.Error(), "embeddings have no channels") {
		t.Errorf("three channels: %v", err)
	}
	if _, err := Statistics(t.Context(), set, nil); err == nil ||
		!strings.Contains(err.Error(), "the data are embeddings") {
		t.Errorf("statistics: %v", err)
	}
	other := *set
	other.Embeddings, other.C = false, 4
	if digestOf(t, &other) == digestOf(t, set) {
		t.Error("images of the same bytes have the same digest")
	}
}

func TestNPZFaults(t *testing.T) {
	type files = map[string]array
	x := func(change func(*array)) func(files) {
		return func(f files) { a := f["x_train"]; change(&a); f["x_train"] = a }
	}
	y := func(change func(*array)) func(files) {
		return func(f files) { a := f["y_train"]; change(&a); f["y_train"] = a }
	}
	for _, c := range []struct {
		name, want string
		harm       func(files)
	}{
		{"missing", `x_train is missing among the arrays of the file ("y_train", "x_test", "y_test")`,
			func(f files) { delete(f, "x_train") }},
		{"half floats", `x_train has dtype "<f2" instead of uint8, float32 or float64`,
			x(func(a *array) { a.descr, a.shape = "<f2", "(3, 2, 3, 1)" })},
		{"signed images", `x_train has dtype "|i1" instead of uint8`, x(func(a *array) { a.descr = "|i1" })},
		{"large floats", "x_train: record 1: the value 1.5, but floats must lie between 0 and 1. Divide",
			x(floats("<f4", 0, 1, 0, 1.5, 0, 0))},
		{"negative floats", "x_train: record 2: the value -0.25", x(floats(">f8", 0, 1, 0, 1, 0, -0.25))},
		{"no number", "x_train: record 0: the value NaN", x(floats("<f8", 0, math.NaN(), 0, 1, 0, 0))},
		{"float labels", `y_train has dtype "<f8", but labels are integers`, y(func(a *array) { a.descr = "<f8" })},
		{"rank", "x_train has shape [36]", x(func(a *array) { a.shape = "(36,)" })},
		{"channels", "x_train has shape [3 2 3 2]", x(func(a *array) { a.shape = "(3, 2, 3, 2)" })},
		{"no image", "at least one image", x(func(a *array) { a.shape, a.data = "(0, 2, 2, 3)", nil })},
		{"truncated", "needs", x(func(a *array) { a.data = a.data[:35] })},
		{"oversized", "needs", x(func(a *array) { a.data = append(a.data, 0) })},
		{"huge", "has more than", x(func(a *array) { a.shape = "(99999999999999, 2, 2, 3)" })},
		{"overflow", "has more than", x(func(a *array) { a.shape = "(17000000000, 17000000000, 17000000000, 3)" })},
		{"Fortran", "Fortran order", x(func(a *array) { a.fortran = "True" })},
		{"words", `y_train: the array has dtype "<U21", which is neither integers nor floats`,
			y(func(a *array) { a.descr = "<U21" })},
		{"escape", `dtype "\x1b]0;owned"`, y(func(a *array) { a.descr = "\x1b]0;owned" })},
		{"object", `dtype "|O"`, y(func(a *array) { a.descr = "|O" })},
		{"label shape", "y_train has shape [1 3]", y(func(a *array) { a.shape = "(1, 3)" })},
		{"label count", "y_train has 2 labels for 3 images", y(func(a *array) { a.shape, a.data = "(2,)", a.data[:16] })},
		{"negative label", "y_train: record 1: the label -1",
			y(func(a *array) { a.data = words(8, binary.LittleEndian, 0, -1, 1) })},
		{"large label", "record 0: the label 4294967296",
			y(func(a *array) { a.data = words(8, binary.LittleEndian, 1<<32, 0, 1) })},
		{"gap", "y_train: class 1 has no image", y(func(a *array) { a.data = words(8, binary.LittleEndian, 2, 0, 0) })},
		{"test label", "y_test: record 0 has label 7",
			func(f files) { f["y_test"] = array{descr: "|u1", shape: "(1,)", data: []byte{7}} }},
		{"integer embeddings", `x_train has shape [3 12] and dtype "|u1". Embeddings are floats`,
			x(func(a *array) { a.shape = "(3, 12)" })},
		{"wide embeddings", "x_train has embeddings of 1,048,577 numbers. Use embeddings of at most 1,048,576",
			x(func(a *array) {
				a.descr, a.shape, a.data = "<f2", "(1, 1048577)", make([]byte, 2*1048577)
			})},
		{"one half of embeddings", "one half has images and the other one embeddings",
			x(func(a *array) { a.descr, a.shape = "<f2", "(3, 6)" })},
		{"other width", "x_test has embeddings of 3 numbers, but those for training 2", func(f files) {
			clear(f)
			maps.Copy(f, embedded3())
			f["x_test"] = array{descr: "<f2", shape: "(1, 3)", data: make([]byte, 6)}
		}},
		{"no finite embedding", "x_train: record 1: number 1 is NaN, but embeddings are finite", func(f files) {
			clear(f)
			maps.Copy(f, embedded3())
			a := f["x_train"]
			floats("<f4", 0, 1, 2, math.NaN(), 4, 5)(&a)
			f["x_train"] = array{descr: a.descr, shape: "(3, 2)", data: a.data}
		}},
		{"too large embedding", "x_train: record 2: number 0 is 70000, but embeddings are finite and within ±65504",
			func(f files) {
				clear(f)
				maps.Copy(f, embedded3())
				a := f["x_train"]
				floats(">f8", 0, 1, 2, 3, 70000, 5)(&a)
				f["x_train"] = array{descr: a.descr, shape: "(3, 2)", data: a.data}
			}},
		{"other size", "x_test has images of 3×1×4, but those for training have 3×2×2", func(f files) {
			f["x_test"] = array{descr: "|u1", shape: "(1, 1, 4, 3)", data: counting(12)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := arrays()
			c.harm(f)
			b := packNPZ(f, zip.Deflate)
			_, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b)))
			wantFault(t, c.name, err, c.want)
		})
	}
}

func TestNPZWrongPlace(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, want string }{
		{"", "--data-dir FILE.npz"},
		{filepath.Join(dir, "nowhere.npz"), "no such file or directory"},
		{dir, "the folder has no .npz file"},
		{text, "not an .npz file"},
	} {
		_, err := Open(t.Context(), Spec{Name: "npz", Dir: c.dir})
		if err == nil || !strings.HasPrefix(err.Error(), "data: npz: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want it to say %q", c.dir, err, c.want)
		}
	}
}

// TestNPZNeedsMemory: a set that the process has no memory for is refused.
func TestNPZNeedsMemory(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "64MiB")
	large := arrays()
	large["x_train"] = array{descr: "|u1", shape: "(3, 4096, 4096)", data: make([]byte, 3<<24)}
	b := packNPZ(large, zip.Store)
	const want = "x_train: shape [3 4096 4096] needs 50,331,660 bytes of memory, and 50,331,648 are three quarters of what this process may use. Use fewer or smaller images"
	if _, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b))); err == nil || err.Error() != want {
		t.Errorf("the error is %v, not %s", err, want)
	}
}

// TestNPZLiesAboutItsSize announces 4 GiB in a file of a few hundred bytes; nothing of that size may be allocated.
func TestNPZLiesAboutItsSize(t *testing.T) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	e, err := w.CreateRaw(&zip.FileHeader{Name: "x_train.npy", Method: zip.Deflate, UncompressedSize64: 4 << 30,
		CompressedSize64: 4})
	if err != nil {
		t.Fatal(err)
	}
	e.Write([]byte{1, 2, 3, 4})
	for _, name := range []string{"y_train", "x_test", "y_test"} {
		w.Create(name + ".npy")
	}
	w.Close()
	_, err = readNPZ(t.Context(), bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err == nil || !strings.Contains(err.Error(), "an entry of 4 bytes") {
		t.Errorf("got %v, want the announced size refused", err)
	}
}

// packArrays makes an archive of four arrays, each the bytes of an entry.
func packArrays(xTrain, yTrain, xTest, yTest []byte) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i, name := range []string{"x_train", "y_train", "x_test", "y_test"} {
		e, _ := w.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		e.Write([][]byte{xTrain, yTrain, xTest, yTest}[i])
	}
	w.Close()
	return buf.Bytes()
}

// written is the bytes of a set as an archive: NHWC images, labels of four bytes.
func written(t *testing.T, set *Set) []byte {
	t.Helper()
	var all []npz.Source
	for name, s := range map[string]Split{"train": set.Train, "test": set.Test} {
		var x npz.Source
		if plane := set.H * set.W; set.Embeddings {
			x = npz.Numbers("x_"+name, pixelsOf(s), s.Len(), set.C)
			x.Type = "<f2"
		} else {
			var pixels []uint8
			for i := range s.Len() {
				for p := range plane {
					for c := range set.C {
						pixels = append(pixels, imageOf(s, i)[c*plane+p])
					}
				}
			}
			x = npz.Numbers("x_"+name, pixels, s.Len(), set.H, set.W, set.C)
		}
		all = append(all, x, npz.Numbers("y_"+name, s.Y, s.Len()))
	}
	var b bytes.Buffer
	if err := npz.Write(&b, all, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzNPZ reads the fuzzer's bytes as a file, and as the four arrays of one: packed here, they have the sums and
// lengths of an archive, which bytes that were drawn hardly ever have. What is read must be read as the same once it is
// written again.
func FuzzNPZ(f *testing.F) {
	add := func(file []byte, a map[string]array) {
		f.Add(file, a["x_train"].bytes(), a["y_train"].bytes(), a["x_test"].bytes(), a["y_test"].bytes())
	}
	add([]byte("PK\x03\x04"), arrays())
	add(packNPZ(arrays(), zip.Store), arrays())
	grey := arrays()
	grey["x_train"] = array{descr: "|u1", shape: "(3, 2, 6)", data: counting(36)}
	grey["x_test"] = array{descr: "|u1", shape: "(1, 1, 2, 6)", data: counting(12)}
	grey["y_train"] = array{descr: ">i2", shape: "(3,)", data: words(2, binary.BigEndian, 1, 0, 1)}
	grey["y_test"] = array{descr: "<u4", shape: "(1,)", data: words(4, binary.LittleEndian, 1)}
	add(packNPZ(grey, zip.Deflate), grey)
	fractions := arrays()
	a := fractions["x_train"]
	floats("<f4", 0, 0.25, 0.5, 0.75, 1, 0)(&a)
	fractions["x_train"], fractions["x_test"] = a, array{descr: ">f8", shape: "(1, 1, 2)", data: make([]byte, 16)}
	add(packNPZ(fractions, zip.Store), fractions)
	add(packNPZ(embedded3(), zip.Store), embedded3())
	f.Fuzz(func(t *testing.T, file, xTrain, yTrain, xTest, yTest []byte) {
		for _, b := range [][]byte{file, packArrays(xTrain, yTrain, xTest, yTest)} {
			set := decode(t, len(b), func() (*Set, error) { return readNPZ(t.Context(), bytes.NewReader(b), int64(len(b))) })
			if set == nil {
				continue
			}
			again := written(t, set)
			back, err := readNPZ(t.Context(), bytes.NewReader(again), int64(len(again)))
			if err != nil {
				t.Fatalf("%d×%d×%d, %d and %d images: written, they are not read again: %v", set.C, set.H, set.W, set.Train.Len(),
					set.Test.Len(), err)
			}
			if digestOf(t, back) != digestOf(t, set) {
				t.Errorf("%d×%d×%d, %d and %d images: written and read again they differ", set.C, set.H, set.W, set.Train.Len(),
					set.Test.Len())
			}
		}
	})
}

// wide are texts as NumPy writes those of str, each of so many characters.
func wide(n int, order binary.ByteOrder, texts ...string) []byte {
	var b []byte
	for _, text := range texts {
		runes := append([]rune(text), make([]rune, n)...)[:n]
		for _, r := range runes {
			b = append(b, words(4, order, int64(r))...)
		}
	}
	return b
}

// TestNPZNames: names of both kinds and orders are read, and what is no list of names is refused.
func TestNPZNames(t *testing.T) {
	little, big := binary.ByteOrder(binary.LittleEndian), binary.ByteOrder(binary.BigEndian)
	for _, c := range []struct {
		what  string
		names array
		want  string // the names, or a part of the message
	}{
		{"str", array{descr: "<U5", shape: "(3,)", data: wide(5, little, "Käfer", "b", "日本")}, "Käfer b 日本"},
		{"str of another machine", array{descr: ">U5", shape: "(3,)", data: wide(5, big, "Käfer", "b", "c")}, "Käfer b c"},
		{"bytes", array{descr: "|S2", shape: "(3,)", data: []byte("a\x00bbc\x00")}, "a bb c"},
		{"too few", array{descr: "|S1", shape: "(2,)", data: []byte("ab")},
			"class_names has shape [2], but there are 3 classes. Write a name for each"},
		{"two axes", array{descr: "|S1", shape: "(3, 1)", data: []byte("abc")}, "class_names has shape [3 1]"},
		{"numbers", array{descr: "<i4", shape: "(3,)", data: make([]byte, 12)},
			"class_names: the array has dtype \"<i4\", which is no text. Write numpy.array of a list of str"},
		{"objects", array{descr: "|O", shape: "(3,)", data: make([]byte, 24)},
			"class_names: the array has dtype \"|O\", Python objects, which are pickled and never read. Write names of a fixed length: class_names=numpy.array(names, dtype=str)"},
		{"equal ones", array{descr: "|S1", shape: "(3,)", data: []byte("aba")},
			"classes 0 and 2 are both called \"a\". Give each its own name"},
		{"an empty one", array{descr: "|S1", shape: "(3,)", data: []byte("ab\x00")}, "class 2 has an empty name"},
		{"no UTF-8", array{descr: "|S1", shape: "(3,)", data: []byte("ab\xff")}, "text 2 is not UTF-8"},
		{"no character", array{descr: "<U1", shape: "(3,)", data: words(4, little, 'a', 0xd800, 'b')},
			"text 1 has the character 0xd800, which does not exist"},
		{"long ones", array{descr: "|S400000", shape: "(3,)", data: make([]byte, 1_200_000)},
			"more than the limit of 1,048,576. Use shorter names"},
		{"cut", array{descr: "|S2", shape: "(3,)", data: []byte("abcde")}, "class_names: shape [3] of \"|S2\" needs"},
	} {
		f := arrays()
		f["class_names"] = c.names
		b := packNPZ(f, zip.Deflate)
		set, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			plainMessage(t, err)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.what, err, c.want)
			}
			continue
		}
		if got := strings.Join(set.ClassNames, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestNPZOrigin: which network made embeddings is read, and what cannot be right is refused.
func TestNPZOrigin(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	text := func(s string) array {
		return array{descr: fmt.Sprintf("|S%d", len(s)), shape: "()", data: []byte(s)}
	}
	for _, c := range []struct {
		what string
		says array
		by   string // network, digest and shape of the images, or a part of the message
	}{
		{"all", text(`{"backbone":"net","backbone_digest":"` + digest + `","image_shape":"[3,8,9]"}`),
			"net " + digest + " [3 8 9]"},
		{"no shape", text(`{"backbone":"net","backbone_digest":"` + digest + `"}`), "net " + digest + " [0 0 0]"},
		{"nothing of it", text(`{"backbone":"net"}`), "  [0 0 0]"},
		{"no digest", text(`{"backbone_digest":"sha256:0A"}`),
			`backbone_digest is "sha256:0A", and not sha256: with 64 hexadecimal digits. Leave it out, or write the file with`},
		{"no shape of images", text(`{"backbone_digest":"` + digest + `","image_shape":"[2,8,8]"}`),
			`image_shape is "[2,8,8]", and not [C,H,W]`},
		{"a huge one", text(`{"backbone_digest":"` + digest + `","image_shape":"[3,8,1000000000]"}`), "image_shape is"},
		{"two axes", text(`{"backbone_digest":"` + digest + `","image_shape":"[3,8]"}`), "image_shape is"},
		{"no JSON", text(`{"backbone"`), "__metadata__ is no JSON object of texts"},
		{"a number", text(`{"backbone":1}`), "__metadata__ is no JSON object of texts"},
		{"a list", array{descr: "|S1", shape: "(2,)", data: []byte("ab")},
			"__metadata__ has shape [2] and 1 byte, and not one text"},
		{"numbers", array{descr: "<i4", shape: "()", data: make([]byte, 4)}, "which is no text"},
	} {
		f := embedded3()
		f["__metadata__"] = c.says
		b := packNPZ(f, zip.Deflate)
		set, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			plainMessage(t, err)
			if !strings.Contains(err.Error(), c.by) {
				t.Errorf("%s: %v, want %q", c.what, err, c.by)
			}
			continue
		}
		if got := fmt.Sprint(set.By, " ", set.ByDigest, " ", set.Of); got != c.by {
			t.Errorf("%s: %q, want %q", c.what, got, c.by)
		}
	}
	f := arrays() // images were made by no network
	f["__metadata__"] = text(`{"backbone_digest":"` + digest + `"}`)
	b := packNPZ(f, zip.Deflate)
	if set, err := readNPZ(t.Context(), bytes.NewReader(b), int64(len(b))); err != nil || set.ByDigest != "" {
		t.Errorf("of images: %+v, %v", set, err)
	}
}

// FuzzNPZOrigin reads the fuzzer's bytes as the text of the metadata.
func FuzzNPZOrigin(f *testing.F) {
	f.Add([]byte(`{"backbone":"net","backbone_digest":"sha256:` + strings.Repeat("0a", 32) + `","image_shape":"[3,8,9]"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 99_999 {
			return
		}
		files := embedded3()
		files["__metadata__"] = array{descr: fmt.Sprintf("|S%d", len(b)), shape: "()", data: b}
		file := packNPZ(files, zip.Store)
		set := decode(t, len(file), func() (*Set, error) { return readNPZ(t.Context(), bytes.NewReader(file), int64(len(file))) })
		if set != nil && (set.ByDigest == "") != (set.By == "" && set.Of == [3]int{}) && set.By+set.ByDigest != set.ByDigest {
			t.Errorf("%q, %q, %v", set.By, set.ByDigest, set.Of)
		}
	})
}
