package picture

import "slices"

// turn is EXIF's orientation, from 1 to 8: how to turn the stored image to see it upright.
type turn int

const upright turn = 1

// aside says that rows become columns.
func (t turn) aside() bool { return t >= 5 }

// size is the width and height of a w×h image after the turn.
func (t turn) size(w, h int) (int, int) {
	if t.aside() {
		return h, w
	}
	return w, h
}

// flipped are the rows of an image h rows high, last row first and right end first as the turn wants it. Of a turn that
// is aside they are the columns of what is seen, from the left.
func (t turn) flipped(stored rows, h int) rows {
	upward, leftward := t == 3 || t == 4 || t == 6 || t == 7, t == 2 || t == 3 || t == 7 || t == 8
	return func(y int, r, g, b []uint8) {
		if upward {
			y = h - 1 - y
		}
		if stored(y, r, g, b); leftward {
			slices.Reverse(r)
			slices.Reverse(g)
			slices.Reverse(b)
		}
	}
}
