package chart

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"ocl/internal/escape"
)

// TestLinesTellTheirValues: the page's script finds the values of lines as people read them, once in a page that draws
// a chart twice.
func TestLinesTellTheirValues(t *testing.T) {
	nan := math.NaN()
	l := &Lines{XLabel: "tasks", YLabel: "accuracy, %", XMin: 1, XMax: 3, Series: []Series{
		{Label: "RV", Name: "ER + RV <1>", Y: []float64{80, nan, 60.04}, Half: []float64{nan, nan, 1.5},
			Single: [][]float64{{79, nan, 59}, {81, nan, 61.1}}, Seeds: []uint64{1, 7}},
		{Label: "MIR", X: []int{2, 3}, Y: []float64{50, 40}, Seeds: []uint64{3}},
	}}
	l.Scale(0, 100, 1)
	d := Draw(l, Wide)
	text := d.Inline("wide", "a", "title", "description")
	want := `{"x":[1,3],"y":[0,100],"xl":"tasks","yl":"accuracy, %","s":[` +
		`{"n":"ER + RV \u003c1\u003e","g":"RV","y":"80.0 - 60.0","h":"- - 1.5","i":"1 7","v":["79.0 - 59.0","81.0 - 61.1"]},` +
		`{"n":"MIR","x":"2 3","y":"50.0 40.0","i":"3"}]}`
	_, rest, _ := strings.Cut(text, "<metadata>")
	if got, _, _ := strings.Cut(rest, "</metadata>"); got != want || !json.Valid([]byte(got)) {
		t.Errorf("the chart tells\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(text, ` data-f="`) {
		t.Error("the chart does not say where its axes are")
	}
	d.Again = true
	if text := d.Inline("narrow", "b", "title", "description"); strings.Contains(text, "<metadata>") ||
		!strings.Contains(text, ` data-f="`) {
		t.Error("the second drawing tells the values again, or does not say where its axes are")
	}
	for i := range l.Series {
		l.Series[i].Single = make([][]float64, maxHoverValues)
		for k := range l.Series[i].Single {
			l.Series[i].Single[k] = l.Series[i].Y
		}
	}
	if strings.Contains(l.script(), `"v":`) {
		t.Error("too many values of single runs are told")
	}
}

// TestPack: values with one decimal are two characters each, which script/chart.test.mjs reads again.
func TestPack(t *testing.T) {
	if got := pack([]float64{-0.01, math.NaN(), 45.249, -3}); got != "QA__XEPi" {
		t.Errorf("packed as %s", got)
	}
	l := &Lines{Percent: true, Series: []Series{{Y: []float64{1, 2}, Half: []float64{math.NaN(), 400}}}}
	if l.tenths() {
		t.Error("an interval of 400 is packed, but does not fit")
	}
	l.Series[0].Half[1] = 4
	if !l.tenths() || !strings.Contains(l.script(), `{"p":true,`) {
		t.Errorf("percentages are not packed: %s", l.script())
	}
}

// TestPackShares: a script finds the numbers as they are printed, which script/deck.test.mjs holds. 12.5 is printed as
// 12 without decimals, and 37.5 as 38.
func TestPackShares(t *testing.T) {
	if got := PackShares([]float64{0.375, math.NaN(), 1, math.NaN()}); got != "Lu__fQ" {
		t.Errorf("packed as %s", got)
	}
	if got := PackShares([]float64{0.125}) + PackShares([]float64{0}) + PackShares(nil); got != "D5AA" {
		t.Errorf("packed as %s", got)
	}
	for i := range 20_001 {
		v := float64(i) / 20_000
		text := PackShares([]float64{v})
		code := 64*strings.IndexByte(packed, text[0]) + strings.IndexByte(packed, text[1])
		tenths, whole := strconv.FormatFloat(float64((code+1)/2)/10, 'f', 1, 64), strconv.Itoa((code+10)/20)
		if tenths != strconv.FormatFloat(100*v, 'f', 1, 64) || whole != strconv.FormatFloat(100*v, 'f', 0, 64) {
			t.Fatalf("%g is read as %s and %s", v, tenths, whole)
		}
	}
}

// TestToldIsJSONAsWritten: a name may have characters that do not show. A file for people escapes them as Go does,
// which is no JSON.
func TestToldIsJSONAsWritten(t *testing.T) {
	name := "a\x7fb \u202ec \U000e0001 ü"
	l := &Lines{XMin: 1, XMax: 2, Series: []Series{{Label: name, Y: []float64{1, 2}}}}
	l.Scale(0, 100, 1)
	var back hoverData
	if err := json.Unmarshal([]byte(escape.Lines(l.script())), &back); err != nil || back.Series[0].Name != name {
		t.Errorf("%s is read as %+v: %v", l.script(), back.Series, err)
	}
}

// TestMarkersAreJoined: on a page markers that follow each other and differ in their places alone are one path, but not
// those that say something.
func TestMarkersAreJoined(t *testing.T) {
	look := &Look{Class: "a"}
	dot := func(series string, x float64, tip string) Mark {
		return Mark{Role: Dot, Series: series, Look: look, Points: []Point{{x, 5}}, Size: 2, Tip: tip}
	}
	d := Drawing{Width: 90, Height: 90, Font: 10,
		Marks: []Mark{dot("a", 1, ""), dot("a", 2, ""), dot("a", 3, "said"), dot("a", 4, ""), dot("b", 5, ""),
			dot("b", 6, "")}}
	if n := strings.Count(d.Inline("wide", "x", "T", "D"), "<path"); n != 4 || len(d.Marks) != 6 {
		t.Errorf("%d paths of %d marks, want 4 of 6", n, len(d.Marks))
	}
}
