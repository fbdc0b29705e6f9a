package pickle

import (
	"cmp"
	"io"
	"slices"

	"ocl/internal/count"
)

// MiniImageNet is one of the files mini-imagenet-cache-train.pkl, -val.pkl and -test.pkl.
type MiniImageNet struct {
	Count   int               // images
	Images  *io.SectionReader // [Count,84,84,3], the colours of a pixel side by side: red, green, blue
	Classes []string          // their names, by the number of their first image: the order in which the images stand
	Labels  []int32           // for each image its class, an index of Classes
}

// ReadMiniImageNet reads a file of images, which has size bytes. The pixels are read from r when they are asked for.
func ReadMiniImageNet(r io.ReaderAt, size int64) (*MiniImageNet, error) {
	root, err := read(r, size)
	if err != nil {
		return nil, err
	}
	return root.miniImageNet(84)
}

// miniImageNet are images of a side, and their classes.
func (p place) miniImageNet(side int) (*MiniImageNet, error) {
	m := &MiniImageNet{}
	var err error
	if m.Count, m.Images, err = p.images("image_data", side, side, 3); err != nil {
		return nil, err
	}
	classes, err := p.key("class_dict")
	if err == nil {
		m.Classes, m.Labels, err = classes.partition(m.Count)
	}
	return m, err
}

// partition reads a dictionary of names with the numbers of their images. Each of n images must have one name.
func (p place) partition(n int) (names []string, labels []int32, err error) {
	d, err := p.dict()
	if err != nil {
		return nil, nil, err
	}
	for _, e := range d.entries {
		names = append(names, e.key)
	}
	class := slices.Repeat([]int32{-1}, n) // for each image the index in names
	first := make([]int64, len(names))
	for c, name := range names {
		at, err := p.key(name)
		if err != nil {
			return nil, nil, err
		}
		images, err := at.ints(n)
		if err != nil {
			return nil, nil, err
		}
		if len(images) == 0 {
			return nil, nil, at.errorf("found no images, wanted at least 1")
		}
		first[c] = slices.Min(images)
		for _, i := range images {
			if other := class[i]; other >= 0 {
				return nil, nil, at.errorf("found image %d, which is also in %s; wanted one class for each image", i, quoted(names[other]))
			}
			class[i] = int32(c)
		}
	}
	if i := slices.Index(class, -1); i >= 0 {
		return nil, nil, p.errorf("image %d is in no class; wanted one class for each of %s", i, count.Of(n, "image"))
	}
	order := make([]int, len(names))
	for c := range order {
		order[c] = c
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(first[a], first[b]) })
	sorted, place := make([]string, len(names)), make([]int32, len(names)) // place is where each of names stands in sorted
	for i, c := range order {
		sorted[i], place[c] = names[c], int32(i)
	}
	for i, c := range class {
		class[i] = place[c]
	}
	return sorted, class, nil
}
