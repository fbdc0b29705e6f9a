package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ocl/internal/fuzztest"
	"ocl/internal/limit"
)

// blackJPEG is a whole JPEG of w×h pixels that takes a bit of the file for each block of 8×8 and each of its 1, 3 or 4
// components, and of a progressive one three bytes for 16,384 blocks in each of more scans.
func blackJPEG(w, h, components int, progressive bool, more int) []byte {
	segment := func(marker byte, body ...byte) []byte {
		return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2)), body...)
	}
	code := func(table, symbol byte) []byte { // the symbol is the code 0 of one bit
		return segment(0xc4, slices.Concat([]byte{table, 1}, make([]byte, 15), []byte{symbol})...)
	}
	frame := slices.Concat([]byte{8}, binary.BigEndian.AppendUint16(nil, uint16(h)),
		binary.BigEndian.AppendUint16(nil, uint16(w)), []byte{byte(components)})
	scan := []byte{byte(components)}
	for c := range byte(components) {
		frame, scan = append(frame, c, 0x11, 0), append(scan, c, 0)
	}
	blocks := (w + 7) / 8 * ((h + 7) / 8)
	kind, last, bits := byte(0xc0), byte(63), 2*blocks*components
	if progressive {
		kind, last, bits = 0xc2, 0, blocks*components
	}
	file := slices.Concat([]byte("\xff\xd8"), segment(0xee, []byte("Adobe\x00\x64\x00\x00\x00\x00\x00")...),
		segment(0xdb, slices.Concat([]byte{0}, bytes.Repeat([]byte{1}, 64))...),
		segment(kind, frame...), code(0x00, 0), code(0x10, 0), segment(0xda, append(scan, 0, last, 0)...),
		make([]byte, bits/8+1))
	file = append(file, code(0x10, 0xe0)...) // 16,384 blocks without a change
	for range more {
		file = slices.Concat(file, segment(0xda, 1, 0, 0, 1, 63, 0), make([]byte, 2*((blocks+1<<14-1)>>14)+1))
	}
	return append(file, 0xff, 0xd9)
}

// TestMemoryHasALimit: a picture that takes too much is refused by its size and kind, before it is decoded; one that
// takes a little less is decoded.
func TestMemoryHasALimit(t *testing.T) {
	r := newRoom(1e9)
	small := newRoom(1e6)
	for _, c := range []struct {
		name string
		room *room
		file []byte
		want string
	}{
		{"progressive CMYK", r, blackJPEG(10000, 10000, 4, true, 0),
			"decoding the progressive JPEG image of 10000×10000 pixels takes 2,401 MB of memory, more than the limit of 1,000 MB. Make it smaller, or save it as a JPEG that is not progressive"},
		{"progressive", r, blackJPEG(10000, 10000, 3, true, 0),
			"decoding the progressive JPEG image of 10000×10000 pixels takes 1,901 MB of memory, more than the limit of 1,000 MB. Make it smaller, or save it as a JPEG that is not progressive"},
		{"a PNG where there is little memory", small, pngOf(t, image.NewRGBA(image.Rect(0, 0, 500, 500))),
			"decoding the PNG image of 500×500 pixels takes 2 MB of memory, more than the limit of 1 MB. Make it smaller"},
		{"a smaller one", small, pngOf(t, image.NewRGBA(image.Rect(0, 0, 490, 500))), ""},
		{"a progressive JPEG that the small room holds", small, blackJPEG(256, 200, 3, true, limit.PictureScans-1), ""},
		{"many scans", r, blackJPEG(256, 200, 3, true, limit.PictureScans),
			"the JPEG image has more than 100 scans, which is the limit. Save it again, or remove it"},
	} {
		const most = 4 << 20
		var err error
		if n := fuzztest.Allocated(most, func() {
			err = c.room.decode(t.Context(), c.file, make([]uint8, 3*8*8), 8, 8,
				Crop)
		}); n > most {
			t.Errorf("%s: %d bytes are allocated", c.name, n)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: the error is\n%v, not\n%s", c.name, err, c.want)
		}
	}
}

