package npz

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/sbinet/npyio/npz"

	"ocl/internal/fuzztest"
)

// array is an array of bytes.
func array(name, kind string, data []byte, shape ...int) Source {
	a := Numbers(name, data, shape...)
	a.Type = kind
	return a
}

// weights are arrays as `ocl export` writes them.
func weights() ([]Source, map[string]string) {
	return []Source{
		Numbers("conv1.weight", []float32{1, -2, 3, 0.1}, 2, 1, 1, 2), Numbers("bn1.bias", []float32{5}, 1),
		Numbers("ncm.classes", []int64{0, 7, -1}, 3),
	}, map[string]string{"b": "é", "a": `"`}
}

func written(t testing.TB, arrays []Source, metadata map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, arrays, metadata); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opened(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// packed is an archive of one array, which has these bytes.
func packed(t testing.TB, name string, b []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	e, err := w.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err == nil {
		_, err = e.Write(b)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What is written is read by another library, with names, shapes and types.
func TestWrittenIsRead(t *testing.T) {
	arrays, metadata := weights()
	b := written(t, arrays, metadata)
	r, err := npz.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var floats []float32
	if err := r.Read("conv1.weight.npy", &floats); err != nil || !cmp.Equal(floats, []float32{1, -2, 3, 0.1}) {
		t.Errorf("%v, %v", floats, err)
	}
	var ints []int64
	if err := r.Read("ncm.classes.npy", &ints); err != nil || !cmp.Equal(ints, []int64{0, 7, -1}) {
		t.Errorf("%v, %v", ints, err)
	}
	for _, want := range arrays {
		if h := r.Header(want.Name + ".npy"); !cmp.Equal(h.Descr.Shape, want.Shape) || h.Descr.Fortran {
			t.Errorf("%s: %+v, want the shape %v", want.Name, h, want.Shape)
		}
	}
	if h := r.Header(Metadata + ".npy"); h.Descr.Type != "|S19" || len(h.Descr.Shape) > 0 ||
		!bytes.Contains(b, []byte(`{"a":"\"","b":"é"}`)) {
		t.Errorf("%+v", h)
	}
	if says, err := opened(t, b).Metadata(); err != nil || !cmp.Equal(says, metadata) {
		t.Errorf("%q, %v", says, err)
	}
}

// TestReadsOthers reads what another library wrote, as slices of one axis.
func TestReadsOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.npz")
	w, err := npz.Create(path)
	if err == nil {
		err = errors.Join(w.Write("a.npy", []int64{2, 0, -1}), w.Write("b.npy", []uint16{65535}),
			w.Write("c.npy", []uint8{1, 2, 3}), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	f := File{&archive.Reader, 1 << 20}
	for name, want := range map[string][]int64{"a": {2, 0, -1}, "b": {65535}, "c": {1, 2, 3}} {
		v, err := f.Numbers(name)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int64, v.Shape[0])
		err = v.Integers(len(got), func(i int, x int64) error { got[i] = x; return nil })
		if err := errors.Join(err, v.End(), v.Close()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, want)
		}
	}
}

// Values begin at a multiple of 64 bytes, which NumPy's memory maps like.
func TestHeaderIsAligned(t *testing.T) {
	for axes := range 20 {
		shape := make([]int, axes)
		for i := range shape {
			shape[i] = 10 * (i + 1)
		}
		if h := header("<f4", shape); len(h)%64 != 0 || h[len(h)-1] != '\n' {
			t.Errorf("%d axes: %d bytes: %q", axes, len(h), h)
		}
	}
}

// TestBytes: what the commands write stays the same to the byte.
func TestBytes(t *testing.T) {
	arrays, metadata := weights()
	for _, c := range []struct {
		what string
		b    []byte
		want string
	}{
		{"weights", written(t, arrays, metadata), "1083 17ecfa9657700c862d27686458f3d3cf50ac73770672f77e85ba3185438de267"},
		{"embeddings", written(t, []Source{
			array("x_train", "<f2", []byte{0, 60, 0, 192, 1, 2, 3, 4}, 2, 2), Numbers("y_train", []int32{1, 0}, 2),
			*Texts("class_names", []string{"Käfer", "日本"}),
		}, map[string]string{"data": "folder", "image_shape": "[3,8,9]"}),
			"1105 9ad6e73df43af8455c351852c8f6504808bfc104b212705172f14a853177544b"},
	} {
		if got := fmt.Sprintf("%d %x", len(c.b), sha256.Sum256(c.b)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// TestArrays: the arrays of a file are listed whatever their types are, and an archive of other things is refused.
func TestArrays(t *testing.T) {
	all := []Source{array("class_names", "|O", []byte("a pickle"), 3), array("x", "<f2", make([]byte, 12), 3, 2),
		Numbers("y", []int64{1, 2, 0}, 3, 1)}
	got, err := opened(t, written(t, all, map[string]string{"a": "b"})).Arrays()
	want := []Array{{Metadata, "|S9", nil}, all[0].Array, all[1].Array, all[2].Array}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v, %s", err, d)
	}
	var other bytes.Buffer
	w := zip.NewWriter(&other)
	if _, err := w.Create("word/document.xml"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := opened(t, other.Bytes()).Arrays(); err == nil ||
		!strings.Contains(err.Error(), `its entry "word/document.xml" is no array`) {
		t.Errorf("another archive: %v", err)
	}
}

// TestNamesAreShown: the name of an array that is damaged does not reach a terminal raw.
func TestNamesAreShown(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.CreateRaw(&zip.FileHeader{Name: "a\x1b[2J.npy", UncompressedSize64: 4 << 30}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_, err := opened(t, b.Bytes()).Arrays()
	if err == nil || !strings.HasPrefix(err.Error(), `"a\x1b[2J": an entry of 0 bytes in a file of`) {
		t.Errorf("the error is %q", err)
	}
}

// TestNoEighthFloats: there are no floats of 8 bits, whatever a header says.
func TestNoEighthFloats(t *testing.T) {
	b := written(t, []Source{array("x", "<f1", []byte{1, 2}, 1, 2)}, nil)
	if _, err := opened(t, b).Numbers("x"); err == nil ||
		!strings.Contains(err.Error(), `dtype "<f1", which is neither integers nor floats`) {
		t.Errorf("the error is %v", err)
	}
}

// plain holds that a message shows nothing of a file raw.
func plain(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Errorf("a message with a control character: %q", err)
	}
}

// FuzzFile reads the fuzzer's bytes as a file.
func FuzzFile(f *testing.F) {
	arrays, metadata := weights()
	f.Add(written(f, arrays, metadata))
	f.Add(packed(f, "a\x1b", []byte("\x93NUMPY")))
	f.Fuzz(func(t *testing.T, b []byte) {
		var all []Array
		// Each array has a buffer, and an entry of the directory takes 46 bytes at least.
		most := uint64(8<<20 + len(b)/46*(1<<19))
		if n := fuzztest.Allocated(most, func() {
			file, err := Open(bytes.NewReader(b), int64(len(b)))
			plain(t, err)
			if err != nil {
				return
			}
			all, err = file.Arrays()
			plain(t, err)
			says, err := file.Metadata()
			plain(t, err)
			if err != nil && says != nil {
				t.Errorf("%q beside the error %v", says, err)
			}
		}); n > most {
			t.Fatalf("%d bytes were allocated for a file of %d", n, len(b))
		}
		for _, a := range all {
			if len(a.Shape) > 4 || len(a.Shape) > 0 && slices.Min(a.Shape) < 0 {
				t.Errorf("%+v", a)
			}
		}
	})
}

// FuzzValues reads the fuzzer's bytes as one array, of numbers or of texts.
func FuzzValues(f *testing.F) {
	f.Add(append(header("|u1", []int{3, 2, 2, 3}), make([]byte, 36)...))
	f.Add(append(header(">f8", []int{2}), make([]byte, 16)...))
	f.Add(append(header("<U2", []int{2}), "a\x00\x00\x00\x00\x00\x00\x00b\x00\x00\x00\xe9\x00\x00\x00"...))
	f.Add(append(header("|S2", []int{3}), "a\x00bbc\x00"...))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"))
	f.Add(append([]byte("\x93NUMPY\x03\x00\x3b\x00\x00\x00{'shape': (2, 0), 'fortran_order': True, 'descr': '>i4'}   \n"),
		1, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := opened(t, packed(t, "x", b))
		var numbers, texts *Values
		var noNumbers, noTexts error
		most := uint64(2 << 20)
		if n := fuzztest.Allocated(most, func() {
			numbers, noNumbers = file.Numbers("x")
			texts, noTexts = file.Texts("x")
		}); n > most {
			t.Fatalf("%d bytes were allocated for two headers", n)
		}
		plain(t, noNumbers)
		plain(t, noTexts)
		// The array fills the entry to the byte: its values can be counted, and reading them ends where it does.
		if noNumbers == nil {
			count := 1
			for _, d := range numbers.Shape {
				count *= d
			}
			if count < 0 || count > len(b) {
				t.Fatalf("shape %v in %d bytes", numbers.Shape, len(b))
			}
			read := 0
			var err error
			if numbers.Type[1] == 'f' {
				err = numbers.Floats(count, func(i int, _ float64) error { read = i + 1; return nil })
			} else {
				err = numbers.Integers(count, func(i int, _ int64) error { read = i + 1; return nil })
			}
			if err := errors.Join(err, numbers.End()); err != nil || read != count {
				t.Errorf("%d of %d values, then %v", read, count, err)
			}
		}
		if noTexts == nil {
			all, err := texts.Texts()
			plain(t, err)
			if !utf8.ValidString(strings.Join(all, "")) {
				t.Errorf("%q", all)
			}
		}
	})
}
