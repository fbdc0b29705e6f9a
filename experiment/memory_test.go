package experiment

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/config"
	"ocl/experiment/result"
	"ocl/method"
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

// TestMemoryByTaskWhereClassesReturn: the samples of a task are there at its end, where classes say nothing.
func TestMemoryByTaskWhereClassesReturn(t *testing.T) {
	t.Parallel()
	for _, info := range method.Catalogue() {
		if !info.UsesMemory || info.OwnNetworks { // which empties its memory
			continue
		}
		c := countedRun(t, info.Name, true)
		c.Stream.Kind = config.KindShift
		c.Stream.Shift.Kind, c.Stream.Tasks = "noise", 10
		r := mustRun(t, c, Options{})[0]
		for i, counts := range r.Memory.TaskCounts {
			n := 0
			for _, of := range counts {
				n += of
			}
			if n != c.Memory || len(counts) > i+1 || i == 0 && counts[0] != n {
				t.Errorf("%s, after task %d: %v, want %d samples of the tasks learned", info.Name, i+1, counts, c.Memory)
			}
		}
		if last := r.Memory.TaskCounts[len(r.Memory.TaskCounts)-1]; r.Stream.Scenario != string(ocl.DomainIncremental) || len(last) < 2 {
			t.Errorf("%s: %s stream, %v at its end; want samples of several tasks", info.Name, r.Stream.Scenario, last)
		}
	}
}

// countedRun is a small run of a method whose batches do not divide its tasks.
func countedRun(t *testing.T, name string, drop bool) config.Config {
	t.Helper()
	c := one(name)
	c.Stream.Batch, c.Stream.DropLast = 7, &drop
	c.Network.Hidden = []int{4}
	for key, value := range map[string]string{"method.gdumb.epochs": "1"} {
		if err := Schema().Set(&c, key, value); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestCountByTask counts by hand: the first and last sample of each task are its own, and one that was not delivered is
// refused.
func TestCountByTask(t *testing.T) {
	tasks := []ocl.TaskInfo{{Train: 3}, {Train: 1}, {Train: 5}}
	for _, c := range []struct {
		places []int64
		before int64
		tasks  []ocl.TaskInfo
		want   map[int]int
		fault  string
	}{
		{nil, 0, nil, map[int]int{}, ""},
		{[]int64{2, 0}, 0, tasks[:1], map[int]int{0: 2}, ""},
		{[]int64{8, 2, 3, 4, 0}, 0, tasks, map[int]int{0: 2, 1: 1, 2: 2}, ""},
		{[]int64{3}, 0, tasks[:1], nil, "sample 3 of the stream, but samples 0 to 2 were delivered"},
		{[]int64{-1}, 0, tasks, nil, "sample -1 of the stream"},
		{[]int64{18, 9, 13, 10, 0}, 10, tasks, map[int]int{0: 1, 1: 1, 2: 1}, ""},
		{[]int64{13}, 10, tasks[:1], nil, "sample 3 of the stream, but samples 0 to 2 were delivered"},
	} {
		got, err := countByTask(c.places, c.before, c.tasks)
		if c.fault == "" && (err != nil || !maps.Equal(got, c.want)) {
			t.Errorf("%v: %v (%v), want %v", c.places, got, err, c.want)
		}
		if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%v: error %v, want %q", c.places, err, c.fault)
		}
	}
}

// remembering is a memory of one sample.
type remembering struct {
	place int64
	known bool
}

func (m *remembering) MemoryCounts() map[ocl.Label]int { return map[ocl.Label]int{5: 1} }
func (m *remembering) MemoryBytes() int64              { return 1 }
func (m *remembering) MemoryOrigins() ([]int64, bool)  { return []int64{m.place}, m.known }

// TestMemoryIsCountedByTaskAfterAllTasksOrNone: once origins are unknown nothing is counted by task, before or after.
func TestMemoryIsCountedByTaskAfterAllTasksOrNone(t *testing.T) {
	tasks := []ocl.TaskInfo{{Train: 2}, {Train: 2}, {Train: 2}}
	for _, c := range []struct {
		known []bool
		want  int
	}{{[]bool{true, true, true}, 3}, {[]bool{true, false, true}, 0}, {[]bool{false, true, true}, 0}, {[]bool{true, true, false}, 0}} {
		r := new(record)
		for i, known := range c.known {
			if err := r.countMemory(&remembering{1, known}, tasks[:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.taskCounts) != c.want || len(r.counts) != 3 {
			t.Errorf("known %v: %d counts by task and %d by class, want %d and 3", c.known, len(r.taskCounts), len(r.counts), c.want)
		}
		if r.taskCounts = r.taskCounts[:min(1, len(r.taskCounts))]; c.want > 0 && r.upTo(position{task: 3}) == nil {
			t.Error("a record with one count by task and three by class is accepted")
		}
	}
	if err := new(record).countMemory(&remembering{2, true}, tasks[:1]); err == nil {
		t.Error("a sample that was not delivered is counted")
	}
}

// TestInterruptedMemoryByTask: an interrupted result has the counts of the tasks that ended.
func TestInterruptedMemoryByTask(t *testing.T) {
	t.Parallel()
	ctx, o := stopAfter(30, Options{})
	results, err := Run(ctx, one("er"), o)
	if err == nil {
		t.Fatal("the run was not stopped")
	}
	if m := results[0].Memory; len(m.TaskCounts) != 2 || results[0].Outcome.State != result.Interrupted {
		t.Errorf("%d counts by task after 2 tasks", len(m.TaskCounts))
	}
}
