package data

// Row is a line of a contact sheet (package sheet): a label and images after it, uint8 [C,H,W] of the set.
type Row struct {
	Label  string
	Images [][]uint8
}

// Take returns the images of a half at some places, which the caller must not change.
func (s *Set) Take(half Split, at []int32) ([][]uint8, error) {
	images := make([][]uint8, len(at))
	for k, i := range at {
		var err error
		if images[k], err = half.Images.Image(int(i), make([]uint8, s.ImageLen())); err != nil {
			return nil, err
		}
	}
	return images, nil
}
