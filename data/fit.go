package data

import "ocl/data/internal/picture"

// Fit says how images of other sizes become h×w pixels, for programs that prepare images themselves. They are stretched
// if stretch is set; otherwise they are scaled until they are nowhere too small, and the middle is cut out. If inner is
// not 0, they are made inner×inner pixels, and zeros are put around them.
func (i Info) Fit(h, w int) (stretch bool, inner int) {
	if i.Shape == idxShape && h == w && h > idxSide { // these sets pad
		inner = idxSide
	}
	return i.fit == picture.Stretch, inner
}
