package cache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"

	"ocl/internal/count"
	"ocl/internal/limit"
)

// A file has four parts. Numbers are little-endian.
//
//	prefix   magic, version uint32, bytes of the header uint32, SHA-256 of these and of the index and the header
//	pixels   N images, uint8 [C,H,W]; zeros for an image that was left out
//	index    N times the SHA-256 of an image; zeros for an image that was left out
//	header   a JSON object
//
// What is known only after the last image comes last. All bytes are a function of Spec and of the pixels, also if
// images were decoded in another order.
const (
	magic   = "OCLIMGS\n" // the newline shows a file mangled by a text-mode copy
	version = 2           // 1 had zeros between prefix and pixels

	summedPrefix = len(magic) + 4 + 4
	prefixSize   = summedPrefix + sha256.Size
	maxText      = 400 // bytes of a text in the header
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

func (l layout) imageAt(i int) int64 { return int64(prefixSize) + int64(i)*l.image }
func (l layout) indexAt() int64      { return l.imageAt(int(l.images)) }
func (l layout) headerAt() int64     { return l.indexAt() + l.images*sha256.Size }
func (l layout) size() int64         { return l.headerAt() + l.header }

// layoutOf refuses shapes and counts out of range, so that no sum or product overflows.
func layoutOf(shape [3]int, n int) (layout, error) {
	l := layout{images: int64(n), image: 1}
	for _, v := range shape {
		if v < 1 || int64(v) > limit.CachedImage/l.image {
			return layout{}, fmt.Errorf("images of %v are not possible", shape)
		}
		l.image *= int64(v)
	}
	if n < 1 || n > limit.SetImages {
		return layout{}, fmt.Errorf("%d images are not possible", n)
	}
	return l, nil
}

// write decodes all images into a file.
func (s Spec) write(ctx context.Context, f *os.File, l layout) error {
	h, index, err := s.decodeAll(ctx, l, func(i int, pixels []uint8) error {
		_, err := f.WriteAt(pixels, l.imageAt(i))
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(text) > limit.CacheHeader {
		return refused(s.Name, h.Faults, s.N)
	}
	prefix := binary.LittleEndian.AppendUint32([]byte(magic), version)
	prefix = binary.LittleEndian.AppendUint32(prefix, uint32(len(text)))
	prefix = append(prefix, sumOf(prefix, index, text)...)
	_, prefixErr := f.WriteAt(prefix, 0)
	_, err = f.WriteAt(append(index, text...), l.indexAt())
	return errors.Join(prefixErr, err)
}

// decodeAll decodes all images, keeps those that can be decoded, and returns their description and their sums, 32 bytes
// each. Several goroutines call keep at once.
func (s Spec) decodeAll(ctx context.Context, l layout, keep func(i int, pixels []uint8) error) (header, []byte, error) {
	h := header{Name: oneLine(s.Name), Source: oneLine(s.Source), Key: keyOf(s.Key), Shape: s.Shape, Images: s.N}
	index := make([]byte, s.N*sha256.Size)
	var mu sync.Mutex // of h.Faults
	err := Each(ctx, s.N, 0, int(l.image), s.Progress, func(i int, buf []uint8) error {
		clear(buf) // a decoder that writes less must not show the image before it
		if err := s.Decode(i, buf); err != nil {
			if ctx.Err() != nil {
				return ctx.Err() // the image may be sound
			}
			mu.Lock()
			defer mu.Unlock()
			h.Faults = append(h.Faults, Fault{i, oneLine(err.Error())})
			return nil
		}
		sum := sha256.Sum256(buf)
		copy(index[i*sha256.Size:], sum[:])
		return keep(i, buf)
	})
	if err != nil {
		return header{}, nil, err
	}
	slices.SortFunc(h.Faults, func(x, y Fault) int { return cmp.Compare(x.Image, y.Image) })
	if n := len(h.Faults); n > 0 && (!s.Skip || n == s.N) {
		return header{}, nil, refused(s.Name, h.Faults, s.N)
	}
	return h, index, nil
}

func sumOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// read reads the header and the index of a file of size bytes, and checks both and the size. It allocates in proportion
// to the size. Errors wrap [ErrDamaged], except for a file of another version.
func read(r io.ReaderAt, size int64) (header, layout, []byte, error) {
	var h header
	var l layout
	damaged := func(format string, args ...any) (header, layout, []byte, error) {
		return header{}, layout{}, nil, fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
	}
	prefix := make([]byte, prefixSize)
	if _, err := r.ReadAt(prefix, 0); err != nil || string(prefix[:len(magic)]) != magic {
		return damaged("it has %s and does not begin with %q", count.Of(size, "byte"), magic)
	}
	if v := binary.LittleEndian.Uint32(prefix[len(magic):]); v != version {
		return h, l, nil, fmt.Errorf("it has format version %d, but this ocl reads %d", v, version)
	}
	n := int64(binary.LittleEndian.Uint32(prefix[len(magic)+4:]))
	if most := min(size-int64(prefixSize), limit.CacheHeader); n > most {
		return damaged("its header has %s, but at most %s are possible", count.Of(n, "byte"), count.Number(most))
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, size-n); err != nil && !errors.Is(err, io.EOF) {
		return damaged("%w", err)
	}
	err := json.Unmarshal(text, &h)
	if err == nil {
		l, err = layoutOf(h.Shape, h.Images)
	}
	if l.header = n; err != nil || l.size() != size {
		return damaged("its header does not describe its %s", count.Of(size, "byte"))
	}
	index := make([]byte, h.Images*sha256.Size)
	if _, err := r.ReadAt(index, l.indexAt()); err != nil {
		return damaged("%w", err)
	}
	if !bytes.Equal(sumOf(prefix[:summedPrefix], index, text), prefix[summedPrefix:]) {
		return damaged("the SHA-256 of its header and index is another one")
	}
	return h, l, index, nil
}

// oneLine is a text in one line of at most 400 bytes, for lists and messages.
func oneLine(s string) string {
	s = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s), "")
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
