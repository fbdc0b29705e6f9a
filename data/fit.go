package data

import (
	"fmt"

	"ocl/data/internal/picture"
)

// fit is how pictures become images, given how those of the data set do.
func (s Spec) fit(of picture.Fit) picture.Fit {
	if s.Bicubic {
		of |= picture.Bicubic
	}
	return of
}

// Fit says how images of other sizes become h×w pixels, for programs that prepare images themselves. They are stretched
// if stretch is set; otherwise they are scaled until they are nowhere too small, and the middle is cut out. If inner is
// not 0, they are made inner×inner pixels, and zeros are put around them.
func (i Info) Fit(h, w int) (stretch bool, inner int) {
	if i.Pads && h == w && h > i.Size {
		inner = i.Size
	}
	return i.fit&picture.Stretch != 0, inner
}

// Remedy says how images of the set become c×h×w, for a message about images of another shape: the options that do it,
// or that none can.
func (s *Set) Remedy(c, h, w int) string {
	switch {
	case s.C == 3 && c == 1:
		return "No option makes the colours of a data set grey. Use grey images, or a learner that was trained with data.channels=3"
	case s.C != c && (s.C != 1 || c != 3):
		return fmt.Sprintf("No option changes their channels. Use images of %d channels", c)
	case s.H == h && s.W == w:
		return "Use data.channels=3, which makes three equal channels of grey images"
	}
	info, err := Lookup(s.Name)
	if err != nil || h != w || h < info.MinSize || h > info.MaxSize {
		return fmt.Sprintf("No option makes them %d×%d pixels. Use images of that size", h, w)
	}
	if s.C != c {
		return fmt.Sprintf("Use data.channels=3 and data.size=%d", h)
	}
	return fmt.Sprintf("Use data.size=%d", h)
}
