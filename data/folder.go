package data

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

var folderInfo = Info{
	Name: "folder", Title: "your own image files, a folder for each class",
	Summary: "Your own photographs or drawings: JPEG, PNG, GIF, WebP, BMP or TIFF files of any size, in one folder for each class.",
	Shape:   "3×64×64 (any side from 8 to 512 with data.size)", Size: ownSize, NeedsDir: true,
	Layout: "--data-dir is one of:\n" +
		"a folder with a folder for each class; a fifth of each class, drawn by data.seed, is for testing\n" +
		"a folder with the folders train and test (or val), each with a folder for each class\n" +
		"Folders within a class belong to it, and links are followed. Hidden files and files that are no images are ignored.\n" +
		"Of each image the shorter side is scaled to data.size, and the middle is cut out.",
	Source: "your own", Licence: "yours", Citation: "none",
	Example: "ocl run --data folder --data-dir photos",
	MinSize: ownMinSize, MaxSize: ownMaxSize,
	list: listFolder,
}

// The side of a person's own images. At 64 pixels most photographs can still be recognised, and a step takes four times as
// long as at 32.
const ownSize, ownMinSize, ownMaxSize = 64, 8, 512

// Names of folders, in lower case, that hold a half of the set and not a class.
var halfNames = map[string]string{
	"train": "train", "training": "train", "test": "test", "testing": "test", "val": "val", "valid": "val", "validation": "val",
}

// listFolder finds the images of a folder of class folders.
func listFolder(ctx context.Context, spec Spec) (*listing, error) {
	const use = "Use --data-dir with a folder that has a folder of images for each class"
	info, err := givenFolder(spec.Dir, use+"; for a list of images use --data csv")
	if err != nil {
		return nil, err
	}
	t := &tree{ctx: ctx, root: spec.Dir, skip: spec.SkipUnreadable, most: limit.SetImages, above: []os.FileInfo{info}}
	train, test, err := t.halves()
	if err != nil {
		return nil, err
	}
	if least, needed := spec.leastClasses(); len(train) < least {
		remedy := use
		if unread := t.unread(); unread != nil {
			remedy = strings.Join(unread, ". ")
		}
		return nil, fmt.Errorf("%s: found %s with images, but at least %s needed. %s", shown(spec.Dir), count.Of(len(train), "folder"), needed, remedy)
	}
	l := newListing("folder", spec)
	for k, class := range train {
		l.set.ClassNames = append(l.set.ClassNames, class.name)
		l.add(class.files, entry{label: int32(k)})
	}
	l.set.Classes = len(train)
	if test == nil {
		err = l.divide(spec)
	} else {
		err = l.addTest(test)
	}
	if err != nil {
		return nil, err
	}
	l.set.Notes = append(l.set.Notes, t.notes()...)
	return l, nil
}

// addTest adds class folders of the test half, whose classes must be known from the training half.
func (l *listing) addTest(folders []classFolder) error {
	var unknown []string
	for _, class := range folders {
		k, known := slices.BinarySearch(l.set.ClassNames, class.name)
		if !known {
			unknown = append(unknown, shown(class.name))
			continue
		}
		l.add(class.files, entry{test: true, label: int32(k)})
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%s: classes of the test half have no training images: %s. Add training images, or remove these folders",
			shown(l.pictures.root), count.Some(unknown))
	}
	return nil
}

// tree walks below a folder.
type tree struct {
	ctx  context.Context
	root string
	skip bool // leave out links that lead nowhere
	most int  // images in class folders

	found, folders, entries int // so far: images in class folders, folders, and all entries

	above   []os.FileInfo // the folders above the one that is walked, from the root on
	remarks []string
	ignored int            // files that are no images
	example string         // one of them
	convert map[string]int // images of kinds that are not read, by kind
	outside int            // images that are in no class folder
}

// classFolder is a class and its images, slash-separated below the root.
type classFolder struct {
	name  string
	files []string
}

