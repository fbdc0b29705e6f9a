package report

import (
	"fmt"
	"slices"
	"strings"

	"ocl/report/chart"
)

// The Okabe–Ito colours, safe for colour-blind readers. Yellow is left out: on white its contrast is 1.3 : 1.
const (
	orange    = "#E69F00"
	skyBlue   = "#56B4E9"
	green     = "#009E73"
	blue      = "#0072B2"
	vermilion = "#D55E00"
	purple    = "#CC79A7"
)

// look is a chart.Look.
func look(class, light, dark string, dash []float64, marker chart.Marker) chart.Look {
	return chart.Look{Class: class, Light: light, Dark: dark, Dash: dash, Marker: marker}
}

// The looks, by number from 1: their order stays for ever, and new ones go last. The colours do not tell so many
// methods apart, so those that share one differ in dash and marker; the bounds are greys.
var (
	candidateLooks = []chart.Look{
		look("c0", skyBlue, skyBlue, []float64{8, 3}, chart.Square),
		look("c1", blue, "#2F9BE0", nil, chart.Circle),
		look("c2", purple, purple, nil, chart.Diamond),
		look("c3", "#000000", "#F2F2F2", []float64{8, 3, 2, 3}, chart.Square),
		look("c4", green, "#12B88A", nil, chart.Triangle),
		look("c5", orange, orange, nil, chart.DownTriangle),
		look("c6", vermilion, "#F2703A", []float64{2, 3}, chart.Triangle),
		look("c7", vermilion, "#F2703A", nil, chart.Diamond),
		look("c8", purple, purple, []float64{8, 3, 2, 3}, chart.DownTriangle),
		look("c9", green, "#12B88A", []float64{8, 3, 2, 3}, chart.Plus),
		look("c10", skyBlue, skyBlue, []float64{2, 3}, chart.Diamond),
		look("c11", orange, orange, []float64{8, 3}, chart.Square),
		look("c12", blue, "#2F9BE0", []float64{8, 3, 2, 3}, chart.Cross),
		look("c13", purple, purple, []float64{2, 3}, chart.Triangle),
	}
	boundLooks = map[Bound]chart.Look{
		LowerBound: look("lower", "#767676", "#9A9A9A", []float64{2, 3}, chart.Cross),
		UpperBound: look("upper", "#4D4D4D", "#C4C4C4", []float64{8, 3}, chart.Plus),
	}
)

// allStyles lists every look that the page may use, for its CSS.
func allStyles() []chart.Look {
	return append(slices.Clone(candidateLooks), boundLooks[LowerBound], boundLooks[UpperBound])
}

// styleSheet is the part of the page's CSS that comes from the tables above: --m-CLASS for each look, and --h0 … --h20
// with --t0 … --t20 for the cells of heat maps and the numbers in them.
func styleSheet() string {
	vars := func(dark bool) string {
		var b strings.Builder
		for _, s := range allStyles() {
			c := s.Light
			if dark {
				c = s.Dark
			}
			fmt.Fprintf(&b, "--m-%s:%s;", s.Class, c)
		}
		for i := range chart.HeatSteps {
			c := chart.HeatColor(i, dark)
			fmt.Fprintf(&b, "--h%d:%s;--t%d:%s;", i, chart.Hex(c), i, chart.Hex(chart.InkOn(c)))
		}
		return b.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, ":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", vars(false), vars(true))
	// Paper is white whatever the screen was.
	fmt.Fprintf(&b, "@media print{:root{%s}}\n", vars(false))
	for _, s := range allStyles() {
		fmt.Fprintf(&b, ".m-%s{--c:var(--m-%s)}", s.Class, s.Class)
	}
	for i := range chart.HeatSteps {
		fmt.Fprintf(&b, ".h%d{background:var(--h%d);color:var(--t%d)}", i, i, i)
	}
	b.WriteString(chart.StyleSheet())
	return b.String()
}

// PageStyle is the style sheet of a report, for other pages that look like one.
func PageStyle() string { return pageCSS + styleSheet() }

// PageScript is the script of a report, which sorts tables and hides lines. A page without it lacks nothing else.
func PageScript() string { return pageJS }
