package data

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ocl/internal/budget"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/spelling"
)

var npzInfo = Info{
	Name: "npz", Title: "your own arrays",
	Summary: "Your own labelled images or embeddings, from a NumPy .npz file.",
	Shape:   "1 or 3 channels, any height and width; or embeddings", NeedsDir: true,
	Layout: "--data-dir is the .npz file, or a folder that holds exactly one. Its arrays are:\n" +
		"x_train, x_test: [N,H,W,C], [N,C,H,W] or [N,H,W] (grey); C is 1 or 3\n" +
		"their values are uint8, or float32 or float64 from 0 to 1, which become bytes: 255 times the value, rounded\n" +
		"or embeddings of another network: [N,D], float16, float32 or float64 of any size, which become float16\n" +
		"y_train, y_test: integers of any width, [N] or [N,1], from 0 to K-1 without gaps\n" +
		"class_names, which may be missing: K texts, the names of the classes in the order of their labels",
	Endings: []string{".npz"},
	Source:  `your own; numpy.savez_compressed("mine.npz", x_train=..., y_train=..., x_test=..., y_test=...) makes one`,
	Licence: "yours", Citation: "none",
	Example: "ocl run --data npz --data-dir mine.npz --tasks 5",
	Open:    openNPZ,
}

// npzLimit is how many bytes images and labels from a file of size bytes may take.
func npzLimit(size int64) int64 {
	return min(max(limit.SetFree, limit.SetRatio*min(size, limit.Set)), limit.Set)
}

func openNPZ(ctx context.Context, spec Spec) (*Set, error) {
	name, err := findNPZ(spec.Dir)
	if err != nil {
		return nil, err
	}
	file, size, err := input.Open(name, input.Want{Most: limit.DataFile})
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Check --data-dir", shown(name), cause.Of(err))
	}
	defer file.Close()
	set, err := readNPZ(untilAt{ctx, file}, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(name), err)
	}
	return set, nil
}

// findNPZ returns the file that dir names, or the only .npz file in it.
func findNPZ(dir string) (string, error) {
	info, err := given("file", dir, "Use --data-dir FILE.npz, a file with x_train, y_train, x_test and y_test")
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return dir, nil
	}
	entries, err := input.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w. Use --data-dir FILE.npz", shown(dir), cause.Of(err))
	}
	found := slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !strings.EqualFold(filepath.Ext(e.Name()), ".npz") })
	if len(found) != 1 {
		return "", fmt.Errorf("%s: the folder has %d .npz files instead of one. Use --data-dir FILE.npz", shown(dir), len(found))
	}
	return filepath.Join(dir, found[0].Name()), nil
}

// readNPZ decodes a zip archive of four arrays, and of names where it has them, size bytes long. It allocates no more than npzLimit for the set.
func readNPZ(r io.ReaderAt, size int64) (*Set, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("this is not an .npz file (%w). Write it with numpy.savez or numpy.savez_compressed", err)
	}
	set := &Set{Name: "npz"}
	if err := readNPZSplit(set, &set.Train, archive, "train", size); err != nil {
		return nil, err
	}
	if err := readNPZSplit(set, &set.Test, archive, "test", size); err != nil {
		return nil, err
	}
	if err := checkNPZLabels(set); err != nil {
		return nil, err
	}
	if err := readNPZNames(set, archive, size); err != nil {
		return nil, err
	}
	if err := readNPZOrigin(set, archive, size); err != nil {
		return nil, err
	}
	set.Notes = set.repeats()
	return set, nil
}

