package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ocl/run/result"
)

// sideBySide is a made-up run of ER that also measured ncm, at factor times the head's accuracies.
func sideBySide(seed uint64, factor float64) *result.Result {
	r := fake{method: "er", title: "ER", memory: 500, seed: seed, tasks: 4, perTask: 2, level: 0.4, decay: 0.7}.make()
	var c result.Classifier
	for _, row := range r.Accuracy {
		var other []*float64
		for _, v := range row {
			if v != nil {
				w := *v * factor
				v = &w
			}
			other = append(other, v)
		}
		c.Accuracy = append(c.Accuracy, other)
	}
	c.Metrics = result.MetricsOf(c.Accuracy, r.Stream.CommonTest, nil)
	r.Classifiers = map[string]result.Classifier{"ncm": c}
	r.Config.Classifiers = []string{"head", "ncm"}
	return r
}

// A run with two classifiers is two rows, and one measured with the head alone counts among the head's.
func TestClassifierRows(t *testing.T) {
	alone := fake{method: "er", title: "ER", memory: 500, seed: 3, tasks: 4, perTask: 2, level: 0.4, decay: 0.7}.make()
	results := []*result.Result{sideBySide(1, 1.5), sideBySide(2, 1.5), alone}
	var runs []*run
	for _, r := range results {
		runs = append(runs, newRun(r, ""))
	}
	st := studyOf(runs, nil)
	if len(st.rows) != 2 || len(st.runs) != 3 {
		t.Fatalf("%d rows of %d runs, want 2 of 3", len(st.rows), len(st.runs))
	}
	trick := sideBySide(4, 1.5)
	trick.Method.Tricks, trick.Classifiers = []string{"ncm"}, nil
	trick.Config.Classifiers = []string{"ncm"}
	if st := studyOf(append(slices.Clone(runs), newRun(trick, "")), nil); len(st.rows) != 2 || len(st.rows[1].runs) != 3 {
		t.Errorf("a run with the trick ncm does not count among those classified by ncm: %d rows, the second one of %d runs",
			len(st.rows), len(st.rows[1].runs))
	}
	both := sideBySide(5, 1.5)
	both.Method.Tricks, both.Classifiers = []string{"ncm"}, map[string]result.Classifier{"head": both.Classifiers["ncm"]}
	both.Config.Classifiers = []string{"ncm", "head"}
	if st := studyOf(append(slices.Clone(runs), newRun(both, "")), nil); len(st.rows) != 2 || len(st.rows[0].runs) != 4 ||
		len(st.rows[1].runs) != 3 {
		t.Errorf("a run with the trick ncm that also measured the head is no further row of each: %d rows", len(st.rows))
	}
	twice := studyOf(append(slices.Clone(runs), runs[2]), nil).warnings
	if len(twice) != 1 || !strings.HasPrefix(twice[0], "a run of ER and a run of ER are the same run") {
		t.Errorf("warnings %q, want one that names the row of what was handed over twice", twice)
	}
	own, ncm := st.rows[0], st.rows[1]
	if own.Label != "ER, memory 500" || ncm.Label != "ER + NCM, memory 500" || len(own.runs) != 3 || len(ncm.runs) != 2 {
		t.Errorf("%s of %d runs and %s of %d", own.Label, len(own.runs), ncm.Label, len(ncm.runs))
	}
	if a, b := own.runs[0].matrix.Rows[3][0], ncm.runs[0].matrix.Rows[3][0]; b != 1.5*a {
		t.Errorf("accuracies %v and %v, want the second half as large again", a, b)
	}
	var text bytes.Buffer
	if err := Table(&text, results, Options{Known: methods}, 0); err != nil ||
		!strings.Contains(text.String(), "ER + NCM, memory 500") {
		t.Errorf("%v\n%s", err, &text)
	}
}
