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

// rows are those of a w×h image after the turn, which needs the whole image: 3·w·h bytes.
func (t turn) rows(stored rows, w, h int) rows {
	var planes [3][]uint8
	var row [3][]uint8
	for c := range planes {
		planes[c], row[c] = make([]uint8, w*h), make([]uint8, w)
	}
	for y := range h {
		stored(y, row[0], row[1], row[2])
		for c := range planes {
			t.put(planes[c], row[c], y, h)
		}
	}
	w, _ = t.size(w, h)
	return func(y int, r, g, b []uint8) {
		for c, dst := range [][]uint8{r, g, b} {
			copy(dst, planes[c][y*w:][:w])
		}
	}
}

// put writes row y of a stored image, h rows high, where it belongs in the turned image.
func (t turn) put(turned, row []uint8, y, h int) {
	w := len(row)
	if t == 3 || t == 4 || t == 6 || t == 7 { // from the last row
		y = h - 1 - y
	}
	at, step := y*w, 1
	if t.aside() {
		at, step = y, h
	}
	if t == 2 || t == 3 || t == 7 || t == 8 { // from the right end of a row
		at, step = at+(w-1)*step, -step
	}
	for _, v := range row {
		turned[at] = v
		at += step
	}
}
