package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"ocl/internal/fuzztest"
)

func tiffFileOf(t testing.TB, m image.Image, c tiff.CompressionType) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return tiff.Encode(b, m, &tiff.Options{Compression: c}) })
}

// set changes the value of a tag of a little-endian file to a long.
func set(t testing.TB, file []byte, tag uint16, value uint32) []byte {
	t.Helper()
	file = slices.Clone(file)
	e := directoryOf(file).find(tag)
	if e == nil {
		t.Fatalf("the file has no tag %d", tag)
	}
	binary.LittleEndian.PutUint16(e[2:], 4)
	binary.LittleEndian.PutUint32(e[4:], 1)
	binary.LittleEndian.PutUint32(e[8:], value)
	return file
}

// TestTIFFOfEveryDepth: of 16 bits the upper byte counts, and colours that are multiplied by their alpha are divided by
// it.
func TestTIFFOfEveryDepth(t *testing.T) {
	const side = 8
	plain := pattern(side, side)
	want := decode(t, pngOf(t, plain), side, Crop)
	deep, grey, premultiplied, wide := image.NewNRGBA64(plain.Rect), image.NewGray16(plain.Rect),
		image.NewRGBA(plain.Rect), image.NewRGBA64(plain.Rect)
	greys := make([]uint8, 3*side*side)
	for y := range side {
		for x := range side {
			c := plain.NRGBAAt(x, y)
			deep.SetNRGBA64(x, y, color.NRGBA64{uint16(c.R)<<8 | 0x7f, uint16(c.G)<<8 | 1, uint16(c.B)<<8 | 0xff, 0x1234})
			wide.SetRGBA64(x, y, color.RGBA64{uint16(c.R)<<8 | 3, uint16(c.G) << 8, uint16(c.B)<<8 | 0xfe, 0xffff})
			grey.SetGray16(x, y, color.Gray16{uint16(c.R)<<8 | 0xff})
			premultiplied.SetRGBA(x, y, color.RGBA{c.R / 4, c.G / 4, c.B / 4, 64})
			for k := range 3 {
				greys[k*side*side+y*side+x] = c.R
			}
		}
	}
	for _, c := range []tiff.CompressionType{tiff.Uncompressed, tiff.Deflate} {
		for name, m := range map[string]image.Image{"with alpha": deep, "opaque": wide, "8 bits": plain} {
			if got := decode(t, tiffFileOf(t, m, c), side, Crop); !slices.Equal(got, want) {
				t.Errorf("%s, %v: other pixels", name, c)
			}
		}
		if got := decode(t, tiffFileOf(t, grey, c), side, Crop); !slices.Equal(got, greys) {
			t.Errorf("grey, %v: other pixels", c)
		}
		if largest, _ := apart(decode(t, tiffFileOf(t, premultiplied, c), side, Crop), want); largest > 4 {
			t.Errorf("multiplied by alpha, %v: a pixel is %d from what it was", c, largest)
		}
	}
}

