// Package doctor looks for what is wrong with a labelled data set: labels that are probably wrong, images that are
// there several times, test images in the training half, classes that look alike, and files that are of no use. It
// changes nothing, and draws nothing. Start at [Examine].
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/limit"
)

// Kind is what is wrong.
type Kind string

// The kinds, the worst first.
const (
	Unreadable     Kind = "unreadable"
	TwoLabels      Kind = "two_labels"       // copies of an image have several labels
	TestInTraining Kind = "test_in_training" // copies of an image are in both halves
	WrongLabel     Kind = "wrong_label"
	Duplicate      Kind = "duplicate" // copies of an image have one label and one half
	Tiny           Kind = "tiny"      // a file with less than 32 pixels on a side
	Few            Kind = "few_images"
	Alike          Kind = "alike" // two classes that are often taken for each other
)

// Kinds are all kinds, the worst first.
var Kinds = []Kind{Unreadable, TwoLabels, TestInTraining, WrongLabel, Duplicate, Tiny, Few, Alike}

// Image is one of the examined images.
type Image struct {
	File  string `json:"file"` // as this system opens it; "" where a file has many images
	Test  bool   `json:"test"`
	Index int    `json:"index"` // in its half
	Label string `json:"label"`
	// Move says that the data set is better without the image, as far as anybody can say who does not look at it.
	Move bool `json:"move"`
}

// Name is the image in messages, below a folder where it lies there.
func (i Image) Name(below string) string {
	if i.File == "" {
		return fmt.Sprintf("image %d for %s", i.Index, map[bool]string{false: "training", true: "testing"}[i.Test])
	}
	if below != "" {
		if name, err := filepath.Rel(below, i.File); err == nil && filepath.IsLocal(name) {
			return filepath.ToSlash(name)
		}
	}
	return i.File
}

// Finding is one thing that is wrong.
type Finding struct {
	Kind   Kind    `json:"kind"`
	Images []Image `json:"images"` // all copies; never null
	// Near says that copies are not the same pixels, but those of one picture that was stored, scaled, lit or cropped
	// anew.
	Near bool `json:"near,omitempty"`
	// Classes are the two that look alike, or the one with few images.
	Classes []string `json:"classes,omitempty"`
	// Suggested is the class that a wrong label should probably be.
	Suggested string `json:"suggested,omitempty"`
	// Probability is that of the label, or the share of images of two classes that are taken for the other.
	Probability float64 `json:"probability"`
	// Sure says of a wrong label that the suggested class is as probable as for images that have it as their label
	// (Northcutt, Jiang and Chuang 2021, Confident Learning, with calibrated probabilities). By pixels nothing is sure.
	Sure bool   `json:"sure,omitempty"`
	Text string `json:"text,omitempty"` // why a file is of no use, or how many images there are
}

// Findings are what an examination found.
type Findings struct {
	Data    string `json:"data"`
	Images  int    `json:"images"` // that could be read
	Classes int    `json:"classes"`
	// Features are by what images were compared: the network of the embeddings, or pixels.
	Features string `json:"features"`
	// Accuracy is the share of images whose label is found by the others; Looked says that it was computed.
	Accuracy float64 `json:"leave_one_out_accuracy"`
	Looked   bool    `json:"looked_for_wrong_labels"`
	// WrongShare estimates the share of wrong labels. It counts hard images too. By pixels it is what there is beyond
	// chance, which is too low where many labels are wrong.
	WrongShare float64   `json:"wrong_share"`
	List       []Finding `json:"findings"` // the worst first; never null
	Notes      []string  `json:"notes"`    // sentences
}

// Of are the findings of some kind.
func (f *Findings) Of(k Kind) (list []Finding) {
	for _, one := range f.List {
		if one.Kind == k {
			list = append(list, one)
		}
	}
	return list
}

// Options say what is looked for.
type Options struct {
	// Features are embeddings of the images, in their order. Nil compares pixels, or the images where they are embeddings.
	Features *data.Set
	// Quick leaves out what takes long: the size of each file, and the labels of images without embeddings.
	Quick bool
	// Progress is called with how many images are done. It may be nil.
	Progress func(what string, done, total int)
}

// few is the number of images below which a class has few.
const few = 5

