package sheet

import (
	"errors"
	"image"

	"golang.org/x/image/draw"

	"ocl/data"
)

// Examples are test images of some classes of a data set: of each class so many, spread over those that it has, or all
// where it has fewer. Images that are wider or higher than side pixels are made smaller. A class that the set does not
// have has none.
func Examples(set *data.Set, classes []int, each, side int) ([][]image.Image, error) {
	if set.Embeddings {
		return nil, errors.New("sheet: the data are embeddings, of which there is nothing to see")
	}
	places := map[int][]int32{}
	for i, y := range set.Test.Y {
		places[int(y)] = append(places[int(y)], int32(i))
	}
	out := make([][]image.Image, len(classes))
	for k, class := range classes {
		all := places[class]
		var at []int32
		for i := range min(each, len(all)) {
			at = append(at, all[i*len(all)/min(each, len(all))])
		}
		images, err := Images(set, at, side)
		if err != nil {
			return nil, err
		}
		out[k] = images
	}
	return out, nil
}

// Images are test images of a data set by their places. Images that are wider or higher than side pixels are made
// smaller.
func Images(set *data.Set, at []int32, side int) (out []image.Image, err error) {
	images, err := set.Take(set.Test, at)
	if err != nil {
		return nil, err
	}
	for _, pixels := range images {
		img := image.NewRGBA(image.Rect(0, 0, set.W, set.H))
		paste(set, img, image.Point{}, pixels, 1)
		out = append(out, within(img, side))
	}
	return out, nil
}

// within is an image, made smaller where it is wider or higher than side pixels.
func within(img *image.RGBA, side int) image.Image {
	size := img.Bounds().Size()
	longer := max(size.X, size.Y)
	if longer <= side {
		return img
	}
	small := image.NewRGBA(image.Rect(0, 0, max(1, size.X*side/longer), max(1, size.Y*side/longer)))
	draw.CatmullRom.Scale(small, small.Bounds(), img, img.Bounds(), draw.Src, nil)
	return small
}
