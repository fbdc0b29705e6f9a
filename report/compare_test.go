package report

import (
	"math"
	"strings"
	"testing"

	"ocl/experiment/result"
	"ocl/metric"
)

// compared are runs of three methods with accuracies of 0.3, 0.5 and 0.4 for ER, and so on; a NaN is a seed without a run.
func compared(t *testing.T) []*run {
	t.Helper()
	var runs []*run
	for name, values := range map[string][]float64{"er": {0.3, 0.5, 0.4}, "mir": {0.1, 0.2, 0.3}, "gdumb": {math.NaN(), 0.9, 0.9}, "agem": {0.2}} {
		for i, v := range values {
			if math.IsNaN(v) {
				continue
			}
			r := fake{method: name, title: strings.ToUpper(name), memory: 500, seed: uint64(i + 1), level: 0.5, decay: 0.9}.make()
			r.Metrics.AverageAccuracy = &v
			runs = append(runs, newRun(r, name))
		}
	}
	return runs
}

// TestPairings: rows are compared over the seeds that both have, with the numbers of package metric, and Holm's correction is over all pairs.
func TestPairings(t *testing.T) {
	st := studyOf(compared(t), nil)
	found := map[string]pairing{}
	var p []float64
	for _, x := range st.settings[0].pairings() {
		found[x.first.method.Name+">"+x.second.method.Name] = x
		p = append(p, x.P)
	}
	if len(found) != 3 {
		t.Fatalf("%d pairs, want 3: %v", len(found), found)
	}
	er := found["er>mir"]
	want := metric.Paired([]float64{0.3, 0.5, 0.4}, []float64{0.1, 0.2, 0.3})
	if er.N != 3 || math.Abs(er.Mean-0.2) > 1e-12 || er.P != want.P || er.SignFlip != 0.25 || er.Half != want.Half {
		t.Errorf("ER and MIR differ by %+v, want %+v", er.Comparison, want)
	}
	if d := found["gdumb>er"]; d.N != 2 || math.Abs(d.Mean-0.45) > 1e-12 {
		t.Errorf("GDumb and ER differ by %+v", d.Comparison)
	}
	i := 0
	for _, x := range st.settings[0].pairings() {
		if x.adjusted != metric.Holm(p)[i] || x.adjusted < x.P || x.flipped < x.SignFlip {
			t.Errorf("%s and %s: p is %g, corrected %g, want %g", x.first.Label, x.second.Label, x.P, x.adjusted, metric.Holm(p)[i])
		}
		i++
	}
	page, _, _ := newPage(st)
	html, err := render(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(html), `id="comparison-section"`) || !strings.Contains(string(html), "undecided") {
		t.Error("the page has no comparison")
	}
}

// TestPairingsOfMany: of more than ten rows each is compared with the most accurate one alone.
func TestPairingsOfMany(t *testing.T) {
	var runs []*run
	for m := range 12 {
		for seed := range uint64(2) {
			r := fake{method: "er", title: "ER", memory: 100 * (m + 1), seed: seed + 1, level: 0.5, decay: 0.9}.make()
			v := 0.1 + 0.02*float64(m%7) + 0.01*float64(seed)*float64(m%3)
			r.Metrics.AverageAccuracy = &v
			runs = append(runs, newRun(r, ""))
		}
	}
	pairs := studyOf(runs, nil).settings[0].pairings()
	if len(pairs) != 11 {
		t.Errorf("%d pairs, want 11", len(pairs))
	}
	for _, p := range pairs {
		if p.first.memory != 700 && p.second.memory != 700 {
			t.Errorf("%s is compared with %s, and neither is the best", p.first.Label, p.second.Label)
		}
	}
}

// TestNoPairings: single runs, and what other programs measured, are in no test.
func TestNoPairings(t *testing.T) {
	st := withAliens([]*result.Result{alien("avalanche", 1, 10, 0.5), alien("avalanche", 2, 10, 0.6)}, pair(1)...)
	if text, table := st.comparisonLead(); table != nil {
		t.Errorf("there is a comparison: %s", text)
	}
	st = withAliens([]*result.Result{alien("avalanche", 1, 10, 0.5), alien("avalanche", 2, 10, 0.6)}, pair(2)...)
	for _, p := range st.settings[0].pairings() {
		if p.first.foreign() || p.second.foreign() {
			t.Errorf("%s is compared with %s", p.first.Label, p.second.Label)
		}
	}
}
