package picture

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// converted is img in another type of package image.
func converted(img image.Image, to draw.Image) image.Image {
	draw.Draw(to, to.Bounds(), img, img.Bounds().Min, draw.Src)
	return to
}

// drawn is what a canvas makes of an image.
func drawn(t testing.TB, img image.Image, w, h int, fit Fit) []uint8 {
	t.Helper()
	dst := make([]uint8, 3*w*h)
	if err := new(Canvas).Draw(dst, img, w, h, fit); err != nil {
		t.Fatalf("%T: %v", img, err)
	}
	return dst
}

// hidden is an image whose type the package does not know.
type hidden struct{ image.Image }

// TestCanvasIsDecode: an image in memory becomes what its file becomes, of whatever type it is and wherever its bounds
// lie.
func TestCanvasIsDecode(t *testing.T) {
	whole := pattern(61, 40)
	clear(whole.Pix[:400]) // some pixels are transparent
	for i := 3; i < 4000; i += 8 {
		whole.Pix[i] = uint8(i)
	}
	palette := color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{90, 7, 200, 255}, color.NRGBA{255, 255, 0, 255},
		color.NRGBA{9, 8, 7, 6}}
	opaque := pattern(61, 40)
	images := map[string]image.Image{
		"NRGBA": whole, "part": whole.SubImage(image.Rect(7, 5, 50, 33)),
		"NRGBA64": converted(opaque, image.NewNRGBA64(opaque.Rect)),
		"RGBA":    converted(opaque, image.NewRGBA(opaque.Rect)), "RGBA64": converted(opaque, image.NewRGBA64(opaque.Rect)),
		"grey": converted(whole, image.NewGray(whole.Rect)), "grey of 16 bits": converted(whole, image.NewGray16(whole.Rect)),
		"paletted": converted(opaque, image.NewPaletted(opaque.Rect, palette)), "another type": hidden{opaque},
	}
	for name, img := range images {
		var file bytes.Buffer
		if err := png.Encode(&file, img); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			w, h int
			fit  Fit
		}{{61, 40, Crop}, {16, 16, Crop}, {16, 9, Stretch}, {80, 80, Crop}} {
			want := make([]uint8, 3*c.w*c.h)
			if err := Decode(context.Background(), file.Bytes(), want, c.w, c.h, c.fit); err != nil {
				t.Fatal(err)
			}
			if got := drawn(t, img, c.w, c.h, c.fit); !slices.Equal(got, want) {
				t.Errorf("%s: %d×%d pixels are others than those of a PNG file", name, c.w, c.h)
			}
		}
	}
}

// TestCanvasOfJPEG: the colours of a decoded JPEG are those of its file, and those of a part of it are those of a part.
func TestCanvasOfJPEG(t *testing.T) {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, pattern(61, 40), nil); err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	want := make([]uint8, 3*61*40)
	if err := Decode(context.Background(), file.Bytes(), want, 61, 40, Crop); err != nil {
		t.Fatal(err)
	}
	if got := drawn(t, img, 61, 40, Crop); !slices.Equal(got, want) {
		t.Error("other colours than those of the file")
	}
	at := func(planes []uint8, w, c, x, y int) uint8 { return planes[c*len(planes)/3+y*w+x] }
	// in the second, samples begin before the part
	for _, r := range []image.Rectangle{image.Rect(8, 4, 30, 30), image.Rect(7, 3, 30, 30)} {
		got := drawn(t, img.(*image.YCbCr).SubImage(r), r.Dx(), r.Dy(), Crop)
		for y := range r.Dy() {
			for x := range r.Dx() {
				for c := range 3 {
					if at(got, r.Dx(), c, x, y) != at(want, 61, c, r.Min.X+x, r.Min.Y+y) {
						t.Fatalf("%v: channel %d of (%d, %d) is %d", r, c, x, y, at(got, r.Dx(), c, x, y))
					}
				}
			}
		}
	}
}

// broken is an image that is not what it says.
type broken struct{ image.Image }

func (broken) At(int, int) color.Color { return nil }

// TestCanvasRefuses: images that cannot be drawn are errors that say what to do, and the next image is drawn.
func TestCanvasRefuses(t *testing.T) {
	short := image.NewGray(image.Rect(0, 0, 20, 20))
	short.Pix = short.Pix[:30]
	var none *image.RGBA
	c := new(Canvas)
	dst := make([]uint8, 3*8*8)
	for name, x := range map[string]struct {
		img  image.Image
		want string
	}{
		"nil":         {nil, "there is no image (nil). Give one"},
		"nil pointer": {none, "made its own methods panic"},
		"empty":       {image.NewGray(image.Rect(0, 0, 0, 20)), "no pixels (0×20). Give an image with pixels"},
		"endless":     {image.NewUniform(color.White), "Make it smaller"},
		"short":       {short, "Give a whole image"},
		"no colour":   {broken{image.NewGray(image.Rect(0, 0, 20, 20))}, "picture.broken made its own methods panic"},
		"wide":        {hidden{image.NewGray(image.Rect(0, 0, 70_000, 1))}, "70,000×1 pixels; at most 100 megapixels"},
		"bad palette": {&image.Paletted{Pix: []uint8{9, 9, 9, 9}, Stride: 2, Rect: image.Rect(0, 0, 2, 2)}, "panic"},
		"bounds below": {&image.NRGBA{Pix: nil, Stride: 0, Rect: image.Rectangle{image.Pt(5, 5), image.Pt(1, 1)}},
			"no pixels"},
	} {
		if err := c.Draw(dst, x.img, 8, 8, Crop); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	if err := c.Draw(dst, pattern(20, 20), 8, 8, Crop); err != nil ||
		!slices.Equal(dst, drawn(t, pattern(20, 20), 8, 8, Crop)) {
		t.Errorf("after errors: %v, or another image", err)
	}
}

// TestCanvasAllocatesNothing: once its buffers are there, for the types of package image.
func TestCanvasAllocatesNothing(t *testing.T) {
	rect := image.Rect(0, 0, 61, 40)
	c, dst := new(Canvas), make([]uint8, 3*16*16)
	for _, img := range []image.Image{
		pattern(61, 40), image.NewRGBA(rect), image.NewRGBA64(rect), image.NewNRGBA64(rect), image.NewGray(rect),
		image.NewGray16(rect),
		image.NewCMYK(rect), image.NewPaletted(rect, color.Palette{color.Black}),
		image.NewYCbCr(rect, image.YCbCrSubsampleRatio420),
	} {
		if n := testing.AllocsPerRun(10, func() {
			if err := c.Draw(dst, img, 16, 16, Crop); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%T: %v allocations", img, n)
		}
	}
}
