package data

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"ocl/data/internal/cache"
	"ocl/data/internal/picture"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/spelling"
)

// pictures are the image files of a data set, which are decoded once into a cache file.
type pictures struct {
	set    string // the data set's name
	root   string // folder of the files
	files  []string
	list   string // the file that names the files; "" where there is none
	lines  []int  // line of each file in list; nil where there is none
	side   int
	fit    picture.Fit
	packed *packed // nil where each file is one image
}

// packed are images that lie decoded in the files of pictures, many in each.
type packed struct {
	count int
	read  func(i int, dst []uint8) error // writes image i into dst; several goroutines call it at once
}

// images is the number of pictures.
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

// open returns the decoded images, 3×side×side, in the order of the files. It decodes those that are not in a cache
// yet: that of the same names, sizes and times of the files, size, filter and decoder. With SkipUnreadable, dropped are
// the files that cannot be read; they have no image.
func (p pictures) open(ctx context.Context, spec Spec) (images *cache.Images, dropped []cache.Fault, err error) {
	key, err := p.key(ctx)
	if err != nil {
		return nil, nil, err
	}
	images, err = cache.Open(ctx, p.cached(ctx, key, spec))
	if err != nil {
		return nil, nil, err
	}
	return images, images.Faults(), nil
}

// cached describes the cache file of a key.
func (p pictures) cached(ctx context.Context, key string, spec Spec) cache.Spec {
	if spec.ReadOnly { // images are decoded later too, when ctx may have ended
		ctx = context.WithoutCancel(ctx)
	}
	return cache.Spec{
		Name: p.set, Source: p.source(), Key: key, Shape: [3]int{3, p.side, p.side}, N: p.images(),
		Skip: spec.SkipUnreadable, ReadOnly: spec.ReadOnly, Progress: spec.progress(p.set + ": images decoded"),
		Waiting: func() { spec.progress(p.set+": "+cache.Busy)(0, p.images()) },
		Decode:  func(i int, dst []uint8) error { return p.decode(ctx, i, dst) },
	}
}

// source is the absolute path of the list of the pictures, or of their root.
func (p pictures) source() string {
	from := p.root
	if p.list != "" {
		from = p.list
	}
	if full, err := filepath.Abs(from); err == nil {
		return full
	}
	return from
}

// place is the path of file i.
func (p pictures) place(i int) string { return placeOf(p.root, p.files[i], p.lines != nil) }

// placeOf is the path of a file below a root, or anywhere if a list has an absolute path.
func placeOf(root, file string, listed bool) string {
	name := filepath.FromSlash(file)
	if listed && filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(root, name)
}

// respell looks for files that are not where a list says under the same names as other systems write them: with slashes
// for backslashes, and in both spellings of Unicode.
func (p pictures) respell() {
	for i, name := range p.files {
		if p.there(i) || !strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf }) {
			continue
		}
		slashes := strings.ReplaceAll(name, `\`, "/")
		// the last one where none is there
		for _, p.files[i] = range []string{slashes, spelling.Of(slashes), spelling.Split(slashes), name} {
			if p.there(i) {
				break
			}
		}
	}
}

// there says whether the file of image i exists, readable or not.
func (p pictures) there(i int) bool {
	_, err := os.Stat(p.place(i))
	return err == nil
}

// decode writes image i into dst.
func (p pictures) decode(ctx context.Context, i int, dst []uint8) error {
	if p.packed != nil {
		if err := p.packed.read(i, dst); err != nil {
			return fmt.Errorf("%s: %w", p.name(i), cause.Of(err))
		}
		return nil
	}
	err := UsePictureFile(ctx, p.place(i), func(file []byte) error {
		return picture.Decode(ctx, file, dst, p.side, p.side,
			p.fit)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", p.name(i), err)
	}
	return nil
}

// key is everything that the decoded images are a function of. The files are asked for their sizes and times by several
// goroutines, as the answer of a disk takes longer than the question.
func (p pictures) key(ctx context.Context) (string, error) {
	lines, faults := make([]string, len(p.files)), make([]string, len(p.files))
	err := cache.Each(ctx, len(p.files), 4*runtime.GOMAXPROCS(0), 0, nil, func(i int, _ []uint8) error {
		if info, err := os.Stat(p.place(i)); err != nil {
			faults[i] = fmt.Sprintf("%s: %v", p.fileName(i), cause.Of(err))
		} else {
			lines[i] = fmt.Sprintf("%q %d %d\n", p.files[i], info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if faults = slices.DeleteFunc(faults, func(f string) bool { return f == "" }); len(faults) > 0 {
		where, remedy := p.root, "Get what is missing again"
		if p.list != "" {
			where, remedy = p.list, remedy+", or correct the list"
		}
		return "", fmt.Errorf("%s: cannot read %s: %s. %s", shown(where), count.Of(len(faults), "file"), count.Some(faults),
			remedy)
	}
	return fmt.Sprintf("%s %d %d %s\n", p.set, p.side, p.fit, picture.Version) + strings.Join(lines, ""), nil
}

// droppedNote says which images were left out.
func droppedNote(dropped []cache.Fault) string {
	var words []string
	for _, f := range dropped {
		words = append(words, f.Message)
	}
	return fmt.Sprintf("%s left out: %s", count.Of(len(dropped), "unreadable image"), count.Some(words))
}
