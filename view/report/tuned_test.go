package report

import (
	"slices"
	"testing"

	"ocl/run/result"
)

// TestTunedRow: seeds with values of their own are one row, and a footnote names the values.
func TestTunedRow(t *testing.T) {
	var runs []*run
	for i, lr := range []string{"0.1", "0.01", "0.1"} {
		f := fake{method: "er", title: "ER", memory: 10, seed: uint64(i + 1), tasks: 2, perTask: 2, level: 0.5, decay: 0.5,
			lr: map[string]float64{"0.1": 0.1, "0.01": 0.01}[lr]}
		r := f.make()
		r.Tuning = &result.Tuning{Grid: "paper", GridDigest: "sha256:0123456789", Keys: []string{"optimizer.lr"},
			Chosen: []string{lr}}
		runs = append(runs, newRun(r, ""))
	}
	untuned := fake{method: "er", title: "ER", memory: 10, seed: 1, tasks: 2, perTask: 2, level: 0.5, decay: 0.5}
	runs = append(runs, newRun(untuned.make(), ""))
	st := studyOf(runs, nil)
	if len(st.rows) != 2 || len(st.rows[0].runs) != 3 {
		t.Fatalf("%d rows, want one of the tuned runs and one of the other", len(st.rows))
	}
	if a, b := st.rows[0].Label, st.rows[1].Label; a != "ER, memory 10, lr tuned" || b != "ER, memory 10, lr 0.1" {
		t.Errorf("the rows are %q and %q", a, b)
	}
	want := st.rows[0].Label +
		": tuned on the first two tasks by the grid paper to lr 0.1 (seeds 1 and 3); lr 0.01 (seed 2)"
	if notes := st.settings[0].footnotes(); !slices.Contains(notes, want) {
		t.Errorf("footnotes %q, want %q", notes, want)
	}
}
