package pickle

import (
	"io"

	"ocl/internal/count"
)

// CIFAR is a file of CIFAR-10 or CIFAR-100 in the Python layout: train, test, data_batch_1 to 5 or test_batch.
type CIFAR struct {
	Count  int               // N images
	Images *io.SectionReader // [N,3,32,32], planes in the order red, green, blue
	Labels []int64           // N labels in [0, classes); of CIFAR-100 the fine ones
}

// ReadCIFAR reads a file of images, which has size bytes, of CIFAR-10 or CIFAR-100, as the number of classes says.
func ReadCIFAR(r io.ReaderAt, size int64, classes int) (*CIFAR, error) {
	root, err := read(r, size)
	if err != nil {
		return nil, err
	}
	c := &CIFAR{}
	if c.Count, c.Images, err = root.images("data", 3*32*32); err != nil {
		return nil, err
	}
	c.Labels, err = root.labels(keyOf(classes, "labels"), c.Count, classes)
	return c, err
}

// ReadCIFARNames reads the names of the classes from the file meta or batches.meta, which has size bytes.
func ReadCIFARNames(r io.ReaderAt, size int64, classes int) ([]string, error) {
	root, err := read(r, size)
	if err != nil {
		return nil, err
	}
	return root.texts(keyOf(classes, "label_names"), classes)
}

// keyOf is a key of CIFAR-10, or that of the fine classes of CIFAR-100.
func keyOf(classes int, name string) string {
	if classes == 10 {
		return name
	}
	return "fine_" + name
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
