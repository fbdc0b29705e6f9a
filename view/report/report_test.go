package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/metric"
	"ocl/run/result"
	"ocl/view/chart"

	"github.com/google/go-cmp/cmp"
)

// writePage writes a report and returns its page.
func writePage(t *testing.T, dirs []string, out string) string {
	t.Helper()
	written, err := Write(t.Context(), dirs, out, Options{Known: methods})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(written.Page)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wellFormed parses a page as XML with HTML's liberties, scripts and styles left out.
func wellFormed(page string) error {
	page = regexp.MustCompile(`(?s)<(script|style)[^>]*>.*?</(script|style)>`).ReplaceAllString(page, "")
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(open) > 0 {
				return fmt.Errorf("%v left open", open)
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch e := tok.(type) {
		case xml.StartElement:
			open = append(open, e.Name.Local)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != e.Name.Local {
				return fmt.Errorf("</%s> closes %v", e.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// packedData are numbers packed into letters, where every word may occur by chance; tests of their own hold what is in
// them.
var packedData = regexp.MustCompile(`(?s)<script type="application/json">.*?</script>|<metadata>.*?</metadata>`)

// noNumber finds what formatting makes of values that are none.
var noNumber = regexp.MustCompile(`[^s]NaN[^(]|[+-]Inf|%!|9223372036854775|9,223,372,036`)

// checkPage holds what every page must be.
func checkPage(t *testing.T, page, out string) {
	t.Helper()
	if err := wellFormed(page); err != nil {
		t.Errorf("not well formed: %v", err)
	}
	if len(page) > 1_000_000 {
		t.Errorf("the page has %d bytes, want at most 1 MB", len(page))
	}
	for _, bad := range []string{"http://", "https://", "<no value>", "ZgotmplZ", "@import"} {
		if strings.Contains(page, bad) {
			at := strings.Index(page, bad)
			t.Errorf("the page holds %q: …%s…", bad, page[max(0, at-80):min(len(page), at+80)])
		}
	}
	page = regexp.MustCompile(`data:image/(png|jpeg);base64,[^"]*`).ReplaceAllString(page,
		"#answer") // pictures inside the page
	page = packedData.ReplaceAllString(page, "")
	if m := noNumber.FindString(page); m != "" {
		t.Errorf("the page shows %q", m)
	}
	if m := regexp.MustCompile(`<td[^>]*>(</|<td|<tr|\n)`).FindString(page); m != "" {
		t.Errorf("the page has an empty cell: %s", m)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("id %s occurs twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if anchor, ok := strings.CutPrefix(m[1], "#"); ok {
			if !ids[anchor] {
				t.Errorf("link to #%s leads nowhere", anchor)
			}
		} else if _, err := os.Stat(filepath.Join(out, m[1])); err != nil {
			t.Errorf("link to %s: %v", m[1], err)
		}
	}
	for _, ref := range regexp.MustCompile(`aria-labelledby="(\S+) (\S+)"`).FindAllStringSubmatch(page, -1) {
		if !ids[ref[1]] || !ids[ref[2]] {
			t.Errorf("a picture lacks its title %s or description %s", ref[1], ref[2])
		}
	}
	pictures, described := strings.Count(page, `<svg class="fig`), strings.Count(page, `role="img"`)
	if pictures != described {
		t.Errorf("%d pictures, %d described", pictures, described)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, pair(3))
	page := writePage(t, []string{dir}, "")
	checkPage(t, page, dir)
	for _, want := range []string{
		"ER with 500 stored samples has the highest average accuracy", "(3 runs).",
		"10 tasks with 100 classes in all, 10,000 training images and 2,500 test images",
		"resnet18, width 20, 1,109,240 parameters", "sgd, lr 0.1, weight decay 0",
		`ocl run --config ` + filepath.ToSlash(dir) + `/er-m500-s1/result.json`,
		`title="after 3, on 1: `, "avx512", "sha256:5f0c0a0e", "0123456789ab", "not measured", "prefers-color-scheme:dark",
	} {
		if !strings.Contains(strings.ReplaceAll(page, "\u00a0", " "), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// Every figure is on the page and in three files.
	for _, id := range []string{"accuracy", "forgetting", "time", "matrix-er-m500", "matrix-finetune", "classes-er-m500",
		"classes-finetune", "memory-er-m500"} {
		svg, err := os.ReadFile(filepath.Join(dir, "figures", id+".svg"))
		if err != nil {
			t.Error(err)
			continue
		}
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("%s.svg: %v", id, err)
		}
		title := regexp.MustCompile(`<h3[^>]*>([^<]*)</h3>`).FindStringSubmatch(page[strings.Index(page,
			`<figure id="`+id+`"`):])
		if title == nil || !strings.Contains(string(svg), "<title>"+strings.ReplaceAll(title[1], "\u00a0", " ")+"</title>") {
			t.Errorf("%s.svg has not the page's title %q", id, title)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "figures", id+".pdf")); err != nil ||
			!bytes.HasPrefix(b, []byte("%PDF-1.")) {
			t.Errorf("%s.pdf: %v, want a PDF", id, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// TestSameBytes: the same results give the same files.
func TestSameBytes(t *testing.T) {
	dir, a, b := t.TempDir(), t.TempDir(), t.TempDir()
	save(t, dir, []fake{{method: "er", title: "ER", memory: 500, seed: 1, tasks: 3, perTask: 2, level: 0.5, decay: 0.8,
		errors: true}})
	writePage(t, []string{dir}, a)
	writePage(t, []string{dir}, b)
	if first := filesOf(t, a); !maps.Equal(first, filesOf(t, b)) || len(first) < 20 {
		t.Errorf("the second report of %d files differs", len(first))
	}
}

func TestResultsTables(t *testing.T) {
	ft := fake{method: "finetune", title: "Finetune", memory: -1, seed: 1}
	er := fake{method: "er", title: "ER", memory: 5000, seed: 1}
	er2 := er
	er2.seed = 2
	st := studyOf([]*run{
		newRun(exact(ft, 0.036, 0.5, 0.55, 80), ""), newRun(exact(er, 0.17, 0.31, 0.46, 160), ""),
		newRun(exact(er2, 0.18, 0.33, 0.48, 160), ""),
	}, nil)
	wantMD := `| method   | memory | protocol | average accuracy, % | forgetting, points | learning accuracy, % | time a run |  runs | outcome  |
| -------- | -----: | -------- | ------------------: | -----------------: | -------------------: | ---------: | ----: | -------- |
| ER       |  5,000 | standard |          17.5 ± 6.4 |        32.0 ± 12.7 |          47.0 ± 12.7 |      2m40s |     2 | finished |
| Finetune |   none | standard |                 3.6 |               50.0 |                 55.0 |      1m20s | 1 run | finished |
`
	if diff := cmp.Diff(wantMD, string(st.resultsTable().markdown())); diff != "" {
		t.Errorf("markdown (-want +got):\n%s", diff)
	}
	rows, err := csv.NewReader(bytes.NewReader(st.resultsTable().csvBytes())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	wantHead := "method,memory,protocol,average_accuracy,average_accuracy_half_width_95,average_forgetting,average_forgetting_half_width_95,learning_accuracy,learning_accuracy_half_width_95,seconds,runs,outcome,average_accuracy_runs,average_forgetting_runs,learning_accuracy_runs,seconds_runs,rows_forward,rows_backward,memory_bytes,network_bytes"
	if got := strings.Join(rows[0], ","); got != wantHead {
		t.Errorf("CSV head is\n%s, want\n%s", got, wantHead)
	}
	near := func(text string, want float64) bool {
		v, err := strconv.ParseFloat(text, 64)
		return err == nil && math.Abs(v-want) <= 1e-4
	}
	if r := rows[1]; r[0] != "er" || r[1] != "5000" || !near(r[3], 0.175) || !near(r[4], 0.06353) || !near(r[9], 160) ||
		r[10] != "2" {
		t.Errorf("CSV row of ER is %v", r)
	}
	if r := rows[2]; r[0] != "finetune" || r[1] != "" || !near(r[3], 0.036) || r[4] != "" || r[10] != "1" {
		t.Errorf("CSV row of Finetune is %v; one run has no half width", r)
	}
}

func TestMerge(t *testing.T) {
	a, b, out := t.TempDir(), t.TempDir(), t.TempDir()
	small := pair(2)
	large := pair(2)
	for i := range large {
		if large[i].memory > 0 {
			large[i].memory = 2000
			large[i].decay = 0.93
		}
	}
	save(t, a, small)
	save(t, b, large)
	if _, err := Write(t.Context(), []string{a, b}, "", Options{Known: methods}); err == nil ||
		!strings.Contains(err.Error(), `Give one with "--out DIR"`) {
		t.Errorf("two folders and no place for the report: error is %v", err)
	}
	page := writePage(t, []string{a, b, a}, out)
	checkPage(t, page, out)
	for _, want := range []string{"ER, memory 500", "ER, memory 2,000", "ER 2k",
		"are the same run (same configuration, seed 1)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	rows := csvRows(t, filepath.Join(out, "tables", "results.csv"))
	if len(rows) != 4 || rows[1][1] != "500" || rows[2][1] != "2000" || rows[1][10] != "2" || rows[3][10] != "2" {
		t.Errorf("results.csv is %v; want ER twice and Finetune once, 2 runs each", rows)
	}
}

func csvRows(t *testing.T, path string) [][]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestMixturesAreWarnedOf(t *testing.T) {
	er := fake{method: "er", title: "ER", memory: 500, seed: 1, level: 0.6, decay: 0.8}
	kernel, numbers, convolution := er, er, er
	kernel.seed, kernel.kernel = 2, "generic"
	numbers.seed, numbers.numbers, numbers.convolution = 3, 2, "-"
	convolution.seed, convolution.convolution = 4, "direct"
	st := studyOf([]*run{newRun(er.make(), "a"), newRun(kernel.make(), "b"), newRun(numbers.make(), "c"),
		newRun(convolution.make(), "d")}, nil)
	all := strings.Join(st.warnings, "\n")
	for _, want := range []string{"numbers versions 1 and 2", "kernels avx512 and generic",
		"convolutions direct, table and unknown"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning of %s in\n%s", want, all)
		}
	}
	if len(st.rows) != 2 || len(st.rows[0].runs) != 3 || len(st.rows[1].runs) != 1 {
		t.Error("runs of different numbers versions are averaged, or runs of different kernels or convolutions are not")
	}
	table := st.provenanceTable()
	at := slices.IndexFunc(table.Head, func(c column) bool { return c.Name == "convolution" })
	if at < 0 {
		t.Fatal("the table of provenance does not say the convolutions")
	}
	var said []string
	for _, row := range table.Rows {
		said = append(said, row[at].Text)
	}
	if d := cmp.Diff([]string{"table", "table", "unknown", "direct"}, said); d != "" {
		t.Error(d)
	}
	if st := studyOf([]*run{newRun(er.make(), "a")}, nil); len(st.warnings) > 0 {
		t.Errorf("one run, but warnings %v", st.warnings)
	}
}

func TestAHundredRuns(t *testing.T) {
	out := t.TempDir()
	var many []fake
	for i, m := range surveyed {
		for _, memory := range []int{1000, 5000, 10000} {
			for s := range uint64(2) {
				many = append(many, fake{method: m, title: strings.ToUpper(m), memory: memory, seed: s + 1, tasks: 20, perTask: 5,
					level: 0.6, decay: 0.5 + 0.04*float64(i), errors: true})
			}
		}
	}
	var runs []*run
	for _, r := range results(many) {
		runs = append(runs, newRun(r, "run"))
	}
	for _, r := range runs {
		r.Config.Stream.Batch = 1
		for i := range r.Stream.Tasks {
			r.Stream.Tasks[i].Train = 250
		}
		for k := range 500 { // in the middle of tasks
			v := math.Abs(math.Sin(float64(r.seed+1) * float64(k*len(r.Method.Name))))
			r.Evaluations = append(r.Evaluations, result.Evaluation{Step: 10 * (k + 1), Task: k / 25,
				Accuracy: slices.Repeat([]*float64{&v}, k/25+1)})
		}
	}
	if studyOf(runs, nil).settings[0].gapsFigure() == nil {
		t.Error("the ends of the tasks are not known")
	}
	p, figures, undrawn := newPage(studyOf(runs, nil))
	html := render(p)
	// The pictures of 33 rows take long; the links to them are held by the smaller tests.
	for _, f := range figures {
		for _, name := range []string{"figures/" + f.ID + ".svg", "figures/" + f.ID + ".pdf", "tables/" + f.ID + ".csv"} {
			touch(t, filepath.Join(out, name))
		}
	}
	if want := 3*(33-maxHeats) + 2*(33-maxConfusions); len(undrawn) != want {
		t.Errorf("%d tables of figures that are not drawn, want %d", len(undrawn), want)
	}
	checkAll(t, runs)
	for _, tb := range append(p.tables(), undrawn...) {
		touch(t, filepath.Join(out, "tables", tb.ID+".csv"))
		touch(t, filepath.Join(out, "tables", tb.ID+".md"))
	}
	if n := strings.Count(string(html), `<table class="heat`); n != 3 {
		t.Errorf("%d heat maps are printed, want one of each kind that has a slider: accuracy matrices, classes and tasks", n)
	}
	checkPage(t, string(html), out)
}

// checkAll: on request every row is drawn, the new and the old classes of each in one panel.
func checkAll(t *testing.T, runs []*run) {
	t.Helper()
	st := studyOf(runs, nil)
	st.settings[0].all = true
	_, figures, undrawn := newPage(st)
	if len(undrawn) > 0 {
		t.Errorf("%d tables of figures that are not drawn, want none", len(undrawn))
	}
	for _, f := range figures {
		if f.ID == "error-ratio" && (len(f.Lines.Series) != 2*33 || strings.Contains(f.Caption, "more")) {
			t.Errorf("%d lines in a panel of 33 rows, want two of each; caption %s", len(f.Lines.Series), f.Caption)
		}
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestHostileNamesAreEscaped(t *testing.T) {
	r := pair(1)[1].make()
	r.Method.Title = `<script>alert(1)</script>`
	r.Stream.Name = `"><img src=x onerror=alert(2)>`
	r.Stream.ClassNames[0] = `<b>&"`
	p, figures, _ := newPage(studyOf([]*run{newRun(r, `a"b`)}, nil))
	html := render(p)
	if err := wellFormed(string(html)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"<script>alert", "<img", "<b>&"} {
		if bytes.Contains(html, []byte(bad)) {
			t.Errorf("the page holds %s", bad)
		}
	}
	svg := chart.Draw(figures[0].chart(), chart.File(figures[0].Title)).SVG(figures[0].Title, figures[0].Alt)
	if bytes.Contains(svg, []byte("<script>alert")) {
		t.Error("the SVG holds a script")
	}
}

// oddities make results that are read and are unlike others; at least 4 tasks are there.
var oddities = map[string]func(*result.Result){
	"nothing measured": func(r *result.Result) {
		r.Accuracy, r.PerClass, r.Metrics, r.Memory, r.Outcome.State = [][]*float64{}, nil, result.Metrics{}, nil,
			result.Interrupted
	},
	"final evaluation only": func(r *result.Result) {
		for i := range r.Accuracy[:3] {
			r.Accuracy[i], r.PerClass[i] = nil, nil
		}
	},
	"common test set": func(r *result.Result) {
		r.Stream.Scenario = "domain-incremental"
		for i := range r.Accuracy {
			r.Accuracy[i] = r.Accuracy[i][:1]
		}
	},
	"common test set by its key": func(r *result.Result) {
		r.Stream.CommonTest = true
		for i := range r.Accuracy {
			r.Accuracy[i] = r.Accuracy[i][:1]
		}
	},
	"stopped within a task": func(r *result.Result) {
		r.Accuracy, r.PerClass = r.Accuracy[:1], r.PerClass[:1]
		r.Memory.ClassCounts, r.Memory.TaskCounts = r.Memory.ClassCounts[:1], r.Memory.TaskCounts[:1]
		r.Metrics, r.Outcome.State = result.Metrics{AverageAccuracy: r.Metrics.AverageAccuracy}, result.Interrupted
		r.Evaluations = []result.Evaluation{{Step: 5, Task: 0, Accuracy: []*float64{nil}},
			{Step: 130, Task: 1, Accuracy: r.Accuracy[0][:2]}}
	},
	"tasks of other sizes": func(r *result.Result) {
		r.Stream.Tasks[0].Classes, r.Stream.Tasks[1].Classes, r.Stream.Tasks[1].Test = nil, []int{0, 1, 2}, 0
	},
	"one task": func(r *result.Result) {
		r.Stream.Tasks, r.Accuracy, r.PerClass = r.Stream.Tasks[:1], [][]*float64{r.Accuracy[0][:1]}, r.PerClass[:1]
		r.Memory.ClassCounts, r.Memory.TaskCounts = r.Memory.ClassCounts[:1], r.Memory.TaskCounts[:1]
	},
	"memory not counted by task": func(r *result.Result) { r.Memory.TaskCounts = nil },
	"no tasks": func(r *result.Result) {
		r.Stream.Tasks, r.Accuracy, r.PerClass, r.Memory = []result.Task{}, [][]*float64{}, nil, nil
	},
	"no config":     func(r *result.Result) { r.Config = config.Config{Seed: 1} },
	"all zero":      func(r *result.Result) { *r.Metrics.AverageAccuracy = 0; r.Seconds = result.Seconds{} },
	"empty rows":    func(r *result.Result) { r.Accuracy[1] = []*float64{} },
	"no provenance": func(r *result.Result) { r.Provenance = result.Provenance{} },
}

// TestDegenerateResults renders what can be missing.
func TestDegenerateResults(t *testing.T) {
	base := fake{method: "er", title: "ER", memory: 100, seed: 1, tasks: 4, perTask: 2, level: 0.6, decay: 0.8}
	for name, change := range oddities {
		r := base.make()
		change(r)
		text, err := result.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if r, err = result.Parse(text); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, figures, _ := newPage(studyOf([]*run{newRun(r, "x")}, nil))
		html := render(p)
		if err := wellFormed(string(html)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m := noNumber.FindString(string(html)); m != "" {
			t.Errorf("%s: the page shows %q", name, m)
		}
		for _, f := range figures {
			chart.Draw(f.chart(), chart.File(f.Title))
		}
	}
}

func TestForgottenIsATermOfAverageForgetting(t *testing.T) {
	for seed := range uint64(5) {
		r := newRun(fake{method: "er", memory: 10, seed: seed, tasks: 6, perTask: 1, level: 0.7, decay: 0.7}.make(), "")
		sum := 0.0
		for j := range 5 {
			sum += r.forgotten(j)
		}
		if got, want := sum/5, metric.AverageForgetting(r.matrix, 5); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("seed %d: mean of the terms is %g, average forgetting %g", seed, got, want)
		}
	}
}
