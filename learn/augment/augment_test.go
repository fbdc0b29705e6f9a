package augment_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/data"
	_ "ocl/data/gofonts"
	"ocl/learn/augment"
	"ocl/nn/tensor"
	"ocl/rng"
)

var update = flag.Bool("update", false, "write the golden pictures again")

// TestTorchvision compares each function with what torchvision computed (testdata/golden.py).
func TestTorchvision(t *testing.T) {
	file, err := os.ReadFile("testdata/torchvision.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Pixels        []uint8
		Height, Width int
		Cases         []struct {
			Name string
			Args []float64
			Out  []float32
		}
	}
	if err := json.Unmarshal(file, &golden); err != nil || len(golden.Cases) < 40 {
		t.Fatal(len(golden.Cases), err)
	}
	h, w := golden.Height, golden.Width
	row := make([]float32, len(golden.Pixels))
	for i, k := range golden.Pixels {
		row[i] = float32(k) / 255
	}
	for _, c := range golden.Cases {
		got := slices.Clone(row)
		switch {
		case c.Name == "flip":
			x := tensor.Of(got, 1, 3, h, w)
			(&augment.Flip{P: 1}).Apply(x, rng.New(1, "x"))
		case c.Name == "equalize" && len(c.Args) > 0: // of a larger image of copies, its upper left part
			large := repeated(row, h, w, int(c.Args[0]))
			augment.Compute(large, h*int(c.Args[0]), w*int(c.Args[0]), c.Name, nil)
			got = part(large, h, w, int(c.Args[0]))
			if slices.Equal(got, row) {
				t.Error("equalizing changes nothing")
			}
		case !augment.Compute(got, h, w, c.Name, c.Args):
			t.Fatalf("no function %s", c.Name)
		}
		for i := range got {
			if !(math.Abs(float64(got[i]-c.Out[i])) <= 2e-6) {
				t.Errorf("%s %v: value %d is %v, want %v", c.Name, c.Args, i, got[i], c.Out[i])
				break
			}
		}
	}
}

// repeated is an image of n×n copies of one.
func repeated(row []float32, h, w, n int) []float32 {
	var out []float32
	for line := range len(row) / w {
		for range n {
			out = append(out, row[line*w:(line+1)*w]...)
		}
		if (line+1)%h == 0 {
			copies := out[len(out)-h*w*n:]
			for range n - 1 {
				out = append(out, copies...)
			}
		}
	}
	return out
}

// part is the upper left copy of repeated.
func part(large []float32, h, w, n int) []float32 {
	var out []float32
	for c := range 3 {
		for y := range h {
			out = append(out, large[(c*h*n+y)*w*n:][:w]...)
		}
	}
	return out
}

var transforms = []struct {
	name string
	make func(ocl.PixelValues) augment.Transform
}{
	{"crop_flip", func(ocl.PixelValues) augment.Transform { return &augment.CropFlip{} }},
	{"resized_crop", func(ocl.PixelValues) augment.Transform { return &augment.ResizedCrop{Scale: [2]float64{0.2, 1}} }},
	{"flip", func(ocl.PixelValues) augment.Transform { return &augment.Flip{P: 0.5} }},
	{"jitter", jitter},
	{"grey", func(v ocl.PixelValues) augment.Transform { return &augment.Grey{P: 0.5, Values: v} }},
	{"rand_augment", func(v ocl.PixelValues) augment.Transform { return &augment.RandAugment{N: 2, M: 9, Values: v} }},
	{"scr", func(v ocl.PixelValues) augment.Transform {
		return augment.Compose{&augment.ResizedCrop{Scale: [2]float64{0.2, 1}}, &augment.Flip{P: 0.5}, jitter(v),
			&augment.Grey{P: 0.2, Values: v}}
	}},
}

func jitter(v ocl.PixelValues) augment.Transform {
	return &augment.ColorJitter{P: 0.8, Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.1, Values: v}
}

// glyphs are the first images of the built-in data set.
func glyphs(t *testing.T, n int) [][]uint8 {
	t.Helper()
	set, err := data.Open(context.Background(), data.Spec{Name: "glyphs", TrainPerClass: 1, TestPerClass: 1})
	if err != nil {
		t.Fatal(err)
	}
	at := make([]int32, n)
	for i := range at {
		at[i] = int32(i)
	}
	images, err := set.Take(set.Train, at)
	if err != nil {
		t.Fatal(err)
	}
	return images
}

