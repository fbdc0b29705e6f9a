package picture

import (
	"context"
	"encoding/binary"
	"image"
	"slices"
	"testing"
	"unicode"

	"golang.org/x/image/tiff"

	"ocl/internal/fuzztest"
)

// goodFiles has a file of each kind.
func goodFiles(t testing.TB) [][]byte {
	files := [][]byte{
		pngOf(t, pattern(16, 16)), jpegOf(t, pattern(16, 16)), smallGIF(t), bmpOf(t, pattern(16, 16)),
		withEXIF(jpegOf(t, pattern(8, 8)), tiffOf(binary.LittleEndian, 6)), pngClaiming(2000, 2000, 0),
		tiffFileOf(t, image.NewNRGBA64(image.Rect(0, 0, 9, 9)), tiff.Deflate), blackJPEG(200, 100, 4, true, 9),
		blackJPEG(100, 100, 3, false, 0),
	}
	for _, d := range readPillow(t).Decoded {
		files = append(files, d.File)
	}
	return files
}

// FuzzDecode changes good files. Whatever comes out, Decode does not panic, takes no more memory than it
// reserves, agrees with Size, gives the same pixels twice and writes no control characters into a message.
func FuzzDecode(f *testing.F) {
	good := goodFiles(f)
	for i, file := range good {
		f.Add(uint8(i), []byte{}, file)
		f.Add(uint8(i), []byte{20, 0, 5, 1}, []byte{})
		f.Add(uint8(i), []byte{100, 5, 255, 30, 6, 9}, []byte{})
	}
	f.Fuzz(func(t *testing.T, which uint8, changes, file []byte) {
		if len(file) == 0 {
			file = good[int(which)%len(good)]
			for c := fuzztest.Of(changes); c.More(); {
				file = fuzztest.Bytes(file, c)
			}
		}
		const side = 7
		dst := make([]uint8, 3*side*side)
		for _, fit := range []Fit{Crop, Stretch} {
			w, h, _, sizeErr := sizeOf(file)
			most := uint64(8 << 20) // a decoder's tables
			if f, c, err := header(file); err == nil {
				// colours may be told after the header
				most += uint64(f.memoryOf(file, c, orientation(f.exif(file)), side)) + 4*uint64(w)*uint64(h)
			}
			var err error
			if n := fuzztest.Allocated(most, func() {
				err = Decode(context.Background(), file, dst, side, side,
					fit)
			}); n > most {
				t.Fatalf("%d×%d pixels in %d bytes allocate %d bytes (%v)", w, h, len(file), n, err)
			}
			if sizeErr != nil && err == nil {
				t.Fatalf("Decode reads what Size refuses: %v", sizeErr)
			}
			if err != nil {
				for _, r := range err.Error() {
					if !unicode.IsPrint(r) {
						t.Fatalf("the message holds %U: %q", r, err)
					}
				}
				continue
			}
			again := make([]uint8, len(dst))
			if err := Decode(context.Background(), file, again, side, side, fit); err != nil || !slices.Equal(dst, again) {
				t.Fatalf("the second time: %v, or other pixels", err)
			}
		}
	})
}

// FuzzOrientation: any block and any container give an orientation from 1 to 8, without a panic or memory.
func FuzzOrientation(f *testing.F) {
	f.Add(tiffOf(binary.LittleEndian, 6))
	f.Add(tiffOf(binary.BigEndian, 9))
	f.Add([]byte("II*\x00\xff\xff\xff\xff"))
	for _, file := range goodFiles(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var found []turn
		const most = 4 << 10
		if n := fuzztest.Allocated(most, func() {
			found = append(found[:0], orientation(b))
			if format, err := formatOf(b); err == nil {
				found = append(found, orientation(format.exif(b)))
			}
		}); n > most {
			t.Fatalf("%d bytes allocate %d", len(b), n)
		}
		for _, o := range found {
			if o < 1 || o > 8 {
				t.Fatalf("orientation %d", o)
			}
		}
	})
}
