package data

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ocl"
	"ocl/data/npz"
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
		"or train_images, train_labels, test_images and test_labels, as MedMNIST has them\n" +
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
	set, err := readNPZ(ctx, untilAt{ctx, file}, size)
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
	found := slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !strings.EqualFold(filepath.Ext(e.Name()),
			".npz")
	})
	if len(found) == 0 {
		return "", fmt.Errorf("%s: the folder has no .npz file. Use --data-dir FILE.npz", shown(dir))
	}
	if len(found) > 1 {
		var names []string
		for _, e := range found[:min(10, len(found))] {
			names = append(names, filepath.Join(dir, e.Name()))
		}
		return "", fmt.Errorf("%s: the folder has %d .npz files instead of one. %s", shown(dir), len(found),
			useArrays(names...))
	}
	return filepath.Join(dir, found[0].Name()), nil
}

// readNPZ decodes a file of four arrays, and of names where it has them, size bytes long. It allocates no more than
// npzLimit for the set.
func readNPZ(ctx context.Context, r io.ReaderAt, size int64) (*Set, error) {
	set := &Set{Name: "npz", Reading: "x_train, y_train, x_test and y_test are the two halves"}
	train, test := [2]string{"x_train", "y_train"}, [2]string{"x_test", "y_test"}
	file, err := npz.Open(r, size)
	if err != nil {
		return nil, err
	}
	if file.Has("train_images") && !file.Has("x_train") {
		train, test = [2]string{"train_images", "train_labels"}, [2]string{"test_images", "test_labels"}
		set.Reading = "train_images and test_images are the two halves, with their labels, as in MedMNIST"
		if file.Has("val_images") {
			set.Notes = append(set.Notes, "val_images and val_labels are not used, as there are test_images")
		}
	}
	if err := file.Needs(train[0], train[1], test[0], test[1]); err != nil {
		return nil, err
	}
	if err := readNPZSplit(set, &set.Train, file, train, size); err != nil {
		return nil, err
	}
	if err := readNPZSplit(set, &set.Test, file, test, size); err != nil {
		return nil, err
	}
	if err := checkNPZLabels(set, train[1], test[1]); err != nil {
		return nil, err
	}
	if err := readNPZNames(set, file); err != nil {
		return nil, err
	}
	if err := readNPZOrigin(set, file); err != nil {
		return nil, err
	}
	sums, err := set.Sums(ctx)
	if err != nil {
		return nil, err
	}
	set.Sketches = set.sketches(sums)
	set.Notes = append(set.Notes, set.repeats(sums, func(at int, inTest bool) string {
		return fmt.Sprintf("record %d of %s", at, map[bool]string{false: train[0], true: test[0]}[inTest])
	})...)
	return set, nil
}

// readNPZSplit reads the arrays of images and labels of a half; the first half read gives the set its shape.
func readNPZSplit(set *Set, split *Split, file *npz.File, arrays [2]string, size int64) error {
	x, err := file.Numbers(arrays[0])
	if err != nil {
		return err
	}
	defer x.Close()
	order, c, h, w, err := npzLayout(x.Array)
	if err != nil {
		return err
	}
	embeddings := order == embedded
	if set.C == 0 {
		set.C, set.H, set.W, set.Embeddings = c, h, w, embeddings
	} else if embeddings != set.Embeddings {
		return fmt.Errorf("%s has shape %v, but one half has images and the other one embeddings. Make both alike",
			x.Name, x.Shape)
	} else if embeddings && c != set.C {
		return fmt.Errorf("%s has embeddings of %d numbers, but those for training %d. Make both by the same network",
			x.Name, c, set.C)
	} else if c != set.C || h != set.H || w != set.W {
		return fmt.Errorf("%s has images of %d×%d×%d, but those for training have %d×%d×%d. Make both alike",
			x.Name, c, h, w, set.C, set.H, set.W)
	}
	n := x.Shape[0]
	// Images are a byte each pixel, embeddings two bytes a number, labels four bytes; the other half that was read counts
	// too.
	need := int64(n+set.Train.Len()) * int64(set.ImageLen()+4)
	if limit := npzLimit(size); need > limit {
		return fmt.Errorf("%s: shape %v needs %s of memory, but at most %s are allowed for a file of %s. If the images are right, "+
			"write the file without compression, with numpy.savez",
			x.Name, x.Shape, count.Of(need, "byte"), count.Number(limit), count.Of(size, "byte"))
	}
	if most := budget.Bytes() / 4 * 3; need > most {
		return fmt.Errorf("%s: shape %v needs %s of memory, and %s are three quarters of what this process may use. Use fewer or smaller images",
			x.Name, x.Shape, count.Of(need, "byte"), count.Number(most))
	}
	images := newBlock(n, set.ImageLen())
	split.Images = images
	if embeddings {
		err = readEmbeddings(x, images)
	} else {
		err = readImages(x, images.Pixels, order, c, h*w)
	}
	if err != nil {
		return err
	}
	y, err := file.Numbers(arrays[1])
	if err != nil {
		return err
	}
	defer y.Close()
	if len(y.Shape) == 2 && y.Shape[1] > 1 {
		return fmt.Errorf("%s has shape %v: several labels for each image, and ocl learns one. Use [N]", y.Name, y.Shape)
	}
	if len(y.Shape) == 0 || len(y.Shape) > 2 || len(y.Shape) == 2 && y.Shape[1] != 1 {
		return fmt.Errorf("%s has shape %v. Use [N], one label per image", y.Name, y.Shape)
	}
	if y.Shape[0] != n {
		return fmt.Errorf("%s has %s for %s. Use one label per image", y.Name, count.Of(y.Shape[0], "label"),
			count.Of(n, "image"))
	}
	split.Y = make([]int32, n)
	return readLabels(y, split.Y)
}

