package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLooks: known methods have their looks whatever the results hold, the others those that are left, in the order in
// which they appear.
func TestLooks(t *testing.T) {
	c := newCatalogue([]Known{{Name: "b", Look: 1}, {Name: "low", Bound: LowerBound}, {Name: "a++", Look: 2},
		{Name: "high", Bound: UpperBound}})
	for _, name := range []string{"new", "A-pp", "older", "New", "low"} {
		c.add(name, true)
	}
	if len(c) != 6 {
		t.Errorf("%v, want two more methods", c)
	}
	for name, want := range map[string]string{"b": "c0", "a++": "c1", "app": "c1", "new": "c2", "older": "c3",
		"low": "lower", "high": "upper"} {
		if got := c.look(name).Class; got != want {
			t.Errorf("%s has the look %s, want %s", name, got, want)
		}
	}
	for i := range 100 {
		c.add(fmt.Sprint("m", i), true)
	}
	c.add("er-x", false)
	if got, want := c.look("er-x").Class, lookOfName("er-x").Class; got != want {
		t.Errorf("a method that this program lacks has the look %s, want %s", got, want)
	}
	if got := c.look("m99").Class; got != candidateLooks[(99+4)%len(candidateLooks)].Class {
		t.Errorf("the hundredth method has the look %s", got)
	}
}

// TestLooksStay: a known method keeps its look when another one comes before it.
func TestLooksStay(t *testing.T) {
	known := []Known{{Name: "er", Look: 2}, {Name: "low", Bound: LowerBound}, {Name: "mir", Look: 8}}
	more := newCatalogue(append([]Known{{Name: "aser"}, {Name: "cope", Look: 9}}, known...))
	more.add("beside", true)
	for name, want := range map[string]string{"er": "c1", "mir": "c7", "low": "lower", "cope": "c8",
		"aser": lookOfName("aser").Class, "beside": "c0"} {
		if got := more.look(name).Class; got != want {
			t.Errorf("%s has the look %s, want %s", name, got, want)
		}
	}
}

// TestOrder: rows stand in the order of the known methods, then of those that appear, and bounds below.
func TestOrder(t *testing.T) {
	var runs []*run
	for _, m := range []string{"zeta", "finetune", "mir", "eta", "agem"} {
		runs = append(runs, newRun(fake{method: m, memory: -1, seed: 1, tasks: 2, perTask: 1, level: 0.5, decay: 0.5}.make(),
			""))
	}
	names := func(known []Known) (out []string) {
		for _, g := range newStudy(runs, nil, known, nil).rows {
			out = append(out, g.method.Name)
		}
		return out
	}
	if got := names(methods); !slices.Equal(got, []string{"agem", "mir", "zeta", "eta", "finetune"}) {
		t.Errorf("rows %v", got)
	}
	if got := names(nil); !slices.Equal(got, []string{"zeta", "finetune", "mir", "eta", "agem"}) {
		t.Errorf("rows %v without known methods, want them as they appear", got)
	}
}

// TestNoNames: the package has no method, trick, network or data set by name; what it says of them comes from results
// and from who calls it.
func TestNoNames(t *testing.T) {
	names := regexp.MustCompile(`"(agem|cndpm|er|ewc\+\+|ewcpp|finetune|gdumb|gss|icarl|lwf|mir|offline|ncm|lb|rv|kdc\*?|ss|mi|resnet18|mlp|cifar100|glyphs|core50|sgd|adam)"`)
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	charts, err := filepath.Glob("../chart/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(sources, charts...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if name := names.FindString(code); name != "" && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s:%d knows %s", path, i+1, name)
			}
		}
	}
}

// The accuracy figure says so where it cuts an interval: three runs that disagree have one far beyond the axis.
func TestAccuracyFigureSaysWhatItCuts(t *testing.T) {
	var runs []*run
	for _, f := range pair(3) {
		if f.seed == 2 {
			f.decay = 0.2
		}
		runs = append(runs, newRun(f.make(), ""))
	}
	if caption := studyOf(runs, nil).settings[0].accuracyFigure().Caption; !strings.Contains(caption,
		"Intervals that reach beyond the figure are cut at its edge") {
		t.Error("the page does not say that intervals are cut")
	}
}
