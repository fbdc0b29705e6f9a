package chart

import (
	"math"
	"strconv"
)

// Scale fixes the y axis. It includes 0, least and all values between floor and ceiling, and ends at round numbers.
// Intervals widen it by at most a tenth of its length, so that one wide interval does not flatten all other lines.
// Scale reports whether an interval is cut because of this; intervals beyond floor and ceiling do not count. If Zoom is
// set and 0 is far below all values, the axis holds a span of five times least around them instead, and intervals widen
// it by at most half of its length.
func (l *Lines) Scale(floor, ceiling, least float64) (cut bool) {
	l.floor, l.ceiling, l.least = floor, ceiling, least
	lo, hi, share := 0.0, least, 0.1
	if low, high := l.span(); l.Zoom && distant(low, high) {
		middle := (low + high) / 2
		lo, hi, share = math.Min(low, middle-leastSpan*least/2), math.Max(high, middle+leastSpan*least/2), 0.5
	}
	ilo, ihi := lo, hi
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
	room := (hi - lo) * share
	ilo, ihi = math.Max(ilo, floor), math.Min(ihi, ceiling)
	lo, hi = math.Max(math.Min(lo, math.Max(ilo, lo-room)), floor), math.Min(math.Max(hi, math.Min(ihi, hi+room)), ceiling)
	if lo == hi {
		hi = 1
	}
	l.step = tickStep(hi-lo, 5)
	l.YMin, l.YMax = math.Floor(lo/l.step+1e-9)*l.step, math.Ceil(hi/l.step-1e-9)*l.step
	return ilo < l.YMin || ihi > l.YMax
}

// span is the least and the largest value of a chart; NaN where there is none.
func (l *Lines) span() (low, high float64) {
	low, high = math.NaN(), math.NaN()
	for _, s := range l.Series {
		for _, ys := range append([][]float64{s.Y}, s.Single...) {
			for _, y := range ys {
				if !math.IsNaN(y) && !(y >= low) {
					low = y
				}
				if !math.IsNaN(y) && !(y <= high) {
					high = y
				}
			}
		}
	}
	return low, high
}

// leastSpan is the least length of an axis that does not begin at 0, in per cent.
const leastSpan = 5.0

// distant says that 0 is so far below values that an axis from there would leave much of a chart empty.
func distant(low, high float64) bool { return low > 0 && low > (high-low)/2 }

// Whole is the chart with an axis that holds 0, nil where it does already.
func (l *Lines) Whole() *Lines {
	if !(l.YMin > 0) {
		return nil
	}
	whole := *l
	whole.Zoom = false
	whole.Scale(l.floor, l.ceiling, l.least)
	return &whole
}

// From says in the label of the axis where it begins, unless that is 0.
func (l *Lines) From(label string) string {
	if !(l.YMin > 0) {
		return label
	}
	return label + " (from " + l.yTicks()[0].text + ")"
}

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

// yTick is a mark of the y axis.
type yTick struct {
	at   float64
	text string
}

// yTicks are the marks of the y axis, with the digits that tell each from the next.
func (l *Lines) yTicks() []yTick {
	digits := max(1, int(math.Ceil(-math.Log10(l.step)-1e-9)))
	p := math.Pow(10, float64(digits))
	var t []yTick
	for i := math.Round(l.YMin / l.step); i*l.step <= l.YMax+l.step/2; i++ {
		v := i * l.step
		t = append(t, yTick{v, strconv.FormatFloat(math.Round(v*p)/p+0, 'f', -1, 64)}) // adding zero turns -0 into 0
	}
	return t
}

// xTicks are the marks of the x axis: round numbers at least gap apart, and the ends of the axis, which take the place
// of round ones too near to them.
func (l *Lines) xTicks(gap float64) []int {
	if l.XMax <= l.XMin {
		return []int{l.XMin}
	}
	for _, step := range []int{1, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000,
		100_000} {
		t := []int{l.XMin}
		for x := (l.XMin/step + 1) * step; x < l.XMax; x += step {
			if 2*(x-l.XMin) > step && 2*(l.XMax-x) > step {
				t = append(t, x)
			}
		}
		t = append(t, l.XMax)
		closest := l.XMax - l.XMin
		for i := 1; i < len(t); i++ {
			closest = min(closest, t[i]-t[i-1])
		}
		if float64(closest) >= gap {
			return t
		}
	}
	return []int{l.XMin, l.XMax}
}
