package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

const (
	cifarSource   = "https://www.cs.toronto.edu/~kriz/cifar.html"
	cifarLicence  = "none stated by the authors; not shipped with this program"
	cifarCitation = "Alex Krizhevsky. Learning Multiple Layers of Features from Tiny Images. Technical report, " +
		"University of Toronto, 2009."
)

var cifar10Info = Info{
	Name: "cifar10", Title: "CIFAR-10",
	Summary: "Colour photographs of 10 classes of vehicles and animals.",
	Classes: 10, Shape: "3×32×32", Colour: true, Size: 32, Train: 50000, Test: 10000, NeedsDir: true,
	Layout: "--data-dir is one of:\n" +
		"a folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin (30,730,000 bytes each)\n" +
		"a folder with data_batch_1 to data_batch_5 and test_batch, the Python version of the same files\n" +
		"a folder that contains the folder cifar-10-batches-bin or cifar-10-batches-py, or one of the archives\n" +
		"the archive cifar-10-binary.tar.gz or cifar-10-python.tar.gz, which need not be unpacked",
	Endings:  cifar10.endings(),
	Source:   cifarSource + " (the binary or the Python version, 170 MB)",
	Licence:  cifarLicence,
	Citation: cifarCitation,
	Example:  "ocl run --data cifar10 --data-dir cifar-10-binary.tar.gz --tasks 5 --memory 1000",
	Open:     func(ctx context.Context, spec Spec) (*Set, error) { return cifar10.open(ctx, spec.Dir) },
}

var cifar100Info = Info{
	Name: "cifar100", Title: "CIFAR-100",
	Summary: "Colour photographs of 100 classes of things, animals and plants; the main data set of the survey.",
	Classes: 100, Shape: "3×32×32", Colour: true, Size: 32, Train: 50000, Test: 10000, NeedsDir: true,
	Layout: "--data-dir is one of:\n" +
		"a folder with train.bin (153,700,000 bytes) and test.bin (30,740,000 bytes)\n" +
		"a folder with train and test, the Python version of the same files\n" +
		"a folder that contains the folder cifar-100-binary or cifar-100-python, or one of the archives\n" +
		"the archive cifar-100-binary.tar.gz or cifar-100-python.tar.gz, which need not be unpacked",
	Endings:  cifar100.endings(),
	Source:   cifarSource + " (the binary or the Python version, 169 MB)",
	Licence:  cifarLicence,
	Citation: cifarCitation,
	Example:  "ocl run --data cifar100 --data-dir cifar-100-binary.tar.gz --tasks 20 --memory 5000",
	Open:     func(ctx context.Context, spec Spec) (*Set, error) { return cifar100.open(ctx, spec.Dir) },

	KnownDigests: []string{"sha256:5c84f78bbf0fe3499fba1bb43681507c72a6894aaf77d1913127dfe211deef41"},
}

// cifarFormat is CIFAR-10 or CIFAR-100 in its two layouts. The counts are fields so that tests can use small files.
type cifarFormat struct {
	name                        string
	classes                     int
	coarse                      bool // a record begins with a coarse label, which is not read
	side                        int
	trainPerClass, testPerClass int
	layouts                     []cifarLayout
}

// cifarLayout is the published files of one layout.
type cifarLayout struct {
	folder, archive string
	python          bool     // pickles; otherwise records
	train, test     []string // in the order of their images, equally many in each file
	names           string   // the file of the names of the classes, which may be absent
}