// TestMemoryIsWhatIsAllocated: no kind of picture takes more than what is reserved for it.
func TestMemoryIsWhatIsAllocated(t *testing.T) {
	const w, h = 700, 500
	files := map[string][]byte{
		"grey JPEG": blackJPEG(w, h, 1, false, 0), "JPEG": blackJPEG(w, h, 3, false, 0),
		"CMYK JPEG":             blackJPEG(w, h, 4, false, 0),
		"progressive grey JPEG": blackJPEG(w, h, 1, true, 9), "progressive JPEG": blackJPEG(w, h, 3, true, 9),
		"progressive CMYK JPEG":           blackJPEG(w, h, 4, true, 9),
		"JPEG of colours that are shared": jpegOf(t, pattern(w, h)), "BMP": bmpOf(t, pattern(w, h)),
		"grey PNG": pngOf(t, image.NewGray(image.Rect(0, 0, w, h))), "PNG": pngOf(t, pattern(w, h)),
		"PNG of 16 bits": pngOf(t, image.NewNRGBA64(image.Rect(0, 0, w, h))),
	}
	files["JPEG turned by EXIF"] = withEXIF(files["JPEG"], tiffOf(binary.LittleEndian, 6))
	for name, file := range files {
		f, c, err := header(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reserved := uint64(f.memoryOf(file, c, orientation(f.exif(file)), 64))
		most := reserved + 1<<18 // tables, a window of zlib, the weights of rows and columns
		if n := fuzztest.Allocated(most, func() {
			if err := Decode(t.Context(), file, make([]uint8, 3*64*64), 64, 64, Crop); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}); n > most || n < reserved/4 {
			t.Errorf("%s: %d bytes are allocated, and %d are reserved", name, n, reserved)
		}
	}
}

// with adds a format whose files are a word and a PNG, and whose decoder is another one.
func with(t *testing.T, decode func(io.Reader) (image.Image, error)) (file []byte) {
	const word = "test"
	behind := func(r io.Reader) io.Reader {
		_, _ = io.CopyN(io.Discard, r, int64(len(word)))
		return r
	}
	f := &format{"test", nil, begins(word), func(r io.Reader) (image.Config, error) { return png.DecodeConfig(behind(r)) },
		func(r io.Reader) (image.Image, error) { return decode(behind(r)) }, memoryOfBMP, noEXIF, fullRange}
	formats = append(formats, f)
	t.Cleanup(func() { formats = formats[:len(formats)-1] })
	return append([]byte(word), pngOf(t, pattern(100, 100))...)
}

// TestMemoryIsShared: of many pictures no more are decoded at once than there is memory for.
func TestMemoryIsShared(t *testing.T) {
	var now, most, all atomic.Int32
	file := with(t, func(r io.Reader) (image.Image, error) {
		for n := now.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		defer now.Add(-1)
		all.Add(1)
		return png.Decode(r)
	})
	r := newRoom(3 * 50_000) // each takes 40,000 bytes for its pixels, and some for its rows
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			if err := r.decode(t.Context(), file, make([]uint8, 3*8*8), 8, 8, Crop); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if most.Load() > 3 || all.Load() != 40 {
		t.Errorf("%d of %d pictures are decoded at once, and there is memory for 3", most.Load(), all.Load())
	}
}

// TestContextEndsDecoding: while it waits for memory, and while the file is read.
func TestContextEndsDecoding(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRoom(1e6)
	if _, err := r.take(ctx, 1e6); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() { failed <- r.decode(ctx, pngOf(t, pattern(9, 9)), make([]uint8, 3*8*8), 8, 8, Crop) }()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for memory ends with %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	var decoded error
	file := with(t, func(r io.Reader) (image.Image, error) {
		cancel()
		img, err := png.Decode(r)
		decoded = err
		return img, err
	})
	if err := Decode(ctx, file, make([]uint8, 3*8*8), 8, 8, Crop); !errors.Is(err, context.Canceled) {
		t.Errorf("reading ends with %v", err)
	}
	if !errors.Is(decoded, context.Canceled) {
		t.Errorf("the decoder goes on to read, and ends with %v", decoded)
	}
}

// TestPanicsAreErrors: a fault of a decoder ends neither the program nor the use of its memory.
func TestPanicsAreErrors(t *testing.T) {
	file := with(t, func(io.Reader) (image.Image, error) { panic("index out of range") })
	r := newRoom(60_000)
	for range 3 {
		err := guarded(func() error { return r.decode(t.Context(), file, make([]uint8, 3*8*8), 8, 8, Crop) })
		if err == nil || !strings.Contains(err.Error(), "made its decoder fail") {
			t.Errorf("a panic becomes %v", err)
		}
	}
}
