package data

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ocl/data/internal/picture"
	"ocl/internal/fuzztest"
	"ocl/internal/limit"
)

// prepared is what a preparation makes of a file.
func prepared(t testing.TB, p Preparation, file []byte) []uint8 {
	t.Helper()
	dst := make([]uint8, p.Len())
	for i := range dst {
		dst[i] = 77 // all of it is written
	}
	if err := p.Decode(t.Context(), file, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

func preparation(t testing.TB, spec Spec, c, h, w int) Preparation {
	t.Helper()
	p, err := NewPreparation(spec, c, h, w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func pngFile(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func firstImage(t *testing.T, set *Set) []uint8 {
	t.Helper()
	image, err := set.Train.Images.Image(0, make([]uint8, set.ImageLen()))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// gradient is an image of all colours, wider than high or the other way round.
func gradient(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{uint8(255 * x / w), uint8(255 * y / h), uint8(9 * (x + y)), 255})
		}
	}
	return m
}

// A file is prepared as the data set of its run has it: cropped by folders of photographs, stretched by Mini-ImageNet.
func TestPreparationIsThatOfTheSet(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	wide := pngFile(t, gradient(60, 41))
	root := t.TempDir()
	writeTree(t, root, map[string][]byte{"a/1.png": wide, "a/2.png": wide, "a/3.png": wide, "b/1.png": wide,
		"b/2.png": wide, "b/3.png": wide})
	spec := Spec{Name: "folder", Dir: root, Size: 24}
	set, err := Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := prepared(t, preparation(t, spec, 3, 24, 24), wide); !slices.Equal(got, firstImage(t, set)) {
		t.Error("a photograph is prepared otherwise than in training")
	}
	files := miniLists(t)
	for i := range 12 {
		files["images/"+miniFile(i)] = miniImage(t, i, 2*miniSide)
	}
	mini := mustOpenMini(t, Spec{Dir: writeTree(t, t.TempDir(), files)})
	p := preparation(t, Spec{Name: "mini-imagenet"}, 3, miniSide, miniSide)
	if !slices.Equal(prepared(t, p, files["images/"+miniFile(0)]), firstImage(t, mini)) {
		t.Error("an image of Mini-ImageNet is prepared otherwise than in training")
	}
}

// A digit saved as PNG becomes the very image of MNIST, padded and with three channels where the run has them so.
func TestPreparationOfMNIST(t *testing.T) {
	root := writeFolder(t, t.TempDir(), idxSet("", "t10k", 10, 0))
	grey := image.NewGray(image.Rect(0, 0, 28, 28))
	copy(grey.Pix, imageOf(openSmall(t, Spec{Name: "mnist", Dir: root}).Test, 4))
	for _, spec := range []Spec{{}, {Size: 33}, {Size: 32, Channels: 3}, {Channels: 3}} {
		spec.Name, spec.Dir = "mnist", root
		set := openSmall(t, spec)
		want, err := set.Test.Images.Image(4, make([]uint8, set.ImageLen()))
		if err != nil {
			t.Fatal(err)
		}
		if got := prepared(t, preparation(t, spec, set.C, set.H, set.W), pngFile(t, grey)); !slices.Equal(got, want) {
			t.Errorf("size %d, channels %d: the image is another one", spec.Size, spec.Channels)
		}
	}
}

// Colours become grey where the images of the set are grey: red is 76, green 150 and blue 29 of 255, in all channels.
func TestPreparationMakesGrey(t *testing.T) {
	for _, c := range []struct {
		colour color.NRGBA
		want   uint8
	}{{color.NRGBA{255, 0, 0, 255}, 76}, {color.NRGBA{0, 255, 0, 255}, 150}, {color.NRGBA{0, 0, 255, 255}, 29},
		{color.NRGBA{255, 255, 255, 255}, 255}} {
		m := image.NewNRGBA(image.Rect(0, 0, 50, 40))
		for i := range 50 * 40 {
			m.SetNRGBA(i%50, i/50, c.colour)
		}
		for _, channels := range []int{1, 3} {
			p := preparation(t, Spec{Name: "fashion-mnist", Channels: channels}, channels, 28, 28)
			for _, v := range prepared(t, p, pngFile(t, m)) {
				if v != c.want {
					t.Fatalf("%v is %d in %d channels, want %d", c.colour, v, channels, c.want)
				}
			}
		}
		if got := prepared(t, preparation(t, Spec{Name: "cifar10", Channels: 3}, 3, 32, 32),
			pngFile(t, m)); got[0] != c.colour.R || got[1024] != c.colour.G {
			t.Errorf("%v loses its colour", c.colour)
		}
	}
}

// An image need not be square: a wide one of 6×8 keeps its middle.
func TestPreparationOfOtherForms(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 16, 8))
	for i := range m.Pix {
		m.Pix[i] = uint8(i % 16)
	}
	got := prepared(t, preparation(t, Spec{Name: "npz"}, 1, 8, 4), pngFile(t, m))
	if want := []uint8{6, 7, 8, 9}; !slices.Equal(got[:4], want) {
		t.Errorf("the middle of 16 columns is %v, want %v", got[:4], want)
	}
	if got := prepared(t, preparation(t, Spec{Name: "npz"}, 3, 3, 16), pngFile(t, m)); got[0] != 0 || got[15] != 15 {
		t.Errorf("all columns are %v", got[:16])
	}
}

// What cannot be prepared is an error that says why, and a decoder that panics is one too.
func TestPreparationFaults(t *testing.T) {
	p := preparation(t, Spec{Name: "glyphs"}, 3, 8, 8)
	good := pngFile(t, gradient(20, 20))
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"text": {[]byte("hello"), "this is no JPEG"}, "empty": {nil, "the file is empty"},
		"cut": {good[:len(good)/2], "Copy the file again"},
	} {
		if err := p.Decode(t.Context(), c.file, make([]uint8, p.Len())); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range [][3]int{{2, 8, 8}, {3, 0, 8}, {3, 8, -1}} {
		if _, err := NewPreparation(Spec{Name: "glyphs"}, c[0], c[1], c[2]); err == nil {
			t.Errorf("%v is accepted", c)
		}
	}
	if _, err := NewPreparation(Spec{Name: "nothing"}, 3, 8, 8); err == nil {
		t.Error("an unknown set is accepted")
	}
}

// TestEaselIsDecode: an image in memory is prepared as its file is, also where the set has it grey, padded or in three
// equal channels, and again without an allocation.
func TestEaselIsDecode(t *testing.T) {
	m := gradient(45, 40)
	file := pngFile(t, m)
	for _, p := range []Preparation{
		preparation(t, Spec{Name: "folder"}, 3, 24, 24), preparation(t, Spec{Name: "npz"}, 1, 8, 4),
		preparation(t, Spec{Name: "mini-imagenet"}, 3, miniSide, miniSide),
		preparation(t, Spec{Name: "mnist"}, 1, 32, 32), preparation(t, Spec{Name: "mnist", Channels: 3}, 3, 28, 28),
		preparation(t, Spec{Name: "cifar10"}, 3, 32, 32),
	} {
		e, dst := p.Easel(), make([]uint8, p.Len())
		draw := func() {
			if err := e.Draw(dst, m); err != nil {
				t.Fatal(err)
			}
		}
		draw()
		if !slices.Equal(dst, prepared(t, p, file)) {
			t.Errorf("%+v: another image than that of the file", p)
		}
		if n := testing.AllocsPerRun(5, draw); n != 0 {
			t.Errorf("%+v: %v allocations", p, n)
		}
		if err := e.Draw(dst, nil); err == nil {
			t.Error("nil is drawn")
		}
	}
}

// endless is a file that never ends.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestReadPictureHasAnEnd(t *testing.T) {
	if _, err := readUpTo(endless{}, 1000); !errors.Is(err, errTooLong) ||
		!strings.Contains(err.Error(), "more than 1,000 bytes") {
		t.Error(err)
	}
	if text, err := readUpTo(strings.NewReader("12345"), 5); err != nil || len(text) != 5 {
		t.Errorf("%q, %v", text, err)
	}
	broken := errors.New("broken")
	if _, err := ReadPicture(io.MultiReader(strings.NewReader("x"), failing{broken})); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestPictureFilesShareMemory: large files are in memory one after the other, and waiting ends with the context.
func TestPictureFilesShareMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.png")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, limit.Picture+1)); err != nil {
		t.Fatal(err)
	}
	giveBack, err := picture.RoomForFile(t.Context(), limit.PictureFiles)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	use := func([]byte) error { t.Error("a file that is too large was read"); return nil }
	if err := UsePictureFile(ctx, path, use); !errors.Is(err, context.Canceled) {
		t.Errorf("with no room: %v", err)
	}
	giveBack()
	if err := UsePictureFile(t.Context(), path, use); err == nil ||
		!strings.Contains(err.Error(), "Make the image smaller") {
		t.Errorf("with room: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzPreparation changes good files. Whatever comes out, nothing panics, the message can be printed, and the same file
// gives the same image.
func FuzzPreparation(f *testing.F) {
	good := [][]byte{pngFile(f, gradient(20, 30)), pngFile(f, image.NewGray(image.Rect(0, 0, 28, 28)))}
	for i := range good {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{20, 0, 5, 1})
	}
	all := []Preparation{
		preparation(f, Spec{Name: "mnist", Channels: 3}, 3, 32, 32), preparation(f, Spec{Name: "npz"}, 1, 5, 9),
		preparation(f, Spec{Name: "mini-imagenet"}, 3, 7, 7),
	}
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		file := good[int(which)%len(good)]
		for c := fuzztest.Of(changes); c.More(); {
			file = fuzztest.Bytes(file, c)
		}
		for _, p := range all {
			dst, again := make([]uint8, p.Len()), make([]uint8, p.Len())
			var err error
			// an interlaced PNG of 16 bits that has the most pixels of a small file, and a decoder's tables
			const most = 80 << 20
			if n := fuzztest.Allocated(most, func() { err = p.Decode(context.Background(), file, dst) }); n > most {
				t.Fatalf("%d bytes are allocated for a file of %d (%v)", n, len(file), err)
			}
			if err != nil {
				if strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Fatalf("%q", err)
				}
				continue
			}
			if err := p.Decode(t.Context(), file, again); err != nil || !slices.Equal(dst, again) {
				t.Fatalf("the second time: %v, or another image", err)
			}
		}
	})
}
