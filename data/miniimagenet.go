package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"ocl/data/internal/picture"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
)

var miniImageNetInfo = Info{
	Name: miniFolder, Title: "Mini-ImageNet",
	Summary: "Photographs of 100 classes of ImageNet, 600 of each, at 84×84 pixels. The data seed draws 100 of each class for testing.",
	Classes: 100, Shape: "3×84×84", Colour: true, Size: miniSide, Train: 50000, Test: 10000, NeedsDir: true,
	Layout: "--data-dir is a folder, or a folder that contains it as mini-imagenet, with one of:\n" +
		"train.csv, val.csv and test.csv (lines filename,label) and the folder images that holds their files\n" +
		"mini-imagenet-cache-train.pkl, mini-imagenet-cache-val.pkl and mini-imagenet-cache-test.pkl\n" +
		"100 folders of images, each with the WordNet id of its class as its name, such as n01532829\n" +
		"Beside them class_names.tsv may give names to the ids. Images of another size are stretched to 84×84.",
	Endings: []string{miniFolder},
	Source: "no official address, as the images belong to ImageNet; the lists are those of Ravi and Larochelle, " +
		"https://github.com/twitter-research/meta-learning-lstm",
	Licence: "that of ImageNet: research and education without profit; not shipped with this program",
	Citation: "Oriol Vinyals, Charles Blundell, Timothy Lillicrap, Koray Kavukcuoglu, Daan Wierstra. Matching Networks for One " +
		"Shot Learning. NeurIPS 2016. Lists: Sachin Ravi, Hugo Larochelle. Optimization as a Model for Few-Shot Learning. ICLR 2017.",
	Example: "ocl run --data mini-imagenet --data-dir mini-imagenet --tasks 20 --memory 5000",
	fit:     miniFit,
	list:    func(ctx context.Context, spec Spec) (*listing, error) { return miniImageNet.list(ctx, spec) },
}

const (
	miniSide   = 84
	miniFit    = picture.Stretch
	miniFolder = "mini-imagenet" // also the name of the data set
	miniImages = "images"
	miniNames  = "class_names.tsv"
	miniFetch  = "`ocl data info mini-imagenet` describes the files"
)

// miniFormat is the three lists of Mini-ImageNet with the classes of each, and the images of a class. The counts are
// fields so that tests can use few images.
type miniFormat struct {
	lists    []miniList
	perClass int // images
	test     int // images of them that are for testing
}

// miniList is one of the lists that cut the data set for few-shot learning. Here all of them are one data set.
type miniList struct {
	name    string // train, val or test
	classes int
}

var miniImageNet = miniFormat{lists: []miniList{{"train", 64}, {"val", 16}, {"test", 20}}, perClass: 600, test: 100}

func (f miniFormat) classes() (n int) {
	for _, l := range f.lists {
		n += l.classes
	}
	return n
}

// classed are the images of a folder, each with its class.
type classed struct {
	files  []string // [N] below the folder; nil where they are in pickles
	labels []int32  // [N] indices of ids
	ids    []string // WordNet ids of the classes, in the order of their labels
}

// list finds the images at spec.Dir (see miniImageNetInfo.Layout).
func (f miniFormat) list(ctx context.Context, spec Spec) (*listing, error) {
	dir := spec.Dir
	if err := givenFolder(dir, "Use --data-dir with the folder of Mini-ImageNet; "+miniFetch); err != nil {
		return nil, err
	}
	for _, root := range []string{dir, filepath.Join(dir, miniFolder)} {
		l, err := f.listFolder(ctx, root, spec.Seed)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, errNoLayout) {
			return nil, fmt.Errorf("%s: %w", shown(root), err)
		}
	}
	return nil, fmt.Errorf("%s: neither %s.csv, %s nor folders of classes such as n01532829 are here or in %s. The folder holds %s. Check --data-dir; %s",
		shown(dir), f.lists[0].name, f.pickle(0), miniFolder, contents(dir), miniFetch)
}

// errNoLayout is a folder that holds none of the layouts.
var errNoLayout = errors.New("no layout")

// listFolder reads the layout that a folder has. Where it has several, the lists come before the pickles and these
// before the folders of classes.
func (f miniFormat) listFolder(ctx context.Context, root string, seed uint64) (*listing, error) {
	if _, err := input.ReadDir(root); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errNoLayout
		}
		return nil, fmt.Errorf("%w. Check the folder and its permissions", cause.Of(err))
	}
	has := func(name func(int) string) bool {
		return slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool { return exists(filepath.Join(root, name(i))) })
	}
	var c classed
	var p *packed
	var err error
	switch {
	case has(f.csv):
		c, err = f.readLists(ctx, root)
	case has(f.pickle):
		c, p, err = f.readPickles(root)
	default:
		c, err = f.readFolders(root)
	}
	if err != nil {
		return nil, err
	}
	l, err := f.listing(root, c, seed)
	if err != nil {
		return nil, err
	}
	l.pictures.packed = p
	if p != nil {
		for i := range f.lists {
			l.pictures.files = append(l.pictures.files, f.pickle(i))
		}
	}
	return l, nil
}

func (f miniFormat) csv(i int) string    { return f.lists[i].name + ".csv" }
func (f miniFormat) pickle(i int) string { return "mini-imagenet-cache-" + f.lists[i].name + ".pkl" }

// listing divides the images of a folder into the two halves and names the classes.
func (f miniFormat) listing(root string, c classed, seed uint64) (*listing, error) {
	perClass, err := f.count(c)
	if err != nil {
		return nil, err
	}
	set := &Set{Name: miniFolder, Classes: f.classes()}
	if set.ClassNames, err = readClassNames(filepath.Join(root, miniNames), c.ids); err != nil {
		return nil, err
	}
	if perClass < f.perClass {
		set.Notes = append(set.Notes, fmt.Sprintf("a part: %d of %s of each class", perClass, count.Of(f.perClass, "image")))
	}
	_, test := divide(c.labels, set.Classes, float64(f.test)/float64(f.perClass), seed)
	entries := make([]entry, len(c.labels))
	for i, y := range c.labels {
		entries[i].label = y
	}
	for _, i := range test {
		entries[i].test = true
	}
	return &listing{
		set:      set,
		pictures: pictures{set: set.Name, root: root, files: c.files, side: miniSide, fit: miniFit},
		entries:  entries,
	}, nil
}

// count is how many images each class has. It is the same for all classes: as many as were published, or fewer where
// somebody has chosen a part, but so many that one of them is for testing. Other counts are a copy that is not
// complete.
func (f miniFormat) count(c classed) (int, error) {
	counts := make([]int, len(c.ids))
	for _, y := range c.labels {
		counts[y]++
	}
	if len(counts) != f.classes() {
		return 0, fmt.Errorf("there are images of %s instead of %d. Get the missing images, or remove those that are too many",
			count.Of(len(counts), "class"), f.classes())
	}
	fewest := (f.perClass + 2*f.test - 1) / (2 * f.test)
	want := slices.Max(counts)
	if want < fewest || want > f.perClass {
		want = f.perClass
	}
	for k, n := range counts {
		if n != want {
			return 0, fmt.Errorf("class %s has %s instead of %d. Get its images again; a part of the data set has equally many of each class, %d or more",
				shown(c.ids[k]), count.Of(n, "image"), want, fewest)
		}
	}
	return want, nil
}
