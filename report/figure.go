package report

import (
	"math"
	"strconv"
)

// figure is the description of one picture: it feeds the page, the SVG and PNG files and the CSV, so that all of them
// show the same data under the same title. Exactly one of Lines, Heat and Bars is set.
type figure struct {
	ID      string // names figures/ID.svg, figures/ID.png, tables/ID.csv and the anchor
	Title   string // what is to be seen
	Caption string // what was measured
	Alt     string // the picture in words
	Data    *table
	Lines   *lines
	Heat    *heat
	Bars    *bars
}

// table is the figure's data under its title.
func (f *figure) table() *table {
	f.Data.Title = f.Title
	return f.Data
}

// lines is a line chart over whole-numbered x.
type lines struct {
	XLabel, YLabel string
	XMax           int // x runs from 1
	XOffset        int // added to printed x: the first task's number minus 1
	YMin, YMax     float64
	Step           float64 // between the marks of the y axis
	Sparse         bool    // few marks and no values on hover, where the page has many lines
	Plain          bool    // values are no per cent: as many digits as they need
	Series         []series
}

// series is one method in a line chart. Values are per cent or points, or plain; NaN is a gap.
type series struct {
	Label  string
	Style  style
	Width  float64
	Y      []float64   // at x = 1, 2, …
	Half   []float64   // half widths of the intervals, NaN without
	Single [][]float64 // the runs behind the mean, drawn thin
	Hollow bool        // the second of two lines of a method: thinner, with hollow marks
}

// heat is a matrix of fractions in [0,1], NaN where not evaluated.
type heat struct {
	RowLabel, ColLabel string
	Rows, Cols         []string
	V                  [][]float64
	Say                func(i, j int) string // the cell in words, without its value; nil where the number in it must do
	Missing            string                // what an empty cell means
	Whose              string                // the row's label
	Image              bool                  // a picture on the page too: too many cells for a table
}

// bars are stacked horizontal bars.
type bars struct {
	XLabel string
	Parts  []string
	Bars   []bar
}

// bar is one row: its parts add up.
type bar struct {
	Label string
	Style style
	Parts []float64
	Text  string // the values in words
}

// opacity of a part of a stacked bar; the first part is the fullest.
var partOpacity = []float64{1, 0.6, 0.3}

// scale fixes the y axis between floor and 100: it starts at 0, or below where a value is negative, and ends at a round
// number above all values. Intervals widen it by a tenth of its length at most, so that two runs that disagree at one
// task do not squeeze all others; scale reports whether one is cut by that, intervals beyond floor and 100 aside.
func (l *lines) scale(floor float64) (cut bool) {
	lo, hi := 0.0, 1.0
	ilo, ihi := 0.0, 1.0
	for _, s := range l.Series {
		for _, ys := range append([][]float64{s.Y}, s.Single...) {
			for _, y := range ys {
				if !math.IsNaN(y) {
					lo, hi = math.Min(lo, y), math.Max(hi, y)
				}
			}
		}
		for i, h := range s.Half {
			if !math.IsNaN(s.Y[i] + h) {
				ilo, ihi = math.Min(ilo, s.Y[i]-h), math.Max(ihi, s.Y[i]+h)
			}
		}
	}
	room := (hi - lo) / 10
	ilo, ihi = math.Max(ilo, floor), math.Min(ihi, 100)
	lo, hi = math.Max(math.Min(lo, math.Max(ilo, lo-room)), floor), math.Min(math.Max(hi, math.Min(ihi, hi+room)), 100)
	step := tickStep(hi-lo, 5)
	l.Step = step
	l.YMin, l.YMax = math.Floor(lo/step+1e-9)*step, math.Ceil(hi/step-1e-9)*step
	return ilo < l.YMin || ihi > l.YMax
}

