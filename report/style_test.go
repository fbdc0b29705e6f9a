package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ocl/report/chart"
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
		look := fmt.Sprint(s.Light, s.Dash, s.Marker)
		if other, dup := looks[look]; dup {
			t.Errorf("%s and %s look the same", s.method, other)
		}
		looks[look] = s.method
		if s.Class != s.method {
			t.Errorf("%s has class %s", s.method, s.Class)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("styles are not in the catalogue's order: %v", names)
	}
	for _, m := range surveyed {
		if s := styleOf(m); !slices.Contains(names, s.Class) {
			t.Errorf("%s has no style of its own but %s", m, s.Class)
		}
	}
}

func TestStyleOfUnknownMethodStays(t *testing.T) {
	if a, b := styleOf("scr"), styleOf("SCR"); a.Class != b.Class || !strings.HasPrefix(a.Class, "x") {
		t.Errorf("scr has styles %s and %s, want one spare", a.Class, b.Class)
	}
}

func TestOkabeItoAndGreys(t *testing.T) {
	okabeIto := []string{"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
	for _, s := range styles {
		c := chart.ParseHex(s.Light)
		grey := c.R == c.G && c.G == c.B && c.R > 0
		bound := s.method == "finetune" || s.method == "offline"
		if grey != bound || !grey && !slices.Contains(okabeIto, s.Light) {
			t.Errorf("%s is %s; want an Okabe–Ito colour, or a grey for the bounds", s.method, s.Light)
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
			if c := chart.Contrast(chart.ParseHex(vars[pair[0]]), chart.ParseHex(vars[pair[1]])); !(c >= 4.5) {
				t.Errorf("%s: %s on %s has contrast %.2f, want 4.5", name, pair[0], pair[1], c)
			}
		}
	}
	// Numbers in heat maps, and the sheet that is generated.
	genLight, genDark := cssVars(t, styleSheet())
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
