package chart

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"ocl/internal/escape"
)

// maxHoverValues bounds the values of single runs that one chart gives to the script of its page, so that the page
// stays small. Above it the script gets the means alone.
const maxHoverValues = 800

// hoverData is what the script of a page shows when a reader points at a line chart. It stands in the page as JSON.
type hoverData struct {
	// values are written as [pack] does, else as texts with spaces between them, "-" where there is none
	Packed bool           `json:"p,omitempty"`
	X      [2]json.Number `json:"x"` // the ends of the axis
	Y      [2]json.Number `json:"y"`
	XLabel string         `json:"xl"`
	YLabel string         `json:"yl,omitempty"`
	Series []hoverSeries  `json:"s"`
}

// hoverSeries has the values of one line, by increasing x.
type hoverSeries struct {
	Name  string   `json:"n"`
	Group string   `json:"g,omitempty"` // data-s of its marks, where that is another
	At    string   `json:"x,omitempty"` // with spaces; absent where it is the left end, one more, and so on
	Y     string   `json:"y"`
	Half  string   `json:"h,omitempty"` // absent where no point has an interval
	Seeds string   `json:"i,omitempty"` // with spaces
	Runs  []string `json:"v,omitempty"` // of each seed its values; absent where there is one, or where there are too many
}

// script returns the hoverData of the chart as JSON.
func (l *Lines) script() string {
	t := hoverData{Packed: l.tenths(), XLabel: l.XLabel, YLabel: l.YLabel, Y: [2]json.Number{end(l.YMin), end(l.YMax)}}
	t.X = [2]json.Number{end(float64(l.XMin)), end(float64(l.XMax))}
	list := l.list
	if t.Packed {
		list = pack
	}
	values := 0
	for i := range l.Series {
		for _, run := range l.Series[i].Single {
			values += len(run)
		}
	}
	for i := range l.Series {
		s := &l.Series[i]
		one := hoverSeries{Name: s.Label, Y: list(s.Y)}
		if s.Name != "" && s.Name != s.Label {
			one.Name, one.Group = s.Name, s.Label
		}
		if s.X != nil && (len(s.X) != l.XMax-l.XMin+1 || s.X[0] != l.XMin) {
			var at []string
			for _, x := range s.X {
				at = append(at, strconv.Itoa(x))
			}
			one.At = strings.Join(at, " ")
		}
		for _, half := range s.Half {
			if !math.IsNaN(half) {
				one.Half = list(s.Half)
				break
			}
		}
		var seeds []string
		for _, seed := range s.Seeds {
			seeds = append(seeds, strconv.FormatUint(seed, 10))
		}
		one.Seeds = strings.Join(seeds, " ")
		if values <= maxHoverValues {
			for _, run := range s.Single {
				one.Runs = append(one.Runs, list(run))
			}
		}
		t.Series = append(t.Series, one)
	}
	text, err := json.Marshal(t)
	if err != nil {
		panic("chart: numbers and texts in memory cannot be written: " + err.Error())
	}
	return string(escape.JSON(text)) // without <, > and &, and without what files of people must not hold
}

// end is the end of an axis.
func end(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'g', 6, 64)) }

// list writes values as people read them.
func (l *Lines) list(values []float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		switch {
		case math.IsNaN(v):
			texts[i] = "-"
		case l.Say != nil:
			texts[i] = l.Say(v, math.NaN())
		default:
			texts[i] = strconv.FormatFloat(v, 'f', 1, 64)
		}
	}
	return strings.Join(texts, " ")
}

// tenths says that the chart's values are read with one decimal and that [pack] can write them.
func (l *Lines) tenths() bool {
	if !l.Percent {
		return false
	}
	for i := range l.Series {
		s := &l.Series[i]
		for _, values := range append([][]float64{s.Y, s.Half}, s.Single...) {
			for _, v := range values {
				if v < -packBelow/10 || v > packMost/10 {
					return false
				}
			}
		}
	}
	return true
}
