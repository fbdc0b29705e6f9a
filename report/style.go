package report

import (
	"fmt"
	"hash/fnv"
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

// namedLooks are those of methods without a number: every colour with every dash and every marker, in an order that stays for ever.
var namedLooks = func() (all []chart.Look) {
	for _, colour := range []int{1, 4, 6, 2, 5, 0, 3} { // candidateLooks that have it
		for _, dash := range [][]float64{nil, {8, 3}, {2, 3}, {8, 3, 2, 3}} {
			for _, marker := range []chart.Marker{chart.Circle, chart.Square, chart.Triangle, chart.Diamond, chart.DownTriangle, chart.Plus, chart.Cross} {
				c := candidateLooks[colour]
				all = append(all, look(fmt.Sprintf("n%d", len(all)), c.Light, c.Dark, dash, marker))
			}
		}
	}
	return all
}()

// lookOfName is the look of a method without a number, by its name alone: none of candidateLooks. By chance two methods may have the same.
func lookOfName(name string) chart.Look {
	for try := 0; ; try++ {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", plainName(name), try)
		l := namedLooks[h.Sum64()%uint64(len(namedLooks))]
		if !slices.ContainsFunc(candidateLooks, func(c chart.Look) bool { return alike(c, l) }) {
			return l
		}
	}
}

// alike says whether two looks cannot be told apart.
func alike(a, b chart.Look) bool {
	return a.Light == b.Light && a.Marker == b.Marker && slices.Equal(a.Dash, b.Dash)
}

// ownColours lists the looks that have a colour of their own in the CSS of a page. The others take theirs.
func ownColours() []chart.Look {
	return append(slices.Clone(candidateLooks), boundLooks[LowerBound], boundLooks[UpperBound])
}

// allStyles lists every look that the page may use.
func allStyles() []chart.Look { return append(ownColours(), namedLooks...) }

// styleSheet is the part of the page's CSS that comes from the tables above: --m-CLASS for each look, and --h0 … --h20
// with --t0 … --t20 for the cells of heat maps and the numbers in them.
func styleSheet() string {
	vars := func(dark bool) string {
		var b strings.Builder
		for _, s := range ownColours() {
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
	for _, s := range ownColours() {
		fmt.Fprintf(&b, ".m-%s", s.Class)
		if first := slices.IndexFunc(candidateLooks, func(c chart.Look) bool { return c.Light == s.Light }); first >= 0 && candidateLooks[first].Class == s.Class {
			for _, n := range namedLooks {
				if n.Light == s.Light {
					fmt.Fprintf(&b, ",.m-%s", n.Class)
				}
			}
		}
		fmt.Fprintf(&b, "{--c:var(--m-%s)}", s.Class)
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
