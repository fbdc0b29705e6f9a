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