// TestBadTIFF: what is refused, before there is memory for it.
func TestBadTIFF(t *testing.T) {
	plain, deflated := tiffFileOf(t, pattern(16, 16), tiff.Uncompressed), tiffFileOf(t, pattern(16, 16), tiff.Deflate)
	// A grey image of many strips of one row each, all of which are the same bytes.
	strips := func(rows int) []byte {
		file := tiffFileOf(t, image.NewGray(image.Rect(0, 0, 16, 16)), tiff.Deflate)
		file = set(t, set(t, file, 0x0101, uint32(rows)), tagStripRows, 1)
		for _, tag := range []uint16{0x0111, tagStripBytes} {
			e := directoryOf(file).find(tag)
			value := uint32(8) // where the pixels are
			if tag == tagStripBytes {
				value = 200
			}
			binary.LittleEndian.PutUint32(e[4:], uint32(rows))
			binary.LittleEndian.PutUint32(e[8:], uint32(len(file)))
			binary.LittleEndian.PutUint16(e[2:], 4)
			for range rows {
				file = binary.LittleEndian.AppendUint32(file, value)
			}
		}
		return file
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"half", plain[:len(plain)/2], "the TIFF image is "},
		{"its first bytes", plain[:8], "the TIFF image is cut off: its file ends after 8 bytes. Copy the file again"},
		{"pixels that are cut off", slices.Concat(deflated[:20], deflated[40:]), "the TIFF image is "},
		{"a large one", set(t, set(t, plain, 0x0100, 60000), 0x0101, 60000),
			"the TIFF image is 60000×60000 pixels; at most 100 megapixels, and 65535 on a side, are read. Make it smaller"},
		{"more than its bytes", set(t, set(t, plain, 0x0100, 9000), 0x0101, 9000),
			"the TIFF image is 9000×9000 pixels, but its file has "},
		{"none", set(t, plain, 0x0100, 0),
			"the TIFF image is damaged (tiff: invalid format: zero-size image). Copy the file again"},
		{"a fax", set(t, plain, tagCompression, 4),
			"the TIFF image is compressed as a fax, which is not read. Convert it to PNG"},
		{"planes", set(t, fileOf(t, "tiff"), tagPlanes, 2),
			"the TIFF image keeps its colours apart (planar), which is not read. Convert it to PNG"},
		{"a JPEG in it", set(t, plain, tagCompression, 7),
			"the TIFF image is of a kind that is not read (tiff: unsupported feature: compression value 7). Convert it to PNG with 8 bits per channel"},
		{"lies about the strip", set(t, plain, tagStripBytes, 1<<31), "the TIFF image is "},
		{"very many strips", strips(65000), "decoding the TIFF image of 16×65000 pixels takes "},
	} {
		dst := make([]uint8, 3*8*8)
		var err error
		const most = 2 << 20
		if n := fuzztest.Allocated(most, func() { err = Decode(context.Background(), c.file, dst, 8, 8, Crop) }); n > most {
			t.Errorf("%s: Decode allocates %d bytes", c.name, n)
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: the error is\n%v, not\n%s", c.name, err, c.want)
		}
	}
}

// TestTIFFTakesWhatItSays: the memory of good files is at most what is reserved for them, and not far below.
func TestTIFFTakesWhatItSays(t *testing.T) {
	for name, file := range map[string][]byte{
		"plain":    tiffFileOf(t, pattern(900, 700), tiff.Uncompressed),
		"deflated": tiffFileOf(t, pattern(900, 700), tiff.Deflate),
		"grey":     tiffFileOf(t, image.NewGray(image.Rect(0, 0, 2000, 1000)), tiff.Deflate),
		"packbits": fileOf(t, "tiff packbits"), "lzw": fileOf(t, "tiff lzw"),
	} {
		f, c, err := header(file)
		if err != nil {
			t.Fatal(err)
		}
		most := uint64(f.memoryOf(file, c, upright, 8)) + 64<<10
		dst := make([]uint8, 3*8*8)
		if n := fuzztest.Allocated(most, func() { err = Decode(context.Background(), file, dst, 8, 8, Crop) }); n > most ||
			err != nil {
			t.Errorf("%s: %d bytes are allocated, and %d are reserved, %v", name, n, most, err)
		} else {
			t.Logf("%s: %d bytes of %d", name, n, most)
		}
	}
}

// layoutOfTIFF is what the directory of a file says.
type layoutOfTIFF struct {
	w, h, rows, tileW, tileH, compression, photometric, bits, samples, extra, blocks uint16
	length                                                                           uint32 // of each strip or tile
}

