package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ocl/run/result"
	"ocl/view/chart"
)

func TestLooksDiffer(t *testing.T) {
	looks, classes, dots := map[string]string{}, map[string]bool{}, map[string]string{}
	for _, s := range allStyles() {
		look := fmt.Sprint(s.Light, s.Dash, s.Marker)
		if other, dup := looks[look]; dup || classes[s.Class] {
			t.Errorf("%s looks like %s, or has the class of another", s.Class, other)
		}
		looks[look], classes[s.Class] = s.Class, true
	}
	// A dot has no dash: colour and marker tell the methods of the catalogue apart, as in a ranking.
	for _, s := range candidateLooks {
		dot := fmt.Sprint(s.Light, s.Marker)
		if other, dup := dots[dot]; dup {
			t.Errorf("a dot of %s looks like one of %s", s.Class, other)
		}
		dots[dot] = s.Class
	}
}

// TestLookOfName: a method without a number looks as its name says, for ever and like none that has a number. The names
// of methods use all looks.
func TestLookOfName(t *testing.T) {
	seen := map[string]bool{}
	for name, want := range map[string]string{"er-ace": "n17", "der++": "n24", "scr": "n23"} {
		l := lookOfName(name)
		if l.Class != want {
			t.Errorf("%s has the look %s; want %s", name, l.Class, want)
		}
	}
	for i := range 10_000 {
		seen[lookOfName(fmt.Sprint("method-", i)).Class] = true
	}
	if len(seen) != len(namedLooks) {
		t.Errorf("names choose %d looks, want all %d", len(seen), len(namedLooks))
	}
	if lookOfName("DER++").Class != lookOfName("derpp").Class {
		t.Error("der++ and derpp, which are one name, have two looks")
	}
}

// rgb is a colour with linear channels.
type rgb [3]float64

