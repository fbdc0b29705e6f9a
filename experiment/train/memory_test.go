package train

import (
	"maps"
	"strings"
	"testing"

	"ocl"
)

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
		if len(r.TaskCounts) != c.want || len(r.Counts) != 3 {
			t.Errorf("known %v: %d counts by task and %d by class, want %d and 3", c.known, len(r.TaskCounts), len(r.Counts), c.want)
		}
	}
	if err := new(record).countMemory(&remembering{2, true}, tasks[:1]); err == nil {
		t.Error("a sample that was not delivered is counted")
	}
}