// scaleFreely fixes the y axis around 0 and all values, with as much of their intervals as a tenth of the axis holds.
func (l *lines) scaleFreely() {
	lo, hi, ilo, ihi := 0.0, 0.0, 0.0, 0.0
	for _, s := range l.Series {
		for i, y := range s.Y {
			if math.IsNaN(y) {
				continue
			}
			lo, hi = math.Min(lo, y), math.Max(hi, y)
			if h := at1(s.Half, i); !math.IsNaN(h) {
				ilo, ihi = math.Min(ilo, y-h), math.Max(ihi, y+h)
			}
		}
	}
	room := (hi - lo) / 10
	lo, hi = math.Min(lo, math.Max(ilo, lo-room)), math.Max(hi, math.Min(ihi, hi+room))
	if lo == hi {
		hi = 1
	}
	l.Step = tickStep(hi-lo, 5)
	l.YMin, l.YMax = math.Floor(lo/l.Step+1e-9)*l.Step, math.Ceil(hi/l.Step-1e-9)*l.Step
}

// tickText is a mark of the y axis with the digits that tell it from the next.
func (l *lines) tickText(t float64) string {
	digits := max(1, int(math.Ceil(-math.Log10(l.Step)-1e-9)))
	p := math.Pow(10, float64(digits))
	return strconv.FormatFloat(math.Round(t*p)/p+0, 'f', -1, 64) // adding zero turns -0 into 0
}

// text is a value with its half width, as the chart means it.
func (l *lines) text(y, half float64) string {
	switch {
	case math.IsNaN(y):
		return "not measured"
	case !l.Plain:
		return estimateText(y, half)
	case math.IsNaN(half):
		return significant(y)
	}
	return significant(y) + " ± " + significant(half)
}

// crowded says that so many methods share the picture that single runs would hide the means, and bands are drawn fainter.
func (l *lines) crowded() bool { return len(l.Series) > crowd }

// crowd is the number of methods up to which a picture shows single runs.
const crowd = 6

// tickStep is the round step (1, 2 or 5 times a power of ten) that cuts span into at most n parts.
func tickStep(span float64, n int) float64 {
	if !(span > 0) {
		return 1
	}
	raw := span / float64(n)
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= raw*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// yTicks are the marks of the y axis.
func (l *lines) yTicks() []float64 {
	var t []float64
	for i := math.Round(l.YMin / l.Step); i*l.Step <= l.YMax+l.Step/2; i++ {
		t = append(t, i*l.Step)
	}
	return t
}

// xTicks are the marks of the x axis, at most n whole numbers, the first and the last among them.
func (l *lines) xTicks(n int) []int {
	step := 1
	for _, s := range []int{1, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000} {
		step = s
		if (l.XMax-1)/s < n {
			break
		}
	}
	t := []int{1}
	for x := step; x <= l.XMax; x += step {
		if x > 1 {
			t = append(t, x)
		}
	}
	last := t[len(t)-1]
	if last != l.XMax {
		if 2*(l.XMax-last) <= step && len(t) > 1 {
			t = t[:len(t)-1]
		}
		t = append(t, l.XMax)
	}
	return t
}

// endOf is the last measured point of a series, ok false if there is none.
func (s *series) endOf() (x int, y float64, ok bool) {
	for i := len(s.Y) - 1; i >= 0; i-- {
		if !math.IsNaN(s.Y[i]) {
			return i + 1, s.Y[i], true
		}
	}
	return 0, 0, false
}

// spread moves wanted label positions apart to at least gap, keeping their order, within [lo,hi]. It reports whether no
// label had to move further than most.
func spread(want []float64, gap, lo, hi, most float64) (at []float64, ok bool) {
	n := len(want)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := 1; i < n; i++ {
		for k := i; k > 0 && want[order[k]] < want[order[k-1]]; k-- {
			order[k], order[k-1] = order[k-1], order[k]
		}
	}
	at = make([]float64, n)
	for k, i := range order {
		at[i] = math.Max(want[i], lo)
		if k > 0 {
			at[i] = math.Max(at[i], at[order[k-1]]+gap)
		}
	}
	limit := hi
	for k := n - 1; k >= 0; k-- {
		i := order[k]
		at[i] = math.Min(at[i], limit)
		limit = at[i] - gap
	}
	ok = true
	for i := range at {
		if math.Abs(at[i]-want[i]) > most || at[i] < lo-1e-9 {
			ok = false
		}
	}
	return at, ok
}
