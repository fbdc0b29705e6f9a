package picture

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"slices"
	"testing"

	"golang.org/x/image/bmp"
)

// sizeOf is the width and height of an image as Decode sees it, after EXIF orientation, with the name of its format.
func sizeOf(file []byte) (w, h int, format string, err error) {
	f, c, err := header(file)
	if err != nil {
		return 0, 0, "", err
	}
	w, h = orientation(f.exif(file)).size(c.Width, c.Height)
	return w, h, f.name, nil
}

// pillow is testdata/pillow.json; testdata/pillow.py says what is in it.
type pillow struct {
	Resized []struct {
		W, H, Side, Rim int
		Fit             string
		Planes          []uint8
	}
	Decoded []sample
}

// sample is a file and the planes that Pillow decodes from it.
type sample struct {
	Name         string
	File, Planes []uint8
}

func readPillow(t testing.TB) (p pillow) {
	t.Helper()
	text, err := os.ReadFile("testdata/pillow.json")
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fileOf is the file of a name in pillow.json.
func fileOf(t testing.TB, name string) []byte {
	t.Helper()
	for _, d := range readPillow(t).Decoded {
		if d.Name == name {
			return d.File
		}
	}
	t.Fatalf("testdata/pillow.json has no %q", name)
	return nil
}

// pattern is the image of the same name in testdata/pillow.py.
func pattern(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			v := x*37 + y*91 + x*y*7
			m.SetNRGBA(x, y, color.NRGBA{uint8(v), uint8(v + 53), uint8(v + 106), 255})
		}
	}
	return m
}

// planesOf reads an image one pixel at a time; colour says what a pixel is.
func planesOf(m image.Image, colour func(x, y int) (r, g, b uint8)) []uint8 {
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	planes := make([]uint8, 3*w*h)
	for y := range h {
		for x := range w {
			planes[y*w+x], planes[w*h+y*w+x], planes[2*w*h+y*w+x] = colour(x, y)
		}
	}
	return planes
}

// opaque is how an image without alpha looks to package color.
func opaque(m image.Image) []uint8 {
	return planesOf(m, func(x, y int) (r, g, b uint8) {
		r16, g16, b16, _ := m.At(x, y).RGBA()
		return uint8(r16 >> 8), uint8(g16 >> 8), uint8(b16 >> 8)
	})
}

// encoded is what an encoder writes.
func encoded(t testing.TB, encode func(b *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t testing.TB, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, m) })
}

func jpegOf(t testing.TB, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) })
}

func gifOf(t testing.TB, g *gif.GIF) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, g) })
}

func bmpOf(t testing.TB, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return bmp.Encode(b, m) })
}

// decode is Decode into memory of its own, which is not zero before.
func decode(t testing.TB, file []byte, side int, fit Fit) []uint8 {
	t.Helper()
	dst := bytes.Repeat([]byte{77}, 3*side*side)
	if err := Decode(context.Background(), file, dst, side, side, fit); err != nil {
		t.Fatal(err)
	}
	return dst
}

// apart is the largest and the mean difference of two images.
func apart(a, b []uint8) (largest int, mean float64) {
	sum := 0
	for i := range a {
		d := max(int(a[i])-int(b[i]), int(b[i])-int(a[i]))
		largest, sum = max(largest, d), sum+d
	}
	return largest, float64(sum) / float64(len(a))
}