// file has the layout, and all strips or tiles at the same place.
func (l layoutOfTIFF) file(pixels []byte) []byte {
	order := binary.LittleEndian
	file := append([]byte("II*\x00\x00\x00\x00\x00"), pixels...)
	type entry struct {
		tag, kind uint16
		values    []uint32
	}
	repeated := func(v uint32, n uint16) []uint32 { return slices.Repeat([]uint32{v}, int(n)) }
	one := func(v uint16) []uint32 { return []uint32{uint32(v)} }
	list := []entry{{0x0100, 4, one(l.w)}, {0x0101, 4, one(l.h)}, {0x0102, 3, repeated(uint32(l.bits), l.samples%5)},
		{tagCompression, 3, one(l.compression)},
		{0x0106, 3, one(l.photometric)}, {0x0111, 4, repeated(8, l.blocks)}, {tagStripRows, 3, one(l.rows)},
		{tagStripBytes, 4, repeated(l.length, l.blocks)}}
	if l.tileW > 0 {
		list = append(list, entry{tagTileWidth, 3, one(l.tileW)}, entry{tagTileHeight, 3, one(l.tileH)},
			entry{0x0144, 4, repeated(8, l.blocks)}, entry{tagTileBytes, 4, repeated(l.length, l.blocks)})
	}
	list = append(list, entry{0x0152, 3, one(l.extra)})
	directory := order.AppendUint16(nil, uint16(len(list)))
	for _, e := range list {
		var raw []byte
		for _, v := range e.values {
			if e.kind == 3 {
				raw = order.AppendUint16(raw, uint16(v))
			} else {
				raw = order.AppendUint32(raw, v)
			}
		}
		directory = order.AppendUint32(order.AppendUint16(order.AppendUint16(directory, e.tag), e.kind),
			uint32(len(e.values)))
		if len(raw) > 4 {
			directory = order.AppendUint32(directory, uint32(len(file)))
			file = append(file, raw...)
			continue
		}
		directory = append(directory, append(raw, 0, 0, 0, 0)[:4]...)
	}
	order.PutUint32(file[4:], uint32(len(file)))
	return append(append(file, directory...), 0, 0, 0, 0)
}

// FuzzTIFF: whatever a directory says of strips and tiles, decoding takes no more memory than is reserved.
func FuzzTIFF(f *testing.F) {
	plain := tiffFileOf(f, pattern(16, 16), tiff.Deflate)
	for _, l := range []layoutOfTIFF{
		{w: 16, h: 16, rows: 4, compression: 1, photometric: 2, bits: 8, samples: 3, blocks: 4, length: 192},
		{w: 16, h: 16, rows: 16, compression: 8, photometric: 2, bits: 8, samples: 4, extra: 2, blocks: 1, length: 900},
		{w: 300, h: 200, tileW: 64, tileH: 64, compression: 5, photometric: 1, bits: 16, samples: 1, blocks: 20, length: 900},
		{w: 60000, h: 60, rows: 1, compression: 1, photometric: 1, bits: 1, samples: 1, blocks: 60, length: 7500},
		{w: 16, h: 2000, rows: 1, compression: 32773, photometric: 0, bits: 8, samples: 1, blocks: 2000, length: 40},
		{w: 8, h: 8, tileW: 1024, tileH: 1024, compression: 8, photometric: 1, bits: 8, samples: 1, blocks: 1, length: 900},
	} {
		f.Add(l.w, l.h, l.rows, l.tileW, l.tileH, l.compression, l.photometric, l.bits, l.samples, l.extra, l.blocks,
			l.length, plain[8:])
		f.Add(l.w, l.h, l.rows, l.tileW, l.tileH, l.compression, l.photometric, l.bits, l.samples, l.extra, l.blocks,
			l.length, make([]byte, 10000))
	}
	// runs of 128 bytes
	f.Add(uint16(500), uint16(500), uint16(500), uint16(0), uint16(0), uint16(packed), uint16(1), uint16(8), uint16(1),
		uint16(0), uint16(1), uint32(10000),
		bytes.Repeat([]byte{0x81, 7}, 5000))
	f.Fuzz(func(t *testing.T, w, h, rows, tileW, tileH, compression, photometric, bits, samples, extra, blocks uint16,
		length uint32, pixels []byte) {
		file := layoutOfTIFF{w, h, rows, tileW, tileH, compression, photometric, bits, samples, extra, blocks,
			length}.file(pixels)
		format, c, err := header(file)
		if err != nil {
			return
		}
		need := uint64(format.memoryOf(file, c, upright, 7))
		if need > 200<<20 { // it would take long
			return
		}
		dst := make([]uint8, 3*7*7)
		most := need + 1<<20
		if n := fuzztest.Allocated(most, func() { err = Decode(context.Background(), file, dst, 7, 7, Crop) }); n > most {
			t.Fatalf("%+v: %d bytes are allocated, and %d are reserved (%v)", c, n, need, err)
		}
	})
}
