package data

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var cifar100Info = Info{
	Name: "cifar100", Title: "CIFAR-100",
	Summary: "Colour photographs of 100 classes of things, animals and plants; the main data set of the survey.",
	Classes: 100, Shape: "3×32×32", Size: 32, Train: 50000, Test: 10000, NeedsDir: true,
	Layout: "--data-dir is one of:\n" +
		"a folder with train.bin (153,700,000 bytes) and test.bin (30,740,000 bytes)\n" +
		"a folder that contains the folder cifar-100-binary or the archive cifar-100-binary.tar.gz\n" +
		"the archive cifar-100-binary.tar.gz, which need not be unpacked",
	Source:  "https://www.cs.toronto.edu/~kriz/cifar.html (the binary version, 161 MB)",
	Licence: "none stated by the authors; not shipped with this program",
	Citation: "Alex Krizhevsky. Learning Multiple Layers of Features from Tiny Images. Technical report, " +
		"University of Toronto, 2009.",
	Example: "ocl run --data cifar100 --data-dir cifar-100-binary.tar.gz --tasks 20 --memory 5000",
	open:    openCIFAR100,

	KnownDigests: []string{"sha256:5c84f78bbf0fe3499fba1bb43681507c72a6894aaf77d1913127dfe211deef41"},
}

const (
	cifarFolder  = "cifar-100-binary"
	cifarArchive = "cifar-100-binary.tar.gz"
	cifarNames   = "fine_label_names.txt"
	cifarFetch   = "Download " + cifarArchive + " again from https://www.cs.toronto.edu/~kriz/cifar.html"
)

// cifarFormat is the binary layout: records of a coarse label, a fine label and an image of 3×side×side bytes, planes in
// the order red, green, blue. The counts are fields so that tests can use small files.
type cifarFormat struct {
	coarse, fine           int // label ranges
	side                   int
	trainPerFine, testFine int // records of each fine class
}

var cifar100Format = cifarFormat{coarse: 20, fine: 100, side: 32, trainPerFine: 500, testFine: 100}

func (f cifarFormat) record() int { return 2 + 3*f.side*f.side }

func openCIFAR100(_ context.Context, spec Spec) (*Set, error) { return cifar100Format.open(spec.Dir) }

// open finds the data at dir (see cifar100Info.Layout) and reads them.
func (f cifarFormat) open(dir string) (*Set, error) {
	if dir == "" {
		return nil, fmt.Errorf("no folder is given. Use --data-dir with the folder of train.bin and test.bin, or with %s", cifarArchive)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Use --data-dir with the folder of train.bin and test.bin, or with %s",
			shown(dir), cause(err), cifarArchive)
	}
	if !info.IsDir() {
		return f.openArchive(dir)
	}
	for _, folder := range []string{dir, filepath.Join(dir, cifarFolder)} {
		if exists(filepath.Join(folder, "train.bin")) || exists(filepath.Join(folder, "test.bin")) {
			return f.openFolder(folder)
		}
	}
	if archive := filepath.Join(dir, cifarArchive); exists(archive) {
		return f.openArchive(archive)
	}
	found, hint := contents(dir), ""
	if exists(filepath.Join(dir, "cifar-100-python")) || exists(filepath.Join(dir, "cifar-100-python.tar.gz")) ||
		exists(filepath.Join(dir, "meta")) {
		hint = " (this is the Python version; the binary version is needed)"
	}
	return nil, fmt.Errorf("%s: train.bin and test.bin are not here, and neither is %s or %s. The folder holds %s%s. "+
		"Check --data-dir; `ocl data info cifar100` describes the files", shown(dir), cifarFolder, cifarArchive, found, hint)
}

// openFolder reads train.bin, test.bin and, where it is there, fine_label_names.txt. The error joins those of the two
// files of records.
func (f cifarFormat) openFolder(dir string) (*Set, error) {
	set := f.newSet()
	var faults []error
	for _, part := range f.parts(set) {
		faults = append(faults, f.readFile(part, filepath.Join(dir, part.name)))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if file, err := os.Open(filepath.Join(dir, cifarNames)); err == nil {
		defer file.Close()
		if set.ClassNames, err = f.readNames(file); err != nil {
			return nil, fmt.Errorf("%s: %w", shown(filepath.Join(dir, cifarNames)), err)
		}
	}
	return set, nil
}

// readFile reads the file of a part.
func (f cifarFormat) readFile(part cifarPart, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w. %s", shown(name), cause(err), cifarFetch)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w. %s", shown(name), cause(err), cifarFetch)
	}
	return f.read(part, shown(name), file, info.Size())
}

// openArchive reads the official tar.gz without unpacking it.
func (f cifarFormat) openArchive(name string) (*Set, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Check --data-dir", shown(name), cause(err))
	}
	defer file.Close()
	set, err := f.readArchive(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(name), err)
	}
	return set, nil
}

