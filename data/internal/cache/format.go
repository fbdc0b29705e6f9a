package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"ocl/internal/count"
)

// A file has four parts. Numbers are little-endian.
//
//	prefix   magic, version uint32, bytes of the header uint32, SHA-256 of these and of the index and the header;
//	         zeros up to pixelsAt
//	pixels   N images, uint8 [C,H,W]; zeros for an image that was left out
//	index    N times the SHA-256 of an image; zeros for an image that was left out
//	header   a JSON object, as encoding/json writes it
//
// What is known only after the last image comes last. All bytes are a function of Spec and of the pixels, also if images
// were decoded in another order.
const (
	magic   = "OCLIMGS\n" // the newline shows a file mangled by a text-mode copy
	version = 1

	summedPrefix = len(magic) + 4 + 4
	prefixSize   = summedPrefix + sha256.Size
	pixelsAt     = 1 << 16 // a multiple of the page size of all systems
	maxImage     = 1 << 30 // bytes; far above any real image, and it fits an int of 32 bits
	maxHeader    = 1 << 28 // bytes; a fault takes at most some hundred
	maxText      = 400     // bytes of a text in the header
	fileSuffix   = ".images"
)

// header describes the images of a file.
type header struct {
	Name   string  `json:"name"`
	Source string  `json:"source"`
	Key    string  `json:"key"` // SHA-256 of Spec.Key
	Shape  [3]int  `json:"shape"`
	Images int     `json:"images"`
	Faults []Fault `json:"faults"` // by index, ascending
}

// layout is where the parts of a file are.
type layout struct {
	images, image int64 // their number; bytes of one
	header        int64 // bytes
}

func (l layout) indexAt() int64  { return pixelsAt + l.images*l.image }
func (l layout) headerAt() int64 { return l.indexAt() + l.images*sha256.Size }
func (l layout) size() int64     { return l.headerAt() + l.header }

// layoutOf refuses shapes and counts out of range, so that no sum or product overflows.
func layoutOf(shape [3]int, n int) (layout, error) {
	l := layout{images: int64(n), image: 1}
	for _, v := range shape {
		if v < 1 || int64(v) > maxImage/l.image {
			return layout{}, fmt.Errorf("images of %v are not possible", shape)
		}
		l.image *= int64(v)
	}
	if n < 1 || l.images > (math.MaxInt64/2)/(l.image+sha256.Size) || n > math.MaxInt/sha256.Size {
		return layout{}, fmt.Errorf("%d images are not possible", n)
	}
	return l, nil
}

// layout is that of the file to be built, without its header, whose length is not known yet.
func (s Spec) layout() (layout, error) {
	l, err := layoutOf(s.Shape, s.N)
	if err == nil && s.Decode == nil {
		err = errors.New("there is no decoder")
	}
	if err != nil {
		return l, fmt.Errorf("data: cache: %s: %w", printable(s.Name), err)
	}
	return l, nil
}

var keyPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// check refuses what no build writes.
func (h header) check() error {
	texts := []string{h.Name, h.Source}
	previous := -1
	for _, f := range h.Faults {
		if f.Image <= previous || f.Image >= h.Images {
			return fmt.Errorf("image %d was left out, after image %d of %d", f.Image, previous, h.Images)
		}
		previous = f.Image
		texts = append(texts, f.Message)
	}
	for _, t := range texts {
		if printable(t) != t {
			return errors.New("a text in the header is too long or not printable")
		}
	}
	if !keyPattern.MatchString(h.Key) {
		return errors.New("the key is not a SHA-256")
	}
	return nil
}

// tail is the prefix, and the header as it stands in the file, of an index.
func (h header) tail(index []byte) (prefix, text []byte, err error) {
	if text, err = json.Marshal(h); err != nil {
		return nil, nil, err
	}
	if len(text) > maxHeader {
		return nil, nil, fmt.Errorf("the header takes %s, and at most %s are allowed", count.Of(len(text), "byte"), count.Number(maxHeader))
	}
	prefix = binary.LittleEndian.AppendUint32([]byte(magic), version)
	prefix = binary.LittleEndian.AppendUint32(prefix, uint32(len(text)))
	sum := sumOf(prefix, index, text)
	return append(prefix, sum[:]...), text, nil
}

func sumOf(parts ...[]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}

// read reads the header and the index of a file of size bytes, and checks both and the size. It allocates in proportion
// to the size. Errors wrap [ErrDamaged], except for a file of another version.
func read(r io.ReaderAt, size int64) (header, []byte, error) {
	if size < pixelsAt {
		return header{}, nil, fmt.Errorf("%w: it has %s, but a cache has more than %s", ErrDamaged, count.Of(size, "byte"), count.Number(pixelsAt))
	}
	prefix := make([]byte, prefixSize)
	if err := readAt(r, prefix, 0); err != nil {
		return header{}, nil, err
	}
	if string(prefix[:len(magic)]) != magic {
		return header{}, nil, fmt.Errorf("%w: it starts with %q instead of %q", ErrDamaged, prefix[:len(magic)], magic)
	}
	if v := binary.LittleEndian.Uint32(prefix[len(magic):]); v != version {
		return header{}, nil, fmt.Errorf("it has format version %d, but this ocl reads %d", v, version)
	}
	n := int64(binary.LittleEndian.Uint32(prefix[len(magic)+4:]))
	if n > min(maxHeader, size-pixelsAt) {
		return header{}, nil, fmt.Errorf("%w: its header has %s, but it has %s", ErrDamaged, count.Of(n, "byte"), count.Number(size))
	}
	text := make([]byte, n)
	if err := readAt(r, text, size-n); err != nil {
		return header{}, nil, err
	}
	h, l, err := parse(text)
	if err != nil {
		return header{}, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if l.size() != size {
		return header{}, nil, fmt.Errorf("%w: it has %s, but %s of %v take %s", ErrDamaged, count.Of(size, "byte"), count.Of(h.Images, "image"), h.Shape, count.Number(l.size()))
	}
	index := make([]byte, h.Images*sha256.Size)
	if err := readAt(r, index, l.indexAt()); err != nil {
		return header{}, nil, err
	}
	if sum := sumOf(prefix[:summedPrefix], index, text); !bytes.Equal(sum[:], prefix[summedPrefix:]) {
		return header{}, nil, fmt.Errorf("%w: the SHA-256 of its header and index is %x… instead of %x…", ErrDamaged, sum[:4], prefix[summedPrefix:][:4])
	}
	return h, index, nil
}

// parse reads the text of a header. It must be what the header is written as: nothing is repeated, added or left out.
func parse(text []byte) (header, layout, error) {
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return h, layout{}, errors.New("the header is not the JSON that was written")
	}
	if same, err := json.Marshal(h); err != nil || !bytes.Equal(same, text) {
		return h, layout{}, errors.New("the header is not the JSON that was written")
	}
	if err := h.check(); err != nil {
		return h, layout{}, err
	}
	l, err := layoutOf(h.Shape, h.Images)
	l.header = int64(len(text))
	return h, l, err
}

func readAt(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("%w: %s at byte %d cannot be read: %w", ErrDamaged, count.Of(len(b), "byte"), at, err)
	}
	return nil
}

// printable is a text in one line of at most maxText bytes of UTF-8, without characters that a terminal would obey.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, s)
	if len(s) <= maxText {
		return s
	}
	end := maxText - len("…")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