// readNPZSplit reads x_<half> and y_<half>; the first half read gives the set its shape.
func readNPZSplit(set *Set, split *Split, archive *zip.Reader, half string, size int64) error {
	x, err := openNPY(archive, "x_"+half, size)
	if err != nil {
		return err
	}
	defer x.Close()
	order, c, h, w, err := x.layout()
	if err != nil {
		return err
	}
	embeddings := order == embedded
	if set.C == 0 {
		set.C, set.H, set.W, set.Embeddings = c, h, w, embeddings
	} else if embeddings != set.Embeddings {
		return fmt.Errorf("%s has shape %v, but one of x_train and x_test has images and the other one embeddings. Make both alike", x.name, x.shape)
	} else if embeddings && c != set.C {
		return fmt.Errorf("%s has embeddings of %d numbers, but x_train of %d. Make both by the same network", x.name, c, set.C)
	} else if c != set.C || h != set.H || w != set.W {
		return fmt.Errorf("%s has images of %d×%d×%d, but x_train of %d×%d×%d. Make both alike",
			x.name, c, h, w, set.C, set.H, set.W)
	}
	n := x.shape[0]
	// Images are a byte each pixel, embeddings two bytes a number, labels four bytes; the other half that was read counts too.
	need := int64(n+set.Train.Len()) * int64(set.ImageLen()+4)
	if limit := npzLimit(size); need > limit {
		return fmt.Errorf("%s: shape %v needs %s of memory, but at most %s are allowed for a file of %s. If the images are right, "+
			"write the file without compression, with numpy.savez",
			x.name, x.shape, count.Of(need, "byte"), count.Number(limit), count.Of(size, "byte"))
	}
	if most := budget.Bytes() / 4 * 3; need > most {
		return fmt.Errorf("%s: shape %v needs %s of memory, and %s are three quarters of what this process may use. Use fewer or smaller images",
			x.name, x.shape, count.Of(need, "byte"), count.Number(most))
	}
	images := newBlock(n, set.ImageLen())
	split.Images = images
	if embeddings {
		err = x.embeddings(images)
	} else {
		err = x.images(images.Pixels, order, c, h*w)
	}
	if err != nil {
		return err
	}
	y, err := openNPY(archive, "y_"+half, size)
	if err != nil {
		return err
	}
	defer y.Close()
	if len(y.shape) == 0 || len(y.shape) > 2 || len(y.shape) == 2 && y.shape[1] != 1 {
		return fmt.Errorf("%s has shape %v. Use [N], one label per image", y.name, y.shape)
	}
	if y.shape[0] != n {
		return fmt.Errorf("%s has %s for %s. Use one label per image", y.name, count.Of(y.shape[0], "label"), count.Of(n, "image"))
	}
	split.Y = make([]int32, n)
	return y.integers(split.Y)
}

// checkNPZLabels sets the number of classes and refuses gaps: a class without images could be in no task.
func checkNPZLabels(set *Set) error {
	n := set.Train.Len()
	top := -1
	for i, y := range set.Train.Y {
		if y < 0 || int(y) >= n {
			return fmt.Errorf("y_train: record %d has label %d, but labels must go from 0 to K-1 without gaps. Renumber them "+
				"with numpy.unique and return_inverse", i, y)
		}
		top = max(top, int(y))
	}
	seen := make([]bool, top+1)
	for _, y := range set.Train.Y {
		seen[y] = true
	}
	for k, ok := range seen {
		if !ok {
			return fmt.Errorf("y_train: class %d has no image, but class %d has, and labels must have no gaps. "+
				"Renumber them with numpy.unique and return_inverse", k, top)
		}
	}
	set.Classes = top + 1
	for i, y := range set.Test.Y {
		if y < 0 || int(y) > top {
			return fmt.Errorf("y_test: record %d has label %d, but the labels in y_train go from 0 to %d. Remove the image, or add "+
				"its class to the training images", i, y, top)
		}
	}
	return nil
}

// npzNames is the array of the names of classes.
const npzNames = "class_names"

// readNPZNames reads class_names, where it is there.
func readNPZNames(set *Set, archive *zip.Reader, size int64) error {
	if !slices.ContainsFunc(archive.File, func(f *zip.File) bool { return f.Name == npzNames+".npy" }) {
		return nil
	}
	a, err := openArray(archive, npzNames, size, true)
	if err != nil {
		return err
	}
	defer a.Close()
	if len(a.shape) != 1 || a.shape[0] != set.Classes {
		return fmt.Errorf("%s has shape %v, but there are %s. Write a name for each, in the order of the labels", npzNames, a.shape, count.Of(set.Classes, "class"))
	}
	if n := int64(set.Classes) * int64(a.width()); n > limit.ClassNames {
		return fmt.Errorf("%s has %s, more than the limit of %s. Use shorter names", npzNames, count.Of(n, "byte"), count.Number(limit.ClassNames))
	}
	if set.ClassNames, err = a.strings(set.Classes); err != nil {
		return err
	}
	seen := map[string]int{}
	for k := range set.ClassNames {
		name := spelling.Of(set.ClassNames[k])
		set.ClassNames[k] = name
		if before, again := seen[name]; again || name == "" {
			if name == "" {
				return fmt.Errorf("%s: class %d has an empty name. Give it one, or leave %s out", npzNames, k, npzNames)
			}
			return fmt.Errorf("%s: classes %d and %d are both called %.60q. Give each its own name", npzNames, before, k, name)
		}
		seen[name] = k
	}
	return nil
}

