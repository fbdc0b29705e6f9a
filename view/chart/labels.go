package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// From the right end of the axis to the marker of a label, without and with lines that lead there, and from it to the
// label.
const (
	near    = 13.0
	far     = 26.0
	toLabel = 7.0
)

// endLabel is the label of a series at the end of its line.
type endLabel struct {
	text   string
	marker Point // left of the text
}

// labels makes room in f for labels that end at right, and places them. Labels that meet move apart, and those that are
// too long are cut. It returns nil where there is no room for all of them, which only happens on a page: other figures
// grow.
func (l *Lines) labels(lay Layout, f *frame, right float64) []endLabel {
	room := lay.Labels * lay.Width
	labels := make([]endLabel, len(l.Series))
	var want []float64
	longest := 0.0
	for i := range l.Series {
		s := &l.Series[i]
		labels[i].text = cut(s.Label, certain*room, lay.Font)
		longest = max(longest, width(labels[i].text, lay.Font)/certain)
		_, y, ok := s.End()
		if !ok {
			y = l.YMin
		}
		want = append(want, f.y(y))
	}
	if longest == 0 {
		return nil
	}
	// A label's middle may lie as high as the axis, and as low as the texts of the x axis unless the last of these is
	// wide.
	low := f.y1 + lay.Font
	if width(strconv.Itoa(l.XMax), lay.Font)/2 > near/2 {
		low = f.y1
	}
	at, ok := spread(want, 1.2*lay.Font, f.y0, low)
	if !ok && !lay.Alone {
		return nil
	}
	gutter := near
	for i := range l.Series {
		if math.Abs(at[i]-want[i]) > 2 || !l.full(&l.Series[i]) {
			gutter = far
		}
	}
	f.x1 = right - longest - toLabel - gutter
	for i := range labels {
		labels[i].marker = Point{f.x1 + gutter, at[i]}
	}
	return labels
}

// full says that a series goes on to the right end of the axis.
func (l *Lines) full(s *Series) bool {
	i, _, ok := s.End()
	return ok && l.X(s, i) >= l.XMax
}

// label draws the label, its marker, and a line from the end of the series where that is not beside it.
func (s *Series) label(d *Drawing, f frame, l endLabel, font float64) {
	i, y, ok := s.End()
	if !ok {
		return
	}
	if end := f.at(s, i, y); math.Abs(l.marker.Y-end.Y) > 2 || !f.full(s) {
		d.add(s.mark(Lead, Point{end.X + 5, end.Y}, Point{l.marker.X - 5, l.marker.Y}))
	}
	d.add(s.marker(l.marker, s.radius()))
	m := s.mark(Label, Point{l.marker.X + toLabel, l.marker.Y + 0.35*font})
	m.Text = l.text
	d.add(m)
}

// spread moves wanted label positions apart to at least gap, keeping their order, within [lo,hi], so that the sum of
// the squares of what they move is least. It reports whether there is room.
func spread(want []float64, gap, lo, hi float64) (at []float64, ok bool) {
	n := len(want)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(want[a], want[b]) })
	// Without the gaps, positions must not fall: labels that would cross share the mean of what they want.
	type block struct {
		sum float64
		n   int
	}
	var blocks []block
	for k, i := range order {
		blocks = append(blocks, block{want[i] - float64(k)*gap, 1})
		for m := len(blocks) - 1; m > 0 && blocks[m].sum/float64(blocks[m].n) < blocks[m-1].sum/float64(blocks[m-1].n); m-- {
			blocks[m-1].sum += blocks[m].sum
			blocks[m-1].n += blocks[m].n
			blocks = blocks[:m]
		}
	}
	last := hi - float64(n-1)*gap
	at, ok = make([]float64, n), last >= lo-1e-9
	k := 0
	for _, b := range blocks {
		for range b.n {
			i := order[k]
			at[i] = max(min(b.sum/float64(b.n), last), lo) + float64(k)*gap
			k++
		}
	}
	return at, ok
}