// halves are the class folders for training and for testing. The latter is nil where the root has one folder for each class.
// A half has a name that says so; one for training contains folders. Without it, other such names are those of classes.
func (t *tree) halves() (train, test []classFolder, err error) {
	folders, images, err := t.read("")
	if err != nil {
		return nil, nil, err
	}
	t.outside = len(images)
	half := map[string]string{}
	var rest []string // folders that are no half
	var tests string  // a half for testing that contains folders
	var twice error
	for _, name := range folders {
		is, inside := halfNames[strings.ToLower(name)], []string(nil)
		if is != "" {
			if inside, _, err = (&tree{ctx: t.ctx, root: t.root, skip: t.skip, most: t.most}).read(name); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case is == "", is == "train" && len(inside) == 0:
			rest = append(rest, shown(name))
			continue
		case half[is] != "":
			twice = fmt.Errorf("%s: both %s and %s are here. Remove or rename one of them", shown(t.root), half[is], name)
		}
		half[is] = name
		if is != "train" && len(inside) > 0 {
			tests = name
		}
	}
	testing := cmp.Or(half["test"], half["val"])
	switch {
	case half["train"] == "" && tests != "":
		return nil, nil, fmt.Errorf("%s: there is a folder %s of class folders, but none called train. Name the training images train", shown(t.root), tests)
	case half["train"] == "":
		train, err = t.classes("", folders)
		if err == nil && len(train) == 0 && len(images) > 0 {
			err = fmt.Errorf("%s: the images lie in the folder itself. Move those of each class into a folder that has its name", shown(t.root))
		}
		return train, nil, err
	case twice != nil:
		return nil, nil, twice
	case len(rest) > 0 && testing == "":
		return nil, nil, fmt.Errorf("%s: %s has folders like a training half, but beside it are no test and no val, but %s. Add a folder test, or remove the folders beside %s",
			shown(t.root), half["train"], count.Some(rest), half["train"])
	case len(rest) > 0:
		t.remarks = append(t.remarks, fmt.Sprintf("folders beside %s are not used: %s", half["train"], count.Some(rest)))
	}
	if half["test"] != "" && half["val"] != "" {
		t.remarks = append(t.remarks, fmt.Sprintf("the folder %s is not used, as there is %s", half["val"], half["test"]))
	}
	if train, err = t.half(half["train"]); err != nil || testing == "" {
		return train, nil, err
	}
	test, err = t.half(testing)
	if err == nil && len(test) == 0 {
		err = fmt.Errorf("%s: the folder for testing has no class folders with images. Fill it, or remove it, so that a fifth of each class is for testing",
			shown(t.root))
	}
	return train, test, err
}

// half returns the class folders below a folder of the root.
func (t *tree) half(name string) ([]classFolder, error) {
	leave, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	defer leave()
	folders, images, err := t.read(name)
	if err != nil {
		return nil, err
	}
	t.outside += len(images)
	return t.classes(name, folders)
}

// classes are the folders of a folder with all images below each, sorted by name. Those without images are left out.
func (t *tree) classes(below string, folders []string) ([]classFolder, error) {
	var list []classFolder
	var empty []string
	for _, name := range folders {
		if shown(name) != name {
			return nil, fmt.Errorf("%s: the class folder %s has a name that cannot be printed. Rename it", shown(t.root), shown(path.Join(below, name)))
		}
		files, err := t.walk(path.Join(below, name))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			empty = append(empty, path.Join(below, name))
			continue
		}
		list = append(list, classFolder{name, files})
	}
	if len(empty) > 0 {
		t.remarks = append(t.remarks, "folders without images are no classes: "+count.Some(empty))
	}
	return list, nil
}

