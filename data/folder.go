package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/internal/spelling"
)

// folderName is the data set of any folder of a person's own images.
const folderName = "folder"

var folderInfo = Info{
	Name: folderName, Title: "your own image files, a folder for each class",
	Summary: "Your own photographs or drawings: JPEG, PNG, GIF, WebP, BMP or TIFF files of any size, in any usual layout.",
	Shape:   "3×64×64 (any side from 8 to 512 with data.size)", Colour: true, Size: ownSize, NeedsDir: true,
	Layout: "--data-dir is one of:\n" +
		"a folder with a folder for each class; a fifth of each class, drawn by data.seed, is for testing\n" +
		"a folder with the folders train and test (or eval, val, dev; also training_set and the like), each with a folder for each class\n" +
		"a folder of images whose names begin with the class, as cat.12.jpg, or such folders train and test\n" +
		"metadata.csv or .jsonl beside the images (Hugging Face), an export of Roboflow or Label Studio, or a list with the columns path and label\n" +
		"Tiny-ImageNet or CUB-200-2011 as they were published\n" +
		"With --data-dir, `ocl data info folder` says which it is; data.reading chooses another.\n" +
		"Folders within a class belong to it, and links are followed. Hidden files and files that are no images are ignored.\n" +
		"Of each image the shorter side is scaled to data.size, and the middle is cut out.",
	Source: "your own", Licence: "yours", Citation: "none",
	Example: "ocl run --data folder --data-dir photos",
	MinSize: ownMinSize, MaxSize: ownMaxSize,
	Readings: []string{ReadFolders, ReadNames, ReadList, ReadList + ":COLUMN"},
	list:     listOwn,
}

// The side of a person's own images. At 64 pixels most photographs can still be recognised, and a step takes four times
// as long as at 32.
const ownSize, ownMinSize, ownMaxSize = 64, 8, 512

// halfName matches the names of folders, in lower case, that hold a half of the set and not a class: training_set,
// seg_test, val, test1.
var halfName = regexp.MustCompile(`^(?:seg|images?|imgs?|data|dataset)?[ _-]*(train|test|eval|val|dev)(?:ing|uation|id|idation)?[ _-]*(?:set|data|dataset|images?|imgs?|split)?[ _-]*\d*$`)

// halfOf is the kind of half of which a folder has the name, one of train and testHalves; "" is none.
func halfOf(name string) string {
	if m := halfName.FindStringSubmatch(strings.ToLower(name)); m != nil {
		return m[1]
	}
	return ""
}

// testHalves are the kinds of halves for testing. The first that is there is used.
var testHalves = []string{"test", "eval", "val", "dev"}

// newTree is the tree below spec.Dir.
func newTree(ctx context.Context, spec Spec) *tree {
	return &tree{ctx: ctx, root: spec.Dir, skip: spec.SkipUnreadable, most: limit.SetImages, one: spec.OneClass}
}

// tree walks below a folder.
type tree struct {
	ctx  context.Context
	root string
	skip bool // leave out links that lead nowhere
	one  bool // one class is enough
	most int  // images in class folders

	found, folders, entries int // so far: images in class folders, folders, and all entries

	peeked  map[string]peeked
	above   []os.FileInfo // the folders above the one that is walked, from the root on
	remarks []string
	nowhere []string // links that lead nowhere
	ignored int      // files that are no images
	example string   // one of them
	unread  Unread
	outside int // images that are in no class folder
}

// classFolder is a class and its images, slash-separated below the root.
type classFolder struct {
	name  string // as it was written
	files []string
}

// errNoClasses is wrapped by errors about a folder in which no folders say the classes.
var errNoClasses = errors.New("no class folders")

