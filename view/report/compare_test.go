package report

import (
	"encoding/csv"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl/run/metric/compare"
)

// accuracies are runs of a method with these average accuracies for the seeds from 1 on; a NaN is a seed without a run.
func accuracies(f fake, values ...float64) (runs []*run) {
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		f.seed = uint64(i + 1)
		r := f.make()
		r.Metrics.AverageAccuracy = &v
		runs = append(runs, newRun(r, ""))
	}
	return runs
}

// named is a method with a memory of 500.
func named(method string) fake {
	return fake{method: method, title: strings.ToUpper(method), memory: 500, level: 0.5, decay: 0.9}
}

// comparisonTable are the lines of the CSV file by their columns.
func comparisonTable(t *testing.T, st *study) (lines []map[string]string) {
	t.Helper()
	_, table := st.comparisonLead()
	if table == nil {
		t.Fatal("there is no table of comparisons")
	}
	records, err := csv.NewReader(strings.NewReader(string(table.csvBytes()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records[1:] {
		line := map[string]string{}
		for i, name := range records[0] {
			line[name] = r[i]
		}
		lines = append(lines, line)
	}
	return lines
}

// TestPairings: rows are compared over the seeds that both have, with the numbers of package compare, and the page has
// the table.
func TestPairings(t *testing.T) {
	nan := math.NaN()
	st := studyOf(slices.Concat(accuracies(named("er"), 0.3, 0.5, 0.4), accuracies(named("mir"), 0.1, 0.2, 0.3),
		accuracies(named("gdumb"), nan, 0.9, 0.91), accuracies(named("agem"), 0.2)), nil)
	found := map[string]pairing{}
	for _, x := range st.settings[0].pairings() {
		found[x.first.method.Name+">"+x.second.method.Name] = x
	}
	if len(found) != 3 {
		t.Fatalf("%d pairs, want 3: %v", len(found), found)
	}
	values := func(name string) []compare.Value {
		i := slices.IndexFunc(st.rows, func(g *row) bool { return g.method.Name == name })
		return st.rows[i].values()
	}
	if v := values("er")[1]; v != (compare.Value{Seed: 2, Engine: compare.Engine{Kernel: "avx512", Convolution: "table"},
		Value: 0.5, Step: 1. / 2500}) {
		t.Errorf("a value of ER is %+v", v)
	}
	want := compare.Family([]compare.Question{{First: values("er"), Second: values("mir")},
		{First: values("gdumb"), Second: values("er")}, {First: values("gdumb"), Second: values("mir")}})
	er := found["er>mir"]
	if er.N() != 3 || er.Mean != want[0].Mean || er.Half != want[0].Half || er.P != want[0].P || er.Holm != want[0].Holm ||
		er.SignFlip != 0.25 {
		t.Errorf("ER and MIR differ by %+v, want %+v", er.Comparison, want[0])
	}
	if d := found["gdumb>er"]; d.N() != 2 || d.Mean != want[1].Mean || d.Reason != compare.FewSeeds {
		t.Errorf("GDumb and ER differ by %+v, want %+v", d.Comparison, want[1])
	}
	page, _, _ := newPage(st)
	html := render(page)
	if !strings.Contains(string(html), `id="comparison-section"`) || !strings.Contains(string(html), "undecided") {
		t.Error("the page has no comparison")
	}
}

// TestHeadlineSaysWhatTheTableSays: the headline spoke by overlapping intervals, so it doubted what the table decided
// with p = 1e-7.
func TestHeadlineSaysWhatTheTableSays(t *testing.T) {
	const doubt = "do not show"
	for _, c := range []struct {
		name         string
		er, mir      []float64
		verdict      string
		says, unsaid string
	}{
		// The seeds differ by far more than the methods, so the intervals overlap.
		{"decided", []float64{.20, .30, .40, .50, .60}, []float64{.180, .281, .379, .482, .578}, "first is higher", "",
			doubt},
		// The intervals are apart, but two seeds are too few.
		{"two seeds", []float64{.500, .501}, []float64{.300, .3015}, "undecided: fewer than three seeds in common",
			"These runs do not show whether ER is better than MIR.", ""},
		{"two equal differences", []float64{.500, .510}, []float64{.475, .485}, "undecided: fewer than three seeds in common",
			"These runs do not show whether ER is better than MIR.", ""},
		{"undecided", []float64{.50, .52, .54}, []float64{.52, .49, .52}, "undecided",
			"These runs do not show whether ER is better than MIR.", ""},
		// ER has the higher mean by a seed that MIR lacks.
		{"reversed", []float64{.300, .310, .320, .900}, []float64{.3500, .3604, .3702}, "first is higher",
			"Over the seeds that both have, ER is less accurate than MIR.", doubt},
	} {
		s := studyOf(slices.Concat(accuracies(named("er"), c.er...), accuracies(named("mir"), c.mir...)), nil)
		answer, lines := s.settings[0].answer(), comparisonTable(t, s)
		if len(lines) != 1 || lines[0]["verdict"] != c.verdict {
			t.Errorf("%s: the table says %v, want %q", c.name, lines, c.verdict)
		}
		if !strings.Contains(answer, c.says) || c.unsaid != "" && strings.Contains(answer, c.unsaid) {
			t.Errorf("%s: the headline is %q; it should say %q and not %q", c.name, answer, c.says, c.unsaid)
		}
	}
	st := studyOf(slices.Concat(accuracies(named("er"), .50, .52, .54), accuracies(named("mir"), .52, .49, .52),
		accuracies(named("gss"), .53, .47, .54)), nil)
	if answer := st.settings[0].answer(); !strings.HasSuffix(answer,
		" These runs do not show whether ER is better than GSS, MIR.") {
		t.Errorf("of two undecided rows the headline says %q", answer)
	}
}

// TestOtherKernelsAreNotPaired: runs of one seed with different kernels differ by as much as two seeds do.
func TestOtherKernelsAreNotPaired(t *testing.T) {
	other := named("mir")
	other.kernel = "avx2"
	st := studyOf(slices.Concat(accuracies(named("er"), .30, .31, .32), accuracies(other, .2, .2105, .2203)), nil)
	lines := comparisonTable(t, st)
	if len(lines) != 1 || lines[0]["seeds"] != "0" || lines[0]["seeds_with_other_kernels"] != "3" ||
		lines[0]["difference"] != "" ||
		lines[0]["verdict"] != "undecided: fewer than three seeds with the same kernels" {
		t.Errorf("runs of different kernels are compared: %v", lines)
	}
	st = studyOf(slices.Concat(accuracies(named("er"), .30, .31, .32), accuracies(named("mir"), .2, .2105, .2203)), nil)
	if lines := comparisonTable(t, st); lines[0]["kernels"] != "avx512, table" || lines[0]["seeds"] != "3" {
		t.Errorf("runs of the same kernels: %v", lines)
	}
}

// TestPairingsOfMany: of more than ten rows the page compares the most accurate one with the next ten; the files and
// the correction have all of them.
func TestPairingsOfMany(t *testing.T) {
	var runs []*run
	for m := range 12 {
		f := named("er")
		f.memory = 100 * (m + 1)
		x := float64(m % 7)
		runs = append(runs, accuracies(f, .1+.02*x, .13+.02*x, .12+.021*x)...)
	}
	st := studyOf(runs, nil)
	if lines := comparisonTable(t, st); len(lines) != 66 {
		t.Errorf("%d pairs in the files, want 66", len(lines))
	}
	text, table := st.comparisonLead()
	if len(table.Few) != 10 || !strings.Contains(text, "the table compares the most accurate one with the next 10") {
		t.Errorf("%d pairs on the page, want 10, and: %s", len(table.Few), text)
	}
	for _, line := range table.Few {
		if !strings.Contains(line[0].Text+line[1].Text, "memory 700") {
			t.Errorf("the page compares %s with %s, and neither is the best", line[0].Text, line[1].Text)
		}
	}
	page, _, _ := newPage(st)
	html := render(page)
	_, section, _ := strings.Cut(string(html), `id="comparison-section"`)
	section, _, _ = strings.Cut(section, "</section>")
	_, section, _ = strings.Cut(section, "</figure>") // behind the triangle
	if n := strings.Count(section, "<tr>"); n != 11 {
		t.Errorf("the table on the page has %d rows, want 11 with the head", n)
	}
}
