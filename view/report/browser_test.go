package report

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/browsertest"
	"ocl/run/result"
)

// TestPageInABrowser: Chromium shows pages of one run, of all methods with error analyses and several memories, and of
// several streams with foreign results, as they should be on a phone and on a screen.
func TestPageInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	for _, c := range []struct {
		name   string
		fakes  []fake
		aliens []*result.Result
	}{
		{"one", pair(1)[1:], nil},
		{"many", manyFakes(), nil},
		{"two", pair(1), nil},
		{"confused", confusing(), nil},
		{"twelve", twelveFakes(), nil},
		{"sixty", sixtyFakes(), nil},
		{"runs500", studyFakes(), nil},
		{"streams", streamFakes(), []*result.Result{alien("avalanche 0.4", 1, 10, 0.5),
			alien("a program with quite a long name", 1, 7, 0.5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "one" {
				t.Skip("-short leaves out the large pages")
			}
			b.Check(t, pageOf(t, c.name, c.fakes, c.aliens))
		})
	}
}

var update = flag.Bool("update", false, "TestLayout writes testdata/layout-*.txt")

// TestLayout: the parts of pages are where testdata/layout-*.txt say, on a phone and on a screen, and the first screen
// answers.
func TestLayout(t *testing.T) {
	if os.Getenv("OCL_LONG") == "" {
		t.Skip("OCL_LONG is not set; with it a browser compares the layout of pages")
	}
	b := browsertest.Start(t)
	references, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for name, fakes := range map[string][]fake{"two": pair(1), "twelve": twelveFakes(), "sixty": sixtyFakes(),
		"runs500": studyFakes()} {
		t.Run(name, func(t *testing.T) {
			page := pageOf(t, name, fakes, nil)
			for _, screen := range browsertest.Screens() {
				b.Glance(t, page, screen)
				file := filepath.Join(references, fmt.Sprintf("layout-%s-%d.txt", name, screen[0]))
				browsertest.CompareLayout(t, file, b.Layout(t, page, screen), *update)
			}
		})
	}
}

// pageOf is the page of a fixture, in a file of its name.
func pageOf(t testing.TB, name string, fakes []fake, aliens []*result.Result) string {
	t.Helper()
	// a page names the folders of its runs, and so must not be wider on a machine with another name for this one
	t.Chdir(t.TempDir())
	save(t, "runs", fakes)
	dirs := []string{"runs"}
	for i, r := range aliens {
		text, err := result.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		path := string(rune('a'+i)) + ".json"
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, path)
	}
	w, err := Write(t.Context(), dirs, "report",
		Options{Known: catalogued, Tricks: []string{"rv", "ncm", "lb", "ss", "kdc"}, Examples: painted(32)})
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(filepath.Dir(w.Page), name+".html") // names of pictures are those of pages
	if err := os.Rename(w.Page, page); err != nil {
		t.Fatal(err)
	}
	page, err = filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// BenchmarkFiveHundredRuns opens the page of a study of 500 runs in Chromium, and sorts its longest table.
func BenchmarkFiveHundredRuns(b *testing.B) {
	browser := browsertest.Start(b)
	page := pageOf(b, "runs500", studyFakes(), nil)
	var opened, sorted []float64
	for b.Loop() {
		open, sort := browser.Times(b, page)
		opened, sorted = append(opened, open), append(sorted, sort)
	}
	slices.Sort(opened)
	slices.Sort(sorted)
	b.ReportMetric(opened[len(opened)/2], "ms-to-open")
	b.ReportMetric(sorted[len(sorted)/2], "ms-to-sort")
}

