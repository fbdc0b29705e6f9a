package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"ocl/data/internal/cache"
	"ocl/data/internal/picture"
)

// maxPictureBytes is the largest image file that is read. A photograph of 100 megapixels has about 50 MB.
const maxPictureBytes = 256 << 20

// pictures are the image files of a data set, which are decoded once into a cache file.
type pictures struct {
	set    string // the data set's name
	root   string // folder of the files
	files  []string
	lines  []int // line of each file in the list that names them; nil where there is no list
	side   int
	fit    picture.Fit
	packed *packed // nil where each file is one image
}

// packed are images that lie decoded in the files of pictures, many in each.
type packed struct {
	count   int
	read    func(i int, dst []uint8) // writes image i into dst; several goroutines call it at once
	release func() error             // after the last call of read
}

// images is how many there are.
func (p pictures) images() int {
	if p.packed != nil {
		return p.packed.count
	}
	return len(p.files)
}

// name is image i in messages: its file, or its number where a file has many.
func (p pictures) name(i int) string {
	if p.packed != nil {
		return fmt.Sprintf("image %d of %s", i, strings.Join(p.files, ", "))
	}
	return p.fileName(i)
}

// fileName is file i in messages.
func (p pictures) fileName(i int) string {
	if p.lines != nil {
		return fmt.Sprintf("line %d: %s", p.lines[i], shown(p.files[i]))
	}
	return shown(p.files[i])
}

// open returns the decoded images, 3×side×side, in the order of the files. It decodes those that are not in a cache yet:
// that of the same names, sizes and times of the files, size, filter and decoder. With SkipUnreadable, dropped are the
// files that cannot be read; they have no image.
func (p pictures) open(ctx context.Context, spec Spec) (images *cache.Images, dropped []cache.Fault, err error) {
	if p.packed != nil {
		defer func() { err = errors.Join(err, p.packed.release()) }()
	}
	key, err := p.key()
	if err != nil {
		return nil, nil, err
	}
	images, err = cache.Open(ctx, p.cached(key, spec))
	if err != nil {
		return nil, nil, err
	}
	return images, images.Faults(), nil
}

// cached describes the cache file of a key.
func (p pictures) cached(key string, spec Spec) cache.Spec {
	return cache.Spec{
		Name: p.set, Source: p.root, Key: key, Shape: [3]int{3, p.side, p.side}, N: p.images(),
		Skip: spec.SkipUnreadable, Decode: p.decode, Progress: spec.progress(p.set + ": images decoded"),
	}
}

// place is where file i lies: below the root, or anywhere if a list has an absolute path.
func (p pictures) place(i int) string {
	name := filepath.FromSlash(p.files[i])
	if p.lines != nil && filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.root, name)
}

// decode writes image i into dst.
func (p pictures) decode(i int, dst []uint8) error {
	if p.packed != nil {
		p.packed.read(i, dst)
		return nil
	}
	file, err := os.Open(p.place(i))
	if err != nil {
		return fmt.Errorf("%s: %w", p.name(i), cause(err))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxPictureBytes+1))
	if err != nil {
		return fmt.Errorf("%s: %w", p.name(i), cause(err))
	}
	if len(text) > maxPictureBytes {
		return fmt.Errorf("%s: the file has more than %s bytes. Make the image smaller", p.name(i), thousands(maxPictureBytes))
	}
	if err := picture.Decode(text, dst, p.side, p.fit); err != nil {
		return fmt.Errorf("%s: %w", p.name(i), err)
	}
	return nil
}

// key is everything that the decoded images are a function of. The files are asked for their sizes and times by several
// goroutines, as the answer of a disk takes longer than the question.
func (p pictures) key() (string, error) {
	lines := make([]string, len(p.files))
	errs := make([]error, len(p.files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(p.files) {
					return
				}
				info, err := os.Stat(p.place(i))
				if err != nil {
					errs[i] = fmt.Errorf("%s: %w", p.fileName(i), cause(err))
					continue
				}
				lines[i] = fmt.Sprintf("%q %d %d\n", p.files[i], info.Size(), info.ModTime().UnixNano())
			}
		})
	}
	wg.Wait()
	if err := firstOf(errs, p.root); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d %d %s\n", p.set, p.side, p.fit, picture.Version) + strings.Join(lines, ""), nil
}

// firstOf names the first five files that are missing, and how many more.
func firstOf(errs []error, root string) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	var words []string
	for _, err := range errs[:min(5, len(errs))] {
		words = append(words, err.Error())
	}
	more := ""
	if n := len(errs) - 5; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("%s: %d files cannot be read: %s%s. Get these files again, or correct the list that names them", shown(root), len(errs), strings.Join(words, "; "), more)
}

// droppedNote says which images were left out.
func droppedNote(dropped []cache.Fault) string {
	var words []string
	for _, f := range dropped[:min(3, len(dropped))] {
		words = append(words, f.Message)
	}
	more := ""
	if n := len(dropped) - 3; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("%d images that cannot be read are left out: %s%s", len(dropped), strings.Join(words, "; "), more)
}
