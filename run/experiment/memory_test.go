package experiment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/config"
	"ocl/learn/method"
)

// TestMemoryByTask: where each class belongs to one task, the counts by class say how many samples came with each task,
// and the counts by task say the same, whether incomplete batches are dropped or not.
func TestMemoryByTask(t *testing.T) {
	t.Parallel()
	for _, info := range method.Catalogue() {
		if !info.UsesMemory {
			continue
		}
		for _, drop := range []bool{false, true} {
			r := mustRun(t, countedRun(t, info.Name, drop), Options{})[0]
			if len(r.Memory.TaskCounts) != len(r.Stream.Tasks) {
				t.Fatalf("%s: %d counts by task after %d tasks", info.Name, len(r.Memory.TaskCounts), len(r.Stream.Tasks))
			}
			for i, counts := range r.Memory.ClassCounts {
				want := map[int]int{}
				for j, task := range r.Stream.Tasks {
					for _, k := range task.Classes {
						if n := counts[k]; n > 0 {
							want[j] += n
						}
					}
				}
				if d := cmp.Diff(want, r.Memory.TaskCounts[i]); d != "" {
					t.Errorf("%s, drop_last %v, after task %d: %s", info.Name, drop, i+1, d)
				}
			}
		}
	}
}

// countedRun is a small run of a method whose batches do not divide its tasks.
func countedRun(t *testing.T, name string, drop bool) config.Config {
	t.Helper()
	c := one(name)
	c.Stream.Batch, c.Stream.DropLast = 7, &drop
	c.Network.Hidden = []int{4}
	c.Data.TrainPerClass, c.Data.TestPerClass = 3, 1
	for key, value := range map[string]string{"method.gdumb.epochs": "1"} {
		if err := Schema().Set(&c, key, value); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
