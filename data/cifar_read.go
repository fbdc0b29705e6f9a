package data

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ocl/data/internal/pickle"
	"ocl/internal/cause"
	"ocl/internal/count"
)

// cifarReader reads the files of one layout into a set, in any order.
type cifarReader struct {
	cifarFormat
	cifarLayout
	set   *Set
	done  map[string]bool
	halfs [2]cifarHalf
}

// cifarHalf is the images of one half, which may lie in several files.
type cifarHalf struct {
	files   []string
	perFine int // images of each fine class
	split   *Split
	block   Block
}

func (f cifarFormat) reader(l cifarLayout) *cifarReader {
	set := &Set{Name: f.name, C: 3, H: f.side, W: f.side, Classes: f.fine}
	return &cifarReader{f, l, set, map[string]bool{}, [2]cifarHalf{
		{files: l.train, perFine: f.trainPerFine, split: &set.Train},
		{files: l.test, perFine: f.testPerFine, split: &set.Test},
	}}
}

// files are all files that are read.
func (r *cifarReader) files() []string {
	files := slices.Concat(r.train, r.test, []string{r.names})
	if r.coarseNames != "" {
		files = append(files, r.coarseNames)
	}
	return files
}

// optional says whether the set can be read without the file.
func (r *cifarReader) optional(name string) bool { return name == r.names || name == r.coarseNames }

// read reads a file of the layout, whose size is what the folder or the archive states. Errors begin with its name.
func (r *cifarReader) read(name string, in io.Reader, size int64) (err error) {
	r.done[name] = true
	if r.optional(name) {
		if err := r.readNames(name, in, size); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for h := range r.halfs {
		half := &r.halfs[h]
		k := slices.Index(half.files, name)
		if k < 0 {
			continue
		}
		n := r.fine * half.perFine // images of the half
		each := n / len(half.files)
		if err := r.checkSize(name, size, each); err != nil {
			return err
		}
		if half.split.Images == nil {
			half.block = newBlock(n, r.set.ImageLen())
			half.split.Images, half.split.Y = half.block, make([]int32, n)
			if r.coarse > 0 {
				half.split.Coarse = make([]int32, n)
			}
		}
		if r.python {
			return r.readPickle(name, in, size, half, k*each, each)
		}
		return r.readRecords(name, in, half, k*each, each)
	}
	return nil
}

// labelBytes is the number of label bytes before the pixels of a record.
func (f cifarFormat) labelBytes() int {
	if f.coarse > 0 {
		return 2
	}
	return 1
}

// record is the bytes of a record: a coarse label where there are such, a fine label, and an image of 3×side×side bytes in
// planes red, green, blue.
func (f cifarFormat) record() int { return f.labelBytes() + 3*f.side*f.side }

// checkSize refuses a file that cannot hold n images, before anything is made for it. A pickle has lists of labels and of
// names besides, and takes two bytes for many a pixel where Python 3 wrote it in an early protocol.
func (r *cifarReader) checkSize(name string, size int64, n int) error {
	want := int64(n) * int64(r.record())
	if r.python {
		if most := 3*want + 1<<20; size > most {
			return fmt.Errorf("%s is too long: it has %s, and %s take less than %s. %s", name, count.Of(size, "byte"), count.Of(n, "image"), count.Number(most), r.again())
		}
		return nil
	}
	if size == want {
		return nil
	}
	what := "truncated"
	if size > want {
		what = "too long"
	}
	return fmt.Errorf("%s is %s: it has %s instead of %s. %s", name, what, count.Of(size, "byte"), count.Number(want), r.again())
}

// readRecords reads n records from image first on.
func (r *cifarReader) readRecords(name string, file io.Reader, half *cifarHalf, first, n int) error {
	in := bufio.NewReaderSize(file, 1<<20)
	labels := make([]byte, r.labelBytes())
	for i := range n {
		got, err := io.ReadFull(in, labels)
		if err == nil {
			var more int
			more, err = io.ReadFull(in, half.block.at(first+i))
			got += more
		}
		if err != nil {
			return fmt.Errorf("%s: record %d has %s instead of %d (%w). %s", name, i, count.Of(got, "byte"), r.record(), err, r.again())
		}
		fine, coarse := int(labels[len(labels)-1]), 0
		if r.coarse > 0 {
			coarse = int(labels[0])
		}
		switch {
		case r.coarse == 0 && fine >= r.fine:
			return fmt.Errorf("%s: record %d has label %d, which must be below %d. %s", name, i, fine, r.fine, r.again())
		case r.coarse > 0 && (coarse >= r.coarse || fine >= r.fine):
			return fmt.Errorf("%s: record %d has coarse label %d and fine label %d, which must be below %d and %d. %s",
				name, i, coarse, fine, r.coarse, r.fine, r.again())
		}
		half.label(first+i, fine, coarse)
	}
	return nil
}

// label notes the labels of image i.
func (h *cifarHalf) label(i, fine, coarse int) {
	h.split.Y[i] = int32(fine)
	if h.split.Coarse != nil {
		h.split.Coarse[i] = int32(coarse)
	}
}

// readPickle reads a pickle of n images, from image first on.
func (r *cifarReader) readPickle(name string, file io.Reader, size int64, half *cifarHalf, first, n int) error {
	at, err := anywhere(file, size)
	var c *pickle.CIFAR
	if err == nil {
		c, err = pickle.ReadCIFAR(at, size)
	}
	if err != nil {
		return fmt.Errorf("%s: %w. %s", name, err, r.again())
	}
	if c.Count != n {
		return fmt.Errorf("%s has %s instead of %d. %s", name, count.Of(c.Count, "image"), n, r.again())
	}
	if (c.Coarse != nil) != (r.coarse > 0) {
		return fmt.Errorf("%s has the labels of the other CIFAR. %s", name, r.again())
	}
	if _, err := io.ReadFull(c.Images, half.block.Pixels[first*r.set.ImageLen():][:n*r.set.ImageLen()]); err != nil {
		return fmt.Errorf("%s: %w. %s", name, err, r.again())
	}
	for i, fine := range c.Labels {
		coarse := 0
		if c.Coarse != nil {
			coarse = int(c.Coarse[i])
		}
		half.label(first+i, int(fine), coarse)
	}
	return nil
}

// anywhere can read a file at any place; one in an archive is read into memory.
func anywhere(file io.Reader, size int64) (io.ReaderAt, error) {
	if at, can := file.(io.ReaderAt); can {
		return at, nil
	}
	b := make([]byte, size)
	n, err := io.ReadFull(file, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the reader of pickles says what is missing
	}
	return bytes.NewReader(b[:n]), err
}

// maxNameBytes bounds a file of names; the longest has about 2 kB.
const maxNameBytes = 1 << 16

// readNames reads the names of classes: lines of a text, or a pickle.
func (r *cifarReader) readNames(name string, in io.Reader, size int64) (err error) {
	if size > maxNameBytes {
		return fmt.Errorf("the file has %s, and names take less than %s. %s", count.Of(size, "byte"), count.Number(maxNameBytes), r.again())
	}
	if r.python {
		at, err := anywhere(in, size)
		var n *pickle.CIFARNames
		if err == nil {
			n, err = pickle.ReadCIFARNames(at, size)
		}
		if err != nil {
			return fmt.Errorf("%w. %s", err, r.again())
		}
		if r.set.ClassNames, err = r.checkNames(n.Labels, r.fine); err == nil && r.coarse > 0 {
			r.set.CoarseNames, err = r.checkNames(n.Coarse, r.coarse)
		}
		return err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxNameBytes))
	if err != nil {
		return fmt.Errorf("%w. %s", err, r.again())
	}
	names := strings.Fields(string(text))
	if name == r.coarseNames {
		r.set.CoarseNames, err = r.checkNames(names, r.coarse)
	} else {
		r.set.ClassNames, err = r.checkNames(names, r.fine)
	}
	return err
}