// byFolders reads class folders, or names of files where there are none. A person who asks for folders says that their
// names are those of classes, whatever they look like.
func (t *tree) byFolders(asked bool) (*reading, error) {
	r := &reading{plain: true}
	train, test, err := t.halves(asked, r)
	if err == nil {
		err = t.enough(train)
	}
	if err != nil {
		if byName, otherwise := t.namedInstead(asked, err); byName != nil || otherwise != nil {
			return byName, otherwise
		}
		return nil, err
	}
	for half, list := range [][]classFolder{train, test} {
		split := ""
		if test != nil {
			split = []string{"train", "test"}[half]
		}
		for _, class := range list {
			for _, file := range class.files {
				r.rows = append(r.rows, ownRow{path: file, label: class.name, split: split})
			}
		}
	}
	return r, nil
}

// enough refuses fewer class folders than there must be.
func (t *tree) enough(list []classFolder) error {
	const use = "Use --data-dir with a folder that has a folder of images for each class"
	least, needed := leastClasses(t.one)
	if len(list) >= least {
		return nil
	}
	remedy := use + "; for a list of images use --data csv"
	if unread := t.unread.Notes(); unread != nil {
		remedy = strings.Join(unread, ". ")
	} else if t.ignored > 0 {
		remedy = fmt.Sprintf("%s. Files such as %s are no images that can be read", use, shown(t.example))
	}
	return cause.As(fmt.Errorf("%s: found %s with images, but at least %s needed. %s", shown(t.root),
		count.Of(len(list), "folder"), needed, remedy), errNoClasses)
}

// halves are the class folders for training and for testing. The latter is nil where the root has one folder for each
// class. A half has a name that says so, and contains folders. Without one for training, such names are those of
// classes, unless there are no others. What is there is said in r.
func (t *tree) halves(asked bool, r *reading) (train, test []classFolder, err error) {
	folders, images, err := t.read("")
	if err != nil {
		return nil, nil, err
	}
	t.outside = len(images)
	half := map[string]string{} // of each kind, the folder that contains folders
	var rest, empty []string    // folders that are no half, and halves for testing without folders
	var tests string            // a half for testing that contains folders
	var twice error
	for _, name := range folders {
		is, inside := halfOf(name), []string(nil)
		if is != "" {
			if inside, _, err = t.peek(name); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case is == "", is == "train" && len(inside) == 0:
			rest = append(rest, shown(name))
			continue
		case len(inside) == 0:
			empty = append(empty, name)
			continue
		case half[is] != "":
			twice = fmt.Errorf("%s: both %s and %s are here. Remove or rename one of them", shown(t.root), half[is], name)
		}
		half[is] = name
		if is != "train" {
			tests = name
		}
	}
	testing := t.testing(half, empty)
	switch {
	case half["train"] == "" && tests != "":
		return nil, nil, fmt.Errorf("%s: there is a folder %s of class folders, but none called train. Name the training images train",
			shown(t.root), tests)
	case half["train"] == "":
		train, err = t.classes("", folders)
		switch {
		case err != nil:
		case len(train) == 0 && len(images) > 0:
			err = cause.As(fmt.Errorf("%s: the images lie in the folder itself. Move those of each class into a folder that has its name",
				shown(t.root)), errNoClasses)
		case !asked && t.only(train):
			if err := t.into(train[0].name); err != nil {
				return nil, nil, err
			}
			return t.halves(asked, r)
		case !asked:
			err = cmp.Or(t.flat(train), t.parts(train), t.sets(folders, train))
		}
		r.says = "each folder is a class"
		return train, nil, err
	case twice != nil:
		return nil, nil, twice
	case len(rest) > 0 && testing == "":
		return nil, nil, fmt.Errorf("%s: %s has folders like a training half, but beside it are no test and no val, but %s. Add a folder test, or remove the folders beside %s",
			shown(t.root), half["train"], count.Some(rest), half["train"])
	case len(rest) > 0:
		t.remarks = append(t.remarks, fmt.Sprintf("folders beside %s are not used: %s", half["train"], count.Some(rest)))
	}
	r.says = fmt.Sprintf("each folder in %s is a class", shown(half["train"]))
	if train, err = t.half(half["train"]); err != nil || testing == "" || len(train) == 0 {
		return train, nil, err
	}
	r.says += fmt.Sprintf("; %s is for testing", shown(testing))
	if exists(t.path(path.Join(testing, valAnnotations))) {
		r.says += ", with the classes of " + path.Join(shown(testing), valAnnotations) + ", as in Tiny-ImageNet"
		test, err = t.annotated(testing)
	} else {
		test, err = t.half(testing)
	}
	if err == nil && len(test) == 0 {
		err = fmt.Errorf("%s: the folder for testing has no class folders with images. Fill it, or remove it, so that a fifth of each class is for testing",
			shown(t.root))
	}
	return train, test, err
}

