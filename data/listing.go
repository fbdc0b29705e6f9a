package data

import (
	"context"
	"fmt"

	"ocl/data/internal/cache"
)

// listing is a data set of image files before any of them is decoded.
type listing struct {
	set      *Set // all but the two halves and the digest
	pictures pictures
	entries  []entry // one for each file of pictures
}

// entry says of an image file what it shows and where it belongs.
type entry struct {
	test  bool
	label int32
	// domain counts listing.set.Domains and task the tasks of the set; both are 0 where there are none.
	domain, task int32
}

// open decodes the files, or opens their cache, and makes the halves of the set. Files that cannot be read and are to be
// skipped are in neither half.
func (l *listing) open(ctx context.Context, spec Spec) (*Set, error) {
	images, dropped, err := l.pictures.open(ctx, spec)
	if err != nil {
		return nil, err
	}
	return l.halved(images, dropped)
}

// halved is the set with the images of all files but the dropped ones.
func (l *listing) halved(images Images, dropped []cache.Fault) (*Set, error) {
	set := l.set
	set.C, set.H, set.W = 3, l.pictures.side, l.pictures.side
	without := map[int]bool{}
	for _, f := range dropped {
		without[f.Image] = true
	}
	if len(dropped) > 0 {
		set.Notes = append(set.Notes, droppedNote(dropped))
		set.Incomplete = true
	}
	train, test := half{}, half{}
	for i, e := range l.entries {
		if without[i] {
			continue
		}
		into := &train
		if e.test {
			into = &test
		}
		into.add(int32(i), e)
	}
	set.Train, set.Test = train.split(images, set), test.split(images, set)
	switch {
	case set.Train.Len() == 0:
		return nil, fmt.Errorf("%s: there is no image for training. %s", shown(l.pictures.root), wantImages)
	case set.Test.Len() == 0:
		return nil, fmt.Errorf("%s: there is no image for testing. %s", shown(l.pictures.root), wantImages)
	}
	return set, nil
}

const wantImages = "Check --data-dir; `ocl data info NAME` describes the files"

// half is what a half of a set is made of.
type half struct {
	at                   []int32
	label, domain, tasks []int32
}

func (h *half) add(i int32, e entry) {
	h.at = append(h.at, i)
	h.label, h.domain, h.tasks = append(h.label, e.label), append(h.domain, e.domain), append(h.tasks, e.task)
}

// split is the half with those of its columns that the set has.
func (h *half) split(images Images, set *Set) Split {
	s := Split{Images: taken(images, h.at), Y: h.label}
	if len(set.Domains) > 0 {
		s.Domain = h.domain
	}
	if set.Tasks > 0 {
		s.Task = h.tasks
	}
	return s
}
