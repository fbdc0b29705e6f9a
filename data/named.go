package data

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/internal/spelling"
)

// namesOfCameras are, in lower case, what cameras and programs begin names of files with, which is no class.
var namesOfCameras = strings.Fields("img image images dsc dscn dscf pxl photo picture pic screenshot scan p mvi gopr frame file untitled download val test train whatsapp")

// dotted matches names as Kaggle's cat.12.jpg, without the ending.
var dotted = regexp.MustCompile(`^([^.]+)\.\d+$`)

// numberedName matches names that end in a number, such as cat_12, n02085620_7 or great dane (3).
var numberedName = regexp.MustCompile(`^(.*?[^\d])[ ._-]*\(?\d+\)?$`)

// classOf is the class with which the name of a file begins; "" is none.
func classOf(file string, form *regexp.Regexp) string {
	name := path.Base(file)
	if m := form.FindStringSubmatch(strings.TrimSuffix(name, path.Ext(name))); m != nil {
		return strings.TrimRight(m[1], " ._-(")
	}
	return ""
}

// namedInstead reads the classes from names where no folder says them: it returns nothing if names do not either.
func (t *tree) namedInstead(asked bool, err error) (*reading, error) {
	if asked || !errors.Is(err, errNoClasses) {
		return nil, nil
	}
	return t.named(false)
}

// named reads images whose names begin with the class. Unless a person asked for it, all images must be named as
// Kaggle's are, and where they are named in another way the choice is the person's; nil is neither.
func (t *tree) named(asked bool) (*reading, error) {
	folders, images, err := t.peek("")
	if err != nil {
		return nil, err
	}
	in := "" // the folder of the images
	for _, name := range folders {
		if len(images) == 0 && halfOf(name) == "train" {
			in = name
		}
	}
	for range 2 { // train, and train/train
		inner, files, err := t.peek(in)
		if err != nil {
			return nil, err
		}
		if images = files; len(images) > 0 || len(inner) != 1 || in == "" && !asked {
			break
		}
		in = path.Join(in, inner[0])
	}
	form := dotted
	if asked {
		form = numberedName
	}
	rows, without := rowsByName(images, form, "")
	classes := classesOf(rows)
	switch {
	case asked && (len(without) > 0 || len(images) == 0):
		return nil, fmt.Errorf("%s: %s of %s%s without a class and a number in the name, as cat.12.jpg has them%s. Rename them, or move each into a folder of its class",
			shown(t.root), count.Number(len(without)), count.Of(len(images), "image"), inFolder(in), such(without))
	case asked, len(without) == 0 && len(classes) > 1 && !cameras(classes):
	default:
		return nil, t.maybeNamed(images)
	}
	// A half for testing whose images have classes of these too.
	test := ""
	for _, is := range testHalves {
		for _, name := range folders {
			if in == "" || halfOf(name) != is || test != "" {
				continue
			}
			_, files, err := t.peek(name)
			if err != nil {
				return nil, err
			}
			more, without := rowsByName(files, form, "test")
			unknown := func(r ownRow) bool { return !classes[spelling.Key(r.label)] }
			if len(files) == 0 || len(without) > 0 || slices.ContainsFunc(more, unknown) {
				t.remarks = append(t.remarks, fmt.Sprintf("the folder %s is not used, as the names of its images have no class",
					shown(name)))
				continue
			}
			test, rows = name, append(rows, more...)
		}
	}
	r := &reading{says: fmt.Sprintf("the names of the images%s begin with the class, as %s does", inFolder(in),
		shown(path.Base(images[0]))), rows: rows}
	if test != "" {
		r.says += fmt.Sprintf("; %s is for testing", shown(test))
		for i := range rows {
			rows[i].split = cmp.Or(rows[i].split, "train")
		}
	}
	return r, nil
}

// such names the first of some files for a message.
func such(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return ", such as " + shown(files[0])
}

func inFolder(name string) string {
	if name == "" {
		return ""
	}
	return " in " + shown(name)
}

// rowsByName are images with the classes of their names, and without are those that have none. The classes are in the
// order of their names.
func rowsByName(images []string, form *regexp.Regexp, split string) (rows ownRows, without []string) {
	for _, file := range images {
		if class := classOf(file, form); class != "" && shown(class) == class {
			rows = append(rows, ownRow{path: file, label: class, split: split})
		} else {
			without = append(without, file)
		}
	}
	slices.SortStableFunc(rows, func(a, b ownRow) int { return strings.Compare(spelling.Of(a.label), spelling.Of(b.label)) })
	return rows, without
}

// classesOf are the keys of the names of all classes.
func classesOf(rows ownRows) map[string]bool {
	all := map[string]bool{}
	for _, r := range rows {
		all[spelling.Key(r.label)] = true
	}
	return all
}

// cameras says whether names are those that cameras and programs give.
func cameras(classes map[string]bool) bool {
	return slices.ContainsFunc(namesOfCameras, func(name string) bool { return classes[spelling.Key(name)] })
}

// maybeNamed leaves the choice to the person where names may begin with classes: all end in a number, and there are at
// most half as many beginnings as images.
func (t *tree) maybeNamed(images []string) error {
	rows, without := rowsByName(images, numberedName, "")
	classes := classesOf(rows)
	if len(without) > 0 || len(classes) < 2 || 2*len(classes) > len(images) || cameras(classes) {
		return nil
	}
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.label) && len(names) < 6 {
			names = append(names, r.label)
		}
	}
	return &unsure{why: fmt.Sprintf("%s: no folders say the classes, but the names of the images may: %s. If they do not, move the images of each class into a folder that has its name",
		shown(t.root), count.Some(names)), readings: []string{ReadNames}}
}
