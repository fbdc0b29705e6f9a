package data

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"ocl/data/internal/picture"
	"ocl/internal/origin"
)

// Info describes a data set of the catalogue.
type Info struct {
	Name     string
	Title    string
	Summary  string   // one line
	Classes  int      // 0: as in the file
	Shape    string   // in words for people, such as "3×32×32"
	Colour   bool     // all images have three channels; else only the files say whether they are grey
	Size     int      // side in pixels by default; 0: as in the file
	Train    int      // training images by default; 0: as in the file
	Test     int      // test images by default; 0: as in the file
	NeedsDir bool     // whether --data-dir is needed
	Layout   string   // what --data-dir has to hold, in lines
	Endings  []string // of the paths that hold it: a path that is given as a name tells which data set is meant
	Source   string   // where to get it
	Licence  string
	Citation string
	Example  string // a command that works when the data are there

	// MinSize and MaxSize bound the side in pixels that a [Spec] may ask for, both 0 where the images have their own.
	MinSize, MaxSize int
	// Pads says that a side above Size is made by zeros around the images; else these are scaled.
	Pads bool
	// MaxPerClass is the largest number of images per class that may be drawn for each half; 0 means no bound.
	MaxPerClass int

	// Readings are the values of [Spec.Reading]; empty where the files are read in one way.
	Readings []string

	// Draws says that Open draws the images, in the number that is asked for.
	Draws bool
	// Domains lists what may differ between the domains of the images, the default first; empty if there is no choice.
	Domains []string
	// Ordered says that there are published orders of its tasks.
	Ordered bool
	// Tasks is the default number of tasks of a stream; 0 derives it from the number of classes, at most ten.
	Tasks int

	// KnownDigests are the digests (see Set.Digest) of the official files; empty where none is known.
	KnownDigests []string

	// fit is how image files become images; the zero value crops.
	fit picture.Fit

	// list is for image files, which are decoded into a cache; nil for all others.
	list func(context.Context, Spec) (*listing, error)
	// Open reads the set from spec.Dir, or draws it, in the size of the spec if MaxSize is not 0. It ends with ctx. What
	// it returns is not changed. Three channels of one and the digest are not its business, and only with Draws is the
	// number of images (TrainPerClass, TestPerClass). Data sets of image files have none.
	Open func(ctx context.Context, spec Spec) (*Set, error)

	origin origin.Origin
}

// catalogue is sorted by name; a new data set is a new file and one entry here.
var catalogue = origin.NewCatalogue(origin.Kind[Info]{What: "data set", File: "data/catalogue.go",
	All: "`ocl data list` describes them all",
	Of:  func(i *Info) (string, *origin.Origin) { return i.Name, &i.origin }, Fault: (*Info).fault},
	cifar10Info,
	cifar100Info,
	core50Info,
	csvInfo,
	emnistInfo,
	fashionMNISTInfo,
	folderInfo,
	glyphsInfo,
	miniImageNetInfo,
	mnistInfo,
	npzInfo,
)

// Cached says that its images are decoded into a cache file.
func (i Info) Cached() bool { return i.list != nil }

// Catalogue returns all data sets, sorted by name.
func Catalogue() []Info { return catalogue.All() }

// Names returns the names of the catalogue, sorted.
func Names() []string { return catalogue.Names() }

// Lookup returns the entry called name. The error for an unknown name lists the known ones.
func Lookup(name string) (Info, error) {
	info, err := catalogue.Lookup(name)
	if err != nil {
		return Info{}, fmt.Errorf("data: %w", err)
	}
	return info, nil
}

// ByPath returns the data set that a path probably contains, judged by the ending of the path in any case; ok is false
// if no ending fits.
func ByPath(path string) (info Info, ok bool) {
	path = filepath.Clean(path)
	for _, c := range catalogue.All() {
		for _, ending := range c.Endings {
			if before := len(path) - len(ending); before >= 0 && strings.EqualFold(path[before:], ending) {
				return c, true
			}
		}
	}
	return Info{}, false
}
