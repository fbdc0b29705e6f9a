package report

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"ocl/view/chart"
)

// hue is a colour on a light and on a dark page.
type hue struct{ light, dark string }

// The hues are those of Okabe and Ito. Their lightness was searched for, so that they differ as far as can be for who
// sees no red and green, and in grey too (TestColoursDiffer). Yellow is left out: it is hardly seen on white.
var (
	blue      = hue{"#0C5BAF", "#2D75CA"}
	vermilion = hue{"#862C01", "#AB3900"}
	green     = hue{"#017E52", "#1D9A67"}
	purple    = hue{"#BC65B5", "#DB82D3"}
	orange    = hue{"#CD8B03", "#F2A619"}
	sky       = hue{"#58C0E6", "#8CDEFF"}
	ink       = hue{"#161616", "#F5F5F5"}
)

var (
	dashed     = []float64{8, 3}
	dotted     = []float64{2, 3}
	dashDotted = []float64{8, 3, 2, 3}
)

// look returns the look of a method without tricks.
func look(class string, h hue, dash []float64) chart.Look {
	return chart.Look{Class: class, Light: h.light, Dark: h.dark, Dash: dash}
}

// pillar is a look whose marker is no circle: that of the second method of a hue, as dots alone have no dash.
func pillar(l chart.Look) chart.Look {
	l.Marker = chart.Pillar
	return l
}

// The looks of methods without tricks, by number from 1: a method keeps its number for ever, and new looks go last. A
// method has a hue. Methods that share one differ in the dash and in the marker; the bounds are greys.
var (
	candidateLooks = []chart.Look{
		look("c0", orange, nil), look("c1", blue, nil), look("c2", purple, dashed), look("c3", ink, nil),
		look("c4", sky, nil),
		look("c5", green, nil), pillar(look("c6", purple, nil)), look("c7", vermilion, nil),
		pillar(look("c8", sky, dashed)),
		pillar(look("c9", green, dashed)), pillar(look("c10", orange, dashed)), pillar(look("c11", ink, dashed)),
		pillar(look("c12", vermilion, dashed)),
		pillar(look("c13", blue, dashed)),
	}
	boundLooks = map[Bound]chart.Look{
		LowerBound: {Class: "lower", Light: "#767676", Dark: "#9A9A9A", Dash: dotted, Marker: chart.Cross},
		UpperBound: {Class: "upper", Light: "#4D4D4D", Dark: "#C4C4C4", Dash: dashed, Marker: chart.Plus},
	}
)

// namedLooks are the looks of methods without a number: each hue with the dashes that no number has, in an order that
// stays for ever.
var namedLooks = func() (all []chart.Look) {
	for _, h := range []hue{blue, green, vermilion, purple, orange, sky, ink} {
		for _, dash := range [][]float64{dotted, dashDotted, {14, 3}, {5, 2, 1.5, 2, 1.5, 2}} {
			all = append(all, look(fmt.Sprintf("n%d", len(all)), h, dash))
		}
	}
	return all
}()

// lookOfName is the look of a method without a number, by its name alone. By chance two methods may have the same.
func lookOfName(name string) chart.Look {
	h := fnv.New64a()
	fmt.Fprint(h, plainName(name))
	return namedLooks[h.Sum64()%uint64(len(namedLooks))]
}

// variantStyle is how a variant of a method, such as one with tricks, differs in look from the method: by its marker,
// and by a lighter or darker hue.
type variantStyle struct {
	marker chart.Marker
	shade  int
}

// trickStyles are the styles of the first tricks of [Options.Tricks], in their order, in every report. furtherStyles
// are for other variants, in the order in which a report has them: several tricks together, further tricks, tricks of
// other programs, and other settings of a method. If they are not enough, the styles of tricks that the report does not
// have follow. Methods without tricks have circles or pillars.
var (
	trickStyles = []variantStyle{{chart.Square, 1}, {chart.Triangle, 2}, {chart.Diamond, 3}, {chart.DownTriangle, 4},
		{chart.RightTriangle, 1}, {chart.LeftTriangle, 2}, {chart.Hourglass, 3}}
	furtherStyles = []variantStyle{{chart.Star, 3}, {chart.Cross, 4}, {chart.Plus, 1}}
)

