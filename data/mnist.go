package data

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
)

const (
	idxMinSize, idxMaxSize = idxSide, 64
	idxShape               = "1×28×28 (up to 64 with data.size)"
	idxLayout              = "--data-dir is a folder with the four files, or with a folder %s or %s/raw that has them:\n" +
		"train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz\n" +
		"They may be unpacked, and may have a dot in place of the hyphen before idx.\n" + idxForms
	idxForms = "A larger data.size pads the images with zeros; data.channels 3 makes three equal channels."
)

var mnistInfo = Info{
	Name: "mnist", Title: "MNIST, handwritten digits",
	Summary: "Grey images of the ten digits in the handwriting of many people; the quickest set of real images.",
	Classes: 10, Shape: idxShape, Size: idxSide, Pads: true, Train: 60000, Test: 10000, NeedsDir: true,
	Endings: []string{"mnist"},
	Layout:  fmt.Sprintf(idxLayout, "mnist", "mnist"),
	Source:  "http://yann.lecun.com/exdb/mnist, which refuses downloads; the same files are at https://ossci-datasets.s3.amazonaws.com/mnist (12 MB)",
	Licence: "none stated with the files; not shipped with this program",
	Citation: "Yann LeCun, Léon Bottou, Yoshua Bengio, Patrick Haffner. Gradient-Based Learning Applied to Document " +
		"Recognition. Proceedings of the IEEE, 1998.",
	Example: "ocl run --data mnist --data-dir mnist --network mlp",
	MinSize: idxMinSize, MaxSize: idxMaxSize, Tasks: 5,
	KnownDigests: []string{"sha256:2b0e15a43c595fc4f53a27c471776c465aa7ce6a03b75d696f8ad35f5caca830"},
	Open: func(ctx context.Context, spec Spec) (*Set, error) {
		return openIDX(ctx, spec, "mnist", "MNIST", strings.Split("0123456789", ""))
	},
}

var fashionMNISTInfo = Info{
	Name: "fashion-mnist", Title: "Fashion-MNIST, pieces of clothing",
	Summary: "Grey images of ten kinds of clothes, shoes and bags, in the form of MNIST but harder.",
	Classes: 10, Shape: idxShape, Size: idxSide, Pads: true, Train: 60000, Test: 10000, NeedsDir: true,
	Endings: []string{"fashion-mnist", "fashionmnist"},
	Layout:  fmt.Sprintf(idxLayout, "fashion-mnist", "fashion-mnist"),
	Source:  "https://github.com/zalandoresearch/fashion-mnist (31 MB)",
	Licence: "MIT; not shipped with this program",
	Citation: "Han Xiao, Kashif Rasul, Roland Vollgraf. Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine " +
		"Learning Algorithms. arXiv:1708.07747, 2017.",
	Example: "ocl run --data fashion-mnist --data-dir fashion-mnist --network mlp",
	MinSize: idxMinSize, MaxSize: idxMaxSize, Tasks: 5,
	Open: func(ctx context.Context, spec Spec) (*Set, error) {
		return openIDX(ctx, spec, "fashion-mnist", "FashionMNIST",
			[]string{"T-shirt or top", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
				"ankle boot"})
	},
}

// openIDX reads MNIST or Fashion-MNIST. The folder of its own name comes first, as both have files of the same names.
func openIDX(ctx context.Context, spec Spec, name, torch string, classes []string) (*Set, error) {
	f := idxFormat{ctx: ctx, set: name, train: "train", test: "t10k", names: classes}
	return f.open(spec.Dir, spec.Size, []string{name, name + "/raw", torch + "/raw", ".", "raw"}, nil)
}

// open reads the files in the first of the folders below dir that has any of them, or else in the first of the
// archives. dir may be an archive too, where the format has some.
func (f idxFormat) open(dir string, side int, folders, archives []string) (*Set, error) {
	images := f.prefix + "train-images-idx3-ubyte.gz"
	use := fmt.Sprintf("Use --data-dir with the folder of %s; `ocl data info %s` describes the files", images, f.set)
	info, err := given("folder", dir, use)
	var set *Set
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		set, err = f.openFirst(input.Files{Folder: dir, Most: limit.DataFile}, folders, math.MaxInt64)
	case archives == nil:
		return nil, fmt.Errorf("%s: this is %s. %s", shown(dir), input.Kind(info), use)
	default:
		set, err = f.openZip(dir)
	}
	for _, name := range archives {
		if archive := filepath.Join(dir, filepath.FromSlash(name)); errors.Is(err, errNotHere) && exists(archive) {
			set, err = f.openZip(archive)
		}
	}
	switch {
	case errors.Is(err, errNotHere):
		return nil, fmt.Errorf("%s: %s is not here. The folder holds %s. %s", shown(dir), images, contents(dir), use)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", shown(dir), err)
	}
	set.Name = f.set
	set.pad(side)
	return set, nil
}

// pad makes grey images of the side asked for; 0 leaves them.
func (s *Set) pad(side int) {
	if side == 0 || side == s.H {
		return
	}
	s.Train.Images, s.Test.Images = padded(s.Train.Images.(Block), s.H, side), padded(s.Test.Images.(Block), s.H, side)
	s.H, s.W = side, side
}