// batch is images as a network sees them.
func batch(images [][]uint8, values ocl.PixelValues) *tensor.Tensor {
	return ocl.NewBatch([3]int{3, 32, 32}, slices.Concat(images...), make([]ocl.Label, len(images)), values).X
}

// TestPictures compares pictures of each transform with committed ones: the glyphs, and below them three draws. Write
// them again with -update, and look at them.
func TestPictures(t *testing.T) {
	images := glyphs(t, 6)
	values := ocl.NewPixelValues(3, nil, nil)
	for _, c := range transforms {
		src, transform := rng.New(1, "picture"), c.make(values)
		picture := image.NewRGBA(image.Rect(0, 0, 32*len(images), 32*4))
		for line := range 4 {
			x := batch(images, values)
			if line > 0 {
				transform.Apply(x, src)
			}
			for i := range images {
				for p := range 32 * 32 {
					at := func(c int) uint8 { return uint8(x.Row(i)[c*32*32+p]*255 + 0.5) }
					picture.SetRGBA(32*i+p%32, 32*line+p/32, color.RGBA{at(0), at(1), at(2), 255})
				}
			}
		}
		path := "testdata/" + c.name + ".png"
		if *update {
			var b bytes.Buffer
			if err := png.Encode(&b, picture); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for i := range picture.Bounds().Dx() * picture.Bounds().Dy() {
			x, y := i%picture.Bounds().Dx(), i/picture.Bounds().Dx()
			if got, want := picture.RGBAAt(x, y), color.RGBAModel.Convert(want.At(x, y)); got != want {
				t.Errorf("%s: pixel %d, %d is %v, want %v", path, x, y, got, want)
				break
			}
		}
	}
}

// TestValuesAreUndone: images of which a mean was subtracted change as those in [0,1] do. A fill of crop and flip is a
// value, and the only one that differs.
func TestValuesAreUndone(t *testing.T) {
	images := glyphs(t, 20)
	plain := ocl.NewPixelValues(3, nil, nil)
	other := ocl.NewPixelValues(3, []float64{0.5, 0.4, 0.3}, []float64{0.2, 0.3, 0.25})
	for _, c := range transforms[1:] {
		x, z := batch(images, plain), batch(images, other)
		c.make(nil).Apply(x, rng.New(3, "x"))
		c.make(other).Apply(z, rng.New(3, "x"))
		for i := range x.Data {
			black, white := other[i/1024%3][0], other[i/1024%3][255]
			if got := (z.Data[i] - black) / (white - black); !(math.Abs(float64(got-x.Data[i])) <= 1.5/255) {
				t.Errorf("%s: value %d is the pixel %v, want %v", c.name, i, got, x.Data[i])
				break
			}
		}
	}
}

// TestDrawsAndBuffers: the same source gives the same images whatever the transform did before, a source that continues
// from a saved state continues the images, and nothing is allocated once buffers are there.
func TestDrawsAndBuffers(t *testing.T) {
	images := glyphs(t, 10)
	for _, c := range transforms {
		used, fresh := c.make(nil), c.make(nil)
		src := rng.New(5, "x")
		used.Apply(batch(images, ocl.NewPixelValues(3, nil, nil)), src)
		state, err := src.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		x, z := batch(images, ocl.NewPixelValues(3, nil, nil)), batch(images, ocl.NewPixelValues(3, nil, nil))
		used.Apply(x, src)
		other := rng.New(6, "y")
		if err := other.UnmarshalBinary(state); err != nil {
			t.Fatal(err)
		}
		fresh.Apply(z, other)
		if !slices.Equal(x.Data, z.Data) {
			t.Errorf("%s: other images after a resumption", c.name)
		}
		if n := testing.AllocsPerRun(5, func() { used.Apply(x, src) }); n != 0 {
			t.Errorf("%s: %v allocations for a batch", c.name, n)
		}
	}
}

// TestRates counts how often images are changed, and that no box leaves its range.
func TestRates(t *testing.T) {
	const n = 4000
	for _, c := range []struct {
		name      string
		transform augment.Transform
		share     float64
	}{
		{"flip", &augment.Flip{P: 0.3}, 0.3},
		{"no flip", &augment.Flip{}, 0},
		{"every flip", &augment.Flip{P: 1}, 1},
		{"grey", &augment.Grey{P: 0.2}, 0.2},
		{"jitter", &augment.ColorJitter{P: 0.8, Brightness: 0.4}, 0.8},
		{"jitter by nothing", &augment.ColorJitter{P: 1}, 0},
		{"whole crop", &augment.ResizedCrop{Scale: [2]float64{1, 1}, Ratio: [2]float64{1, 1}}, 0},
		{"no operation", &augment.RandAugment{M: 9}, 0},
	} {
		x := tensor.New(n, 3, 2, 2)
		for i := range x.Data {
			x.Data[i] = []float32{0.1, 0.5, 0.25, 0.25, 0.5, 0.1, 0.125, 0.5, 0.25, 0.4, 0.2, 0.1}[i%12]
		}
		before := x.Clone()
		c.transform.Apply(x, rng.New(1, c.name))
		changed := 0.0
		for i := range n {
			for k, v := range x.Row(i) {
				if !(math.Abs(float64(v-before.Row(i)[k])) <= 1e-6) {
					changed++
					break
				}
			}
		}
		// Five standard deviations of a share of n.
		if got := changed / n; !(math.Abs(got-c.share) <= 5*math.Sqrt(c.share*(1-c.share)/n)) {
			t.Errorf("%s: changed a share of %v, want %v", c.name, got, c.share)
		}
	}
}

// TestImagesOfOneChannel: grey images of any size go through every transform, and stay in their range.
func TestImagesOfOneChannel(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {1, 7}, {28, 28}, {9, 2}} {
		for _, c := range transforms {
			x := tensor.New(50, 1, shape[0], shape[1])
			for i := range x.Data {
				x.Data[i] = float32(i%251) / 250
			}
			c.make(ocl.NewPixelValues(1, nil, nil)).Apply(x, rng.New(2, "x"))
			for i, v := range x.Data {
				if !(v >= -1e-6 && v <= 1+1e-6) {
					t.Errorf("%s: %v: value %d is %v", c.name, shape, i, v)
					break
				}
			}
		}
	}
}

