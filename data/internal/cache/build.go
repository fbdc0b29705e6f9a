package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"ocl/checkpoint"
	"ocl/internal/count"
)

// syncEvery is how many bytes are written between two calls of fsync: a single one at the end would take long on a slow
// disk, and cannot be stopped when ctx ends.
const syncEvery = 64 << 20

// build writes the file. The lock of the key is held, so what other builds have left is of processes that were killed.
func (s Spec) build(ctx context.Context, path, key string, l layout) error {
	dir := filepath.Dir(path)
	if err := checkpoint.RemoveTemporaries(dir, key+fileSuffix); err != nil {
		return s.buildError(dir, l, err)
	}
	if free, known := freeSpace(dir); known && free < float64(l.size()) {
		return s.buildError(dir, l, fmt.Errorf("the disk has room for %d MB", int64(free/1e6)))
	}
	b := s.builder(l)
	err := checkpoint.BuildFileAtomic(path, func(f *os.File) error { return b.fill(ctx, key, f) })
	if refused := s.refused(err); refused != nil {
		return refused
	}
	if err != nil {
		return s.buildError(dir, l, err)
	}
	return nil
}

// decoded are the images without a file.
func (s Spec) decoded(ctx context.Context, key string, l layout) (*Images, error) {
	b := s.builder(l)
	h, err := b.decodeAll(ctx, key)
	if refused := s.refused(err); refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, fmt.Errorf("data: cache: decoding %s: %w", printable(s.Name), err)
	}
	m := imagesOf("", h, b.index)
	m.decode = s.Decode
	return m, nil
}

// refused is the error about images that cannot be decoded, nil if err is another one or none.
func (s Spec) refused(err error) error {
	var refused *refusedError
	if errors.As(err, &refused) {
		return fmt.Errorf("data: cache: %s: %w", printable(s.Name), refused)
	}
	return nil
}

// builder is a build at work. Each image has its own place in the file and in the index.
type builder struct {
	Spec
	layout
	file    *os.File // nil writes none
	index   []byte
	written atomic.Int64 // bytes

	mu     sync.Mutex
	faults []Fault
	failed atomic.Bool // no file comes of it; the other images are only tried
}

func (s Spec) builder(l layout) *builder {
	return &builder{Spec: s, layout: l, index: make([]byte, s.N*sha256.Size)}
}

// decodeAll decodes all images and describes them. Their sums are then in the index, and their pixels in the file.
func (b *builder) decodeAll(ctx context.Context, key string) (header, error) {
	if err := Each(ctx, b.N, b.Workers, int(b.image), b.Progress, b.add); err != nil {
		return header{}, err
	}
	slices.SortFunc(b.faults, func(x, y Fault) int { return cmp.Compare(x.Image, y.Image) })
	if b.failed.Load() || len(b.faults) == b.N {
		return header{}, &refusedError{b.faults, b.N}
	}
	return header{printable(b.Name), printable(b.Source), key, b.Shape, b.N, b.faults}, nil
}

// fill writes the whole file.
func (b *builder) fill(ctx context.Context, key string, f *os.File) error {
	b.file = f
	h, err := b.decodeAll(ctx, key)
	if err != nil {
		return err
	}
	prefix, text, err := h.tail(b.index)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b.index, b.indexAt())
	_, textErr := f.WriteAt(text, b.headerAt())
	_, prefixErr := f.WriteAt(prefix, 0)
	return errors.Join(err, textErr, prefixErr)
}

// add decodes image i into buf and writes it.
func (b *builder) add(i int, buf []uint8) error {
	clear(buf) // a decoder that writes less must not show the image before it
	if err := b.Decode(i, buf); err != nil {
		b.mu.Lock()
		b.faults = append(b.faults, Fault{i, printable(err.Error())})
		b.mu.Unlock()
		if !b.Skip {
			b.failed.Store(true)
		}
		return nil
	}
	if b.failed.Load() {
		return nil
	}
	sum := sha256.Sum256(buf)
	copy(b.index[i*sha256.Size:], sum[:])
	if b.file == nil {
		return nil
	}
	if _, err := b.file.WriteAt(buf, pixelsAt+int64(i)*b.image); err != nil {
		return err
	}
	if n := b.written.Add(b.image); n/syncEvery != (n-b.image)/syncEvery {
		return b.file.Sync()
	}
	return nil
}

// refusedError is about images that cannot be decoded.
type refusedError struct {
	faults []Fault // by index
	images int
}

func (e *refusedError) Error() string {
	const shown = 5
	var parts []string
	for _, f := range e.faults[:min(shown, len(e.faults))] {
		parts = append(parts, f.Message)
	}
	if more := len(e.faults) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%d of %s cannot be decoded: %s. Mend or replace what cannot be read, or leave it out with --unreadable skip", len(e.faults), count.Of(e.images, "image"), strings.Join(parts, "; "))
}
