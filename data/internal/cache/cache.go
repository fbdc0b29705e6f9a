// Package cache keeps the decoded images of a data set in one file, which is built once, by all cores. Images are read
// from it one by one, so that a data set may be larger than memory.
//
// It knows nothing of labels, splits or image formats: a [Spec] says how many images there are, how an image is decoded
// and what the pixels depend on. A cache is only a cache. A file that cannot be used is built again, and every file may
// be removed at any time. Start with [Open]; format.go describes the file.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"ocl/internal/atomicfile"
	"ocl/internal/count"
	"ocl/internal/input"
)

// Folder is the environment variable that names the folder of the caches.
const Folder = "OCL_CACHE"

// ErrDamaged is wrapped by errors about files whose bytes have changed.
var ErrDamaged = errors.New("the file is damaged")

// Spec says which images a cache holds and how they are made.
type Spec struct {
	Name   string // data set, for lists
	Source string // where the images came from, for lists
	// Key is text of everything that the pixels are a function of: the data set, the size, the decoder, the files with
	// their sizes and times. Its SHA-256 names the file.
	Key   string
	Shape [3]int // C, H, W, each at least 1
	N     int    // images, at least 1
	// Decode writes image i, uint8 [C,H,W], into dst, which is C·H·W zeros. Several goroutines call it at once. It keeps
	// no reference to dst.
	Decode func(i int, dst []uint8) error
	// Skip leaves out the images that Decode refuses, and lists them in Faults. Without it, or if all images are refused,
	// building fails after all images were tried, with an error that names the first five and the count.
	Skip bool
	// ReadOnly writes nothing: images that are in no file are decoded when they are opened, for their sums, and again each
	// time they are asked for.
	ReadOnly bool
	// Waiting may be nil. It is called some times a second while another goroutine or process builds a file in the same
	// folder.
	Waiting func()
	// Progress may be nil. While the cache is built it is called by one goroutine at a time: at the beginning, some times
	// a second, and at the end with done == total.
	Progress func(done, total int)
}

// Busy is what progress says while another process builds.
const Busy = "waiting for another ocl that fills the cache"

// Fault is an image that was left out of a cache.
type Fault struct {
	Image   int    `json:"image"`   // index, in [0, N)
	Message string `json:"message"` // of Decode, in one line
}

// Dir is the folder of the caches: $OCL_CACHE, or ocl in the user's cache folder. It may not exist yet.
func Dir() (string, error) {
	if dir := os.Getenv(Folder); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("data: cache: there is no folder for it: %w. Set $%s to a folder", err, Folder)
	}
	return filepath.Join(dir, "ocl"), nil
}

// Open opens the file of the key. If there is none, or it cannot be used, Open builds it first. The file appears
// complete or not at all. If another goroutine or process builds a file in the same folder, Open waits. When ctx ends,
// waiting and building end with an error that wraps ctx.Err(), and no file is left. Open waits for calls of Decode to
// return. With Spec.ReadOnly, it builds nothing.
func Open(ctx context.Context, s Spec) (*Images, error) {
	l, err := layoutOf(s.Shape, s.N)
	if err != nil {
		return nil, fmt.Errorf("data: cache: %s: %w", s.Name, err)
	}
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileOf(s.Key))
	if m, err := s.open(path); err == nil {
		return m, nil
	}
	if s.ReadOnly {
		return s.decoded(ctx, l)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, s.buildError(dir, l, err)
	}
	lock, err := lockOf(dir)
	if err == nil {
		err = s.wait(ctx, lock)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("waiting for another ocl that builds a cache: %w", ctx.Err())
		}
		return nil, s.buildError(dir, l, err)
	}
	defer func() { _ = lock.Unlock() }()    // otherwise the end of the process does it
	if m, err := s.open(path); err == nil { // another builder has finished meanwhile
		return m, nil
	}
	if err := s.build(ctx, path, l); err != nil {
		return nil, err
	}
	return s.open(path)
}

// wait takes a lock, however long another has it.
func (s Spec) wait(ctx context.Context, lock *flock.Flock) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if locked, err := lock.TryLock(); err != nil || locked {
			return err
		}
		if s.Waiting != nil {
			s.Waiting()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// lockOf is held while a file is built in a folder. The system releases it when the process ends; its empty file stays.
func lockOf(dir string) (*flock.Flock, error) { return input.NewLock(filepath.Join(dir, ".lock")) }

// Find opens the file of the key and builds none. The error wraps fs.ErrNotExist if there is none, and else says why
// Open would build it again.
func Find(s Spec) (*Images, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	return s.open(filepath.Join(dir, fileOf(s.Key)))
}

// fileOf is the name of the file of a key.
func fileOf(key string) string { return keyOf(key) + fileSuffix }

// keyOf is the SHA-256 of a key in hexadecimal digits.
func keyOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// open opens the file if it is the one that s wants.
func (s Spec) open(path string) (*Images, error) {
	m, err := openFile(path)
	if err != nil {
		return nil, err
	}
	switch h := m.header; {
	case h.Shape != s.Shape || h.Images != s.N:
		err = fmt.Errorf("it has %s of %v, but %d of %v are wanted", count.Of(h.Images, "image"), h.Shape, s.N, s.Shape)
	case !s.Skip && len(h.Faults) > 0:
		err = fmt.Errorf("it lacks %d of %s", len(h.Faults), count.Of(h.Images, "image"))
	default:
		return m, nil
	}
	return nil, errors.Join(fmt.Errorf("data: cache: %s: %w", path, err), m.Close())
}

// build writes the file. The lock is held, so what other builds have left is of processes that were killed.
func (s Spec) build(ctx context.Context, path string, l layout) error {
	dir := filepath.Dir(path)
	removeLeftOvers()
	if free, known := freeSpace(dir); known && free < float64(l.size()) {
		return s.buildError(dir, l, fmt.Errorf("the disk has room for %d MB", int64(free/1e6)))
	}
	err := atomicfile.Build(path, func(f *os.File) error { return s.write(ctx, f, l) })
	if refused := (refusedError{}); errors.As(err, &refused) {
		return refused
	}
	if err != nil {
		return s.buildError(dir, l, err)
	}
	return nil
}

// buildError says what stopped a build, where, how much room it takes and how to choose another folder.
func (s Spec) buildError(dir string, l layout, cause error) error {
	const mb = 1e6
	return fmt.Errorf("data: cache: building %s in %s, which takes %d MB: %w. Nothing was kept; set $%s to use another folder",
		s.Name, dir, (l.size()+mb-1)/mb, cause, Folder)
}

// refusedError is about images that cannot be decoded.
type refusedError struct{ error }

func refused(name string, faults []Fault, images int) error {
	var messages []string
	for _, f := range faults {
		messages = append(messages, f.Message)
	}
	return refusedError{fmt.Errorf("data: cache: %s: %d of %s cannot be decoded: %s. Mend or replace what cannot be read, or leave it out with data.unreadable=skip",
		name, len(faults), count.Of(images, "image"), count.Some(messages))}
}
