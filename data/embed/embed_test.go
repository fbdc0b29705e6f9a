package embed

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
	_ "ocl/data/gofonts"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/backbone"
	"ocl/nn/safetensors"
	"ocl/nn/weights"
	"ocl/rng"
)

// side is that of the network's images.
const side = 8

// network is one of this project with random weights, times a factor, whose embeddings have five numbers.
func network(t *testing.T, seed uint64, factor float32) *backbone.Backbone {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 3, Height: side, Width: side, Classes: 2, Hidden: []int{5}},
		rng.New(seed, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range net.Params() {
		net.Params()[i] *= factor
	}
	var text bytes.Buffer
	path := filepath.Join(t.TempDir(), "net.safetensors")
	if err := errors.Join(safetensors.Write(&text, weights.Of(net),
		map[string]string{"ocl_version": "1", "architecture": "mlp", "shape": "[3,8,8]", "classes": "2",
			"hidden": "[5]", "mean": "[0,0,0]", "std": "[1,1,1]", "data": "glyphs"}),
		os.WriteFile(path, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	b, err := backbone.Open(path, nn.DefaultEngine())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func images(t *testing.T, size, perClass int) *data.Set {
	t.Helper()
	set, err := data.Open(t.Context(), data.Spec{Name: "glyphs", Size: size, TrainPerClass: perClass, TestPerClass: 1})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func maker(t *testing.T, net *backbone.Backbone, set *data.Set) *Maker {
	t.Helper()
	m, err := New(net, [3]int{set.C, set.H, set.W})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// all are the bytes of all embeddings of a set.
func all(t *testing.T, set *data.Set) (b []byte) {
	t.Helper()
	for _, half := range []data.Split{set.Train, set.Test} {
		for i := range half.Len() {
			x, err := half.Images.Image(i, make([]uint8, set.ImageLen()))
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, x...)
		}
	}
	return b
}

// TestSet: the embeddings are what the network makes of the images, in float16; they are made once, and another
// network, other images or another size have their own.
func TestSet(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	set, net := images(t, side, 21), network(t, 1, 1) // 2,100 images, more than a file
	m, made := maker(t, net, set), 0
	o := Options{Begin: func(w Work) error { made = w.Images; return nil }}
	got, err := m.Set(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if made != 2200 || !got.Embeddings || got.C != 5 || got.H*got.W != 1 || got.Of != [3]int{3, side, side} ||
		got.ByDigest != net.Digest() || got.By != "mlp trained on glyphs" {
		t.Errorf("%d made of %+v", made, got)
	}
	ws, bytesOf := net.NewWorkspace(1, 1), all(t, got)
	defer ws.Close()
	for _, i := range []int{0, 63, 64, 2047, 2048, 2099} {
		pixels, err := set.Train.Images.Image(i, make([]uint8, set.ImageLen()))
		if err != nil {
			t.Fatal(err)
		}
		features := make([]float32, 5)
		if err := ws.Features(features, pixels, 1); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, 10)
		if !(ocl.Float16{}).Put(want, features) || !bytes.Equal(bytesOf[10*i:10*i+10], want) {
			t.Errorf("embedding %d is %v, want %v", i, bytesOf[10*i:10*i+10], want)
		}
	}
	made = 0
	again, err := m.Set(t.Context(), set, o)
	if err != nil || made != 0 || again.Digest != got.Digest || !bytes.Equal(all(t, again), bytesOf) {
		t.Errorf("a second time: %d made, %v, or other embeddings", made, err)
	}
	for what, other := range map[string]func() (*Maker, *data.Set){
		"network": func() (*Maker, *data.Set) { return maker(t, network(t, 2, 1), set), set },
		"images":  func() (*Maker, *data.Set) { s := images(t, side, 1); return maker(t, net, s), s },
		"size":    func() (*Maker, *data.Set) { s := images(t, 2*side, 21); return maker(t, net, s), s },
	} {
		m, set := other()
		made = 0
		s, err := m.Set(t.Context(), set, o)
		if err != nil || made == 0 || s.Digest == got.Digest {
			t.Errorf("another %s: %d made, %v, or the same digest", what, made, err)
		}
	}
}

// TestParts: no half has many files, and none loses much when it is stopped.
func TestParts(t *testing.T) {
	for n, want := range map[int]int{0: 64, 1: 64, 480: 64, 50_000: 782, 1_281_167: 2048} {
		if got := partOf(n); got != want {
			t.Errorf("%d images: files of %d, want %d", n, got, want)
		}
	}
}

// TestReadOnly: a plan writes no file, and sees the same embeddings and the same digest.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("OCL_CACHE", dir)
	set := images(t, side, 1)
	m := maker(t, network(t, 1, 1), set)
	plan, err := m.Set(t.Context(), set, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	want := all(t, plan)
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files %v were written, %v", files, err)
	}
	got, err := m.Set(t.Context(), set, Options{})
	if err != nil || got.Digest != plan.Digest || !bytes.Equal(all(t, got), want) {
		t.Errorf("%v, or other embeddings", err)
	}
}

// TestInterrupted: what was made before the end of a context is not made again, and the outcome has the same bytes.
func TestInterrupted(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	set := images(t, side, 21)
	m := maker(t, network(t, 1, 1), set)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := m.Set(ctx, set, Options{Progress: func(_ string, done, total int) {
		if done > 3*leastPart { // three files are whole
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	left := 0
	got, err := m.Set(t.Context(), set, Options{Begin: func(w Work) error { left = w.Images; return nil }})
	if err != nil || left == 0 || left > 2200-3*leastPart { // the file at work is lost, or was just ended
		t.Fatalf("%d were made after %d, %v", left, 3*leastPart, err)
	}
	want := all(t, got)
	t.Setenv("OCL_CACHE", t.TempDir())
	if whole, err := m.Set(t.Context(), set, Options{}); err != nil || !bytes.Equal(all(t, whole), want) {
		t.Errorf("without an interruption: %v, or other embeddings", err)
	}
}

// TestRefused: images without an embedding, numbers beyond float16, and a caller who says no.
func TestRefused(t *testing.T) {
	t.Setenv("OCL_CACHE", t.TempDir())
	set := images(t, side, 1)
	if _, err := New(network(t, 1, 1), [3]int{2, 8, 8}); err == nil ||
		!strings.Contains(err.Error(), "Use images of 1 or 3 channels") {
		t.Errorf("two channels: %v", err)
	}
	if _, err := maker(t, network(t, 1, 1e7), set).Set(t.Context(), set, Options{}); err == nil ||
		!strings.Contains(err.Error(), "65,504") {
		t.Errorf("huge numbers: %v", err)
	}
	m := maker(t, network(t, 1, 1), set)
	t.Setenv("GOMEMLIMIT", "1KiB")
	if _, err := m.Set(t.Context(), set, Options{}); !errors.Is(err, nn.ErrMemory) ||
		!strings.Contains(err.Error(), "Fewer cores need less") {
		t.Errorf("little memory: %v", err)
	}
	t.Setenv("GOMEMLIMIT", "")
	no := errors.New("no")
	if _, err := maker(t, network(t, 1, 1), set).Set(t.Context(), set,
		Options{Begin: func(Work) error { return no }}); !errors.Is(err, no) {
		t.Errorf("a caller who says no: %v", err)
	}
	if _, err := maker(t, network(t, 1, 1), set).Set(t.Context(), images(t, 2*side, 1), Options{}); err == nil {
		t.Error("images of another shape were taken")
	}
	var name *fs.PathError
	if _, err := backbone.Open(filepath.Join(t.TempDir(), "none"), nn.DefaultEngine()); err == nil ||
		errors.As(err, &name) {
		t.Errorf("no file: %v", err)
	}
}

// TestGrey: a grey image has the embedding of three equal channels.
func TestGrey(t *testing.T) {
	net := network(t, 1, 1)
	grey, colour := make([]uint8, side*side), make([]uint8, 3*side*side)
	for i := range grey {
		grey[i] = uint8(3 * i)
		colour[i], colour[side*side+i], colour[2*side*side+i] = grey[i], grey[i], grey[i]
	}
	var got [2][]byte
	for i, image := range [][]uint8{grey, colour} {
		m, err := New(net, [3]int{len(image) / (side * side), side, side})
		if err != nil {
			t.Fatal(err)
		}
		d := m.Desk(1, 2)
		got[i] = make([]byte, 10)
		if err := d.Embed(got[i], image); err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
	if !bytes.Equal(got[0], got[1]) {
		t.Errorf("grey %v, colour %v", got[0], got[1])
	}
}

// TestScaled: an image is scaled as the network wants it, and the middle is taken: of one that has the size before the
// cut, the middle as it is.
func TestScaled(t *testing.T) {
	d := (&Maker{network(t, 1, 1), [3]int{3, 12, 12}}).Desk(1, 1)
	defer d.Close()
	pixels := make([]uint8, 3*12*12)
	for i := range pixels {
		pixels[i] = uint8(i * 37)
	}
	got, middle := make([]uint8, 3*8*8), make([]uint8, 0, 3*8*8)
	for c := range 3 {
		for y := 2; y < 10; y++ {
			middle = append(middle, pixels[c*144+y*12+2:][:8]...)
		}
	}
	for _, bicubic := range []bool{false, true} {
		i := backbone.Info{Side: 8, Resize: 12, Bicubic: bicubic}
		if err := d.fit(got, pixels, i); err != nil || !bytes.Equal(got, middle) {
			t.Errorf("bicubic %v: %v, or not the middle", bicubic, err)
		}
	}
	seen := map[string]bool{}
	for _, i := range []backbone.Info{{Resize: 8}, {Resize: 8, Bicubic: true}, {Resize: 10}, {Resize: 10, Bicubic: true}} {
		i.Side = 8
		if err := d.fit(got, pixels, i); err != nil {
			t.Fatal(err)
		}
		seen[string(got)] = true
	}
	if len(seen) != 4 {
		t.Errorf("four ways to scale give %d images", len(seen))
	}
}

// TestWanted: pictures of any size are asked for at the network's. Sets of one size, and sizes that a person chose,
// stay.
func TestWanted(t *testing.T) {
	net := network(t, 1, 1)
	for _, c := range []struct {
		name       string
		size, want int
	}{{"folder", 0, side}, {"folder", 64, 64}, {"glyphs", 0, 0}, {"none", 0, 0}} {
		if got := Wanted(data.Spec{Name: c.name, Size: c.size}, net); got.Size != c.want || got.Bicubic {
			t.Errorf("%s at %d: %+v, want %d", c.name, c.size, got, c.want)
		}
	}
}
