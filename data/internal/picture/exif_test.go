package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"math/rand/v2"
	"slices"
	"testing"
)

// tiffOf is a TIFF block whose directory has an entry before the orientation.
func tiffOf(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("MM\x00*")
	if order.String() == binary.LittleEndian.String() {
		b = []byte("II*\x00")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 0x0110)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint32(b, 3)
	b = append(b, "me\x00\x00"...)
	b = order.AppendUint16(b, 0x0112)
	b = order.AppendUint16(b, 3)
	b = order.AppendUint32(b, 1)
	b = order.AppendUint16(b, orientation)
	return append(b, 0, 0, 0, 0, 0, 0)
}

// withEXIF puts a TIFF block into a JPEG, after a segment of another kind, or into a PNG, before its pixels.
func withEXIF(file, tiff []byte) []byte {
	if bytes.HasPrefix(file, []byte("\xff\xd8")) {
		comment := []byte("\xff\xfe\x00\x06Exif\xff") // with a fill byte after it
		segment := append([]byte("\xff\xe1\x00\x00Exif\x00\x00"), tiff...)
		binary.BigEndian.PutUint16(segment[2:], uint16(len(segment)-2))
		return slices.Concat(file[:2], comment, segment, file[2:])
	}
	const header = 8 + 25
	chunk := append([]byte("eXIf"), tiff...)
	sum := crc32.ChecksumIEEE(chunk)
	chunk = append(binary.BigEndian.AppendUint32(nil, uint32(len(tiff))), chunk...)
	chunk = binary.BigEndian.AppendUint32(chunk, sum)
	return slices.Concat(file[:header], chunk, file[header:])
}

// turned are the eight ways to store an image that looks like
//
//	1 2 3
//	4 5 6
var turned = [9]struct {
	w, h   int
	stored []uint8
}{
	1: {3, 2, []uint8{1, 2, 3, 4, 5, 6}},
	2: {3, 2, []uint8{3, 2, 1, 6, 5, 4}},
	3: {3, 2, []uint8{6, 5, 4, 3, 2, 1}},
	4: {3, 2, []uint8{4, 5, 6, 1, 2, 3}},
	5: {2, 3, []uint8{1, 4, 2, 5, 3, 6}},
	6: {2, 3, []uint8{3, 6, 2, 5, 1, 4}},
	7: {2, 3, []uint8{6, 3, 5, 2, 4, 1}},
	8: {2, 3, []uint8{4, 1, 5, 2, 6, 3}},
}

// put writes row y of a stored image, h rows high, where it belongs in the turned image: the slow twin of what decoding
// does without the whole image.
func (t turn) put(turned, row []uint8, y, h int) {
	w := len(row)
	if t == 3 || t == 4 || t == 6 || t == 7 { // from the last row
		y = h - 1 - y
	}
	at, step := y*w, 1
	if t.aside() {
		at, step = y, h
	}
	if t == 2 || t == 3 || t == 7 || t == 8 { // from the right end of a row
		at, step = at+(w-1)*step, -step
	}
	for _, v := range row {
		turned[at] = v
		at += step
	}
}

// TestTurnedIsResizedAlike: an image that is turned while it is resized has the pixels of one that was turned before.
func TestTurnedIsResizedAlike(t *testing.T) {
	src := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][4]int{{37, 53, 16, 16}, {53, 37, 16, 9}, {9, 70, 30, 16}, {16, 16, 16, 16}, {5, 4, 12, 8}} {
		fromW, fromH, w, h := size[0], size[1], size[2], size[3]
		stored := image.NewNRGBA(image.Rect(0, 0, fromW, fromH))
		for i := range stored.Pix {
			stored.Pix[i] = uint8(src.UintN(256)) | map[bool]uint8{true: 255}[i%4 == 3]
		}
		for o := turn(1); o <= 8; o++ {
			seenW, seenH := o.size(fromW, fromH)
			seen := image.NewNRGBA(image.Rect(0, 0, seenW, seenH))
			for c := range 4 {
				turned, row := make([]uint8, fromW*fromH), make([]uint8, fromW)
				for y := range fromH {
					for x := range row {
						row[x] = stored.Pix[stored.PixOffset(x, y)+c]
					}
					o.put(turned, row, y, fromH)
				}
				for i, v := range turned {
					seen.Pix[4*i+c] = v
				}
			}
			for _, fit := range []Fit{Crop, Stretch} {
				want, got := make([]uint8, 3*w*h), make([]uint8, 3*w*h)
				err := errors.Join(Decode(t.Context(), pngOf(t, seen), want, w, h, fit),
					Decode(t.Context(), withEXIF(pngOf(t, stored), tiffOf(binary.BigEndian, uint16(o))), got, w, h, fit))
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%v, orientation %d, fit %d: other pixels (%v)", size, o, fit, err)
				}
			}
		}
	}
}

// TestEightOrientations: every turn brings the stored pixels into the order in which they are seen.
func TestEightOrientations(t *testing.T) {
	for o := turn(1); o <= 8; o++ {
		c := turned[o]
		got := make([]uint8, 6)
		for y := range c.h {
			o.put(got, c.stored[y*c.w:][:c.w], y, c.h)
		}
		if w, h := o.size(c.w, c.h); w != 3 || h != 2 || !slices.Equal(got, []uint8{1, 2, 3, 4, 5, 6}) {
			t.Errorf("orientation %d: %d×%d, %v", o, w, h, got)
		}
	}
}