// aside is a tree of the same folder that looks at something without counting it.
func (t *tree) aside() *tree {
	return &tree{ctx: t.ctx, root: t.root, skip: t.skip, most: t.most, one: t.one}
}

// peeked is what a folder has.
type peeked struct {
	folders, images []string
	err             error
}

// peek is [tree.read] of something that is looked at without counting it, and maybe again. Nobody changes what it
// returns.
func (t *tree) peek(name string) (folders, images []string, err error) {
	p, there := t.peeked[name]
	if !there {
		p.folders, p.images, p.err = t.aside().read(name)
		if t.peeked == nil {
			t.peeked = map[string]peeked{}
		}
		t.peeked[name] = p
	}
	return p.folders, p.images, p.err
}

// testing chooses the folder for testing among those of the halves: the first in the order of testHalves that says
// which class its images are of, else one that does not; "" is none. empty are halves for testing without folders.
func (t *tree) testing(half map[string]string, empty []string) (chosen string) {
	var plain []string // whose images have no labels
	for _, is := range testHalves {
		name := half[is]
		switch {
		case name == "":
		case t.unlabelled(name):
			plain = append(plain, name)
		case chosen == "":
			chosen = name
		default:
			t.remarks = append(t.remarks, fmt.Sprintf("the folder %s is not used, as there is %s", name, chosen))
		}
	}
	plain = append(plain, empty...)
	if chosen == "" && len(plain) > 0 {
		return plain[0]
	}
	for _, name := range plain {
		t.remarks = append(t.remarks, fmt.Sprintf("the folder %s is not used, as its images are in no class folders", name))
	}
	return chosen
}

// unlabelled says whether a half has nothing but one folder called images, as Tiny-ImageNet's test half has, whose
// labels were never published.
func (t *tree) unlabelled(name string) bool {
	inside, _, err := t.peek(name)
	return err == nil && slices.Equal(inside, []string{"images"}) && !exists(t.path(path.Join(name, valAnnotations)))
}

// flat refuses halves whose images are in no class folders, where there are no other folders.
func (t *tree) flat(list []classFolder) error {
	if len(list) == 0 || len(list) == 1 && t.one ||
		slices.ContainsFunc(list, func(c classFolder) bool { return halfOf(c.name) == "" }) {
		return nil
	}
	i := max(0, slices.IndexFunc(list, func(c classFolder) bool { return halfOf(c.name) == "train" }))
	return cause.As(fmt.Errorf("%s: %s has images and no class folders. Move those of each class into %s/CLASS, or write a CSV list and use --data csv",
		shown(t.root), list[i].name, list[i].name), errNoClasses)
}

// half returns the class folders below a folder of the root, or below the one folder in it that has the name of such a
// half too.
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
	if len(folders) == 1 && len(images) == 0 && halfOf(folders[0]) == halfOf(path.Base(name)) {
		return t.half(path.Join(name, folders[0]))
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
			return nil, fmt.Errorf("%s: the class folder %s has a name that cannot be printed. Rename it", shown(t.root),
				shown(path.Join(below, name)))
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
	slices.SortStableFunc(list, func(a, b classFolder) int {
		return strings.Compare(spelling.Of(a.name), spelling.Of(b.name))
	})
	return list, nil
}