// npzMetadata is the array in which `ocl embed -o FILE.npz` says what made the others: one text, a JSON object of texts.
const npzMetadata = "__metadata__"

// backboneDigest is what the digest of a pretrained network looks like.
var backboneDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// readNPZOrigin reads which network made the embeddings, and of images of which shape, where the file says so.
func readNPZOrigin(set *Set, archive *zip.Reader, size int64) error {
	if !set.Embeddings {
		return nil
	}
	says, err := readNPZMetadata(archive, size)
	if err != nil {
		return err
	}
	digest := says["backbone_digest"]
	if digest == "" {
		return nil
	}
	if !backboneDigest.MatchString(digest) {
		return fmt.Errorf("%s: backbone_digest is %.40q, and not sha256: with 64 hexadecimal digits. Leave it out, or write the file with `ocl embed -o FILE.npz`", npzMetadata, digest)
	}
	set.By, set.ByDigest = says["backbone"], digest
	if shape := says["image_shape"]; shape != "" {
		var of []int
		if err := json.Unmarshal([]byte(shape), &of); err != nil || len(of) != 3 || of[0] != 1 && of[0] != 3 || slices.Min(of) < 1 || slices.Max(of) > limit.KnownSide {
			return fmt.Errorf("%s: image_shape is %.40q, and not [C,H,W] with C of 1 or 3. Leave it out, or write the file with `ocl embed -o FILE.npz`", npzMetadata, shape)
		}
		set.Of = [3]int(of)
	}
	return nil
}

// readNPZMetadata reads the metadata, nil where there are none.
func readNPZMetadata(archive *zip.Reader, size int64) (says map[string]string, err error) {
	if !slices.ContainsFunc(archive.File, func(f *zip.File) bool { return f.Name == npzMetadata+".npy" }) {
		return nil, nil
	}
	a, err := openArray(archive, npzMetadata, size, true)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if len(a.shape) != 0 || a.width() > limit.ClassNames {
		return nil, fmt.Errorf("%s has shape %v and %s, and not one text of at most %s. Leave it out, or write the file with `ocl embed -o FILE.npz`", a.name, a.shape, count.Of(a.width(), "byte"), count.Number(limit.ClassNames))
	}
	texts, err := a.strings(1)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(texts[0]), &says); err != nil {
		return nil, fmt.Errorf("%s is no JSON object of texts. Leave it out, or write the file with `ocl embed -o FILE.npz`", a.name)
	}
	return says, nil
}

// NPYArray is an array of a NumPy file.
type NPYArray struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // as NumPy writes it, such as <f4
	Shape []int  `json:"shape"`
}

// ListNPZ lists the arrays of a NumPy file of size bytes, of any types, in their order in the file, with the metadata of `ocl embed -o FILE.npz` and `ocl export --to npz`; nil
// is none. Values are not read.
func ListNPZ(r io.ReaderAt, size int64) (arrays []NPYArray, metadata map[string]string, err error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, nil, fmt.Errorf("this is not an .npz file (%w). Write it with numpy.savez or numpy.savez_compressed", err)
	}
	for _, f := range archive.File {
		name, is := strings.CutSuffix(f.Name, ".npy")
		if !is {
			return nil, nil, fmt.Errorf("this is not an .npz file: its entry %.40q is no array. Write it with numpy.savez", f.Name)
		}
		a, _, err := openEntry(archive, name, size)
		if err != nil {
			return nil, nil, err
		}
		_, _, err = a.outline()
		if a.Close(); err != nil {
			return nil, nil, fmt.Errorf("%.40q: %w", name, err)
		}
		arrays = append(arrays, NPYArray{name, a.dtype, a.shape})
	}
	metadata, err = readNPZMetadata(archive, size)
	return arrays, metadata, err
}

