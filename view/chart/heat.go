package chart

import (
	"math"
	"strconv"
)

// Heat is a matrix of fractions in [0,1], NaN where there is no value.
type Heat struct {
	RowLabel, ColLabel string
	Rows, Cols         []string
	V                  [][]float64
}

// HasGaps says whether there are cells without a value.
func (h *Heat) HasGaps() bool {
	for _, row := range h.V {
		for _, v := range row {
			if math.IsNaN(v) {
				return true
			}
		}
	}
	return false
}

// cellSide is the side of a cell, where there is room.
const cellSide = 34.0

func (h *Heat) layout(d *Drawing, l Layout, b box) float64 {
	small := 0.85 * l.Font
	x0, y0 := math.Ceil(b.x0+widest(l.Font, h.Rows...)+8), math.Ceil(b.y0+3*l.Font+4)
	// Half pixels are whole ones in a PNG, so that no seams show between cells.
	side := h.side(b.x1 - x0)
	if n := len(h.Cols); n > 0 { // the last name may be wider than its cell
		side = h.side(b.x1 - x0 - max(0, width(h.Cols[n-1], l.Font)-side)/2)
	}
	numbers := side-1 >= widest(small, "100")+2
	d.add(Mark{Role: Tick, Points: []Point{{b.x0, b.y0 + l.Font}}, Text: h.RowLabel + " ↓   " + h.ColLabel + " →"})
	pitch := widest(l.Font, h.Cols...) + 0.4*l.Font
	for j := 0; j < len(h.Cols); j += every(pitch, side) {
		d.add(Mark{Role: Tick, Points: []Point{{x0 + (float64(j)+0.5)*side, y0 - 0.5*l.Font}}, Text: h.Cols[j],
			Anchor: Middle})
	}
	for i := 0; i < len(h.Rows); i += every(1.1*l.Font, side) {
		d.add(Mark{Role: Tick, Points: []Point{{x0 - 6, y0 + (float64(i)+0.5)*side + 0.35*l.Font}}, Text: h.Rows[i],
			Anchor: End})
	}
	for i, row := range h.V {
		for j, n := 0, 0; j < len(row); j += n {
			n = 1
			x, y := x0+float64(j)*side, y0+float64(i)*side
			if !numbers {
				// Draw neighbouring small cells of one colour as one, which makes the file smaller.
				for j+n < len(row) && sameColor(row[j+n], row[j]) {
					n++
				}
				if !math.IsNaN(row[j]) {
					d.add(cell(x, y, float64(n)*side, side, Hex(HeatColor(HeatStep(row[j]), false))))
				}
				continue
			}
			m := Mark{Role: Tick, Points: []Point{{x + side/2, y + side/2 + 0.35*small}}, Text: "·", Anchor: Middle, Size: small}
			if v := row[j]; !math.IsNaN(v) {
				c := HeatColor(HeatStep(v), false)
				d.add(cell(x, y, side-1, side-1, Hex(c)))
				m.Role, m.Text, m.Color = Number, strconv.FormatFloat(100*v, 'f', 0, 64), Hex(InkOn(c))
			}
			d.add(m)
		}
	}
	bottom := h.key(d, x0, y0+float64(len(h.Rows))*side+0.8*l.Font, l.Font)
	if l.Alone {
		d.Width = d.right() + l.Margin
	}
	if l.Title != "" {
		d.Width = max(d.Width, 320+l.Margin)
	}
	return bottom
}

// side returns the side of a cell in pixels, in room pixels for all columns.
func (h *Heat) side(room float64) float64 {
	return math.Min(cellSide, max(math.Floor(2*room/float64(max(len(h.Cols), 1)))/2, 0.5))
}

// sameColor says that two cells look the same.
func sameColor(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	return HeatStep(a) == HeatStep(b)
}

// every is the number of cells from one name to the next that keeps names pitch apart.
func every(pitch, side float64) int {
	for _, n := range []int{1, 2, 5, 10, 20, 50, 100} {
		if float64(n)*side >= pitch {
			return n
		}
	}
	return 200
}

// cell is a coloured rectangle.
func cell(x, y, w, h float64, color string) Mark {
	return Mark{Role: Cell, Points: []Point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, Color: color}
}

// key draws the scale of colours below y and returns its bottom.
func (h *Heat) key(d *Drawing, x, y, font float64) float64 {
	baseline, step := y+font, math.Round(0.55*font)
	d.add(Mark{Role: Tick, Points: []Point{{x, baseline}}, Text: "0 %"})
	x = math.Ceil(x + width("0 %", font) + 0.5*font)
	for i := range HeatSteps {
		d.add(cell(x+float64(i)*step, math.Round(y+0.15*font), step, math.Round(0.9*font), Hex(HeatColor(i, false))))
	}
	x += HeatSteps*step + 0.5*font
	d.add(Mark{Role: Tick, Points: []Point{{x, baseline}}, Text: "100 %"})
	return baseline + 0.3*font
}
