package data

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"ocl/data/internal/picture"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// PictureEndings are the endings of the names of images that can be read, in lower case with the dot.
func PictureEndings() []string { return picture.Extensions() }

// IsPicture says whether a file has such an ending, in any case. Its content may still be another.
func IsPicture(name string) bool {
	return slices.Contains(picture.Extensions(), strings.ToLower(path.Ext(name)))
}

// IsPictureFile says whether a file is an image that can be read: by the ending of its name, or by its first bytes
// where the ending tells nothing. A file that cannot be opened is none.
func IsPictureFile(name string) bool {
	return IsPicture(name) || nameless(name) && picture.Begins(firstBytes(name))
}

// otherEndings are those of files that lie beside images.
var otherEndings = strings.Fields(".7z .avi .bin .csv .dat .db .doc .docx .gz .h5 .html .ini .ipynb .js .json .jsonl .log .mat .md .mov .mp4 .npy .npz .parquet .pdf .pickle " +
	".pkl .pt .pth .py .rar .safetensors .sh .tar .tgz .tsv .txt .xls .xlsx .xml .xmp .yaml .yml .zip")

// nameless says whether the ending of a name does not tell what the file is.
func nameless(name string) bool {
	return !slices.Contains(otherEndings, strings.ToLower(path.Ext(name))) && picture.UnreadName(name) == nil
}

// Unread counts images of kinds that are not read. The zero value has none.
type Unread struct{ kinds map[*picture.Unread]int }

// Add counts a file if it is such an image, by the ending of its name, or by its first bytes where the ending tells
// nothing.
func (u *Unread) Add(name string) bool {
	kind := picture.UnreadName(name)
	if kind == nil && nameless(name) {
		kind = picture.UnreadFile(firstBytes(name))
	}
	if kind == nil {
		return false
	}
	if u.kinds == nil {
		u.kinds = map[*picture.Unread]int{}
	}
	u.kinds[kind]++
	return true
}

// Notes say of each kind how many there are, that they are left out, and how to convert them.
func (u *Unread) Notes() (list []string) {
	for kind, n := range u.kinds {
		list = append(list, kind.LeftOut(n))
	}
	slices.Sort(list)
	return list
}

// firstBytes are enough of a file to tell what it is; nil where it cannot be read.
func firstBytes(name string) []byte {
	file, _, err := input.Open(name, input.Want{Most: limit.Picture})
	if err != nil {
		return nil
	}
	defer file.Close()
	begin := make([]byte, 32)
	n, _ := io.ReadFull(file, begin)
	return begin[:n]
}

// ReadPicture reads an image file as a whole. It refuses one of more than 256 MB, and does not name it.
func ReadPicture(r io.Reader) ([]byte, error) {
	text, err := readUpTo(r, limit.Picture)
	if errors.Is(err, errTooLong) {
		err = fmt.Errorf("%w. Make the image smaller", err)
	}
	return text, err
}

// ReadPictureFile reads an image file as a whole, which must be a regular file. It refuses one of more than 256 MB. Its
// errors do not name it.
func ReadPictureFile(name string) ([]byte, error) {
	text, err := input.ReadFile(name, input.Want{Most: limit.Picture})
	if errors.Is(err, input.ErrSize) {
		err = fmt.Errorf("%w. Make the image smaller", cause.Of(err))
	}
	return text, cause.Of(err)
}

// UsePictureFile is [ReadPictureFile], and gives the file to use, which does not keep it. Calls at the same time wait
// until their files together take at most 512 MB, or a quarter of the memory of the process. The waiting ends with the
// error of ctx.
func UsePictureFile(ctx context.Context, name string, use func(file []byte) error) error {
	size := int64(0)
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		size = min(info.Size(), limit.Picture)
	}
	giveBack, err := picture.RoomForFile(ctx, size)
	if err != nil {
		return err
	}
	defer giveBack()
	text, err := ReadPictureFile(name)
	if err != nil {
		return err
	}
	return use(text)
}

var errTooLong = errors.New("the file has more than")

// readUpTo reads all of r, which has at most so many bytes. It reads them in parts, as one that grows would be there
// twice.
func readUpTo(r io.Reader, most int64) ([]byte, error) {
	const part = 1 << 20
	var parts [][]byte
	for sum := int64(0); ; {
		b := make([]byte, min(part, most+1-sum))
		n, err := io.ReadFull(r, b)
		sum += int64(n)
		parts = append(parts, b[:n])
		switch {
		case sum > most:
			return nil, fmt.Errorf("%w %s", errTooLong, count.Of(most, "byte"))
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return slices.Concat(parts...), nil
		case err != nil:
			return nil, cause.Of(err)
		}
	}
}

// Preparation makes of any image file the image that a data set would have made of it: uint8 [C,H,W]. The filter and
// what is cut off are those of the set. Where a set has grey images, colours become grey by Pillow's formula. Where it
// pads its images, as MNIST does, the image is made as large as the set's own and then padded. Sets that were published
// as pixels crop. Any number of goroutines may use it.
type Preparation struct {
	c, h, w int
	side    int // of the image before it is padded; 0 means none
	fit     picture.Fit
	grey    bool // also where there are three equal channels
}