// readArchive decodes a gzipped tar. It skips all entries but the three files.
func (f cifarFormat) readArchive(r io.Reader) (*Set, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("this is not a gzip file (%w). Use --data-dir with %s, or with the folder that it unpacks to", err, cifarArchive)
	}
	set := f.newSet()
	parts := f.parts(set)
	done := map[string]bool{}
	archive := tar.NewReader(packed)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the archive is damaged (%w). %s", err, cifarFetch)
		}
		base := path.Base(h.Name)
		if h.Typeflag != tar.TypeReg || done[base] {
			continue
		}
		if base == cifarNames {
			if set.ClassNames, err = f.readNames(archive); err != nil {
				return nil, fmt.Errorf("%s: %w", base, err)
			}
			done[base] = true
		}
		for _, part := range parts {
			if part.name == base {
				if err := f.read(part, base, archive, h.Size); err != nil {
					return nil, err
				}
				done[base] = true
			}
		}
	}
	for _, part := range parts {
		if !done[part.name] {
			return nil, fmt.Errorf("%s is missing in the archive. %s", part.name, cifarFetch)
		}
	}
	return set, nil
}

// cifarPart is one of the two files of records.
type cifarPart struct {
	name    string
	bytes   int64
	perFine int
	split   *Split
}

func (f cifarFormat) newSet() *Set {
	return &Set{Name: "cifar100", C: 3, H: f.side, W: f.side, Classes: f.fine}
}

func (f cifarFormat) parts(set *Set) []cifarPart {
	record := int64(f.record())
	return []cifarPart{
		{"train.bin", int64(f.fine*f.trainPerFine) * record, f.trainPerFine, &set.Train},
		{"test.bin", int64(f.fine*f.testFine) * record, f.testFine, &set.Test},
	}
}

// read decodes the records of a part from r; size is the number of bytes that the file or archive states.
func (f cifarFormat) read(part cifarPart, name string, r io.Reader, size int64) error {
	if size != part.bytes {
		what := "truncated"
		if size > part.bytes {
			what = "too long"
		}
		return fmt.Errorf("%s is %s: it has %s bytes instead of %s. %s",
			name, what, thousands(size), thousands(part.bytes), cifarFetch)
	}
	n := f.fine * part.perFine
	image := f.record() - 2
	images := newBlock(n, image)
	part.split.Images = images
	part.split.Y = make([]int32, n)
	counts := make([]int, f.fine)
	in := bufio.NewReaderSize(r, 1<<20)
	var labels [2]byte
	for i := range n {
		got, err := io.ReadFull(in, labels[:])
		if err == nil {
			var more int
			more, err = io.ReadFull(in, images.at(i))
			got += more
		}
		if err != nil {
			return fmt.Errorf("%s: record %d has %d bytes instead of %d (%w). %s", name, i, got, f.record(), err, cifarFetch)
		}
		coarse, fine := int(labels[0]), int(labels[1])
		if coarse >= f.coarse || fine >= f.fine {
			return fmt.Errorf("%s: record %d has coarse label %d and fine label %d, which must be below %d and %d. %s",
				name, i, coarse, fine, f.coarse, f.fine, cifarFetch)
		}
		part.split.Y[i] = int32(fine)
		counts[fine]++
	}
	for k, c := range counts {
		if c != part.perFine {
			return fmt.Errorf("%s has %d records of class %d instead of %d. %s", name, c, k, part.perFine, cifarFetch)
		}
	}
	return nil
}

// readNames reads one class name a line; the order is that of the fine labels.
func (f cifarFormat) readNames(r io.Reader) ([]string, error) {
	text, err := io.ReadAll(io.LimitReader(r, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("%w. %s", err, cifarFetch)
	}
	names := strings.Fields(string(text))
	if len(names) != f.fine {
		return nil, fmt.Errorf("the file has %d class names instead of %d. %s", len(names), f.fine, cifarFetch)
	}
	for i, name := range names {
		if shown(name) != name {
			return nil, fmt.Errorf("class %d has the name %.40q, which cannot be printed. %s", i, name, cifarFetch)
		}
	}
	return names, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// cause strips the operation and path of a file error: the message around it names the file already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// contents names what a folder holds, for error messages.
func contents(dir string) string {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return "a folder that cannot be read"
	case len(entries) == 0:
		return "nothing"
	}
	var names []string
	for i, e := range entries {
		if i == 4 {
			names = append(names, "…")
			break
		}
		names = append(names, shown(e.Name()))
	}
	return strings.Join(names, ", ")
}

// shown is a path or name for a message. It is quoted if it has characters that a terminal would obey.
func shown(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}

// thousands prints n with separators, for people: 153,700,000.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