var cifar10 = cifarFormat{
	name: "cifar10", classes: 10, side: 32, trainPerClass: 5000, testPerClass: 1000,
	layouts: []cifarLayout{{
		folder: "cifar-10-batches-bin", archive: "cifar-10-binary.tar.gz",
		train: []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
		test:  []string{"test_batch.bin"}, names: "batches.meta.txt",
	}, {
		folder: "cifar-10-batches-py", archive: "cifar-10-python.tar.gz", python: true,
		train: []string{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
		test:  []string{"test_batch"}, names: "batches.meta",
	}},
}

var cifar100 = cifarFormat{
	name: "cifar100", classes: 100, coarse: true, side: 32, trainPerClass: 500, testPerClass: 100,
	layouts: []cifarLayout{{
		folder: "cifar-100-binary", archive: "cifar-100-binary.tar.gz",
		train: []string{"train.bin"}, test: []string{"test.bin"}, names: "fine_label_names.txt",
	}, {
		folder: "cifar-100-python", archive: "cifar-100-python.tar.gz", python: true,
		train: []string{"train"}, test: []string{"test"}, names: "meta",
	}},
}

// endings are the names of the published folders and archives.
func (f cifarFormat) endings() []string {
	var list []string
	for _, l := range f.layouts {
		list = append(list, l.folder, l.archive)
	}
	return list
}

// open finds the data at dir (see Info.Layout of the two sets) and reads them.
func (f cifarFormat) open(ctx context.Context, dir string) (*Set, error) {
	info, err := given("folder", dir, f.use())
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return f.openArchive(ctx, dir)
	}
	for _, l := range f.layouts {
		for _, folder := range []string{dir, filepath.Join(dir, l.folder)} {
			if slices.ContainsFunc(slices.Concat(l.train, l.test),
				func(name string) bool { return isFile(filepath.Join(folder, name)) }) {
				return f.openFolder(folder, l)
			}
		}
	}
	for _, l := range f.layouts {
		if archive := filepath.Join(dir, l.archive); exists(archive) {
			return f.openArchive(ctx, archive)
		}
	}
	binary := f.layouts[0]
	return nil, fmt.Errorf("%s: %s and %s are not here, and neither is %s or %s. The folder holds %s. "+
		"Check --data-dir; `ocl data info %s` describes the files",
		shown(dir), span(binary.train), binary.test[0], binary.folder, binary.archive, contents(dir), f.name)
}

// use says in a message what --data-dir may be.
func (f cifarFormat) use() string {
	l := f.layouts[0]
	return fmt.Sprintf("Use --data-dir with the folder of %s and %s, or with %s", span(l.train), l.test[0], l.archive)
}

// span shortens a list of numbered files for a message.
func span(files []string) string {
	if len(files) == 1 {
		return files[0]
	}
	return files[0] + " to " + files[len(files)-1]
}

// openFolder reads the files of a layout, and the names of the classes where they are there. The error joins those of
// the files.
func (f cifarFormat) openFolder(dir string, l cifarLayout) (*Set, error) {
	r := f.reader(l)
	var faults []error
	for _, name := range r.files() {
		if err := r.readFile(filepath.Join(dir, name), name); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", shown(dir), err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	set, err := r.finish()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(dir), err)
	}
	return set, nil
}

// readFile reads a file of a folder.
func (r *cifarReader) readFile(path, name string) error {
	file, size, err := input.Open(path, input.Want{Most: limit.DataFile})
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == r.names:
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w. %s", name, cause.Of(err), r.again())
	}
	defer file.Close()
	return r.read(name, file, size)
}

func (l cifarLayout) again() string { return "Download " + l.archive + " again from " + cifarSource }

// given looks for the file or folder that --data-dir names. kind says in a message what was to be given, and use what
// to do.
func given(kind, dir, use string) (os.FileInfo, error) {
	if dir == "" {
		return nil, fmt.Errorf("no %s is given. %s", kind, use)
	}
	info, err := os.Stat(dir)
	if err != nil {
		// where ocl has looked: a config of another folder may have a relative path
		if full, failed := filepath.Abs(dir); failed == nil {
			dir = full
		}
		return nil, fmt.Errorf("%s: %w. %s", shown(dir), cause.Of(err), use)
	}
	return info, nil
}

// givenFolder refuses what is no folder in its place.
func givenFolder(dir, use string) error {
	info, err := given("folder", dir, use)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s: this is %s. %s", shown(dir), input.Kind(info), use)
	}
	return err
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// contents names what a folder holds, for error messages.
func contents(dir string) string {
	entries, err := input.ReadDir(dir)
	switch {
	case err != nil:
		return "a folder that cannot be read"
	case len(entries) == 0:
		return "nothing"
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = shown(e.Name())
	}
	return count.Some(names)
}

// shown is a path or name for a message. It is quoted if it has characters that a terminal would obey.
func shown(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}
