package main

import (
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ocl/run/metric"
	"ocl/run/result"
	"ocl/survey"
	"ocl/survey/paper"
)

// TestWordsOfPages: numbers and names of files as the pages have them.
func TestWordsOfPages(t *testing.T) {
	path := func(name string) string { return filepath.Join("root", "survey", "results", filepath.FromSlash(name)) }
	for got, want := range map[string]string{
		thousands(0): "–", thousands(500): "500", thousands(10000): "10,000",
		joined([]float64{1, math.NaN(), 2.25}): "1.0, 2.2", joined([]float64{math.NaN()}): "–",
		(&page{root: "root"}).files(nil): "–",
		(&page{root: "root"}).files([]string{path("a/er-m5-s1.json.gz"), path("a/er-m5-s2.json.gz"),
			path("b/er-m5-s3-all.json.gz"), path("c.csv")}): "`a/er-m5-s{1,2}.json.gz` `b/er-m5-s3-all.json.gz` `c.csv`",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// committedPage has the committed results.
var committedPage = sync.OnceValues(func() (*page, error) {
	runs, err := allRuns()
	if err != nil {
		return nil, err
	}
	return openPage("../..", runs)
})

// TestPages: each cell with a run is on the page of its table, and among those that differ if it does. The CSV files
// have all of them.
func TestPages(t *testing.T) {
	p, err := committedPage()
	if err != nil {
		t.Fatal(err)
	}
	first, second := p.cells[survey.ClassIncremental][0], p.confirmation.cells[0]
	defer func(a, b paper.Verdict) { first.Verdict, second.Verdict = a, b }(first.Verdict, second.Verdict)
	first.Verdict, second.Verdict = paper.Differs, paper.Differs
	files, err := p.pages()
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, f := range files {
		text[f.name] = string(f.text)
	}
	cells, differ := 0, 0
	for _, s := range append(p.sheets(), p.confirmation) {
		for _, c := range s.cells {
			if len(c.Runs) > 0 && s.Name != p.confirmation.Name &&
				!strings.Contains(text["docs/reproduction/"+s.Name+".md"], "\n| "+c.Name()+" | ") {
				t.Errorf("the page of %s does not have %s", s.Title, c.Name())
			}
			if c.Verdict == paper.Differs {
				if differ++; !strings.Contains(text["docs/reproduction.md"], "\n| "+c.Name()+" | "+s.Title+" | ") {
					t.Errorf("docs/reproduction.md does not say that %s of %s differs", c.Name(), s.Title)
				}
			}
		}
		cells += len(s.cells)
		if name := "docs/reproduction/" + s.Name + ".csv"; text[name] != "" &&
			strings.Count(text[name], "\n") != 1+len(s.cells) {
			t.Errorf("%s does not have a line for each of %d cells", name, len(s.cells))
		}
	}
	if differ < 2 {
		t.Errorf("%d cells differ, want at least the two that the test lets differ", differ)
	}
	if n := strings.Count(text["survey/results/cells.csv"], "\n"); n != 1+cells || cells < 275 {
		t.Errorf("cells.csv has %d lines, want a head and %d cells", n, cells)
	}
}

// TestWork: the runs and core-hours of a table, each run once, and of all results.
func TestWork(t *testing.T) {
	of := func(seconds float64, workers int) *paper.Run {
		return &paper.Run{Result: &result.Result{Seconds: result.Seconds{Train: seconds - 3, Prepare: 2, Test: 1},
			Provenance: result.Provenance{Workers: workers}}}
	}
	a, b := of(3600, 1), of(1800, 2)
	cell := func(runs ...*paper.Run) *paper.Cell { return &paper.Cell{Runs: runs} }
	p := &page{confirmation: sheet{Name: "confirmation", columns: []string{"x"}, cells: []*paper.Cell{cell(a, b), cell(b)}},
		runs: []run{{Result: a.Result}, {Result: b.Result}, {Result: of(5400, 1).Result}}}
	want := "| confirmation | x | 2 | 2.0 |\n| others |  | 1 | 1.5 |\n| all |  | 3 | 3.5 |"
	if got := p.Work(); !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestLeanAndRounding: how far cells lie from the paper, and how far apart runs of one seed with other kernels are.
func TestLeanAndRounding(t *testing.T) {
	run := func(seed uint64, kernel string) *paper.Run {
		return &paper.Run{Seed: seed, Result: &result.Result{
			Provenance: result.Provenance{Kernel: kernel, Convolution: "winograd"}}}
	}
	cell := func(row string, published float64, values ...float64) *paper.Cell {
		c := &paper.Cell{Row: row, Spec: paper.Spec{Benchmark: survey.CIFAR100}, Values: values,
			Ours: metric.EstimateOf(values), Published: survey.Value{Mean: published}}
		for i := range values {
			c.Runs = append(c.Runs, run(uint64(i+1), "avx2"))
		}
		return c
	}
	er, mini := cell("ER", 17, 16, 18, 20), cell("ER", 10, 9)
	mini.Spec.Benchmark = survey.MiniImageNet
	er.Others, er.OtherValues = []*paper.Run{run(1, "avx512"), run(2, "avx512"), run(4, "avx512"), run(3, "scalar")},
		[]float64{13, 19, 1, 1}
	p := &page{cells: map[string][]*paper.Cell{
		survey.ClassIncremental: {er, cell("GSS", 11, 11.5), cell("MIR", 18, 17.5, 18.7), mini, cell("LwF", 5)}}}
	for got, want := range map[string]string{
		p.Lean(): "| CIFAR-100, three seeds | 1 | 1 | +1.0 | +1.0 |\n| CIFAR-100, one or two seeds | 2 | 2 | +0.3 | +0.3 |\n" +
			"| other data | 1 | 0 | −1.0 | −1.0 |",
		// differences 3 and −1: √(10/2/2) = 1.58
		p.Rounding(): "| ER | 2 | 1 | +1.0 | 1.6 | 2.0 |\n| all | 2 | 1 | +1.0 | 1.6 | 2.0 |",
	} {
		if !strings.HasSuffix(got, "|\n"+want) {
			t.Errorf("it is\n%s\nwant\n%s", got, want)
		}
	}
}

// TestWholeInWords: what the cells of the confirmation show together, when all of them have their runs.
func TestWholeInWords(t *testing.T) {
	p := &page{}
	add := func(method string, published float64, values ...float64) {
		spec := paper.Spec{Benchmark: survey.CIFAR100, Method: method, Classifier: "head"}
		c := &paper.Cell{Spec: spec, Memory: 5000, Values: values,
			Published: survey.Value{Mean: published, Interval: published / 50}}
		for i := range values {
			c.Runs = append(c.Runs, &paper.Run{Seed: 4 + uint64(i),
				Result: &result.Result{Outcome: result.Outcome{State: result.Finished}}})
		}
		p.confirmation.cells = append(p.confirmation.cells, c)
	}
	add("er", 17, 17.1, 17, 17.2, 17.1)
	if got := p.Whole(); !strings.Contains(got, "is judged when all") {
		t.Errorf("with four runs: %q", got)
	}
	p.confirmation.cells = nil
	add("er", 17, 17.1, 17, 17.2, 17.1, 16.9)
	add("gss", 10, 10, 10.1, 9.9, 10.2, 10)
	got := p.Whole()
	for _, want := range []string{"of 2 cells are +0.4 % from", "They are equal within a tenth.",
		"Of 1 pair of methods", "1 have it here, 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
}

// TestShiftTexts: the confirmation's page says what tuned runs and PyTorch's runs show.
func TestShiftTexts(t *testing.T) {
	d := metric.Difference{Mean: 0.5, Error: 0.25, Freedom: 2}
	p := page{shift: &paper.Shift{Seeds: []uint64{4}, Tuned: []float64{15.3}, Untuned: []float64{20.1},
		Chosen: []string{"optimizer.lr=0.1"}, Moved: d, Above: d}}
	peer := &paper.Peer{Seeds: []uint64{4}, Ours: []float64{20.1}, Theirs: []float64{19.96}, Difference: d}
	for _, want := range []string{"| 4 | 15.3 | 20.1 | `optimizer.lr=0.1` |\n\n",
		"is not shown: tuned less untuned is +0.5 ± 1.1 points, paired by seed (p = 0.184)"} {
		if got := p.Shift(); !strings.Contains(got, want) {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
	if p.shift.Moved.Mean = 5; !strings.Contains(p.Shift(), "Tuning moves the mean: ") {
		t.Errorf("with 5 points it is %q", p.Shift())
	}
	for verdict, want := range map[paper.Verdict]string{paper.Differs: "| 20.1 |\n\nThe programs differ: ",
		paper.Undecided: "is open: ", paper.Agrees: "less than two points apart: PyTorch less ocl is +0.5 ± 1.1 points"} {
		if peer.Verdict = verdict; !strings.Contains(peerText(peer), want) {
			t.Errorf("%s: it is %q", verdict, peerText(peer))
		}
	}
	none := page{study: &paper.Study{}}
	if shift, torch := none.Shift(), none.Torch(4, 6); !strings.Contains(shift, "when all five") ||
		!strings.Contains(torch, "when all of") || !strings.Contains(none.Anchors(), "when all of") {
		t.Errorf("without runs it is %q, %q and %q", shift, torch, none.Anchors())
	}
}

// TestReadPeer: a file of another program's accuracies is read in per cent, and what is wrong in it is named.
func TestReadPeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torch.csv")
	for text, want := range map[string]string{
		"": "the first line", "4,0.2,2.15.0\n": "the first line", "seed,average_accuracy,torch\n4,0.2,2.15.0\n": "",
		"seed,average_accuracy,torch\n3,0.2,2.15.0\n":               "Want one of those that are compared, 4 to 18",
		"seed,average_accuracy,torch\n19,0.2,2.15.0\n":              "line 2 has seed 19",
		"seed,average_accuracy,torch\n4,20,2.15.0\n":                "line 2",
		"seed,average_accuracy,torch\nfour,0.2,2.15.0\n":            "line 2",
		"seed,average_accuracy,torch\n4,0.2,2.15.0\n4,0.2,2.15.0\n": "seed 4 again",
		"seed,average_accuracy,torch\n4,0.2\n":                      "wrong number of fields",
	} {
		put(t, path, []byte(text))
		got, err := readPeer(path)
		read := err == nil && (!strings.Contains(text, "4,") || got[4] == 20)
		if want == "" && !read || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
	if _, err := readPeer(path + "x"); err == nil {
		t.Error("a file that is not there is read")
	}
}