// TestRanges: parameters out of their range are named with the range.
func TestRanges(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		transform augment.Transform
		want      string
	}{
		{&augment.Flip{P: 1.5}, "augment: Flip.P is 1.5. Use a number from 0 to 1"},
		{&augment.Flip{P: nan}, "Flip.P is NaN"},
		{&augment.Grey{P: -0.1}, "Grey.P is -0.1"},
		{&augment.ColorJitter{P: 2}, "ColorJitter.P is 2"},
		{&augment.ColorJitter{Brightness: -1}, "ColorJitter.Brightness is -1"},
		{&augment.ColorJitter{Contrast: nan}, "ColorJitter.Contrast is NaN"},
		{&augment.ColorJitter{Saturation: math.Inf(1)}, "ColorJitter.Saturation is +Inf"},
		{&augment.ColorJitter{Hue: 0.6}, "ColorJitter.Hue is 0.6. Use a number from 0 to 0.5"},
		{&augment.ResizedCrop{}, "ResizedCrop.Scale is [0 0]"},
		{&augment.ResizedCrop{Scale: [2]float64{0.5, 1.1}}, "ResizedCrop.Scale is [0.5 1.1]"},
		{&augment.ResizedCrop{Scale: [2]float64{0.5, nan}}, "ResizedCrop.Scale"},
		{&augment.ResizedCrop{Scale: [2]float64{0.5, 1}, Ratio: [2]float64{2, 1}}, "ResizedCrop.Ratio is [2 1]"},
		{&augment.RandAugment{N: -1}, "RandAugment.N is -1"},
		{&augment.RandAugment{M: 31}, "RandAugment.M is 31"},
		{augment.Compose{&augment.CropFlip{}, nil}, "transform 2 of 2 is nil"},
		{augment.Compose{&augment.Flip{P: 3}}, "Flip.P is 3"},
	} {
		if err := c.transform.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.transform, err, c.want)
		}
	}
	for _, c := range transforms {
		if err := c.make(nil).Check(); err != nil {
			t.Error(err)
		}
	}
}
