package pickle

import (
	"io"
	"slices"

	"ocl/internal/count"
)

// CIFAR is a file of CIFAR-10 or CIFAR-100 in the Python layout: train, test, data_batch_1 to 5 or test_batch.
type CIFAR struct {
	Count  int               // N images
	Images *io.SectionReader // [N,3,32,32], planes in the order red, green, blue
	Labels []int64           // N labels in [0, classes); of CIFAR-100 the fine ones
}

// ReadCIFAR reads a file of images, which has size bytes, of CIFAR-10 or CIFAR-100, as the number of classes says.
func ReadCIFAR(r io.ReaderAt, size int64, classes int) (c *CIFAR, err error) {
	root, err := read(r, size)
	if err != nil {
		return nil, err
	}
	defer caught(&err)
	c = &CIFAR{}
	c.Count, c.Images = root.key("data").images(3 * 32 * 32)
	labels := root.key(keyOf(classes, "labels"))
	c.Labels = labels.ints(classes)
	if len(c.Labels) != c.Count {
		labels.fail("found %s, wanted %s, one for each image", count.Of(len(c.Labels), "label"), count.Number(c.Count))
	}
	return c, nil
}

// ReadCIFARNames reads the names of the classes from the file meta or batches.meta, which has size bytes.
func ReadCIFARNames(r io.ReaderAt, size int64, classes int) (names []string, err error) {
	root, err := read(r, size)
	if err != nil {
		return nil, err
	}
	defer caught(&err)
	return root.key(keyOf(classes, "label_names")).texts(classes), nil
}

// keyOf is a key of CIFAR-10, or that of the fine classes of CIFAR-100.
func keyOf(classes int, name string) string {
	if classes == 10 {
		return name
	}
	return "fine_" + name
}

// MiniImageNet is one of the files mini-imagenet-cache-train.pkl, -val.pkl and -test.pkl.
type MiniImageNet struct {
	Images  *io.SectionReader // [N,84,84,3], the colours of a pixel side by side: red, green, blue
	Classes []string          // [N] the name of each image's class
}

// ReadMiniImageNet reads a file of images, which has size bytes. The pixels are read from r when they are asked for.
func ReadMiniImageNet(r io.ReaderAt, size int64) (*MiniImageNet, error) {
	return miniImageNet(r, size, 84)
}

// miniImageNet is ReadMiniImageNet for images of another side.
func miniImageNet(r io.ReaderAt, size int64, side int) (m *MiniImageNet, err error) {
	root, err := read(r, size)
	if err != nil {
		return nil, err
	}
	defer caught(&err)
	n, images := root.key("image_data").images(side, side, 3)
	return &MiniImageNet{images, root.key("class_dict").partition(n)}, nil
}

// partition reads a dictionary of names with the numbers of their images, and returns the name of each of n images.
// Each image must have one.
func (p place) partition(n int) []string {
	names := p.keys()
	class := slices.Repeat([]int{-1}, n) // for each image the index in names
	for c, name := range names {
		at := p.key(name)
		images := at.ints(n)
		if len(images) == 0 {
			at.fail("found no images, wanted at least 1")
		}
		for _, i := range images {
			if other := class[i]; other >= 0 {
				at.fail("found image %d, which is also in %s; wanted one class for each image", i, quoted(names[other]))
			}
			class[i] = c
		}
	}
	of := make([]string, n)
	for i, c := range class {
		if c < 0 {
			p.fail("image %d is in no class; wanted one class for each of %s", i, count.Of(n, "image"))
		}
		of[i] = names[c]
	}
	return of
}
