package report

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/run/result"
)

func TestSummaries(t *testing.T) {
	dir := t.TempDir()
	f := pair(2)
	f[2].state, f[2].through = "diverged", 3
	save(t, dir, f)
	w, err := Write(t.Context(), []string{dir}, "", Options{Known: methods})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var back Written
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(*w, back); d != "" {
		t.Errorf("JSON loses something: %s", d)
	}
	if len(w.Rows) != 2 || len(w.LeftOut) != 0 {
		t.Fatalf("%d rows, %d left out", len(w.Rows), len(w.LeftOut))
	}
	er, finetune := w.Rows[0], w.Rows[1]
	a, b := *f[1].make().Metrics.AverageAccuracy, *f[3].make().Metrics.AverageAccuracy
	got := er.Metrics["average_accuracy"]
	if er.Method != "er" || er.Memory == nil || *er.Memory != 500 || er.Classifier != "head" ||
		er.Protocol != "standard" || er.Tasks != 10 ||
		er.Runs != 2 || !cmp.Equal(er.Seeds, []uint64{1, 2}) || er.Label != "ER, memory 500" {
		t.Errorf("%+v", er)
	}
	if got.Runs != 2 || !(math.Abs(*got.Mean-(a+b)/2) <= 1e-12) || got.HalfWidth == nil || !(*got.HalfWidth > 0) {
		t.Errorf("accuracies %v and %v give %+v", a, b, got)
	}
	if er.Metrics["fwt"].Mean != nil || len(er.Metrics) != len(result.AllMetrics()) {
		t.Errorf("metrics %+v", er.Metrics)
	}
	if finetune.Memory != nil || finetune.Runs != 1 || finetune.Metrics["average_accuracy"].HalfWidth != nil ||
		!cmp.Equal(finetune.Seeds, []uint64{1, 2}) {
		t.Errorf("%+v", finetune)
	}
	for _, path := range w.Files {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if w.Files[len(w.Files)-1] != w.Page {
		t.Errorf("the last file is %s", w.Files[len(w.Files)-1])
	}
}
