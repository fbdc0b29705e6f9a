package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// surveyed are the nine methods of the survey and its two bounds, as the catalogue names them.
var surveyed = []string{"agem", "cndpm", "er", "ewc++", "finetune", "gdumb", "gss", "icarl", "lwf", "mir", "offline"}

func TestStylesCoverTheSurvey(t *testing.T) {
	if len(styles) != len(surveyed) {
		t.Errorf("%d styles, want %d", len(styles), len(surveyed))
	}
	names := []string{}
	looks := map[string]string{}
	for _, s := range styles {
		names = append(names, s.method)
		look := fmt.Sprint(s.light, s.dash, s.marker)
		if other, dup := looks[look]; dup {
			t.Errorf("%s and %s look the same", s.method, other)
		}
		looks[look] = s.method
		if s.class != s.method {
			t.Errorf("%s has class %s", s.method, s.class)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("styles are not in the catalogue's order: %v", names)
	}
	for _, m := range surveyed {
		if s := styleOf(m); !slices.Contains(names, s.class) {
			t.Errorf("%s has no style of its own but %s", m, s.class)
		}
	}
}

func TestStyleOfUnknownMethodStays(t *testing.T) {
	if a, b := styleOf("scr"), styleOf("SCR"); a.class != b.class || !strings.HasPrefix(a.class, "x") {
		t.Errorf("scr has styles %s and %s, want one spare", a.class, b.class)
	}
}

func TestOkabeItoAndGreys(t *testing.T) {
	okabeIto := []string{"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
	for _, s := range styles {
		c := parseHex(s.light)
		grey := c.R == c.G && c.G == c.B && c.R > 0
		bound := s.method == "finetune" || s.method == "offline"
		if grey != bound || !grey && !slices.Contains(okabeIto, s.light) {
			t.Errorf("%s is %s; want an Okabe–Ito colour, or a grey for the bounds", s.method, s.light)
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
		for _, pair := range [][2]string{{"ink", "bg"}, {"muted", "bg"}, {"link", "bg"}, {"ink", "panel"}, {"warn-ink", "warn-bg"}} {
			if vars[pair[0]] == "" || vars[pair[1]] == "" {
				t.Fatalf("%s: %v is not in the stylesheet", name, pair)
			}
			if c := contrast(parseHex(vars[pair[0]]), parseHex(vars[pair[1]])); !(c >= 4.5) {
				t.Errorf("%s: %s on %s has contrast %.2f, want 4.5", name, pair[0], pair[1], c)
			}
		}
	}
	// Numbers in heat maps, and the sheet that is generated.
	genLight, genDark := cssVars(t, styleSheet())
	for name, vars := range map[string]map[string]string{"light": genLight, "dark": genDark} {
		for i := range heatSteps {
			fg, bg := vars[fmt.Sprintf("t%d", i)], vars[fmt.Sprintf("h%d", i)]
			if c := contrast(parseHex(fg), parseHex(bg)); !(c >= 4.5) {
				t.Errorf("%s: heat step %d: %s on %s has contrast %.2f, want 4.5", name, i, fg, bg, c)
			}
		}
		page := light["bg"]
		if name == "dark" {
			page = dark["bg"]
		}
		// Lines carry dash, marker and label besides their colour; still they must be seen.
		for _, s := range allStyles() {
			if c := contrast(parseHex(vars["m-"+s.class]), parseHex(page)); !(c >= 2) {
				t.Errorf("%s: the line of %s has contrast %.2f with the page, want 2", name, s.class, c)
			}
		}
	}
}

func TestContrastIsWCAG(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{{"#000000", "#FFFFFF", 21}, {"#777777", "#FFFFFF", 4.48}, {"#0000FF", "#FFFFFF", 8.59}, {"#FF0000", "#FF0000", 1}} {
		if got := contrast(parseHex(c.a), parseHex(c.b)); !(got-c.want <= 0.01 && c.want-got <= 0.01) {
			t.Errorf("contrast of %s and %s is %.3f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

func TestHeatScaleIsMonotonic(t *testing.T) {
	for _, dark := range []bool{false, true} {
		for i := 1; i < heatSteps; i++ {
			a, b := luminance(heatColor(i-1, dark)), luminance(heatColor(i, dark))
			if dark && b <= a || !dark && b >= a {
				t.Errorf("dark %v: step %d has luminance %.3f after %.3f", dark, i, b, a)
			}
		}
	}
	if heatStep(-1) != 0 || heatStep(0.5) != 10 || heatStep(2) != heatSteps-1 {
		t.Error("heatStep does not clamp")
	}
}
