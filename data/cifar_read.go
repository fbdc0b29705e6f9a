package data

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ocl/data/internal/pickle"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// cifarReader reads the files of one layout into a set, in any order.
type cifarReader struct {
	cifarFormat
	cifarLayout
	set    *Set
	done   map[string]bool
	halves [2]cifarHalf
}

// cifarHalf is the images of one half, which may lie in several files.
type cifarHalf struct {
	files    []string
	perClass int // images
	split    *Split
}

func (f cifarFormat) reader(l cifarLayout) *cifarReader {
	set := &Set{Name: f.name, C: 3, H: f.side, W: f.side, Classes: f.classes}
	return &cifarReader{f, l, set, map[string]bool{},
		[2]cifarHalf{{l.train, f.trainPerClass, &set.Train}, {l.test, f.testPerClass, &set.Test}}}
}

// files are all files that are read.
func (r *cifarReader) files() []string { return slices.Concat(r.train, r.test, []string{r.names}) }

// read reads a file of the layout, whose size is what the folder or the archive states. Errors begin with its name.
func (r *cifarReader) read(name string, in io.Reader, size int64) error {
	r.done[name] = true
	err := r.readNamed(name, in, size)
	if err != nil {
		return fmt.Errorf("%s: %w. %s", name, err, r.again())
	}
	return nil
}

func (r *cifarReader) readNamed(name string, in io.Reader, size int64) error {
	if name == r.names {
		return r.readNames(in, size)
	}
	for _, half := range r.halves {
		k := slices.Index(half.files, name)
		if k < 0 {
			continue
		}
		n := r.classes * half.perClass // images of the half
		each := n / len(half.files)
		if err := r.checkSize(size, each); err != nil {
			return err
		}
		if half.split.Images == nil {
			half.split.Images, half.split.Y = newBlock(n, r.set.ImageLen()), make([]int32, n)
		}
		part := half.split.Images.(Block)
		part.Pixels = part.Pixels[k*each*part.Size : (k+1)*each*part.Size]
		labels := half.split.Y[k*each : (k+1)*each]
		if r.python {
			return r.readPickle(in, size, part, labels)
		}
		return r.readRecords(in, part, labels)
	}
	return nil
}

// labelBytes is the number of label bytes before the pixels of a record.
func (f cifarFormat) labelBytes() int {
	if f.coarse {
		return 2
	}
	return 1
}

// record is the bytes of a record: a coarse label where there are such, a label, and an image of 3×side×side bytes in
// planes red, green, blue.
func (f cifarFormat) record() int { return f.labelBytes() + 3*f.side*f.side }

// checkSize refuses a file that cannot hold n images, before anything is made for it. A pickle has lists of labels and
// of names besides.
func (r *cifarReader) checkSize(size int64, n int) error {
	want := int64(n) * int64(r.record())
	most := want
	if r.python {
		most, want = want+limit.PickleTexts, 0
	}
	switch {
	case size < want:
		return fmt.Errorf("the file is truncated: it has %s instead of %s", count.Of(size, "byte"), count.Number(want))
	case size > most:
		return fmt.Errorf("the file is too long: it has %s, but at most %s are needed", count.Of(size, "byte"),
			count.Number(most))
	}
	return nil
}