// TestPixelsOfTheWantedSizeAreKept: every kind of image that Go's encoders write keeps its pixels; the upper byte of 16
// bits counts, and alpha is dropped without blending.
func TestPixelsOfTheWantedSizeAreKept(t *testing.T) {
	const side = 9
	full := pattern(side, side)
	grey, grey16 := image.NewGray(full.Rect), image.NewGray16(full.Rect)
	deep, deepAlpha := image.NewRGBA64(full.Rect), image.NewNRGBA64(full.Rect)
	alpha, opaqueRGBA := image.NewNRGBA(full.Rect), image.NewRGBA(full.Rect)
	few := image.NewPaletted(full.Rect, color.Palette{color.RGBA{9, 8, 7, 255}, color.RGBA{200, 100, 50, 255},
		color.RGBA{0, 255, 3, 255}})
	clear := image.NewPaletted(full.Rect, color.Palette{color.NRGBA{9, 8, 7, 255}, color.NRGBA{200, 100, 50, 0},
		color.NRGBA{0, 255, 3, 128}})
	for y := range side {
		for x := range side {
			c := full.NRGBAAt(x, y)
			high := func(v uint8) uint16 { return uint16(v)<<8 | uint16(255-v) }
			grey.SetGray(x, y, color.Gray{c.R})
			grey16.SetGray16(x, y, color.Gray16{high(c.R)})
			deep.SetRGBA64(x, y, color.RGBA64{high(c.R), high(c.G), high(c.B), 0xffff})
			deepAlpha.SetNRGBA64(x, y, color.NRGBA64{high(c.R), high(c.G), high(c.B), uint16(x * 5000)})
			alpha.SetNRGBA(x, y, color.NRGBA{c.R, c.G, c.B, uint8(x * 20)})
			opaqueRGBA.Set(x, y, c)
			few.SetColorIndex(x, y, c.R%3)
			clear.SetColorIndex(x, y, c.R%3)
		}
	}
	solid := opaque(full)
	drop := planesOf(clear, func(x, y int) (r, g, b uint8) {
		c := clear.At(x, y).(color.NRGBA)
		return c.R, c.G, c.B
	})
	for _, c := range []struct {
		name, format string
		file         []byte
		want         []uint8
	}{
		{"PNG", "PNG", pngOf(t, full), solid},
		{"grey PNG", "PNG", pngOf(t, grey), opaque(grey)},
		{"grey PNG of 16 bits", "PNG", pngOf(t, grey16), opaque(grey16)},
		{"PNG of 16 bits", "PNG", pngOf(t, deep), solid},
		{"PNG of 16 bits with alpha", "PNG", pngOf(t, deepAlpha), solid},
		{"PNG with alpha", "PNG", pngOf(t, alpha), solid},
		{"PNG with a palette", "PNG", pngOf(t, few), opaque(few)},
		{"PNG with a palette with alpha", "PNG", pngOf(t, clear), drop},
		{"GIF", "GIF", gifOf(t, &gif.GIF{Image: []*image.Paletted{few}, Delay: []int{0}}), opaque(few)},
		{"BMP", "BMP", bmpOf(t, opaqueRGBA), solid},
		{"BMP with alpha", "BMP", bmpOf(t, alpha), solid},
		{"grey BMP", "BMP", bmpOf(t, grey), opaque(grey)},
		{"BMP with a palette", "BMP", bmpOf(t, few), opaque(few)},
	} {
		for _, fit := range []Fit{Crop, Stretch} {
			if got := decode(t, c.file, side, fit); !slices.Equal(got, c.want) {
				t.Errorf("%s, fit %d: other pixels", c.name, fit)
			}
		}
		if w, h, format, err := sizeOf(c.file); w != side || h != side || format != c.format || err != nil {
			t.Errorf("%s: Size is %d×%d, %q, %v", c.name, w, h, format, err)
		}
	}
}

// TestJPEGHasTheColoursOfPackageColor: the planes of a JPEG are those that color.YCbCr gives, with each sampling of
// colours.
func TestJPEGHasTheColoursOfPackageColor(t *testing.T) {
	files := map[string][]byte{"Go": jpegOf(t, pattern(16, 16))}
	for _, name := range []string{"jpeg 4:4:4", "jpeg 4:2:2", "jpeg 4:2:0", "jpeg progressive", "jpeg grey", "jpeg rgb"} {
		files[name] = fileOf(t, name)
	}
	for name, file := range files {
		m, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(decode(t, file, 16, Crop), opaque(m)) {
			t.Errorf("%s: other pixels than package color's", name)
		}
	}
}

