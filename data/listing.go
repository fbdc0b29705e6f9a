package data

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ocl/data/internal/cache"
	"ocl/data/internal/picture"
	"ocl/internal/count"
)

// listing is a data set of image files before any of them is decoded.
type listing struct {
	set      *Set // all but the two halves and the digest
	pictures pictures
	entries  []entry // one for each file of pictures
	own      bool    // a person's own images
	divided  bool    // the test half is a fifth of each class, drawn with seed
	few      bool    // too few to divide: all images are in both halves
	whole    bool    // Spec.Whole: the test half may be empty
	seed     uint64
}

// entry says of an image file what it shows and where it belongs.
type entry struct {
	test  bool
	label int32
	// domain counts listing.set.Domains and task the tasks of the set; both are 0 where there are none. A test image that
	// all tasks share has the task allTasks.
	domain, task int32
}

const allTasks = -1

// newListing is a listing without files, of a person's own images below a folder.
func newListing(name string, spec Spec) *listing {
	side := spec.Size
	if side == 0 {
		side = ownSize
	}
	return &listing{own: true, whole: spec.Whole, set: &Set{Name: name},
		pictures: pictures{set: name, root: spec.Dir, side: side, fit: spec.fit(picture.Crop)}}
}

// add adds files that all show and are the same.
func (l *listing) add(files []string, e entry) {
	l.pictures.files = append(l.pictures.files, files...)
	for range files {
		l.entries = append(l.entries, e)
	}
}

// testShare is the share of the images that are for testing where the files have no test half.
const testShare = 0.2

// divide makes a test half: a fifth of each class, or of each class in each task, drawn with the data seed. It is drawn
// of all files, so that a file that becomes unreadable changes the place of no other. Where no class has three images,
// a learner that knows other classes learns them all (Spec.OneClass).
func (l *listing) divide(spec Spec) error {
	type group struct{ task, label int32 }
	number := map[group]int32{}
	groups := make([]int32, len(l.entries))
	for i, e := range l.entries {
		g := group{e.task, e.label}
		if _, known := number[g]; !known {
			number[g] = int32(len(number))
		}
		groups[i] = number[g]
	}
	_, test := divide(groups, len(number), testShare, spec.Seed)
	if len(test) == 0 && l.whole {
		return nil
	}
	if l.few = len(test) == 0 && spec.OneClass; l.few {
		return nil
	}
	if len(test) == 0 {
		return errors.New("a fifth of each class would be for testing, but no class has three images. Add images, or say which are for testing")
	}
	for _, i := range test {
		l.entries[i].test = true
	}
	l.divided, l.seed = true, spec.Seed
	return nil
}

// open decodes the files, or opens their cache, and makes the halves of the set. Files that cannot be read and are to
// be skipped are in neither half.
func (l *listing) open(ctx context.Context, spec Spec) (*Set, error) {
	images, dropped, err := l.pictures.open(ctx, spec)
	if err != nil {
		return nil, err
	}
	return l.halved(ctx, images, dropped)
}

// halved is the set with the images of all files but the dropped ones.
func (l *listing) halved(ctx context.Context, images Images, dropped []cache.Fault) (*Set, error) {
	set := l.set
	set.C, set.H, set.W = 3, l.pictures.side, l.pictures.side
	without := map[int]bool{}
	if l.pictures.lines != nil {
		set.List = l.pictures.source()
	}
	for _, f := range dropped {
		without[f.Image] = true
		if l.pictures.packed == nil {
			set.Faults = append(set.Faults, FileFault{l.pictures.place(f.Image), f.Message})
		}
	}
	if len(dropped) > 0 {
		set.Notes = append(set.Notes, droppedNote(dropped))
		set.Incomplete = true
	}
	all := Split{Images: images}
	for _, e := range l.entries {
		all.Y = append(all.Y, e.label)
		if len(set.Domains) > 0 {
			all.Domain = append(all.Domain, e.domain)
		}
		if set.Tasks > 0 {
			all.Task = append(all.Task, e.task)
		}
	}
	if l.pictures.packed == nil {
		set.Root, all.Files = l.pictures.root, l.pictures.files
	}
	var places [2][]int32 // of the images of each half
	for half, what := range []string{"training", "testing"} {
		var at []int32
		var lost []int // unreadable images of each class
		for i, e := range l.entries {
			switch {
			case e.test != (half == 1) && !l.few:
			case !without[i]:
				at = append(at, int32(i))
			default:
				if lost == nil {
					lost = make([]int, set.Classes)
				}
				lost[e.label]++
			}
		}
		switch {
		case len(at) == 0 && half == 1 && l.whole:
		case len(at) == 0 && lost != nil:
			return nil, fmt.Errorf("%s: there is no readable image for %s. `ocl data verify` lists what is wrong with each",
				shown(l.pictures.root), what)
		case len(at) == 0:
			return nil, fmt.Errorf("%s: there is no image for %s. Check --data-dir; `ocl data info NAME` describes the files",
				shown(l.pictures.root), what)
		}
		split := []*Split{&set.Train, &set.Test}[half]
		*split = all.take(at)
		split.Unreadable = lost
		places[half] = at
	}
	if l.own {
		sums, err := set.Sums(ctx)
		if err != nil {
			return nil, err
		}
		if l.few { // both halves are the same
			sums = sums[:set.Train.Len()]
		}
		set.Sketches = set.sketches(sums)
		set.Notes = append(set.Notes, set.repeats(sums, func(at int, test bool) string {
			if test {
				return l.pictures.fileName(int(places[1][at]))
			}
			return l.pictures.fileName(int(places[0][at]))
		})...)
	}
	if slices.Contains(set.Test.Task, allTasks) {
		set.Test.Task = nil
	}
	if l.few {
		set.Notes = append(set.Notes,
			"no class has three images, so all are learned, and the accuracy is that on the images that were learned")
	}
	if set.Divided = l.divided; l.divided {
		set.Notes = append(set.Notes, l.divisionNote(len(dropped)))
	}
	return set, nil
}

// divisionNote says how the test half was drawn, and how many images there really are.
func (l *listing) divisionNote(dropped int) string {
	test := l.set.Test.Len()
	text := fmt.Sprintf("a fifth of each class is for testing, %d of %s, drawn with data.seed %d", test,
		count.Of(l.set.Train.Len()+test, "image"), l.seed)
	if dropped > 0 {
		text += " before unreadable images were left out"
	}
	return text
}
