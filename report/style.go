package report

import (
	"fmt"
	"hash/fnv"
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

// look is a chart.Look whose fields may stay without names in the tables below: class, light and dark colour, dash, marker.
type look chart.Look

// styles gives the nine methods of the survey and the two bounds their looks, in the catalogue's order. Eight colours
// do not tell nine methods apart, so those that share a colour differ in dash and marker; the bounds are greys.
var styles = []struct {
	method string
	look
}{
	{"agem", look{"agem", skyBlue, skyBlue, []float64{8, 3}, chart.Square}},
	{"cndpm", look{"cndpm", purple, purple, []float64{8, 3, 2, 3}, chart.DownTriangle}},
	{"er", look{"er", blue, "#2F9BE0", nil, chart.Circle}},
	{"ewcpp", look{"ewcpp", purple, purple, nil, chart.Diamond}},
	{"finetune", look{"finetune", "#767676", "#9A9A9A", []float64{2, 3}, chart.Cross}},
	{"gdumb", look{"gdumb", "#000000", "#F2F2F2", []float64{8, 3, 2, 3}, chart.Square}},
	{"gss", look{"gss", green, "#12B88A", nil, chart.Triangle}},
	{"icarl", look{"icarl", orange, orange, nil, chart.DownTriangle}},
	{"lwf", look{"lwf", vermilion, "#F2703A", []float64{2, 3}, chart.Triangle}},
	{"mir", look{"mir", vermilion, "#F2703A", nil, chart.Diamond}},
	{"offline", look{"offline", "#4D4D4D", "#C4C4C4", []float64{8, 3}, chart.Plus}},
}

// spares are for methods that the table does not know yet; a name always gets the same one.
var spares = []look{
	{"x0", green, "#12B88A", []float64{8, 3, 2, 3}, chart.Plus},
	{"x1", skyBlue, skyBlue, []float64{2, 3}, chart.Diamond},
	{"x2", orange, orange, []float64{8, 3}, chart.Square},
	{"x3", blue, "#2F9BE0", []float64{8, 3, 2, 3}, chart.Cross},
	{"x4", purple, purple, []float64{2, 3}, chart.Triangle},
}

// plainName is a method's name as the style table has it: ewc++, EWC-pp and ewcpp are one.
func plainName(method string) string {
	s := strings.ReplaceAll(strings.ToLower(method), "++", "pp")
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// styleOf is the look of a method.
func styleOf(method string) chart.Look {
	name := plainName(method)
	for _, s := range styles {
		if s.method == name {
			return chart.Look(s.look)
		}
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return chart.Look(spares[h.Sum32()%uint32(len(spares))])
}

// allStyles lists every style the page may use, for its CSS.
func allStyles() []chart.Look {
	var all []chart.Look
	for _, s := range styles {
		all = append(all, chart.Look(s.look))
	}
	for _, s := range spares {
		all = append(all, chart.Look(s))
	}
	return all
}

// styleSheet is the part of the page's CSS that comes from the tables above: --m-NAME for each method, and --h0 … --h20
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