// NewPreparation is the preparation of the images [c,h,w] of the data set that spec names. Its files need not be there.
func NewPreparation(spec Spec, c, h, w int) (Preparation, error) {
	info, err := Lookup(spec.Name)
	if err != nil {
		return Preparation{}, err
	}
	if c != 1 && c != 3 || h < 1 || w < 1 {
		return Preparation{}, fmt.Errorf("data: %s: images of %d channels and %d×%d pixels cannot be made. Use 1 or 3 channels and at least one pixel",
			spec.Name, c, w, h)
	}
	p := Preparation{c: c, h: h, w: w, fit: spec.fit(info.fit), grey: c == 1}
	if spec.Channels == 3 && !info.Colour {
		p.grey = true
	}
	_, p.side = info.Fit(h, w)
	return p, nil
}

// CheckChannels refuses three channels of images that have them, where predictions could not know it: they would make
// pictures grey.
func (s *Set) CheckChannels(spec Spec) error {
	info, err := Lookup(spec.Name)
	if err == nil && spec.Channels == 3 && !s.Tripled && !info.Colour {
		return errors.New("data.channels is 3, which makes three channels of grey images, but the images have three. Remove data.channels")
	}
	return err
}

// Len is C·H·W, the bytes of an image.
func (p Preparation) Len() int { return p.c * p.h * p.w }

// Decode decodes file, the bytes of a JPEG, PNG, GIF, WebP, BMP or TIFF file of any size, into dst, uint8 [C,H,W]. It
// turns the image as its EXIF data say. All calls share one budget of memory, for which a call waits; an image that
// needs more than that is refused. The call ends early when ctx does. An error does not name the file, which the caller
// knows. A fault of a decoder is an error too. A dst of another length than Len panics.
func (p Preparation) Decode(ctx context.Context, file []byte, dst []uint8) error {
	if len(dst) != p.Len() {
		panic(fmt.Sprintf("data: room for %d bytes of an image instead of %d", len(dst), p.Len()))
	}
	if p.side == 0 && !p.grey {
		return picture.Decode(ctx, file, dst, p.w, p.h, p.fit)
	}
	w, h := p.w, p.h
	if p.side > 0 {
		w, h = p.side, p.side
	}
	rgb := make([]uint8, 3*w*h)
	if err := picture.Decode(ctx, file, rgb, w, h, p.fit); err != nil {
		return err
	}
	p.finish(dst, rgb, w, h)
	return nil
}

// finish makes dst of an image [3,h,w] of the size that it has before it is padded. It changes rgb.
func (p Preparation) finish(dst, rgb []uint8, w, h int) {
	if p.grey {
		rgb = rgb[:grey(rgb)]
	}
	p.place(dst, rgb, w, h)
}

// Easel prepares images that are in memory already, as [Preparation.Decode] prepares files, and keeps its buffers:
// further images of the same size and of a type of package image allocate nothing. One goroutine uses it at a time.
// [Preparation.Easel] makes one.
type Easel struct {
	p      Preparation
	canvas picture.Canvas
	rgb    []uint8 // [3,h,w] before grey and padding; empty where dst is that
}

// Easel returns an easel for this preparation.
func (p Preparation) Easel() *Easel {
	e := &Easel{p: p}
	if p.side > 0 {
		e.rgb = make([]uint8, 3*p.side*p.side)
	} else if p.grey {
		e.rgb = make([]uint8, 3*p.w*p.h)
	}
	return e
}

// Draw makes of img, which may have any size, bounds and type, the image dst, uint8 [C,H,W]. It is that of a PNG file
// with the same pixels. It is an error if img is nil, has no pixels, or more of them than are read from a file. A dst
// of another length than Len panics.
func (e *Easel) Draw(dst []uint8, img image.Image) error {
	p := e.p
	if len(dst) != p.Len() {
		panic(fmt.Sprintf("data: room for %d bytes of an image instead of %d", len(dst), p.Len()))
	}
	if e.rgb == nil {
		return e.canvas.Draw(dst, img, p.w, p.h, p.fit)
	}
	w, h := p.w, p.h
	if p.side > 0 {
		w, h = p.side, p.side
	}
	if err := e.canvas.Draw(e.rgb, img, w, h, p.fit); err != nil {
		return err
	}
	p.finish(dst, e.rgb, w, h)
	return nil
}

// grey makes the first plane of [3,h,w] the luma of all three, as Pillow's convert("L") does, and returns the number of
// its pixels. Grey stays what it is.
func grey(rgb []uint8) int {
	n := len(rgb) / 3
	for i := range n {
		rgb[i] = uint8((19595*uint32(rgb[i]) + 38470*uint32(rgb[n+i]) + 7471*uint32(rgb[2*n+i]) + 1<<15) >> 16)
	}
	return n
}

// place puts planes, each h×w, into the middle of those of dst, whose rest becomes 0. One plane fills all of dst.
func (p Preparation) place(dst, planes []uint8, w, h int) {
	clear(dst)
	top, left := (p.h-h)/2, (p.w-w)/2
	for c := range p.c {
		from := planes[c*w*h%len(planes):]
		to := dst[c*p.h*p.w:]
		for y := range h {
			copy(to[(top+y)*p.w+left:][:w], from[y*w:])
		}
	}
}

// PictureSize is the width and the height of an image file as stored. Nothing is decoded. It refuses what
// [Preparation.Decode] does not read.
func PictureSize(file []byte) (w, h int, err error) { return picture.Size(file) }
