package experiment

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/experiment/result"
)

// tiny is an experiment of 5 tasks of 12 steps for each of four runs, on 8×8 glyphs and a small perceptron.
func tiny() Config {
	c := Default()
	c.Data = DataConfig{Name: "glyphs", Size: 8, TrainPerClass: 6, TestPerClass: 2}
	c.Stream.Tasks = 5
	c.Memory = 30
	c.Network = NetworkConfig{Name: "mlp", Width: 20, Hidden: []int{16}}
	c.Runs = 2
	return c
}

// comparable drops what may differ between equal runs: seconds, peak memory and the provenance of workers.
func comparable(t *testing.T, results []*result.Result) []string {
	t.Helper()
	var texts []string
	for _, r := range results {
		c := *r
		c.Seconds = result.Seconds{}
		c.Resources.PeakResidentBytes = 0
		c.Provenance.Workers, c.Provenance.Concurrency = 0, 0
		b, err := json.MarshalIndent(c, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	return texts
}

func mustRun(t *testing.T, c Config, o Options) []*result.Result {
	t.Helper()
	results, err := Run(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestRunFillsResult(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x")
	results := mustRun(t, tiny(), Options{Out: out, KeepCheckpoint: true})
	if len(results) != 4 {
		t.Fatalf("%d results, want 4", len(results))
	}
	for i, j := range Jobs(tiny()) {
		r := results[i]
		if r.Method.Name != j.Method || r.Outcome != (result.Outcome{State: result.Finished, Step: 60}) {
			t.Errorf("%s: %s ended as %+v", j.Folder, r.Method.Name, r.Outcome)
		}
		read, err := result.Read(filepath.Join(out, j.Folder, ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(comparable(t, []*result.Result{r}), comparable(t, []*result.Result{read})); d != "" {
			t.Errorf("%s: the file differs from the result: %s", j.Folder, d)
		}
		for a, row := range r.Accuracy {
			for b, v := range row {
				if (v != nil) != (b <= a) {
					t.Errorf("%s: accuracy[%d][%d] is %v under eval seen", j.Folder, a, b, v)
				}
			}
		}
		if r.Metrics.FWT != nil || r.Metrics.AverageAccuracy == nil || r.Metrics.AverageForgetting == nil {
			t.Errorf("%s: metrics %+v", j.Folder, r.Metrics)
		}
		if (r.Memory != nil) != (j.Method == "er") {
			t.Errorf("%s: memory %+v", j.Folder, r.Memory)
		}
		if r.Memory != nil {
			n := 0
			for _, c := range r.Memory.ClassCounts[4] {
				n += c
			}
			if n != 30 || len(r.Memory.ClassCounts) != 5 {
				t.Errorf("%d samples in memory at the end of %d tasks, want 30 of 5", n, len(r.Memory.ClassCounts))
			}
		}
		if p := r.Resources.PeakResidentBytes; p < 1<<20 {
			t.Errorf("peak resident memory %d", p)
		}
		if s := r.Seconds; s.Train <= 0 || s.Test <= 0 {
			t.Errorf("seconds %+v", s)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "er-m30-s2", CheckpointDir)); err != nil {
		t.Error(err)
	}
	var _ ocl.TaskInfo
}
