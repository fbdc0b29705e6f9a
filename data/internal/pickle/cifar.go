package pickle

import (
	"io"

	"ocl/internal/count"
)

// CIFAR is a file of CIFAR-10 or CIFAR-100 in the Python layout: train, test, data_batch_1 to 5 or test_batch.
type CIFAR struct {
	Count  int               // N images
	Images *io.SectionReader // [N,3,32,32], planes in the order red, green, blue
	Labels []int64           // N labels in [0, 10) of CIFAR-10, or the fine ones, in [0, 100), of CIFAR-100
	Coarse []int64           // N coarse labels of CIFAR-100, in [0, 20); nil for CIFAR-10
}

// ReadCIFAR reads a file of images, which has size bytes.
func ReadCIFAR(r io.ReaderAt, size int64) (*CIFAR, error) {
	root, err := read(r, size)
	if err != nil {
		return nil, err
	}
	c := &CIFAR{}
	if c.Count, c.Images, err = root.images("data", 3*32*32); err != nil {
		return nil, err
	}
	if !root.has("fine_labels") {
		c.Labels, err = root.labels("labels", c.Count, 10)
		return c, err
	}
	if c.Labels, err = root.labels("fine_labels", c.Count, 100); err == nil {
		c.Coarse, err = root.labels("coarse_labels", c.Count, 20)
	}
	return c, err
}

// CIFARNames are the names of classes, from the file meta or batches.meta.
type CIFARNames struct {
	Labels []string // 10 names of CIFAR-10, or the 100 fine ones of CIFAR-100
	Coarse []string // 20 names of CIFAR-100; nil for CIFAR-10
}

// ReadCIFARNames reads the file of names, which has size bytes.
func ReadCIFARNames(r io.ReaderAt, size int64) (*CIFARNames, error) {
	root, err := read(r, size)
	if err != nil {
		return nil, err
	}
	n := &CIFARNames{}
	if !root.has("fine_label_names") {
		n.Labels, err = root.texts("label_names", 10)
		return n, err
	}
	if n.Labels, err = root.texts("fine_label_names", 100); err == nil {
		n.Coarse, err = root.texts("coarse_label_names", 20)
	}
	return n, err
}

// labels are n labels under a key, each in [0, classes).
func (p place) labels(key string, n, classes int) ([]int64, error) {
	p, err := p.key(key)
	if err != nil {
		return nil, err
	}
	labels, err := p.ints(classes)
	if err == nil && len(labels) != n {
		err = p.errorf("found %s, wanted %s, one for each image", count.Of(len(labels), "label"), count.Number(n))
	}
	return labels, err
}
