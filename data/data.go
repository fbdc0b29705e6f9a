// Package data opens labelled images: published data sets from their official files, anyone's own images, and glyphs,
// which the program draws. Every image becomes uint8 [C,H,W] with a label in [0, K).
//
// The package knows nothing of tasks, batches or orders; package stream makes a stream of a [Set]. Start at [Open];
// [Catalogue] lists the data sets.
package data

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ocl"
)

// Spec says which data set to open and how. 0 is the default of a number.
type Spec struct {
	Name string // a name of the catalogue
	Dir  string // folder, archive or file that holds the data; unused by glyphs
	Size int    // side in pixels, for data sets that are drawn, scaled or padded (see Info.MinSize)
	// Bicubic scales pictures by Pillow's BICUBIC in place of its BILINEAR, as some pretrained networks want them.
	Bicubic bool
	// Channels is 3 to make three equal channels of grey images; 0 leaves them as they are.
	Channels int
	// TrainPerClass and TestPerClass are how many images of each class are used. The glyphs are drawn in that number. Of
	// other data sets so many are drawn with Seed, and the set is a part of the published one.
	TrainPerClass, TestPerClass int
	// Domains is what differs between the domains, one of Info.Domains; "" is the first of them.
	Domains string
	// Seed draws what belongs to the data and not to a run: the test images of a data set that has no test half, and the
	// images of a part. It is the same for all runs of an experiment.
	Seed uint64
	// SkipUnreadable leaves out images that cannot be read and says so in Set.Notes; otherwise the first of them is an
	// error.
	SkipUnreadable bool
	// ReadOnly writes no cache of decoded images. Those that are in none are decoded for the digest, and again each time
	// they are asked for.
	ReadOnly bool
	// Reading is how a person's own images say which class they show, one of Info.Readings; "" is what the files call for.
	Reading string
	// OneClass allows a user's own images to be of one class only, and to be fewer than three of each, for a learner that
	// knows other classes. Without it this is an error, because a classifier needs two classes.
	OneClass bool
	// Whole takes a user's own images although they cannot be learned, to examine them: of one class, of none, which are
	// then those of the folder's name, or too few for a test half, which is then empty.
	Whole bool
	// Progress, if not nil, is called during long work, such as decoding images into a cache, with what is done and how
	// much of it.
	Progress func(what string, done, total int)
}

// leastClasses returns the smallest number of classes that a user's own images must have, and the number as a word.
func leastClasses(one bool) (n int, word string) {
	if one {
		return 1, "one class is"
	}
	return 2, "two classes are"
}

// progress returns a function that reports work of one kind to Progress; without Progress it does nothing.
func (s Spec) progress(what string) func(done, total int) {
	return func(done, total int) {
		if s.Progress != nil {
			s.Progress(what, done, total)
		}
	}
}

// Set is an open data set. It does not change after Open has returned it, so any number of streams may share it.
type Set struct {
	Name       string
	C, H, W    int    // channels (1 or 3 of images) and pixels
	Tripled    bool   // the images are grey, and data.channels=3 made the three channels
	Embeddings bool   // samples are numbers that a network has made of images, D of them in float16: C is D, H and W are 1
	Of         [3]int // the shape of the images that embeddings were made of; zeros where it is not known
	By         string // the network that has made them, and ByDigest that of its file; "" where they are not known
	ByDigest   string
	Classes    int      // K: labels lie in [0, K), and each of them occurs in Train
	ClassNames []string // K names, or nil where the files hold none
	Domains    []string // names of the domains that Split.Domain counts (glyphs: typefaces), or nil
	Tasks      int      // how many tasks Split.Task counts; 0 where the files give none
	TaskNames  []string // of these, or nil where the files number them
	Train      Split
	Test       Split
	Digest     string // "sha256:…", see digest
	// Reading says of a person's own images what was found, and what says the classes: a sentence without its end.
	Reading string
	// Divided says that the test half of a person's own images was drawn, and that it was not the person who chose it.
	Divided bool
	// Sketches [Classes] know a person's own pictures again; nil of other sets.
	Sketches []Sketch
	// Notes say in what the set differs from the published one, a sentence each: images that were left out, classes
	// without images, a part of the images.
	Notes []string
	// DefaultTasks is the default number of tasks of a stream; 0 derives it from the number of classes.
	DefaultTasks int
	// Orders are the orders of the tasks that were published with the data; the zero value means none.
	Orders Orders
	// Incomplete says that images of the published set are absent, so that some classes or domains may have none.
	Incomplete bool
	// Root is the folder of the files of the images, and List the file that names them; "" where there is none. A set that
	// was lent has none.
	Root string `json:"-"`
	List string `json:"-"`
	// Faults are the image files that are left out because they cannot be read.
	Faults []FileFault `json:"-"`
}

// File is the file of an image of a half of the set, as this system opens it; "" where a file has many images.
func (s *Set) File(half Split, i int) string {
	if half.Files == nil {
		return ""
	}
	return placeOf(s.Root, half.Files[i], s.List != "")
}

// FileFault is a file that cannot be read.
type FileFault struct {
	File string // as this system opens it
	Why  string
}

// Orders are published orders of tasks, such as the ten of CORe50.
type Orders struct {
	Classes     [][]int // [order] all classes, in the order in which tasks take them
	TaskClasses []int   // classes in each task
	Domains     [][]int // [order] the domains of the training images, one a task
}

