package picture

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

// apply turns the plane src, [h,w], into dst. The pixel of dst at (x, y) is that of src at start + x·right + y·down.
func (t turn) apply(dst, src []uint8, w, h int) {
	start, right, down := 0, 1, w
	if t == 2 || t == 3 || t == 7 || t == 8 { // from the right end of a row
		start, right = w-1, -1
	}
	if t == 3 || t == 4 || t == 6 || t == 7 { // from the last row
		start, down = start+(h-1)*w, -w
	}
	if t.aside() {
		right, down = down, right
	}
	w, h = t.size(w, h)
	for y := range h {
		row := dst[y*w:][:w]
		for x, at := 0, start+y*down; x < w; x, at = x+1, at+right {
			row[x] = src[at]
		}
	}
}
