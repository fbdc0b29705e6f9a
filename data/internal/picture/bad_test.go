package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"slices"
	"strings"
	"testing"

	"ocl/internal/fuzztest"
)

// pngClaiming is a PNG whose header says w×h; it has no pixels, but padding bytes in a chunk that decoders skip.
func pngClaiming(w, h uint32, padding int) []byte {
	chunk := func(file []byte, name string, body []byte) []byte {
		file = binary.BigEndian.AppendUint32(file, uint32(len(body)))
		named := append([]byte(name), body...)
		return binary.BigEndian.AppendUint32(append(file, named...), crc32.ChecksumIEEE(named))
	}
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	file := chunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", append(size, 8, 6, 0, 0, 0))
	file = chunk(file, "prIv", make([]byte, padding))
	return chunk(chunk(file, "IDAT", nil), "IEND", nil)
}

// jpegClaiming is a JPEG whose header says w×h.
func jpegClaiming(t testing.TB, w, h uint16) []byte {
	t.Helper()
	file := jpegOf(t, pattern(16, 16))
	frame := bytes.Index(file, []byte("\xff\xc0"))
	binary.BigEndian.PutUint16(file[frame+5:], h)
	binary.BigEndian.PutUint16(file[frame+7:], w)
	return file
}

// bmpClaiming is a BMP whose header says w×h.
func bmpClaiming(t testing.TB, w, h uint32) []byte {
	t.Helper()
	file := bmpOf(t, pattern(16, 16))
	binary.LittleEndian.PutUint32(file[18:], w)
	binary.LittleEndian.PutUint32(file[22:], h)
	return file
}

// smallGIF is a GIF of one frame.
func smallGIF(t testing.TB) []byte {
	m := image.NewPaletted(image.Rect(0, 0, 16, 16), color.Palette{color.RGBA{A: 255}, color.RGBA{255, 0, 0, 255}})
	for i := range m.Pix {
		m.Pix[i] = uint8(i * i % 7 % 2)
	}
	return gifOf(t, &gif.GIF{Image: []*image.Paletted{m}, Delay: []int{0}})
}

