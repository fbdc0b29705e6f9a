package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"ocl/internal/budget"
	"ocl/internal/count"
	"ocl/internal/limit"
)

// room is memory that pictures share. Each takes its part while it is decoded, and waits until there is so much: many
// cores that each decode a large picture would otherwise take all memory.
type room struct {
	all   int64 // bytes
	inUse *semaphore.Weighted
}

func newRoom(bytes int64) *room { return &room{bytes, semaphore.NewWeighted(bytes)} }

// memory is the room of all calls of Decode: no more than half of what the process may use.
var memory = sync.OnceValue(func() *room {
	return newRoom(min(budget.Bytes()/2, max(limit.PictureMemory, limit.PictureMemoryOfCore*int64(runtime.GOMAXPROCS(0)))))
})

// files is the room of whole files, beside that of Decode. Who has a part of it may wait for a part of the other, and
// never the other way.
var files = sync.OnceValue(func() *room { return newRoom(max(1, min(budget.Bytes()/4, limit.PictureFiles))) })

// RoomForFile waits until there is room for a file of so many bytes beside those of other calls, or for it alone if it
// is larger than the room. The caller gives it back.
func RoomForFile(ctx context.Context, bytes int64) (giveBack func(), err error) {
	r := files()
	return r.take(ctx, min(max(bytes, 0), r.all))
}

// large is from how many bytes on the memory of a picture is collected at once: otherwise garbage of a gigabyte would
// lie beside the next picture.
const large = 1 << 27

// take waits for so many bytes, at most r.all. The caller gives them back.
func (r *room) take(ctx context.Context, bytes int64) (giveBack func(), err error) {
	if err := r.inUse.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() {
		if bytes >= large {
			runtime.GC()
		}
		r.inUse.Release(bytes)
	}, nil
}

// reader reads a file until ctx ends.
type reader struct {
	ctx  context.Context
	file *bytes.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.file.Read(b)
}

// ReadAt is for decoders that go to and fro.
func (r reader) ReadAt(b []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.file.ReadAt(b, at)
}

// memoryOf is how many bytes [Decode] allocates for a w×h image as it is stored, before it is made narrow columns wide.
func (f *format) memoryOf(file []byte, c image.Config, turn turn, narrow int) int64 {
	_, rows := turn.size(c.Width, c.Height)
	return f.memory(file, c) + 3*int64(rows)*int64(narrow+4) // four bytes of a sum for each row of an image on its side
}

// tooLarge is the error about a picture that takes more than most bytes.
func (f *format) tooLarge(file []byte, c image.Config, bytes, most int64) error {
	const mb = 1_000_000
	kind, remedy := f.name, "Make it smaller"
	if f.name == "JPEG" && frameOfJPEG(file).progressive {
		kind, remedy = "progressive JPEG", remedy+", or save it as a JPEG that is not progressive"
	}
	return fmt.Errorf("decoding the %s image of %d×%d pixels takes %s MB of memory, more than the limit of %s MB. %s",
		kind, c.Width, c.Height, count.Number((bytes+mb-1)/mb), count.Number(most/mb), remedy)
}

// The following are how many bytes the decoder of a format allocates for an image.

func memoryOfJPEG(file []byte, c image.Config) int64 {
	frame := frameOfJPEG(file)
	const block = 8 * 8 // samples
	bytes := frame.blocks(c.Width, c.Height) * block
	if frame.progressive {
		bytes += 4 * bytes // coefficients of 32 bits, until the last scan
	}
	if c.ColorModel == color.CMYKModel || c.ColorModel == color.RGBAModel { // not what is decoded first
		bytes += 4 * int64(c.Width) * int64(c.Height)
	}
	return bytes
}

func memoryOfPNG(file []byte, c image.Config) int64 {
	const depth, interlaced = 24, 28 // places in the header, which is the first chunk
	pixel := int64(4)
	switch {
	case isPalette(c):
		pixel = 1
	case file[depth] == 16:
		pixel = 8
	}
	if file[interlaced] != 0 { // a second image, in parts
		pixel *= 2
	}
	return pixel * int64(c.Width) * int64(c.Height)
}

func memoryOfGIF(_ []byte, c image.Config) int64 { return 2 * int64(c.Width) * int64(c.Height) }

func memoryOfBMP(_ []byte, c image.Config) int64 {
	if isPalette(c) {
		return int64(c.Width) * int64(c.Height)
	}
	return 4 * int64(c.Width) * int64(c.Height)
}

func memoryOfWebP(file []byte, c image.Config) int64 {
	pixel := int64(12)                 // of a lossless image and its transforms, which may be the alpha of a lossy one
	if string(file[12:16]) == "VP8 " { // lossy, and nothing else in the file
		pixel = 2
	}
	return pixel * int64(c.Width) * int64(c.Height)
}

func isPalette(c image.Config) bool {
	_, is := c.ColorModel.(color.Palette)
	return is
}

// jpegFrame is what the header of a JPEG says beside its size.
type jpegFrame struct {
	progressive bool
	sampling    []uint8 // of each component: columns in the upper 4 bits, rows in the lower
	scans       int     // of a progressive file, up to limit.PictureScans+1
}

// blocks is how many blocks of 8×8 samples an image has, with those that fill up its sides.
func (f jpegFrame) blocks(w, h int) int64 {
	perUnit := int64(0)
	for _, s := range f.sampling {
		perUnit += int64(s>>4) * int64(s&15)
	}
	unitW, unitH := 8*int(f.sampling[0]>>4), 8*int(f.sampling[0]&15)
	return perUnit * int64((w+unitW-1)/unitW) * int64((h+unitH-1)/unitH)
}

// frameOfJPEG reads the header of a JPEG whose size could be read, and counts the scans of a progressive one. It goes
// from marker to marker as package jpeg does, which passes over what is between them.
func frameOfJPEG(file []byte) (f jpegFrame) {
	const (
		sof0, sof2 = 0xc0, 0xc2
		rst0, rst7 = 0xd0, 0xd7
		eoi, sos   = 0xd9, 0xda
	)
	f.sampling = []uint8{0x11, 0x11, 0x11, 0x11} // a size that could be read has a header, so this is never used
	found := false
	for i := 2; i+4 <= len(file) && f.scans <= limit.PictureScans; {
		marker := file[i+1]
		switch {
		case file[i] != 0xff, marker == 0xff:
			i++
			continue
		case marker == 0, rst0 <= marker && marker <= rst7:
			i += 2
			continue
		case marker == eoi:
			return f
		}
		body := file[i+4:]
		switch {
		case marker == sos && !f.progressive:
			return f
		case marker == sos:
			f.scans++
		case sof0 <= marker && marker <= sof2 && !found && len(body) >= 6:
			n := int(body[5])
			if n != 1 && n != 3 && n != 4 || len(body) < 6+3*n {
				return f
			}
			found, f.progressive, f.sampling = true, marker == sof2, f.sampling[:n]
			for c := range f.sampling {
				if n > 1 { // whatever the header says of one component
					f.sampling[c] = max(body[6+3*c+1], 0x11)
				}
			}
		}
		i += 2 + int(binary.BigEndian.Uint16(file[i+2:]))
	}
	return f
}