// checkNPZLabels sets the number of classes and refuses gaps: a class without images could be in no task.
func checkNPZLabels(set *Set, train, test string) error {
	n := set.Train.Len()
	top := -1
	for i, y := range set.Train.Y {
		if y < 0 || int(y) >= n {
			return fmt.Errorf("%s: record %d has label %d, but labels must go from 0 to K-1 without gaps. Renumber them "+
				"with numpy.unique and return_inverse", train, i, y)
		}
		top = max(top, int(y))
	}
	seen := make([]bool, top+1)
	for _, y := range set.Train.Y {
		seen[y] = true
	}
	for k, ok := range seen {
		if !ok {
			return fmt.Errorf("%s: class %d has no image, but class %d has, and labels must have no gaps. "+
				"Renumber them with numpy.unique and return_inverse", train, k, top)
		}
	}
	set.Classes = top + 1
	for i, y := range set.Test.Y {
		if y < 0 || int(y) > top {
			return fmt.Errorf("%s: record %d has label %d, but the labels in %s go from 0 to %d. Remove the image, or add "+
				"its class to the training images", test, i, y, train, top)
		}
	}
	return nil
}

// npzNames is the array of the names of classes.
const npzNames = "class_names"

// readNPZNames reads class_names, where it is there.
func readNPZNames(set *Set, file *npz.File) error {
	names, err := file.Texts(npzNames)
	if names == nil {
		return err
	}
	defer names.Close()
	if len(names.Shape) != 1 || names.Shape[0] != set.Classes {
		return fmt.Errorf("%s has shape %v, but there are %s. Write a name for each, in the order of the labels", npzNames,
			names.Shape, count.Of(set.Classes, "class"))
	}
	if set.ClassNames, err = names.Texts(); err != nil {
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

// backboneDigest is what the digest of a pretrained network looks like.
var backboneDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// readNPZOrigin reads which network made the embeddings, and of images of which shape, where the file says so.
func readNPZOrigin(set *Set, file *npz.File) error {
	if !set.Embeddings {
		return nil
	}
	says, err := file.Metadata()
	if err != nil {
		return err
	}
	digest := says["backbone_digest"]
	if digest == "" {
		return nil
	}
	if !backboneDigest.MatchString(digest) {
		return fmt.Errorf("%s: backbone_digest is %.40q, and not sha256: with 64 hexadecimal digits. Leave it out, or write the file with `ocl embed -o FILE.npz`",
			npz.Metadata, digest)
	}
	set.By, set.ByDigest = says["backbone"], digest
	if shape := says["image_shape"]; shape != "" {
		var of []int
		if err := json.Unmarshal([]byte(shape), &of); err != nil || len(of) != 3 || of[0] != 1 && of[0] != 3 ||
			slices.Min(of) < 1 || slices.Max(of) > limit.KnownSide {
			return fmt.Errorf("%s: image_shape is %.40q, and not [C,H,W] with C of 1 or 3. Leave it out, or write the file with `ocl embed -o FILE.npz`",
				npz.Metadata, shape)
		}
		set.Of = [3]int(of)
	}
	return nil
}

// embedded is the layout of embeddings.
const embedded = "D"

// npzLayout says how the images lie, "HWC" or "CHW", or that they are embeddings, and their extents.
func npzLayout(a npz.Array) (order string, c, h, w int, err error) {
	channels := func(n int) bool { return n == 1 || n == 3 }
	switch s := a.Shape; {
	case len(s) == 2 && a.Type[1] != 'f':
		return "", 0, 0, 0,
			fmt.Errorf("%s has shape %v and dtype %q. Embeddings are floats: use float16, float32 or float64; images have shape [N,H,W,C], [N,C,H,W] or [N,H,W]",
				a.Name, s, a.Type)
	case len(s) == 2 && s[1] > limit.KnownSide:
		return "", 0, 0, 0, fmt.Errorf("%s has embeddings of %s. Use embeddings of at most %s", a.Name,
			count.Of(s[1], "number"), count.Number(limit.KnownSide))
	case len(s) == 2:
		order, c, h, w = embedded, s[1], 1, 1
	case a.Type[1:] != "u1" && a.Type[1:] != "f4" && a.Type[1:] != "f8":
		return "", 0, 0, 0,
			fmt.Errorf("%s has dtype %q instead of uint8, float32 or float64. Convert values from 0 to 255 with astype(numpy.uint8), and "+
				"values from 0 to 1 with astype(numpy.float32)",
				a.Name, a.Type)
	case len(s) == 3:
		order, c, h, w = "CHW", 1, s[1], s[2]
	case len(s) == 4 && channels(s[3]): // first, as an image 3 rows high is rarer than NHWC
		order, c, h, w = "HWC", s[3], s[1], s[2]
	case len(s) == 4 && channels(s[1]):
		order, c, h, w = "CHW", s[1], s[2], s[3]
	}
	if c == 0 || a.Shape[0]*h*w == 0 {
		return "", 0, 0, 0, fmt.Errorf("%s has shape %v. Use [N,H,W,C] or [N,C,H,W] with C of 1 or 3, or [N,H,W], with at least one image of at least one pixel, or [N,D] for embeddings",
			a.Name, a.Shape)
	}
	return order, c, h, w, nil
}

// readImage reads the next image. Floats from 0 to 1 become the nearest of 256 levels.
func readImage(a *npz.Values, dst []uint8) error {
	if a.Type[1] == 'u' {
		return a.Bytes(dst)
	}
	return a.Floats(len(dst), func(p int, v float64) error {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("the value %v, but floats must lie between 0 and 1. Divide values from 0 to 255 by 255, or convert them with "+
				"astype(numpy.uint8)", v)
		}
		dst[p] = uint8(float64(v*255) + 0.5) // not fused: the same on all machines
		return nil
	})
}

// readImages reads all images into dst [N,C,H,W], turning HWC into CHW one image at a time.
func readImages(a *npz.Values, dst []uint8, order string, c, plane int) error {
	buf := make([]uint8, c*plane)
	for i := range len(dst) / len(buf) {
		if err := readImage(a, buf); err != nil {
			return fmt.Errorf("%s: record %d: %w", a.Name, i, err)
		}
		image := dst[i*c*plane : (i+1)*c*plane]
		if order == "CHW" {
			copy(image, buf)
			continue
		}
		for p := range plane {
			for k := range c {
				image[k*plane+p] = buf[p*c+k]
			}
		}
	}
	return a.End()
}

// readEmbeddings reads all embeddings, whose numbers become the nearest ones of float16.
func readEmbeddings(a *npz.Values, dst Block) error {
	row := make([]float32, dst.Size/2)
	for i := range dst.Len() {
		err := a.Floats(len(row), func(k int, v float64) error {
			if row[k] = float32(v); !(math.Abs(v) <= float16Most) {
				return fmt.Errorf("number %d is %v, but embeddings are finite and within ±%d. Scale them, or leave the sample out",
					k, v, float16Most)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", a.Name, i, err)
		}
		ocl.Float16{}.Put(dst.at(i), row)
	}
	return a.End()
}

// float16Most is the largest number of float16.
const float16Most = 65504

// readLabels reads all labels.
func readLabels(a *npz.Values, dst []int32) error {
	if kind := a.Type[1]; kind != 'i' && kind != 'u' {
		return fmt.Errorf("%s has dtype %q, but labels are integers. Convert them with astype(numpy.int64)", a.Name, a.Type)
	}
	record := 0
	err := a.Integers(len(dst), func(i int, y int64) error {
		if y < 0 || y > math.MaxInt32 {
			return fmt.Errorf("the label %d, but labels must go from 0 to K-1 without gaps. Renumber them with numpy.unique and return_inverse", y)
		}
		dst[i], record = int32(y), i+1
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: record %d: %w", a.Name, record, err)
	}
	return a.End()
}