// openNPY finds the array of numbers called name and reads its header; size is that of the whole file.
func openNPY(archive *zip.Reader, name string, size int64) (*npy, error) {
	return openArray(archive, name, size, false)
}

// openArray is openNPY, also for an array of texts.
func openArray(archive *zip.Reader, name string, size int64, texts bool) (*npy, error) {
	a, whole, err := openEntry(archive, name, size)
	if err != nil {
		return nil, err
	}
	a.texts = texts
	if err := a.header(whole); err != nil {
		a.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// openEntry finds the array called name, of which nothing is read yet, and its length.
func openEntry(archive *zip.Reader, name string, size int64) (a *npy, length int64, err error) {
	var entry *zip.File
	var names []string
	for _, f := range archive.File {
		names = append(names, fmt.Sprintf("%.40q", strings.TrimSuffix(f.Name, ".npy")))
		if f.Name == name+".npy" {
			entry = f
		}
	}
	if entry == nil {
		return nil, 0, fmt.Errorf("%s is missing among the arrays of the file (%s). Write x_train, y_train, x_test and y_test into it",
			name, count.Some(names))
	}
	packed, whole := entry.CompressedSize64, entry.UncompressedSize64
	// Deflate expands by at most 1,032; an entry that says more lies, and its array is not allocated.
	if packed > uint64(size) || whole > 1032*packed+1032 || whole > limit.Set {
		return nil, 0, fmt.Errorf("%s: an entry of %s in a file of %d cannot hold %s, as it states. The file is damaged; "+
			"write it again", name, count.Of(packed, "byte"), size, count.Of(whole, "byte"))
	}
	r, err := entry.Open()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w. Write the file again with numpy.savez", name, err)
	}
	return &npy{name: name, in: bufio.NewReaderSize(r, 1<<18), close: r.Close}, int64(whole), nil
}

// embedded is the layout of embeddings.
const embedded = "D"

// layout says how the images lie, "HWC" or "CHW", or that they are embeddings, and their extents.
func (a *npy) layout() (order string, c, h, w int, err error) {
	channels := func(n int) bool { return n == 1 || n == 3 }
	switch s := a.shape; {
	case len(s) == 2 && a.kind() != 'f':
		return "", 0, 0, 0, fmt.Errorf("%s has shape %v and dtype %q. Embeddings are floats: use float16, float32 or float64; images have shape [N,H,W,C], [N,C,H,W] or [N,H,W]",
			a.name, s, a.dtype)
	case len(s) == 2 && s[1] > limit.KnownSide:
		return "", 0, 0, 0, fmt.Errorf("%s has embeddings of %s. Use embeddings of at most %s", a.name, count.Of(s[1], "number"), count.Number(limit.KnownSide))
	case len(s) == 2:
		order, c, h, w = embedded, s[1], 1, 1
	case a.dtype[1:] != "u1" && a.dtype[1:] != "f4" && a.dtype[1:] != "f8":
		return "", 0, 0, 0, fmt.Errorf("%s has dtype %q instead of uint8, float32 or float64. Convert values from 0 to 255 with astype(numpy.uint8), and "+
			"values from 0 to 1 with astype(numpy.float32)",
			a.name, a.dtype)
	case len(s) == 3:
		order, c, h, w = "CHW", 1, s[1], s[2]
	case len(s) == 4 && channels(s[3]): // first, as an image 3 rows high is rarer than NHWC
		order, c, h, w = "HWC", s[3], s[1], s[2]
	case len(s) == 4 && channels(s[1]):
		order, c, h, w = "CHW", s[1], s[2], s[3]
	}
	if c == 0 || a.shape[0]*h*w == 0 {
		return "", 0, 0, 0, fmt.Errorf("%s has shape %v. Use [N,H,W,C] or [N,C,H,W] with C of 1 or 3, or [N,H,W], with at least one image of at least one pixel, or [N,D] for embeddings", a.name, a.shape)
	}
	return order, c, h, w, nil
}