// styleVariants sets the looks of rows with tricks, and of rows that differ in other settings from the first row of the
// same method, tricks and memory. Each gets the look of its method with the [variantStyle] of the tricks. Rows that are
// bounds stay as they are.
func styleVariants(rows []*row, tricks []string) {
	usual := map[string]string{} // the settings that have no dress, by stream, method and tricks
	name := func(g *row) string {
		list := strings.Join(g.tricks(), "+")
		of := fmt.Sprintf("%p %s", g.setting, g.title())
		if _, ok := usual[of]; !ok {
			usual[of] = g.mark
		}
		if g.mark != usual[of] {
			list += ", " + g.mark
		}
		return list
	}
	var names []string
	free := slices.Clone(furtherStyles)
	for _, g := range rows {
		names = append(names, name(g))
	}
	for i, d := range trickStyles {
		if i >= len(tricks) || !slices.Contains(names, tricks[i]) {
			free = append(free, d)
		}
	}
	var others []string
	for k, g := range rows {
		if names[k] == "" || g.bound != NoBound {
			continue
		}
		var d variantStyle
		if i := slices.Index(tricks, names[k]); i >= 0 && i < len(trickStyles) {
			d = trickStyles[i]
		} else {
			if !slices.Contains(others, names[k]) {
				others = append(others, names[k])
			}
			d = free[slices.Index(others, names[k])%len(free)]
		}
		g.style.Class += fmt.Sprintf("-%d-%d", d.marker, d.shade)
		g.style.Light, g.style.Dark, g.style.Marker = chart.Shade(g.style.Light, d.shade, false),
			chart.Shade(g.style.Dark, d.shade, true), d.marker
	}
}

// allStyles lists the look of every method without tricks.
func allStyles() []chart.Look {
	return slices.Concat(candidateLooks, []chart.Look{boundLooks[LowerBound], boundLooks[UpperBound]}, namedLooks)
}

// styles are the looks of the study's rows, each once.
func (st *study) styles() (looks []chart.Look) {
	for _, g := range st.rows {
		if !slices.ContainsFunc(looks, func(l chart.Look) bool { return l.Class == g.style.Class }) {
			looks = append(looks, g.style)
		}
	}
	return looks
}

// styleSheet is the part of the page's CSS that gives looks their colours, in the variable --c below their class, and
// --h0 … --h20 with --t0 … --t20 for the cells of heat maps, the numbers in them, and stacked areas.
func styleSheet(looks []chart.Look) string {
	vars := func(dark bool) string {
		var b strings.Builder
		for _, s := range looks {
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
	for _, s := range looks {
		fmt.Fprintf(&b, ".m-%s{--c:var(--m-%s)}", s.Class, s.Class)
	}
	for i := range chart.HeatSteps {
		fmt.Fprintf(&b, ".h%d{background:var(--h%d);color:var(--t%d)}.f%d{fill:var(--h%d)}", i, i, i, i, i)
	}
	b.WriteString(chart.StyleSheet())
	return b.String()
}

// Head begins a page that looks like a report: all that stands before its body. The page shows the looks of all
// methods. style and more are its own.
func Head(title, style string, more ...template.HTML) template.HTML {
	return head(title, styleSheet(allStyles())+style, more...)
}

func head(title, style string, more ...template.HTML) template.HTML {
	var b strings.Builder
	b.WriteString(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
`)
	for _, m := range more {
		b.WriteString(string(m) + "\n")
	}
	b.WriteString("<title>" + template.HTMLEscapeString(title) + "</title>\n<style>" + pageCSS + style + "</style>\n</head>")
	return template.HTML(b.String())
}

// PageScript is the script of a report, a module: it sorts, filters and copies tables, and hides lines. A page without
// it lacks nothing else. Its files become one, as a page from a disk can import none.
func PageScript() string { return Module(tableJS, domJS, chartJS, deckJS, triangleJS, pageJS) }

// Module makes one module of scripts, each of which imports from those before it alone. No two of them may have the
// same name for something.
func Module(scripts ...string) string {
	return unneeded.ReplaceAllString(strings.Join(scripts, ""), "")
}

// unneeded are imports, lines of comments, and what lines are indented by.
var unneeded = regexp.MustCompile(`(?m)^import .*;\n|^ *//.*\n|^ +`)