func linear(hex string) (c rgb) {
	p := chart.ParseHex(hex)
	for i, b := range []uint8{p.R, p.G, p.B} {
		v := float64(b) / 255
		if c[i] = v / 12.92; v > 0.04045 {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

func (c rgb) times(m [3][3]float64) (out rgb) {
	for i := range m {
		for j := range c {
			out[i] += m[i][j] * c[j]
		}
	}
	return out
}

// asSeen are what becomes of a colour for an eye with all cones, for one without the green ones (Machado, Oliveira and
// Fernandes 2009), and in grey.
var asSeen = map[string]func(rgb) rgb{
	"full colour": func(c rgb) rgb { return c },
	"deuteranopia": func(c rgb) rgb {
		return c.times([3][3]float64{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413},
			{-0.011820, 0.042940, 0.968881}})
	},
	"grey": func(c rgb) rgb { y := 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]; return rgb{y, y, y} },
}

// difference is how far two colours are apart in OKLab. Black and white are 1 apart, and what hardly differs 0.02.
func difference(a, b rgb) float64 {
	lab := func(c rgb) rgb {
		lms := c.times([3][3]float64{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566},
			{0.0883024619, 0.2817188376, 0.6299787005}})
		for i, v := range lms {
			lms[i] = math.Cbrt(max(v, 0))
		}
		return lms.times([3][3]float64{{0.2104542553, 0.7936177850, -0.0040720468},
			{1.9779984951, -2.4285922050, 0.4505937099}, {0.0259040371, 0.7827717662, -0.8086757660}})
	}
	x, y := lab(a), lab(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

// TestColoursDiffer: the colours of two methods that have the same dash, and of one method with two tricks whose marks
// are equal, are well apart for every eye, on light and dark pages and in grey print.
func TestColoursDiffer(t *testing.T) {
	tricks := []string{"rv", "ncm", "lb", "ss", "kdc", "kdc*", "mi"}
	least := map[string]float64{"full colour": 0.12, "deuteranopia": 0.09, "grey": 0.05}
	for _, scheme := range []string{"light", "dark"} {
		colour := func(l chart.Look) rgb {
			if scheme == "dark" {
				return linear(l.Dark)
			}
			return linear(l.Light)
		}
		for i, a := range candidateLooks {
			for _, b := range candidateLooks[:i] {
				if !slices.Equal(a.Dash, b.Dash) {
					continue
				}
				for eye, seen := range asSeen {
					if d := difference(seen(colour(a)), seen(colour(b))); !(d >= least[eye]) {
						t.Errorf("%s, %s: %s and %s differ by %.3f, want %.2f", scheme, eye, a.Class, b.Class, d, least[eye])
					}
				}
			}
		}
		for _, l := range candidateLooks {
			var rows []*row
			for _, tricks := range [][]string{nil, {"rv"}, {"ncm"}, {"lb"}, {"ss"}, {"kdc"}, {"kdc*"}, {"mi"}, {"rv"},
				{"lb", "rv"}, {"mi", "rv"}} {
				rows = append(rows, &row{style: l, method: result.Method{Tricks: tricks}, classifier: ownRule})
			}
			rows[2].classifier, rows[8].classifier = "ncm", "ncm"
			styleVariants(rows, tricks)
			plain := 0
			for i, a := range rows {
				for _, b := range rows[:i] {
					if a.style.Marker == b.style.Marker {
						t.Errorf("the tricks %v and %v have one mark", a.tricks(), b.tricks())
					}
				}
				if a.style.Light == l.Light {
					plain++
				} else if d := difference(asSeen["grey"](colour(a.style)), asSeen["grey"](colour(l))); !(d >= 0.04) {
					t.Errorf("%s: %s with %v has a lightness that differs by %.3f", scheme, l.Class, a.tricks(), d)
				}
			}
			if plain > 1 {
				t.Errorf("%s with a trick has the colour without one", l.Class)
			}
		}
	}
}

func TestBoundsAreGrey(t *testing.T) {
	for _, l := range boundLooks {
		if c := chart.ParseHex(l.Light); c.R != c.G || c.G != c.B || c.R == 0 {
			t.Errorf("%s is %s; want a grey for a bound", l.Class, l.Light)
		}
	}
}

// cssVars reads the custom properties of the blocks of a stylesheet: the first ":root" is light, the one under
// prefers-color-scheme dark.
func cssVars(t *testing.T, css string) (light, dark map[string]string) {
	t.Helper()
	at := strings.Index(css, "@media (prefers-color-scheme:dark)")
	if at < 0 {
		t.Fatal("the stylesheet has no dark block")
	}
	read := func(s string) map[string]string {
		vars := map[string]string{}
		block := s[:strings.Index(s, "}")]
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+):\s*(#[0-9a-fA-F]{6})`).FindAllStringSubmatch(block, -1) {
			vars[m[1]] = m[2]
		}
		return vars
	}
	light, dark = read(css), read(css[at:])
	if len(light) == 0 || len(light) != len(dark) {
		t.Fatalf("%d light and %d dark variables", len(light), len(dark))
	}
	return light, dark
}

func TestContrast(t *testing.T) {
	light, dark := cssVars(t, pageCSS)
	for name, vars := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, pair := range [][2]string{{"ink", "bg"}, {"muted", "bg"}, {"link", "bg"}, {"ink", "panel"},
			{"warn-ink", "warn-bg"}, {"on-better", "better"}, {"on-worse", "worse"}} {
			if vars[pair[0]] == "" || vars[pair[1]] == "" {
				t.Fatalf("%s: %v is not in the stylesheet", name, pair)
			}
			if c := chart.Contrast(chart.ParseHex(vars[pair[0]]), chart.ParseHex(vars[pair[1]])); !(c >= 4.5) {
				t.Errorf("%s: %s on %s has contrast %.2f, want 4.5", name, pair[0], pair[1], c)
			}
		}
	}
	// Numbers in heat maps, and the sheet that is generated.
	genLight, genDark := cssVars(t, styleSheet(allStyles()))
	for name, vars := range map[string]map[string]string{"light": genLight, "dark": genDark} {
		for i := range chart.HeatSteps {
			fg, bg := vars[fmt.Sprintf("t%d", i)], vars[fmt.Sprintf("h%d", i)]
			if c := chart.Contrast(chart.ParseHex(fg), chart.ParseHex(bg)); !(c >= 4.5) {
				t.Errorf("%s: heat step %d: %s on %s has contrast %.2f, want 4.5", name, i, fg, bg, c)
			}
		}
		page := light["bg"]
		if name == "dark" {
			page = dark["bg"]
		}
		// Lines carry dash, marker and label besides their colour; still they must be seen.
		for _, s := range allStyles() {
			if c := chart.Contrast(chart.ParseHex(vars["m-"+s.Class]), chart.ParseHex(page)); !(c >= 2) {
				t.Errorf("%s: the line of %s has contrast %.2f with the page, want 2", name, s.Class, c)
			}
		}
	}
}
