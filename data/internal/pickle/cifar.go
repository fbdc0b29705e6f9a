package pickle

import (
	"fmt"
	"io"

	"ocl/internal/count"
)

// CIFAR is a file of CIFAR-10 or CIFAR-100 in the Python layout: train, test, data_batch_1 to 5 or test_batch.
type CIFAR struct {
	Images []byte   // [N,3,32,32], planes in the order red, green, blue
	Labels []int64  // N labels in [0, 10) of CIFAR-10, or the fine ones, in [0, 100), of CIFAR-100
	Coarse []int64  // N coarse labels of CIFAR-100, in [0, 20); nil for CIFAR-10
	Files  []string // N names of the original photographs; nil if the file has none
}

// cifarPixels is the length of a row: 3 planes of 32×32.
const cifarPixels = 3 * 32 * 32

// ReadCIFAR reads a file of images, which has size bytes.
func ReadCIFAR(r io.Reader, size int64) (*CIFAR, error) {
	root, err := Read(r, size)
	if err != nil {
		return nil, err
	}
	images, err := root.Key("data")
	if err != nil {
		return nil, err
	}
	count, pixels, err := images.images(cifarPixels)
	if err != nil {
		return nil, err
	}
	c := &CIFAR{Images: pixels}
	if root.Has("fine_labels") {
		if c.Labels, err = root.labels("fine_labels", count, 100); err != nil {
			return nil, err
		}
		if c.Coarse, err = root.labels("coarse_labels", count, 20); err != nil {
			return nil, err
		}
	} else if c.Labels, err = root.labels("labels", count, 10); err != nil {
		return nil, err
	}
	if root.Has("filenames") {
		c.Files, err = root.texts("filenames", count)
	}
	return c, err
}

// CIFARNames are the names of classes, from the file meta or batches.meta.
type CIFARNames struct {
	Labels []string // 10 names of CIFAR-10, or the 100 fine ones of CIFAR-100
	Coarse []string // 20 names of CIFAR-100; nil for CIFAR-10
}

// ReadCIFARNames reads the file of names, which has size bytes.
func ReadCIFARNames(r io.Reader, size int64) (*CIFARNames, error) {
	root, err := Read(r, size)
	if err != nil {
		return nil, err
	}
	n := &CIFARNames{}
	if !root.Has("fine_label_names") {
		n.Labels, err = root.texts("label_names", 10)
		return n, err
	}
	if n.Labels, err = root.texts("fine_label_names", 100); err != nil {
		return nil, err
	}
	n.Coarse, err = root.texts("coarse_label_names", 20)
	return n, err
}

// labels are n labels under a key, each in [0, classes).
func (v Value) labels(name string, n, classes int) ([]int64, error) {
	at, err := v.Key(name)
	if err != nil {
		return nil, err
	}
	labels, err := at.Ints()
	if err != nil {
		return nil, err
	}
	if len(labels) != n {
		return nil, at.errorf("found %s, wanted %s, one for each image", count.Of(len(labels), "label"), count.Number(n))
	}
	return labels, at.within(labels, int64(classes))
}

// within checks that each of the integers of v is in [0, end).
func (v Value) within(ints []int64, end int64) error {
	for i, n := range ints {
		if n < 0 || n >= end {
			return v.below(fmt.Sprint(i), value{}).errorf("found %d, wanted 0 to %d", n, end-1)
		}
	}
	return nil
}

// texts are n texts under a key.
func (v Value) texts(name string, n int) ([]string, error) {
	at, err := v.Key(name)
	if err != nil {
		return nil, err
	}
	texts, err := at.Texts()
	if err == nil && len(texts) != n {
		err = at.errorf("found %s, wanted %s", count.Of(len(texts), "text"), count.Number(n))
	}
	return texts, err
}