// errNotHere says that none of the four files is in any of the folders.
var errNotHere = errors.New("none of the files is here")

// openFirst reads the files in the first of the folders of a file system that has any of them. They have at most most
// bytes.
func (f idxFormat) openFirst(fsys fs.FS, folders []string, most int64) (*Set, error) {
	for _, folder := range folders {
		files, missing := f.find(fsys, folder)
		switch len(missing) {
		case 0:
			return f.read(fsys, files, most)
		case 4:
		default:
			in := ""
			if folder != "." {
				in = " in the folder " + folder
			}
			return nil, fmt.Errorf("%s is missing%s. %s", strings.Join(missing, ", "), in, f.again())
		}
	}
	return nil, errNotHere
}

var emnistInfo = Info{
	Name: "emnist", Title: "EMNIST, handwritten digits and letters",
	Summary: "Grey images of handwritten digits and letters. Of its six splits, balanced is read by default: 47 classes, " +
		"112,800 + 18,800 images, where small letters that look like capitals share a class with them.",
	Shape: idxShape, Size: idxSide, Pads: true, NeedsDir: true,
	Endings: []string{"emnist", "EMNIST", "gzip.zip"},
	Layout: "--data-dir is one of:\n" +
		"the archive gzip.zip, which need not be unpacked\n" +
		"a folder with gzip.zip, with emnist/gzip.zip, or with the files of gzip.zip in it or in emnist, gzip or raw\n" +
		"For another split, add emnist-byclass, emnist-bymerge, emnist-letters, emnist-digits or emnist-mnist, such as\n" +
		"--data-dir gzip.zip/emnist-letters\n" + idxForms,
	Source:  "https://www.nist.gov/itl/products-and-services/emnist-dataset (gzip.zip, 562 MB)",
	Licence: "none stated with the files; not shipped with this program",
	Citation: "Gregory Cohen, Saeed Afshar, Jonathan Tapson, André van Schaik. EMNIST: an extension of MNIST to " +
		"handwritten letters. arXiv:1702.05373, 2017.",
	Example: "ocl run --data emnist --data-dir gzip.zip --network mlp",
	MinSize: idxMinSize, MaxSize: idxMaxSize,
	Open: openEMNIST,
}

const (
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	merged   = "0123456789" + capitals + "abdefghnqrt" // the other small letters look like their capitals
)

// emnistSplits are the splits with the characters of their classes. The labels of letters begin with 1.
var emnistSplits = map[string]string{
	"balanced": merged, "bymerge": merged, "byclass": "0123456789" + capitals + "abcdefghijklmnopqrstuvwxyz",
	"letters": capitals, "digits": "0123456789", "mnist": "0123456789",
}

// openEMNIST reads one of the splits, from files or from the archive.
func openEMNIST(ctx context.Context, spec Spec) (*Set, error) {
	dir, split, err := emnistSplit(spec.Dir)
	if err != nil {
		return nil, err
	}
	f := idxFormat{ctx: ctx, set: "emnist", prefix: "emnist-" + split + "-", train: "train", test: "test",
		names: strings.Split(emnistSplits[split], ""), transposed: true}
	if split == "letters" {
		f.first = 1
	}
	set, err := f.open(dir, spec.Size, []string{"emnist", "emnist/gzip", "emnist/raw", "EMNIST/raw", ".", "gzip", "raw"},
		[]string{"emnist/gzip.zip", "gzip.zip", "EMNIST/raw/gzip.zip"})
	if err == nil {
		set.Notes = append(set.Notes, "the split "+split+" of EMNIST")
	}
	return set, err
}

// emnistSplit cuts the name of a split off the place of the files. A folder of that name is kept.
func emnistSplit(place string) (dir, split string, err error) {
	if place == "" {
		return "", "balanced", nil
	}
	split, named := strings.CutPrefix(strings.ToLower(filepath.Base(place)), "emnist-")
	if !named {
		return place, "balanced", nil
	}
	if _, known := emnistSplits[split]; !known {
		if exists(place) {
			return place, "balanced", nil
		}
		return "", "", fmt.Errorf("%s: there is no split %.40q. Use one of balanced, byclass, bymerge, digits, letters, mnist",
			shown(place), split)
	}
	if exists(place) {
		return place, split, nil
	}
	return filepath.Dir(place), split, nil
}

// openZip reads the files in an archive without unpacking it. Only those that are packed by gzip are looked for; an
// entry is no longer than the archive.
func (f idxFormat) openZip(name string) (*Set, error) {
	file, size, err := input.Open(name, input.Want{Most: limit.DataFile})
	if err != nil {
		return nil, cause.Of(err)
	}
	defer file.Close()
	archive, err := zip.NewReader(untilAt{f.ctx, file}, size)
	if err != nil {
		return nil, fmt.Errorf("%s: this is no zip archive that can be read (%w). %s", shown(filepath.Base(name)),
			cause.Of(err), f.again())
	}
	archive.File = slices.DeleteFunc(archive.File, func(e *zip.File) bool { return !strings.HasSuffix(e.Name, ".gz") })
	return f.openFirst(archive, []string{"gzip", "."}, size)
}