// twelveFakes are rows that differ in methods, tricks and memories, with two seeds each.
func twelveFakes() []fake {
	var all []fake
	add := func(f fake) {
		for seed := range uint64(2) {
			f.seed = seed + 1
			all = append(all, f)
		}
	}
	for m, memory := range []int{200, 1000} {
		decay := 0.72 + 0.08*float64(m)
		er := fake{method: "er", title: "ER", memory: memory, level: 0.62, decay: decay}
		rv, ncm, both, agem := er, er, er, er
		rv.tricks, rv.decay = []string{"rv"}, decay+0.05
		ncm.classifier, ncm.decay = "ncm", decay+0.03
		both.tricks, both.classifier, both.decay = []string{"rv"}, "ncm", decay+0.06
		agem.method, agem.title, agem.decay = "agem", "A-GEM", 0.4+0.1*float64(m)
		for _, f := range []fake{er, rv, ncm, both, agem} {
			add(f)
		}
	}
	add(fake{method: "finetune", title: "Finetune", memory: -1, level: 0.7, decay: 0.2})
	add(fake{method: "offline", title: "Offline", memory: -1, level: 0.66, decay: 0.99})
	return all
}

// tricked are some methods with and without tricks, with two memories each, and Finetune.
func tricked(names []string, tricks [][]string, seeds, tasks int, change func(*fake)) []fake {
	var all []fake
	for i, name := range append(slices.Clone(names), "finetune") {
		for k, list := range tricks {
			for m, memory := range []int{1000, 5000} {
				f := fake{method: name, title: strings.ToUpper(name), tricks: list, memory: memory, tasks: tasks, perTask: 5,
					level: 0.66 - 0.01*float64(i), decay: 0.6 + 0.02*float64(i) + 0.04*float64(k) + 0.06*float64(m)}
				if name == "finetune" {
					if f.memory, f.tricks, f.decay = -1, nil, 0.2; k+m > 0 {
						continue
					}
				}
				change(&f)
				for seed := range seeds {
					f.seed = uint64(seed + 1)
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// sixtyFakes are about sixty rows of three seeds.
func sixtyFakes() []fake {
	names := []string{"agem", "cndpm", "er", "ewc++", "gdumb", "gss", "icarl", "lwf", "mir", "slda"}
	return tricked(names, [][]string{nil, {"rv"}, {"kdc"}}, 3, 10, func(*fake) {})
}

// studyFakes are a study of 500 runs: 25 rows in each of two streams.
func studyFakes() (all []fake) {
	for _, protocol := range []string{"standard", "survey"} {
		all = append(all, tricked([]string{"agem", "er", "gdumb", "icarl", "mir", "slda"}, [][]string{nil, {"rv"}}, 10, 20,
			func(f *fake) { f.protocol = protocol })...)
	}
	return all
}

// catalogued are methods with the looks of the catalogue.
var catalogued = []Known{
	{Name: "agem", Look: 1}, {Name: "cndpm", Look: 9}, {Name: "er", Look: 2}, {Name: "ewc++", Look: 3},
	{Name: "finetune", Bound: LowerBound}, {Name: "gdumb", Look: 4},
	{Name: "gss", Look: 5}, {Name: "icarl", Look: 6}, {Name: "lwf", Look: 7}, {Name: "mir", Look: 8},
	{Name: "offline", Bound: UpperBound}, {Name: "slda", Look: 11},
}

// manyFakes are all methods of the survey, with several seeds, memories and fates.
func manyFakes() []fake {
	var all []fake
	for i, name := range surveyed {
		f := fake{method: name, title: name, memory: -1, seed: 1, tasks: 20, perTask: 5, level: 0.7 - 0.02*float64(i),
			decay: 0.8, errors: true, signals: []string{"task boundaries"}}
		for _, memory := range []int{1000, 5000} {
			if i%2 == 0 {
				f.memory = memory
			}
			for seed := range uint64(2) {
				f.seed = seed + 1
				all = append(all, f)
			}
		}
	}
	all[3].state, all[3].through = result.Diverged, 4
	all[7].concurrency, all[9].kernel = 3, "avx2"
	return all
}

// streamFakes are two methods in streams that differ in their tasks and protocols.
func streamFakes() []fake {
	all := pair(2)
	for _, f := range pair(2) {
		f.tasks, f.protocol, f.seed = 8, "survey", f.seed+10
		all = append(all, f)
	}
	return all
}
