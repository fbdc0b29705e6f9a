// Package data reads labelled images into memory: CIFAR-100 from its official files, anyone's arrays from an .npz file,
// and glyphs, drawn by the program itself. Everything becomes uint8 [N,C,H,W] with labels in [0, K).
//
// The package knows nothing of tasks, batches or orders; package stream makes a stream of a [Set]. Start at [Open];
// [Catalogue] lists the data sets.
package data

import "fmt"

// Spec says which data set to open and how. Size, TrainPerClass and TestPerClass are for data sets that the program draws;
// 0 is the default. A data set read from files accepts only its own size.
type Spec struct {
	Name          string // a name of the catalogue
	Dir           string // folder, archive or file that holds the data; unused by glyphs
	Size          int    // side in pixels; glyphs: 8 to 512, default 32
	TrainPerClass int    // training images per class; glyphs: default 100
	TestPerClass  int    // test images per class; glyphs: default 25
}

// Set is a data set in memory. It does not change after Open has returned it, so any number of streams may share it.
type Set struct {
	Name       string
	C, H, W    int      // channels (1 or 3) and pixels
	Classes    int      // K: labels lie in [0, K), and each of them occurs in Train
	ClassNames []string // K names, or nil where the files hold none
	Domains    []string // names of the domains that Split.Domain counts (glyphs: fonts), or nil
	Train      Split
	Test       Split
	Digest     string // "sha256:…", see digest
}

// Split is one half of a data set.
type Split struct {
	X []uint8 // [N,C,H,W]
	Y []int32 // [N]
	// Domain [N] is the index into Set.Domains, and Strength [N] in [0,1] is how strongly the image was disturbed; nil if
	// the data set has none. A domain-incremental stream splits by the domain.
	Domain   []int32
	Strength []float32
}

// Len is the number N of images.
func (s Split) Len() int { return len(s.Y) }

// Image is a view of image i, uint8 [C,H,W] flattened; size is C·H·W of the set.
func (s Split) Image(i, size int) []uint8 { return s.X[i*size : (i+1)*size : (i+1)*size] }

// ImageLen is C·H·W, the bytes of one image.
func (s *Set) ImageLen() int { return s.C * s.H * s.W }

// ClassName is the name of class k, or "class k" where the data set has no names.
func (s *Set) ClassName(k int) string {
	if k >= 0 && k < len(s.ClassNames) {
		return s.ClassNames[k]
	}
	return fmt.Sprintf("class %d", k)
}

// Open reads or draws the data set that spec names, checks all of it and records its digest. It reads at most one image
// ahead of what it stores, so it needs little more memory than the set itself.
func Open(spec Spec) (*Set, error) {
	info, err := Lookup(spec.Name)
	if err != nil {
		return nil, err
	}
	set, err := info.open(spec)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", spec.Name, err)
	}
	set.Digest = digest(set)
	return set, nil
}

// wantOwn refuses an image size or count that a data set read from files cannot give.
func (s Spec) wantOwn(set *Set) error {
	if s.Size != 0 && (s.Size != set.H || s.Size != set.W) {
		return fmt.Errorf("data.size is %d, but the images are %d×%d. Remove --size", s.Size, set.H, set.W)
	}
	if s.TrainPerClass != 0 || s.TestPerClass != 0 {
		return fmt.Errorf("%d training and %d test images per class are asked for, but the files have a fixed number. "+
			"Remove --train-per-class and --test-per-class", s.TrainPerClass, s.TestPerClass)
	}
	return nil
}
