package pickle

import (
	"cmp"
	"io"
	"slices"

	"ocl/internal/count"
)

// MiniImageNet is one of the files mini-imagenet-cache-train.pkl, -val.pkl and -test.pkl.
type MiniImageNet struct {
	Count   int      // images
	Images  []byte   // [Count,84,84,3], the colours of a pixel side by side: red, green, blue
	Classes []string // their names, by the number of their first image: the order in which the images stand
	Labels  []int32  // for each image its class, an index of Classes
}

// miniImageNetSide is the height and width of the images.
const miniImageNetSide = 84

// ReadMiniImageNet reads a file of images, which has size bytes.
func ReadMiniImageNet(r io.Reader, size int64) (*MiniImageNet, error) {
	root, err := Read(r, size)
	if err != nil {
		return nil, err
	}
	return root.miniImageNet(miniImageNetSide)
}

// ViewMiniImageNet reads a file of images that is in memory or mapped there. Images is a view of b where the file has the
// bytes as they are, as those of Python 2 and of protocols from 3 on have.
func ViewMiniImageNet(b []byte) (*MiniImageNet, error) {
	root, err := View(b)
	if err != nil {
		return nil, err
	}
	return root.miniImageNet(miniImageNetSide)
}

func (root Value) miniImageNet(side int) (*MiniImageNet, error) {
	at, err := root.Key("image_data")
	if err != nil {
		return nil, err
	}
	count, pixels, err := at.images(side, side, 3)
	if err != nil {
		return nil, err
	}
	classes, err := root.Key("class_dict")
	if err != nil {
		return nil, err
	}
	names, labels, err := classes.partition(count)
	if err != nil {
		return nil, err
	}
	return &MiniImageNet{Count: count, Images: pixels, Classes: names, Labels: labels}, nil
}

// partition reads a dictionary of names with the numbers of their images. Each of n images must have one name.
func (v Value) partition(n int) (names []string, labels []int32, err error) {
	if names, err = v.Keys(); err != nil {
		return nil, nil, err
	}
	class := slices.Repeat([]int32{-1}, n) // for each image the index in names
	first := make([]int64, len(names))
	for c, name := range names {
		at, err := v.Key(name)
		if err != nil {
			return nil, nil, err
		}
		images, err := at.Ints()
		if err != nil {
			return nil, nil, err
		}
		if len(images) == 0 {
			return nil, nil, at.errorf("found no images, wanted at least 1")
		}
		if err := at.within(images, int64(n)); err != nil {
			return nil, nil, err
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
		return nil, nil, v.errorf("image %d is in no class; wanted one class for each of %s", i, count.Of(n, "image"))
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