// enter notes that a folder is being read, until leave. It refuses a link back to a folder above, which would never
// end.
func (t *tree) enter(name string) (leave func(), err error) {
	info, err := os.Stat(t.path(name))
	if err != nil {
		return nil, t.fault(name, err)
	}
	if slices.ContainsFunc(t.above, func(a os.FileInfo) bool { return os.SameFile(a, info) }) {
		return nil, fmt.Errorf("%s: this is a link to a folder in which it lies. Remove the link",
			shown(path.Join(t.root, name)))
	}
	if t.folders++; t.folders > limit.SetFolders {
		return nil, fmt.Errorf("%s: there are more than %s, which is the limit; one to which links lead counts each time. Remove some folders or links",
			shown(t.root), count.Of(limit.SetFolders, "folder"))
	}
	if len(t.above) > limit.SetDepth {
		return nil, fmt.Errorf("%s: a folder lies more than %s deep. Move its images further up", shown(t.root),
			count.Of(limit.SetDepth, "folder"))
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
		return nil, fmt.Errorf("%s: the class folders have more than %s, which is the limit. Use a part of them",
			shown(t.root), count.Of(t.most, "image"))
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

// read lists what lies in a folder, sorted by name: the names of the folders, and the paths of the images below the
// root. Links are what they lead to.
func (t *tree) read(name string) (folders, images []string, err error) {
	entries, err := input.ReadDir(t.path(name))
	if err != nil {
		return nil, nil, t.fault(name, err)
	}
	if t.entries += len(entries); t.entries > limit.TreeEntries {
		return nil, nil, fmt.Errorf("%s: there are more than %s below the folder, which is the limit. Use a part of them",
			shown(t.root), count.Of(limit.TreeEntries, "entry"))
	}
	for _, e := range entries {
		at, kind := path.Join(name, e.Name()), e.Type()
		if ofSystem(e.Name()) {
			continue
		}
		hidden := strings.HasPrefix(e.Name(), ".")
		if kind&os.ModeSymlink != 0 && !hidden {
			info, err := os.Stat(t.path(at))
			switch {
			case err == nil:
				kind = info.Mode().Type()
			case t.skip:
				t.nowhere = append(t.nowhere, shown(at))
				continue
			default:
				return nil, nil, fmt.Errorf("%s: the link %s leads nowhere (%w). Correct or remove it, or leave out what cannot be read with data.unreadable=skip",
					shown(t.root), shown(at), cause.Of(err))
			}
		}
		switch {
		case kind.IsDir() && !hidden:
			folders = append(folders, e.Name())
		case !hidden && kind.IsRegular() && IsPictureFile(t.path(at)):
			images = append(images, at)
		case !hidden && kind.IsRegular() && t.unread.Add(t.path(at)):
		default:
			t.ignored++
			if t.example == "" {
				t.example = at
			}
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

// ofSystem says whether a system puts files and folders of that name beside those of a person: Windows, a Mac, and what
// unpacks their archives.
func ofSystem(name string) bool {
	return strings.HasPrefix(name, "._") || slices.Contains(systemNames, strings.ToLower(name))
}

var systemNames = []string{"thumbs.db", "ehthumbs.db", "desktop.ini", ".ds_store", "__macosx", "$recycle.bin",
	"system volume information", "@eadir", "lost+found", "icon\r"}

// notes say what was left out.
func (t *tree) notes() []string {
	t.remarks = append(t.remarks, t.unread.Notes()...)
	if len(t.nowhere) > 0 {
		t.remarks = append(t.remarks, "links that lead nowhere are left out: "+count.Some(t.nowhere))
	}
	if t.ignored > 0 {
		t.remarks = append(t.remarks, fmt.Sprintf("%s left out, such as %s", count.Of(t.ignored, "hidden or non-image file"),
			shown(t.example)))
	}
	if t.outside > 0 {
		t.remarks = append(t.remarks, fmt.Sprintf("%s outside the class folders left out", count.Of(t.outside, "image")))
	}
	return t.remarks
}