// readRecords reads a record for each label.
func (r *cifarReader) readRecords(file io.Reader, images Block, labels []int32) error {
	in := bufio.NewReaderSize(file, 1<<20)
	head := make([]byte, r.labelBytes())
	for i := range labels {
		_, err := io.ReadFull(in, head)
		if err == nil {
			_, err = io.ReadFull(in, images.at(i))
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		if labels[i] = int32(head[len(head)-1]); int(labels[i]) >= r.classes {
			return fmt.Errorf("record %d has label %d, which must be below %d", i, labels[i], r.classes)
		}
	}
	return nil
}

// readPickle reads a pickle with an image for each label.
func (r *cifarReader) readPickle(file io.Reader, size int64, images Block, labels []int32) error {
	at, err := anywhere(file, size)
	if err != nil {
		return err
	}
	c, err := pickle.ReadCIFAR(at, size, r.classes)
	if err != nil {
		return err
	}
	if c.Count != len(labels) {
		return fmt.Errorf("the file has %s instead of %d", count.Of(c.Count, "image"), len(labels))
	}
	for i, y := range c.Labels {
		labels[i] = int32(y)
	}
	_, err = io.ReadFull(c.Images, images.Pixels)
	return err
}

// anywhere returns a reader of any part of a file. The file of an archive is first read into memory.
func anywhere(file io.Reader, size int64) (io.ReaderAt, error) {
	if at, can := file.(io.ReaderAt); can {
		return at, nil
	}
	b := make([]byte, size)
	_, err := io.ReadFull(file, b)
	return bytes.NewReader(b), err
}

// readNames reads the names of classes: lines of a text, or a pickle.
func (r *cifarReader) readNames(in io.Reader, size int64) error {
	text, err := readUpTo(in, limit.CIFARNames)
	if err != nil {
		return err
	}
	names := strings.Fields(string(text))
	if r.python {
		if names, err = pickle.ReadCIFARNames(bytes.NewReader(text), size, r.classes); err != nil {
			return err
		}
	}
	if len(names) != r.classes {
		return fmt.Errorf("the file has %s instead of %d", count.Of(len(names), "class name"), r.classes)
	}
	for i, name := range names {
		if shown(name) != name {
			return fmt.Errorf("class %d has the name %.40q, which cannot be printed", i, name)
		}
	}
	r.set.ClassNames = names
	return nil
}

// finish is the set, if all of its images are there.
func (r *cifarReader) finish() (*Set, error) {
	for _, half := range r.halves {
		for _, name := range half.files {
			if !r.done[name] {
				return nil, fmt.Errorf("%s is missing in the archive. %s", name, r.again())
			}
		}
		counts := make([]int, r.classes)
		for _, y := range half.split.Y {
			counts[y]++
		}
		for k, n := range counts {
			if n != half.perClass {
				return nil, fmt.Errorf("%s: class %d has %s instead of %d. %s", span(half.files), k, count.Of(n, "image"),
					half.perClass, r.again())
			}
		}
	}
	return r.set, nil
}

// openArchive reads one of the official archives without unpacking it.
func (f cifarFormat) openArchive(ctx context.Context, name string) (*Set, error) {
	file, _, err := input.Open(name, input.Want{Most: limit.DataFile})
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Check --data-dir", shown(name), cause.Of(err))
	}
	defer file.Close()
	set, err := f.readArchive(bufio.NewReaderSize(until{ctx, file}, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(name), err)
	}
	return set, nil
}

var errArchive = fmt.Errorf("its files have more than %s, which is the limit", count.Of(limit.Archive, "byte"))

// readArchive decodes a gzipped tar. The first entry that has the name of a file of a layout decides on the layout. All
// other entries are skipped, and so are links and entries whose names lead out of the archive: nothing is written, and
// nothing but the archive is read.
func (f cifarFormat) readArchive(in io.Reader) (*Set, error) {
	packed, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("this is not a gzip file (%w). Use --data-dir with %s, or with the folder that it unpacks to",
			err, f.layouts[0].archive)
	}
	var r *cifarReader
	archive := tar.NewReader(&bounded{packed, limit.Archive, errArchive})
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the archive is damaged (%w). Download it again from %s", err, cifarSource)
		}
		base := path.Base(h.Name)
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			continue
		}
		if r == nil {
			r = f.readerOf(base)
		}
		if r == nil || r.done[base] || !slices.Contains(r.files(), base) {
			continue
		}
		if err := r.read(base, archive, h.Size); err != nil {
			return nil, err
		}
	}
	if r == nil {
		l := f.layouts[0]
		return nil, fmt.Errorf("%s is missing in the archive. Use --data-dir with %s or %s", l.train[0], l.archive,
			f.layouts[1].archive)
	}
	return r.finish()
}

// readerOf reads the layout that a file belongs to; nil means none.
func (f cifarFormat) readerOf(name string) *cifarReader {
	for _, l := range f.layouts {
		if r := f.reader(l); slices.Contains(r.files(), name) {
			return r
		}
	}
	return nil
}