// TestOrientationOfFiles: JPEG and PNG with each orientation, in both byte orders, become the upright image, and Size
// is that of the upright one.
func TestOrientationOfFiles(t *testing.T) {
	upright := pattern(6, 4)
	const side = 4
	for o := uint16(1); o <= 8; o++ {
		stored := pattern(6, 4)
		if turn(o).aside() {
			stored = pattern(4, 6)
		}
		// Each stored pixel is where turned says that its like of the 3×2 pixels stands, four times over.
		for at, n := range turned[o].stored {
			for dy := range 2 {
				for dx := range 2 {
					x, y := at%turned[o].w*2+dx, at/turned[o].w*2+dy
					stored.Set(x, y, upright.At((int(n)-1)%3*2, (int(n)-1)/3*2))
				}
			}
		}
		plain := pattern(6, 4)
		for y := range 4 {
			for x := range 6 {
				plain.Set(x, y, upright.At(x/2*2, y/2*2))
			}
		}
		want := decode(t, pngOf(t, plain), side, Crop)
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			tiff := tiffOf(order, o)
			file := withEXIF(pngOf(t, stored), tiff)
			if got := decode(t, file, side, Crop); !slices.Equal(got, want) {
				t.Errorf("PNG, orientation %d, %v: other pixels", o, order)
			}
			for _, file := range [][]byte{file, withEXIF(jpegOf(t, stored), tiff)} {
				if w, h, format, err := sizeOf(file); w != 6 || h != 4 || err != nil {
					t.Errorf("%s, orientation %d, %v: Size is %d×%d, %v", format, o, order, w, h, err)
				}
			}
		}
	}
}

// TestBadEXIFLeavesImageUpright: a block that is cut off, points outside of itself or has an impossible tag changes
// nothing.
func TestBadEXIFLeavesImageUpright(t *testing.T) {
	order := binary.BigEndian
	good := tiffOf(order, 6)
	if orientation(good) != 6 {
		t.Fatalf("the good block has orientation %d", orientation(good))
	}
	const tag = 8 + 2 + 12 // the entry of the orientation
	bad := map[string][]byte{"nothing": nil, "another magic": append([]byte("IM"), good[2:]...)}
	for n := range tag + 12 {
		bad["the first bytes"] = good[:n]
		if got := orientation(good[:n]); got != upright {
			t.Errorf("the first %d bytes: orientation %d", n, got)
		}
	}
	change := func(name string, at int, b ...byte) {
		changed := slices.Clone(good)
		copy(changed[at:], b)
		bad[name] = changed
	}
	change("a directory outside", 4, 0xff, 0xff, 0xff, 0xff)
	change("a directory at the end", 4, 0, 0, 0, byte(len(good)-1))
	change("no entries", 8, 0, 0)
	change("another type", tag+2, 0, 4)
	change("two values", tag+4, 0, 0, 0, 2)
	change("orientation 0", tag+8, 0, 0)
	change("orientation 9", tag+8, 0, 9)
	change("orientation 262", tag+8, 1, 6)
	for name, b := range bad {
		if got := orientation(b); got != upright {
			t.Errorf("%s: orientation %d", name, got)
		}
	}
}

// TestEXIFAfterPixelsOfPNG: PNG's chunk may stand at the end of the file, too.
func TestEXIFAfterPixelsOfPNG(t *testing.T) {
	file := pngOf(t, pattern(6, 4))
	const end = 12 // bytes of IEND
	with := withEXIF(file, tiffOf(binary.BigEndian, 6))
	chunk := with[33 : 33+len(with)-len(file)]
	at := len(file) - end
	if w, h, _, err := sizeOf(slices.Concat(file[:at], chunk, file[at:])); w != 4 || h != 6 || err != nil {
		t.Errorf("Size is %d×%d, %v", w, h, err)
	}
}

// TestEXIFOfWebP: some programs write JPEG's prefix before the block.
func TestEXIFOfWebP(t *testing.T) {
	tiff := tiffOf(binary.LittleEndian, 5)
	for _, body := range [][]byte{tiff, append([]byte("Exif\x00\x00"), tiff...)} {
		file := []byte("RIFF\x00\x00\x00\x00WEBPICCP\x03\x00\x00\x00abc\x00EXIF")
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(body))), body...)
		if got := orientation(exifOfWebP(file)); got != 5 {
			t.Errorf("%d bytes: orientation %d", len(body), got)
		}
	}
}

// TestDamagedContainersHaveNoEXIF: a segment or chunk whose length is wrong ends the search.
func TestDamagedContainersHaveNoEXIF(t *testing.T) {
	for _, file := range []string{
		"\xff\xd8\xff", "\xff\xd8\xff\xe1\x00\x00", "\xff\xd8\xff\xe1\x00\x01Exif\x00\x00",
		"\xff\xd8\xff\xe1\x00\x20Exif\x00\x00",
		"\x89PNG\r\n\x1a\n\x00\x00\x00\x09eXIf\x00\x00\x00\x00", "\x89PNG\r\n\x1a\n\xff\xff\xff\xffeXIf\x00\x00\x00\x00",
		"RIFF\x00\x00\x00\x00WEBPEXIF\x01\x00\x00\x00", "RIFF\x00\x00\x00\x00WEBPVP8 \xff\xff\xff\xff",
	} {
		f, err := formatOf([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		if body := f.exif([]byte(file)); len(body) > 0 {
			t.Errorf("%q has the EXIF block %q", file, body)
		}
	}
}