// TestBadFiles: each gives an error that says what was found and what to do, from Size too where the header shows it.
// None makes Decode allocate more than a MiB.
func TestBadFiles(t *testing.T) {
	goodPNG, goodJPEG, goodGIF, goodBMP := pngOf(t, pattern(16, 16)), jpegOf(t, pattern(16, 16)), smallGIF(t),
		bmpOf(t, pattern(16, 16))
	half := func(b []byte) []byte { return b[:len(b)/2] }
	changed := func(b []byte, at int, v ...byte) []byte {
		b = slices.Clone(b)
		copy(b[at:], v)
		return b
	}
	bombGIF := changed(goodGIF, 6, 0xff, 0xff, 0xff, 0xff)
	// after RIFF, its length, WEBP, VP8L, its length, 0x2f
	bombWebP := changed(fileOf(t, "webp lossless"), 21, 0xff, 0xff, 0xff, 0x0f)
	frame := bytes.Index(goodJPEG, []byte("\xff\xc0"))
	for _, c := range []struct {
		name   string
		file   []byte
		header bool // Size fails too
		want   string
	}{
		{"no bytes", nil, true, "the file is empty. Copy it again, or remove it"},
		{"a page", []byte("<!DOCTYPE html>\n<html>"), true,
			`this is no JPEG, PNG, GIF, WebP, BMP or TIFF image (it begins with "<!DOCTYP"). Convert it to one of these, or remove it`},
		{"control characters", []byte("\x1b[2J\x00"), true,
			`this is no JPEG, PNG, GIF, WebP, BMP or TIFF image (it begins with "\x1b[2J\x00"). Convert it to one of these, or remove it`},
		{"a photograph of a telephone", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"), true,
			"this is a HEIC image, whatever its name says, and HEIC is not read. Convert it with `magick FILE NEW.jpg` or `heif-convert FILE NEW.jpg`"},
		{"a film", []byte("\x00\x00\x00\x18ftypisom\x00\x00\x00\x00"), true,
			`this is no JPEG, PNG, GIF, WebP, BMP or TIFF image (it begins with "\x00\x00\x00\x18ftyp"). Convert it to one of these, or remove it`},
		{"one byte", []byte{0xff}, true,
			`this is no JPEG, PNG, GIF, WebP, BMP or TIFF image (it begins with "\xff"). Convert it to one of these, or remove it`},
		{"a large PNG", pngClaiming(60000, 60000, 0), true,
			"the PNG image is 60000×60000 pixels; at most 100 megapixels, and 65535 on a side, are read. Make it smaller"},
		{"a long PNG", pngClaiming(1, 65536, 0), true,
			"the PNG image is 1×65536 pixels; at most 100 megapixels, and 65535 on a side, are read. Make it smaller"},
		{"a wide PNG", pngClaiming(65536, 1, 0), true,
			"the PNG image is 65536×1 pixels; at most 100 megapixels, and 65535 on a side, are read. Make it smaller"},
		{"a large JPEG", jpegClaiming(t, 60000, 60000), true,
			"the JPEG image is 60000×60000 pixels; at most 100 megapixels, and 65535 on a side, are read. Make it smaller"},
		{"a large BMP", bmpClaiming(t, 60000, 60000), true,
			"the BMP image is 60000×60000 pixels; at most 100 megapixels, and 65535 on a side, are read. Make it smaller"},
		{"a large GIF", bombGIF, true,
			"the GIF image is 65535×65535 pixels; at most 100 megapixels, and 65535 on a side, are read. Make it smaller"},
		{"a large WebP", bombWebP, true,
			"the WebP image is 16384×16384 pixels; at most 100 megapixels, and 65535 on a side, are read. Make it smaller"},
		{"a PNG of more pixels than its bytes can hold", pngClaiming(9000, 9000, 0), true,
			"the PNG image is 9000×9000 pixels, but its file has 69 bytes. Remove the file, or make the image smaller"},
		{"a JPEG without height", jpegClaiming(t, 16, 0), true, "the JPEG image has no pixels (16×0). Remove the file"},
		{"an empty BMP", bmpClaiming(t, 0, 0), true, "the BMP image has no pixels (0×0). Remove the file"},
		{"half a PNG", half(goodPNG), false,
			"the PNG image is damaged (png: invalid format: not enough pixel data). Copy the file again"},
		{"half a JPEG", half(goodJPEG), true,
			"the JPEG image is cut off: its file ends after 362 bytes. Copy the file again"},
		{"a JPEG without its last pixels", goodJPEG[:len(goodJPEG)-9], false,
			"the JPEG image is damaged (invalid JPEG format: short Huffman data). Copy the file again"},
		{"half a GIF", half(goodGIF), false, "the GIF image is damaged (gif: "},
		{"half a BMP", half(goodBMP), false, "the BMP image is cut off: its file ends after 411 bytes. Copy the file again"},
		{"half a WebP", half(fileOf(t, "webp lossless")), false,
			"the WebP image is cut off: its file ends after 45 bytes. Copy the file again"},
		{"the first bytes of a PNG", goodPNG[:20], true,
			"the PNG image is cut off: its file ends after 20 bytes. Copy the file again"},
		{"the first bytes of a JPEG", goodJPEG[:3], true,
			"the JPEG image is cut off: its file ends after 3 bytes. Copy the file again"},
		{"a PNG with a wrong checksum", changed(goodPNG, 50, goodPNG[50]^1), false,
			"the PNG image is damaged (png: invalid format: "},
		{"a JPEG of 12 bits", changed(goodJPEG, frame+4, 12), true,
			"the JPEG image is of a kind that is not read (unsupported JPEG feature: precision). Convert it to PNG with 8 bits per channel"},
		{"a BMP of 16 bits", changed(goodBMP, 28, 16), true,
			"the BMP image is of a kind that is not read (bmp: unsupported BMP image). Convert it to PNG with 8 bits per channel"},
		{"an animated WebP", fileOf(t, "webp animated"), false,
			"the WebP image is animated, which is not read. Save its first frame as PNG"},
	} {
		dst := make([]uint8, 3*8*8)
		var err error
		const most = 1 << 20
		if n := fuzztest.Allocated(most, func() { err = Decode(context.Background(), c.file, dst, 8, 8, Crop) }); n > most {
			t.Errorf("%s: Decode allocates %d bytes", c.name, n)
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: the error is\n%v, not\n%s", c.name, err, c.want)
		}
		if _, _, _, sizeErr := sizeOf(c.file); (sizeErr != nil) != c.header || c.header && sizeErr.Error() != err.Error() {
			t.Errorf("%s: Size says %v, Decode %v", c.name, sizeErr, err)
		}
	}
}

// TestLimitsAreInclusive: 100 megapixels are read where the file is long enough for them, and so is the largest image
// of any file.
func TestLimitsAreInclusive(t *testing.T) {
	for _, c := range []struct {
		w, h    uint32
		padding int
		ok      bool
	}{
		{10000, 10000, 100_000, true}, {10000, 10000, 99_000, false}, {10001, 10000, 200_000, false},
		{2000, 2000, 0, true}, {2001, 2000, 0, false}, {1, 65535, 0, true},
	} {
		if _, _, _, err := sizeOf(pngClaiming(c.w, c.h, c.padding)); (err == nil) != c.ok {
			t.Errorf("%d×%d in %d bytes: %v", c.w, c.h, c.padding, err)
		}
	}
}

// TestLongAndNarrow: an image of one column, enlarged to a square, needs little more memory than its pixels.
func TestLongAndNarrow(t *testing.T) {
	file := pngOf(t, image.NewGray(image.Rect(0, 0, 1, 65535)))
	for _, fit := range []Fit{Crop, Stretch} {
		dst := make([]uint8, 3*84*84)
		const most = 32 << 20
		if n := fuzztest.Allocated(most, func() {
			if err := Decode(context.Background(), file, dst, 84, 84, fit); err != nil {
				t.Fatal(err)
			}
		}); n > most {
			t.Errorf("fit %d: Decode allocates %d bytes", fit, n)
		}
	}
}
