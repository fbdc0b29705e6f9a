package report

import (
	"fmt"
	"hash/fnv"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// style is how one method is drawn: one colour, one dash and one marker, everywhere.
type style struct {
	class  string    // CSS class and suffix of the CSS variable
	light  string    // #rrggbb on a light page, and in figure files
	dark   string    // #rrggbb on a dark page
	dash   []float64 // lengths of ink and gap in pixels; empty is solid
	marker marker
}

// marker is the sign at each measured point.
type marker int

const (
	circle marker = iota
	square
	triangle
	diamond
	downTriangle
	cross
	plus
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

// styles gives the nine methods of the survey and the two bounds their looks, in the catalogue's order. Eight colours
// do not tell nine methods apart, so those that share a colour differ in dash and marker; the bounds are greys.
var styles = []struct {
	method string
	style
}{
	{"agem", style{"agem", skyBlue, skyBlue, []float64{8, 3}, square}},
	{"cndpm", style{"cndpm", purple, purple, []float64{8, 3, 2, 3}, downTriangle}},
	{"er", style{"er", blue, "#2F9BE0", nil, circle}},
	{"ewcpp", style{"ewcpp", purple, purple, nil, diamond}},
	{"finetune", style{"finetune", "#767676", "#9A9A9A", []float64{2, 3}, cross}},
	{"gdumb", style{"gdumb", "#000000", "#F2F2F2", []float64{8, 3, 2, 3}, square}},
	{"gss", style{"gss", green, "#12B88A", nil, triangle}},
	{"icarl", style{"icarl", orange, orange, nil, downTriangle}},
	{"lwf", style{"lwf", vermilion, "#F2703A", []float64{2, 3}, triangle}},
	{"mir", style{"mir", vermilion, "#F2703A", nil, diamond}},
	{"offline", style{"offline", "#4D4D4D", "#C4C4C4", []float64{8, 3}, plus}},
}

// spares are for methods that the table does not know yet; a name always gets the same one.
var spares = []style{
	{"x0", green, "#12B88A", []float64{8, 3, 2, 3}, plus},
	{"x1", skyBlue, skyBlue, []float64{2, 3}, diamond},
	{"x2", orange, orange, []float64{8, 3}, square},
	{"x3", blue, "#2F9BE0", []float64{8, 3, 2, 3}, cross},
	{"x4", purple, purple, []float64{2, 3}, triangle},
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
func styleOf(method string) style {
	name := plainName(method)
	for _, s := range styles {
		if s.method == name {
			return s.style
		}
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return spares[h.Sum32()%uint32(len(spares))]
}

// allStyles lists every style the page may use, for its CSS.
func allStyles() []style {
	var all []style
	for _, s := range styles {
		all = append(all, s.style)
	}
	return append(all, spares...)
}

// parseHex reads #rrggbb; a style table that does not parse is a bug and panics.
func parseHex(hex string) color.NRGBA {
	v, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil || len(hex) != 7 {
		panic("report: colour " + hex + " is not #rrggbb")
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// heatSteps is the number of steps of the heat scale: one for every 5 points from 0 to 100 %.
const heatSteps = 21

// heatStep is the step of a fraction in [0,1].
func heatStep(v float64) int {
	return min(max(int(math.Round(v*(heatSteps-1))), 0), heatSteps-1)
}

// heatColor is a step of the heat scale: one hue, lightness linear in OKLab, so that equal differences look equal. Zero
// is close to the page, 1 is far from it, in light and in dark.
func heatColor(step int, dark bool) color.NRGBA {
	t := float64(step) / (heatSteps - 1)
	lightness, chroma := 0.97-0.62*t, 0.01+0.13*t
	if dark {
		lightness = 0.26 + 0.62*t
	}
	const hue = 255 * math.Pi / 180
	// What the screen cannot show loses chroma, not hue.
	for {
		if c, ok := okLCh(lightness, chroma, hue); ok {
			return c
		}
		chroma -= 0.002
	}
}

// okLCh turns OKLab lightness, chroma and hue into sRGB; ok is false where it had to be clipped.
func okLCh(l, c, h float64) (rgb color.NRGBA, ok bool) {
	a, b := c*math.Cos(h), c*math.Sin(h)
	lc := cube(l + 0.3963377774*a + 0.2158037573*b)
	mc := cube(l - 0.1055613458*a - 0.0638541728*b)
	sc := cube(l - 0.0894841775*a - 1.2914855480*b)
	r := 4.0767416621*lc - 3.3077115913*mc + 0.2309699292*sc
	g := -1.2684380046*lc + 2.6097574011*mc - 0.3413193965*sc
	bl := -0.0041960863*lc - 0.7034186147*mc + 1.7076147010*sc
	const slack = 1e-6
	ok = min(r, g, bl) >= -slack && max(r, g, bl) <= 1+slack
	return color.NRGBA{toSRGB(r), toSRGB(g), toSRGB(bl), 255}, ok || c <= 0
}

func cube(x float64) float64 { return x * x * x }

// toSRGB encodes a linear channel.
func toSRGB(v float64) uint8 {
	v = math.Min(math.Max(v, 0), 1)
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(v * 255))
}

// luminance is the relative luminance of WCAG 2.
func luminance(c color.NRGBA) float64 {
	lin := func(b uint8) float64 {
		v := float64(b) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c.R) + 0.7152*lin(c.G) + 0.0722*lin(c.B)
}

// contrast is the WCAG 2 contrast ratio of two colours, in [1,21].
func contrast(a, b color.NRGBA) float64 {
	la, lb := luminance(a), luminance(b)
	if la < lb {
		la, lb = lb, la
	}
	return (la + 0.05) / (lb + 0.05)
}

// inkOn is black or white, whichever reads better on c; one of them always reaches 4.5 : 1.
func inkOn(c color.NRGBA) color.NRGBA {
	black, white := color.NRGBA{0, 0, 0, 255}, color.NRGBA{255, 255, 255, 255}
	if contrast(black, c) >= contrast(white, c) {
		return black
	}
	return white
}

// hexOf writes a colour as #rrggbb.
func hexOf(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// styleSheet is the part of the page's CSS that comes from the tables above: --m-NAME for each method, and --h0 … --h20
// with --t0 … --t20 for the cells of heat maps and the numbers in them.
func styleSheet() string {
	vars := func(dark bool) string {
		var b strings.Builder
		for _, s := range allStyles() {
			c := s.light
			if dark {
				c = s.dark
			}
			fmt.Fprintf(&b, "--m-%s:%s;", s.class, c)
		}
		for i := range heatSteps {
			c := heatColor(i, dark)
			fmt.Fprintf(&b, "--h%d:%s;--t%d:%s;", i, hexOf(c), i, hexOf(inkOn(c)))
		}
		return b.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, ":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", vars(false), vars(true))
	// Paper is white whatever the screen was.
	fmt.Fprintf(&b, "@media print{:root{%s}}\n", vars(false))
	for _, s := range allStyles() {
		fmt.Fprintf(&b, ".m-%s{--c:var(--m-%s)}", s.class, s.class)
	}
	for i := range heatSteps {
		fmt.Fprintf(&b, ".h%d{background:var(--h%d);color:var(--t%d)}", i, i, i)
	}
	return b.String()
}