// checkNames refuses names that are too many, too few or not printable.
func (r *cifarReader) checkNames(names []string, want int) ([]string, error) {
	if len(names) != want {
		return nil, fmt.Errorf("the file has %s instead of %d. %s", count.Of(len(names), "class name"), want, r.again())
	}
	for i, name := range names {
		if shown(name) != name {
			return nil, fmt.Errorf("class %d has the name %.40q, which cannot be printed. %s", i, name, r.again())
		}
	}
	return names, nil
}

// finish is the set, if all of its images are there.
func (r *cifarReader) finish() (*Set, error) {
	for _, half := range r.halfs {
		for _, name := range half.files {
			if !r.done[name] {
				return nil, fmt.Errorf("%s is missing in the archive. %s", name, r.again())
			}
		}
		counts := make([]int, r.fine)
		for _, y := range half.split.Y {
			counts[y]++
		}
		for k, n := range counts {
			if n != half.perFine {
				return nil, fmt.Errorf("%s: class %d has %s instead of %d. %s", span(half.files), k, count.Of(n, "image"), half.perFine, r.again())
			}
		}
	}
	return r.set, nil
}

// openArchive reads one of the official archives without unpacking it.
func (f cifarFormat) openArchive(name string) (*Set, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Check --data-dir", shown(name), cause.Of(err))
	}
	defer file.Close()
	set, err := f.readArchive(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(name), err)
	}
	return set, nil
}

// readArchive decodes a gzipped tar. The first entry that has the name of a file of a layout decides on the layout. All
// other entries are skipped, and so are links and entries whose names lead out of the archive: nothing is written, and
// nothing but the archive is read.
func (f cifarFormat) readArchive(in io.Reader) (*Set, error) {
	packed, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("this is not a gzip file (%w). Use --data-dir with %s, or with the folder that it unpacks to", err, f.layouts[0].archive)
	}
	var r *cifarReader
	archive := tar.NewReader(packed)
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
		return nil, fmt.Errorf("%s is missing in the archive. Use --data-dir with %s or %s", l.train[0], l.archive, f.layouts[1].archive)
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
