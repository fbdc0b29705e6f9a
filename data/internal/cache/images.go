package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"ocl/internal/input"
	"ocl/internal/limit"
)

// Images are the images of a file. Methods may be called by several goroutines at once, except Close.
type Images struct {
	path    string
	header  header
	layout  layout
	index   []byte        // [N] times the SHA-256
	checked []atomic.Bool // [N] the SHA-256 of the image was right when it was last checked

	file   *os.File
	decode func(i int, dst []uint8) error // instead of a file; see Spec.ReadOnly
}

// openFile opens a file and checks its header and index. The error wraps fs.ErrNotExist if there is none.
func openFile(path string) (*Images, error) {
	f, size, err := input.Open(path, input.Want{Most: limit.Cache})
	if err != nil {
		return nil, fmt.Errorf("data: cache: %w", err)
	}
	m := &Images{path: path, file: f}
	if m.header, m.layout, m.index, err = read(f, size); err != nil {
		return nil, errors.Join(fmt.Errorf("data: cache: %s: %w", path, err), f.Close())
	}
	m.checked = make([]atomic.Bool, m.Len())
	return m, nil
}

// decoded are the images without a file.
func (s Spec) decoded(ctx context.Context, l layout) (*Images, error) {
	h, index, err := s.decodeAll(ctx, l, func(int, []uint8) error { return nil })
	if err != nil {
		if errors.As(err, new(refusedError)) {
			return nil, err
		}
		return nil, fmt.Errorf("data: cache: decoding %s: %w", s.Name, err)
	}
	return &Images{header: h, layout: l, index: index, decode: s.Decode}, nil
}

// Path is the file, "" for images that are in none.
func (m *Images) Path() string { return m.path }

// Len is the number N of images, with those that were left out.
func (m *Images) Len() int { return m.header.Images }

// Sum is the SHA-256 of the pixels of image i, as the index has it; zeros for an image that was left out.
func (m *Images) Sum(i int) [sha256.Size]byte {
	return [sha256.Size]byte(m.index[i*sha256.Size : (i+1)*sha256.Size])
}

// Faults are the images that were left out when the file was built, by index. The caller must not change them.
func (m *Images) Faults() []Fault { return m.header.Faults }

// Image reads image i, uint8 [C,H,W] flattened, into buf, or into a new slice if buf is too short.
//
// The first use of an image checks its SHA-256, and so does each use of one that ends in zeros. The error wraps
// [ErrDamaged] if it is wrong, or if the file has become shorter; other images can still be used. An image that was
// left out is an error that has the message of its fault. Image panics if i is out of range. An image that is in no
// file is decoded and not checked.
func (m *Images) Image(i int, buf []uint8) ([]uint8, error) {
	if i < 0 || i >= m.Len() {
		panic(fmt.Sprintf("data: cache: image %d of %d", i, m.Len()))
	}
	buf = slices.Grow(buf[:0], int(m.layout.image))[:m.layout.image]
	if m.decode != nil {
		clear(buf)
		if err := m.decode(i, buf); err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		return buf, nil
	}
	if err := m.read(i, buf, m.checked[i].Load()); err != nil {
		return nil, err
	}
	return buf, nil
}

// read reads image i into buf, and checks its sum if it is not known to be right.
func (m *Images) read(i int, buf []uint8, right bool) error {
	how := ""
	if _, err := m.file.ReadAt(buf, m.layout.imageAt(i)); err != nil {
		how = fmt.Sprintf("it cannot be read (%v)", err)
	} else if right && !endsInZeros(buf) {
		return nil
	} else if sum := sha256.Sum256(buf); sum != m.Sum(i) {
		how = "its SHA-256 is another one"
	}
	m.checked[i].Store(how == "")
	switch k := slices.IndexFunc(m.Faults(), func(f Fault) bool { return f.Image == i }); {
	case how == "":
		return nil
	case k >= 0:
		return fmt.Errorf("data: cache: %s: image %d was left out: %s", m.path, i, m.Faults()[k].Message)
	}
	return fmt.Errorf("data: cache: %s: image %d: %s, so %w. Run `ocl data cache clean`, then the same command again",
		m.path, i, how, ErrDamaged)
}

// endsInZeros says whether an image may be of a file that was cut and has become as long again, as on a disk that was
// full or whose network failed. Few other images end so.
func endsInZeros(pixels []uint8) bool {
	var zeros [16]uint8
	return bytes.HasSuffix(pixels, zeros[:min(len(pixels), len(zeros))])
}

// Verify checks every image, by all cores, whether it was used before or not. It returns an error for each image that
// is damaged, by index, and last ctx.Err() if ctx ended before the last image. progress may be nil; see
// [Spec.Progress].
func (m *Images) Verify(ctx context.Context, progress func(done, total int)) []error {
	found := make([]error, m.Len(), m.Len()+1)
	err := Each(ctx, m.Len(), 0, int(m.layout.image), progress, func(i int, buf []uint8) error {
		if m.Sum(i) != [sha256.Size]byte{} { // not left out
			found[i] = m.read(i, buf, false)
		}
		return nil
	})
	return slices.DeleteFunc(append(found, err), func(err error) bool { return err == nil })
}

// Close closes the file. A second call does nothing.
func (m *Images) Close() error {
	if m.file == nil {
		return nil
	}
	if err := m.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
