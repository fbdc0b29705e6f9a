// Package cache keeps the decoded images of a data set in one file. The file is built once, by all cores, and later
// mapped into memory, so that opening it takes no time and its pages belong to the system and not to the process.
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
	"io/fs"
	"os"
	"path/filepath"

	"ocl/internal/count"
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
	Dir  string // folder of the caches; "" is Dir()
	// ReadOnly writes nothing: images that are in no file are decoded when they are opened, for their sums, and again each time
	// they are asked for.
	ReadOnly bool
	// Progress may be nil. While the cache is built it is called by one goroutine at a time: at the beginning, some times
	// a second, and at the end with done == total.
	Progress func(done, total int)
	Workers  int // goroutines that decode; 0 is GOMAXPROCS
}

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

// orDir is dir, or the default folder.
func orDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	return Dir()
}

// Open maps the file of the key. If there is none, or it cannot be used, Open builds it first; [Images.Note] then says
// what was wrong. The file appears complete or not at all. If another goroutine or process builds the same file, Open
// waits and then opens that one. When ctx ends, waiting and building end with an error that wraps ctx.Err(), and no file
// is left. Open waits for calls of Decode to return. With Spec.ReadOnly, it builds nothing.
func Open(ctx context.Context, s Spec) (*Images, error) {
	l, err := s.layout()
	if err != nil {
		return nil, err
	}
	dir, err := orDir(s.Dir)
	if err != nil {
		return nil, err
	}
	key := keyOf(s.Key)
	path := filepath.Join(dir, key+fileSuffix)
	if m, err := s.open(path); err == nil || !toBeBuilt(err) {
		return m, err
	}
	if s.ReadOnly {
		return s.decoded(ctx, key, l)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, s.buildError(dir, l, err)
	}
	lock, err := lockKey(ctx, dir, key)
	if err != nil {
		return nil, s.buildError(dir, l, err)
	}
	defer lock.release()
	m, reason := s.open(path) // another builder may have finished meanwhile
	if reason == nil || !toBeBuilt(reason) {
		return m, reason
	}
	if err := s.build(ctx, path, key, l); err != nil {
		return nil, err
	}
	m, err = s.open(path)
	if err == nil && !errors.Is(reason, fs.ErrNotExist) {
		m.note = fmt.Sprintf("%v. It was built again", reason)
	}
	return m, err
}

// Find maps the file of the key and builds none. The error wraps fs.ErrNotExist if there is none, and else says why Open
// would build it again, or cannot.
func Find(s Spec) (*Images, error) {
	dir, err := orDir(s.Dir)
	if err != nil {
		return nil, err
	}
	return s.open(filepath.Join(dir, keyOf(s.Key)+fileSuffix))
}

// keyOf is the SHA-256 of a key in hexadecimal digits.
func keyOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// unfit says why a file is built.
type unfit struct {
	path string
	err  error
}

func (u *unfit) Error() string { return fmt.Sprintf("data: cache: %s: %v", u.path, u.err) }
func (u *unfit) Unwrap() error { return u.err }

// toBeBuilt says whether an error of open is a reason to build the file. Others are for a person to decide, such as a file
// that must not be read, or a folder in its place.
func toBeBuilt(err error) bool {
	var u *unfit
	return errors.As(err, &u)
}

// open maps the file if it is the one that s wants.
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
	return nil, errors.Join(&unfit{path, err}, m.Close())
}

// buildError says what stopped a build, where, how much room it takes and how to choose another folder.
func (s Spec) buildError(dir string, l layout, cause error) error {
	const mb = 1e6
	return fmt.Errorf("data: cache: building %s in %s, which takes %d MB: %w. Nothing was kept; set $%s to use another folder",
		printable(s.Name), dir, (l.size()+mb-1)/mb, cause, Folder)
}