// TestDecodedAsPillow compares with Pillow: lossless files are equal; lossy ones differ by rounding, and by the colours
// between two samples, which libjpeg and libwebp interpolate.
func TestDecodedAsPillow(t *testing.T) {
	most := map[string]int{ // 0 where nothing is said
		"jpeg 4:4:4": 2, "jpeg 4:2:2": 6, "jpeg 4:2:0": 6, "jpeg progressive": 2, "jpeg rgb": 1, "jpeg grey": 1,
		"jpeg cmyk": 1,
		"jpeg ycck": 1, "jpeg orientation 6": 2, "webp": 8, "webp alpha": 7,
	}
	for _, d := range readPillow(t).Decoded {
		if d.Name == "webp animated" {
			continue
		}
		largest, mean := apart(decode(t, d.File, 16, Crop), d.Planes)
		t.Logf("%s: largest %d, mean %.2f", d.Name, largest, mean)
		if largest > most[d.Name] {
			t.Errorf("%s: a pixel is %d from Pillow's, more than %d (mean %.2f)", d.Name, largest, most[d.Name], mean)
		}
	}
}

// TestResizedAsPillow: larger, smaller, wide and tall images become bit for bit what Pillow and torchvision make of
// them.
func TestResizedAsPillow(t *testing.T) {
	fits := map[string]Fit{"crop": Crop, "stretch": Stretch, "bicubic crop": Crop | Bicubic,
		"bicubic stretch": Stretch | Bicubic}
	for _, c := range readPillow(t).Resized {
		var got []uint8
		if c.Rim == 0 {
			got = decode(t, pngOf(t, pattern(c.W, c.H)), c.Side, fits[c.Fit])
		} else {
			got = make([]uint8, 3*c.Side*c.Side)
			if err := new(Canvas).Middle(got, pattern(c.W, c.H), c.Side, c.Side, c.Rim, fits[c.Fit]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, c.Planes) {
			largest, mean := apart(got, c.Planes)
			t.Errorf("%d×%d to %d, %s: a pixel is %d from Pillow's (mean %.2f)", c.W, c.H, c.Side, c.Fit, largest, mean)
		}
	}
}

// TestFirstFrameOfGIF: an animation gives its first frame, on black where the frame is smaller than the image or
// transparent.
func TestFirstFrameOfGIF(t *testing.T) {
	palette := color.Palette{color.RGBA{}, color.RGBA{50, 60, 70, 255}, color.RGBA{255, 255, 255, 255}}
	first := image.NewPaletted(image.Rect(1, 2, 4, 4), palette)
	second := image.NewPaletted(image.Rect(0, 0, 5, 5), palette)
	for i := range first.Pix {
		first.Pix[i] = 1
	}
	for i := range second.Pix {
		second.Pix[i] = 2
	}
	first.SetColorIndex(2, 3, 0)
	file := gifOf(t, &gif.GIF{Image: []*image.Paletted{first, second}, Delay: []int{1, 1},
		Config: image.Config{ColorModel: palette, Width: 5, Height: 5}})
	want := planesOf(second, func(x, y int) (r, g, b uint8) {
		if x < 1 || x > 3 || y < 2 || y > 3 || x == 2 && y == 3 {
			return 0, 0, 0
		}
		return 50, 60, 70
	})
	if got := decode(t, file, 5, Crop); !slices.Equal(got, want) {
		t.Errorf("the first frame is %v, not %v", got, want)
	}
}

// TestMemoryIsUsedAgain: a call after others with larger and turned images sees nothing of them.
func TestMemoryIsUsedAgain(t *testing.T) {
	small := pngOf(t, pattern(7, 5))
	want := decode(t, small, 4, Stretch)
	for range 20 {
		decode(t, pngOf(t, pattern(50, 40)), 11, Crop)
		decode(t, fileOf(t, "png orientation 8"), 5, Crop)
		if got := decode(t, small, 4, Stretch); !slices.Equal(got, want) {
			t.Fatal("the same file gives other pixels")
		}
	}
}
