package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ocl/report/chart"
)

func TestLooksDiffer(t *testing.T) {
	looks, classes := map[string]string{}, map[string]bool{}
	for _, list := range [][]chart.Look{ownColours(), namedLooks} {
		clear(looks) // the names of methods choose none of those with a number (TestLookOfName)
		for _, s := range list {
			look := fmt.Sprint(s.Light, s.Dash, s.Marker)
			if other, dup := looks[look]; dup || classes[s.Class] {
				t.Errorf("%s looks like %s, or has the class of another", s.Class, other)
			}
			looks[look], classes[s.Class] = s.Class, true
		}
	}
}

// TestLookOfName: a method without a number looks as its name says, for ever and like none that has a number, and its class has a colour
// on the page. The names of a few methods have different looks.
func TestLookOfName(t *testing.T) {
	css, seen := styleSheet(), map[string]bool{}
	for name, want := range map[string]string{"er-ace": "n181", "der++": "n179", "scr": "n139"} {
		l := lookOfName(name)
		if l.Class != want {
			t.Errorf("%s has the look %s; want %s, which it has since methods can be registered", name, l.Class, want)
		}
		seen[l.Class] = true
		if !regexp.MustCompile(`\.m-` + l.Class + `[,{]`).MatchString(css) {
			t.Errorf("the style sheet lacks .m-%s", l.Class)
		}
	}
	if len(seen) != 3 {
		t.Errorf("three methods have %d looks", len(seen))
	}
	for i := range 10_000 {
		l := lookOfName(fmt.Sprint("method-", i))
		for _, c := range candidateLooks {
			if alike(c, l) {
				t.Fatalf("method-%d looks like %s", i, c.Class)
			}
		}
		seen[l.Class] = true
	}
	if want := len(namedLooks) - len(candidateLooks); len(seen) != want {
		t.Errorf("names choose %d looks, want all %d", len(seen), want)
	}
	if lookOfName("DER++").Class != lookOfName("derpp").Class {
		t.Error("der++ and derpp, which are one name, have two looks")
	}
}

func TestOkabeItoAndGreys(t *testing.T) {
	okabeIto := []string{"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
	for _, l := range candidateLooks {
		if !slices.Contains(okabeIto, l.Light) {
			t.Errorf("%s is %s; want an Okabe–Ito colour", l.Class, l.Light)
		}
	}
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
		for _, s := range ownColours() {
			if c := chart.Contrast(chart.ParseHex(vars["m-"+s.Class]), chart.ParseHex(page)); !(c >= 2) {
				t.Errorf("%s: the line of %s has contrast %.2f with the page, want 2", name, s.Class, c)
			}
		}
	}
}