// Split is one half of a data set.
type Split struct {
	Images Images  // N images
	Y      []int32 // [N]
	// Domain [N] is the index into Set.Domains, and Strength [N] in [0,1] is how strongly the image was disturbed; nil if
	// the data set has none. A domain-incremental stream splits by the domain.
	Domain   []int32
	Strength []float32
	// Task [N] is the task of each image where the files say so, from 0 to Set.Tasks-1; nil where they do not. Test.Task
	// is nil too where all tasks share the test images.
	Task []int32
	// Unreadable [K] is how many images of each class are left out because they cannot be read; nil where none is.
	Unreadable []int
	// Files [N] are the files of the images as they were found, below Set.Root; nil where a file has many images. See
	// [Set.File].
	Files []string `json:"-"`
}

// Len is the number N of images.
func (s Split) Len() int { return len(s.Y) }

// MemoryBytes is the memory that the images take, in bytes. The images of a cache file count as none, because the
// system takes that memory for other things when it needs it.
func (s Split) MemoryBytes() int64 {
	images := s.Images
	if three, ok := images.(tripled); ok { // one channel in memory
		images = three.Images
	}
	switch b := images.(type) {
	case Block:
		return int64(len(b.Pixels))
	case lentImages:
		return int64(len(b.Pixels))
	}
	return 0
}

// ImageLen is the bytes of one sample: C·H·W of an image, 2·D of an embedding.
func (s *Set) ImageLen() int {
	if s.Embeddings {
		return ocl.Float16{}.Bytes(s.C)
	}
	return s.C * s.H * s.W
}

// Samples says in a word what samples are.
func Samples(embeddings bool) string {
	if embeddings {
		return "embeddings"
	}
	return "images"
}

// ClassName is the name of class k, or "class k" where the data set has no names.
func (s *Set) ClassName(k int) string {
	if k >= 0 && k < len(s.ClassNames) {
		return s.ClassNames[k]
	}
	return fmt.Sprintf("class %d", k)
}

// Open opens or draws the data set that spec names, checks it and records its digest. Images that have to be decoded
// are decoded once, into a cache file, unless Spec.ReadOnly says that none is written. When ctx ends, so does the work,
// and nothing is left behind.
func Open(ctx context.Context, spec Spec) (*Set, error) {
	info, err := Lookup(spec.Name)
	if err != nil {
		return nil, err
	}
	set, err := info.opened(ctx, spec)
	if err == nil {
		set.DefaultTasks = info.Tasks
		set.Digest, err = digest(ctx, set)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // what a reader says then may be anything
	}
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", spec.Name, err)
	}
	return set, nil
}

// opened is the set, or the part of it that spec asks for.
func (i Info) opened(ctx context.Context, spec Spec) (*Set, error) {
	if err := i.check(spec); err != nil {
		return nil, err
	}
	var set *Set
	var l *listing
	var err error
	if i.list == nil {
		if set, err = i.Open(ctx, spec); err == nil && i.origin.Place != "" {
			if err = set.fault(); err == nil {
				own := *set // another call may return the same one
				set = &own
			}
		}
	} else if l, err = i.list(ctx, spec); err == nil {
		set, err = l.open(ctx, spec)
	}
	switch {
	case err != nil:
		return nil, err
	case i.MaxSize == 0 && spec.Size != 0 && (spec.Size != set.H || spec.Size != set.W):
		return nil, fmt.Errorf("data.size is %d, but the images are %d×%d. Remove data.size", spec.Size, set.H, set.W)
	}
	if !i.Draws {
		set.reduce(spec)
	}
	if set.Embeddings && spec.Channels != 0 {
		return nil, errors.New("data.channels: embeddings have no channels. Remove data.channels")
	}
	set.grow(spec.Channels)
	return set, nil
}

// check refuses a size or a number of channels that the data set cannot have.
func (i Info) check(spec Spec) error {
	if spec.Channels != 0 && spec.Channels != 3 {
		return fmt.Errorf("data.channels: %d is not possible. Use data.channels=3, or 0 to leave the images as they are",
			spec.Channels)
	}
	if i.MaxSize > 0 && spec.Size != 0 && (spec.Size < i.MinSize || spec.Size > i.MaxSize) {
		return fmt.Errorf("data.size: %d is out of range. Use data.size from %d to %d, or 0 for the default %d", spec.Size,
			i.MinSize, i.MaxSize, i.Size)
	}
	if spec.Domains != "" && !slices.Contains(i.Domains, spec.Domains) {
		if len(i.Domains) == 0 {
			return errors.New("data.domains: the images have no domains to choose from. Leave data.domains empty")
		}
		return fmt.Errorf("data.domains: %.40q is unknown. Use one of %s", spec.Domains, strings.Join(i.Domains, ", "))
	}
	if spec.Reading != "" && len(i.Readings) == 0 {
		return fmt.Errorf("data.reading is %s, but the files of %s are read in one way. Remove data.reading",
			shown(spec.Reading), i.Name)
	}
	if err := i.checkReading(spec.Reading); err != nil {
		return err
	}
	if spec.SkipUnreadable && i.list == nil {
		return fmt.Errorf("data.unreadable: %s is not made of image files, so no image of it can be left out. Remove data.unreadable",
			i.Name)
	}
	for half, n := range []int{spec.TrainPerClass, spec.TestPerClass} {
		key := []string{"train_per_class", "test_per_class"}[half]
		switch {
		case n < 0:
			return fmt.Errorf("data.%s: %d is out of range. Use 1 or more, or 0 for the default", key, n)
		case i.MaxPerClass > 0 && n > i.MaxPerClass:
			return fmt.Errorf("data.%s: %d is out of range. Use 1 to %d, or 0 for the default", key, n, i.MaxPerClass)
		}
	}
	return nil
}