// Examine examines both halves of a data set. When ctx ends, so does it.
func Examine(ctx context.Context, set *data.Set, o Options) (*Findings, error) {
	e := &exam{set: set, features: cmp.Or(o.Features, set), progress: o.Progress, quick: o.Quick,
		disputed: map[int]int{}, groups: map[int][]int{}, found: &Findings{Data: set.Name,
			Images: set.Train.Len() + set.Test.Len(), Classes: set.Classes, List: []Finding{}, Notes: []string{}}}
	if e.progress == nil {
		e.progress = func(string, int, int) {}
	}
	n := e.found.Images
	switch {
	case n > limit.DoctorImages || n*set.Classes > limit.DoctorScores:
		return nil, fmt.Errorf("doctor: %s has %s of %s, more than can be examined at once. Examine a part, with data.train_per_class and data.test_per_class",
			set.Name, count.Of(n, "image"), count.Of(set.Classes, "class"))
	case e.features.Train.Len() != set.Train.Len() || e.features.Test.Len() != set.Test.Len():
		return nil, fmt.Errorf("doctor: %s has %s, and there are %s of them. Make the embeddings of all images", set.Name,
			count.Of(n, "image"), count.Of(e.features.Train.Len()+e.features.Test.Len(), "embedding"))
	}
	for _, f := range set.Faults {
		e.add(Finding{Kind: Unreadable, Images: []Image{{File: f.File}}, Text: f.Why})
	}
	e.fewImages()
	if err := e.copies(ctx); err != nil {
		return nil, err
	}
	if !o.Quick {
		if err := e.tiny(ctx); err != nil {
			return nil, err
		}
	}
	if !o.Quick || e.features.Embeddings {
		if err := e.labels(ctx); err != nil {
			return nil, err
		}
	}
	e.settle(ctx)
	slices.SortStableFunc(e.found.List, func(a, b Finding) int {
		return slices.Index(Kinds, a.Kind) - slices.Index(Kinds, b.Kind)
	})
	return e.found, nil
}

// exam is an examination at work. Images are counted through both halves, those for training first.
type exam struct {
	set, features *data.Set
	progress      func(what string, done, total int)
	found         *Findings
	quick         bool          // Options.Quick
	groups        map[int][]int // copies, by their finding
	// disputed are images whose copies have other labels, and the class that all others surely say; −1 is none.
	disputed map[int]int
}

func (e *exam) add(f Finding) { e.found.List = append(e.found.List, f) }

// half is the half of image i, and its place there.
func (e *exam) half(set *data.Set, i int) (split *data.Split, at int) {
	if n := set.Train.Len(); i >= n {
		return &set.Test, i - n
	}
	return &set.Train, i
}

// pixels is image i of a set, as [data.Images] has it.
func (e *exam) pixels(set *data.Set, i int, buf []uint8) ([]uint8, error) {
	split, at := e.half(set, i)
	return split.Images.Image(at, buf)
}

func (e *exam) label(i int) int {
	split, at := e.half(e.set, i)
	return int(split.Y[at])
}

func (e *exam) image(i int) Image {
	split, at := e.half(e.set, i)
	return Image{File: e.set.File(*split, at), Test: i >= e.set.Train.Len(), Index: at,
		Label: e.set.ClassName(int(split.Y[at]))}
}

// fewImages finds classes with few images for training.
func (e *exam) fewImages() {
	counts := make([]int, e.set.Classes)
	for _, y := range e.set.Train.Y {
		counts[y]++
	}
	for k, n := range counts {
		if n < few {
			e.add(Finding{Kind: Few, Images: []Image{}, Classes: []string{e.set.ClassName(k)},
				Text: count.Of(n, "image") + " for training"})
		}
	}
}

// tinySide is the side below which a file shows too little.
const tinySide = 32

// tiny finds files of few pixels. Those of published data sets are as they are.
func (e *exam) tiny(ctx context.Context) error {
	if e.set.Reading == "" {
		return nil
	}
	for i := range e.found.Images {
		m := e.image(i)
		if m.File == "" {
			return nil
		}
		err := data.UsePictureFile(ctx, m.File, func(file []byte) error {
			w, h, err := data.PictureSize(file)
			if err == nil && min(w, h) < tinySide {
				e.add(Finding{Kind: Tiny, Images: []Image{m}, Text: fmt.Sprintf("%d×%d pixels", w, h)})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("doctor: %s: %w", m.File, err)
		}
		e.progress(e.set.Name+": files looked at", i+1, e.found.Images)
	}
	return nil
}