// enter notes that a folder is being read, until leave. It refuses a link back to a folder above, which would never end.
func (t *tree) enter(name string) (leave func(), err error) {
	info, err := os.Stat(t.path(name))
	if err != nil {
		return nil, t.fault(name, err)
	}
	if slices.ContainsFunc(t.above, func(a os.FileInfo) bool { return os.SameFile(a, info) }) {
		return nil, fmt.Errorf("%s: this is a link to a folder in which it lies. Remove the link", shown(path.Join(t.root, name)))
	}
	if t.folders++; t.folders > limit.SetFolders {
		return nil, fmt.Errorf("%s: there are more than %s, which is the limit; one to which links lead counts each time. Remove some folders or links",
			shown(t.root), count.Of(limit.SetFolders, "folder"))
	}
	if len(t.above) > limit.SetDepth {
		return nil, fmt.Errorf("%s: a folder lies more than %s deep. Move its images further up", shown(t.root), count.Of(limit.SetDepth, "folder"))
	}
	t.above = append(t.above, info)
	return func() { t.above = t.above[:len(t.above)-1] }, t.ctx.Err()
}

// walk lists the images in a folder and in all folders below it.
func (t *tree) walk(name string) ([]string, error) {
	leave, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	defer leave()
	folders, files, err := t.read(name)
	if err != nil {
		return nil, err
	}
	if t.found += len(files); t.found > t.most {
		return nil, fmt.Errorf("%s: the class folders have more than %s, which is the limit. Use a part of them", shown(t.root), count.Of(t.most, "image"))
	}
	for _, folder := range folders {
		more, err := t.walk(path.Join(name, folder))
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// read lists what lies in a folder, sorted by name: the names of the folders, and the paths of the images below the root.
// Links are what they lead to.
func (t *tree) read(name string) (folders, images []string, err error) {
	entries, err := input.ReadDir(t.path(name))
	if err != nil {
		return nil, nil, t.fault(name, err)
	}
	if t.entries += len(entries); t.entries > limit.TreeEntries {
		return nil, nil, fmt.Errorf("%s: there are more than %s below the folder, which is the limit. Use a part of them", shown(t.root), count.Of(limit.TreeEntries, "entry"))
	}
	for _, e := range entries {
		at, kind := path.Join(name, e.Name()), e.Type()
		picture := IsPicture(e.Name())
		if kind&os.ModeSymlink != 0 {
			info, err := os.Stat(t.path(at))
			switch {
			case err == nil:
				kind = info.Mode().Type()
			case picture && !t.skip:
				kind = 0 // opening it tells what is wrong
			default:
				picture = false
			}
		}
		switch {
		case strings.HasPrefix(e.Name(), "."), !kind.IsDir() && !(picture && kind.IsRegular()):
			if kind := convertible[strings.ToLower(path.Ext(e.Name()))]; kind != "" && e.Name()[0] != '.' {
				if t.convert == nil {
					t.convert = map[string]int{}
				}
				t.convert[kind]++
				break
			}
			t.ignored++
			if t.example == "" {
				t.example = at
			}
		case kind.IsDir():
			folders = append(folders, e.Name())
		default:
			images = append(images, at)
		}
	}
	return folders, images, nil
}

// path is a file of the tree in the form of this system.
func (t *tree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// fault is an error about a folder of the tree.
func (t *tree) fault(name string, err error) error {
	return fmt.Errorf("%s: %w. Check the folder and its permissions", shown(path.Join(t.root, name)), cause.Of(err))
}

// convertible are the endings of images that are not read, and their kinds.
var convertible = map[string]string{".heic": "HEIC", ".heif": "HEIC", ".avif": "AVIF"}

// unread says how many images are of kinds that are not read, and how to convert them.
func (t *tree) unread() (list []string) {
	for _, kind := range slices.Sorted(maps.Keys(t.convert)) {
		list = append(list, fmt.Sprintf("%s left out, as %s is not read. Convert with `magick mogrify -format jpg FILE...`", count.Of(t.convert[kind], kind+" image"), kind))
	}
	return list
}

// notes say what was left out.
func (t *tree) notes() []string {
	t.remarks = append(t.remarks, t.unread()...)
	if t.ignored > 0 {
		t.remarks = append(t.remarks, fmt.Sprintf("%s left out, such as %s", count.Of(t.ignored, "hidden or non-image file"), shown(t.example)))
	}
	if t.outside > 0 {
		t.remarks = append(t.remarks, fmt.Sprintf("%s outside the class folders left out", count.Of(t.outside, "image")))
	}
	return t.remarks
}
