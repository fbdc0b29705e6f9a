package data

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"ocl/data/internal/picture"
)

// Info describes a data set of the catalogue.
type Info struct {
	Name     string
	Title    string
	Summary  string   // one line
	Classes  int      // 0: as in the file
	Shape    string   // such as "3×32×32"
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
	// MaxPerClass bounds the images per class in each half that are drawn; 0 is as many as there are.
	MaxPerClass int

	// Draws says that the program draws the images, in the number that is asked for.
	Draws bool
	// Domains are what may differ between the domains of the images, where there is a choice, the default first.
	Domains []string
	// Ordered says that there are published orders of its tasks.
	Ordered bool
	// Tasks is how many tasks a stream of it has by default; 0 is by the number of classes, up to ten.
	Tasks int

	// KnownDigests are the digests (see Set.Digest) of the official files; empty where none is known.
	KnownDigests []string

	// fit is how image files become images; the zero value crops.
	fit picture.Fit

	// Of these two, a data set has one: list for image files, which are decoded into a cache, open for all others.
	list func(context.Context, Spec) (*listing, error)
	open func(context.Context, Spec) (*Set, error)
}

// catalogue is sorted by name; a new data set is a new file and one entry here.
var catalogue = []Info{
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
}

// Cached says that its images are decoded into a cache file.
func (i Info) Cached() bool { return i.list != nil }

// Catalogue returns all data sets, sorted by name.
func Catalogue() []Info { return append([]Info(nil), catalogue...) }

// Names returns the names of the catalogue, sorted.
func Names() []string {
	names := make([]string, len(catalogue))
	for i, c := range catalogue {
		names[i] = c.Name
	}
	return names
}

// Lookup returns the entry called name. The error for an unknown name lists the known ones.
func Lookup(name string) (Info, error) {
	for _, c := range catalogue {
		if c.Name == name {
			return c, nil
		}
	}
	return Info{}, fmt.Errorf("data: unknown data set %q. Use one of %s; `ocl data list` describes them",
		name, strings.Join(Names(), ", "))
}

// ByPath returns the entry that a path holds, going by how it ends; ok is false if no ending fits.
func ByPath(path string) (info Info, ok bool) {
	path = filepath.Clean(path)
	for _, c := range catalogue {
		for _, ending := range c.Endings {
			if strings.HasSuffix(path, ending) {
				return c, true
			}
		}
	}
	return Info{}, false
}
