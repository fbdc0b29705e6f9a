package stream

import (
	"slices"
	"strings"
	"testing"
)

// TestUnequalTasks: CORe50-NC's pattern in small. Classes come in their order, in as many as each task wants; every
// training image is delivered once, and the other options mean what they mean for equal tasks.
func TestUnequalTasks(t *testing.T) {
	set := tiny(12, 5, 2)
	o := Options{Tasks: 4, TaskClasses: []int{5, 1, 4, 2}, Batch: 3, Seed: 3}
	s := mustSplit(t, set, o)
	order := classOrder(tiny(12, 1, 1), o)
	delivered := make([]int, set.Train.Len())
	at := 0
	for i, n := range o.TaskClasses {
		info := s.Info().Tasks[i]
		want := order[at : at+n]
		at += n
		if info.Index != i || len(info.Classes) != n || info.Train != 5*n || info.Test != 2*n {
			t.Errorf("task %d: %+v, want %d classes", i, info, n)
		}
		for k, y := range info.Classes {
			if int(y) != want[k] {
				t.Errorf("task %d: classes %v, want %v", i, info.Classes, want)
			}
		}
		images, labels, sizes := drain(t, s.Train(i))
		if len(sizes) != s.Batches(i) || len(sizes) != (5*n+2)/3 {
			t.Errorf("task %d: %d batches, said are %d", i, len(sizes), s.Batches(i))
		}
		for k, p := range images {
			delivered[p]++
			if !slices.Contains(want, labels[k]) {
				t.Errorf("task %d: class %d", i, labels[k])
			}
		}
		if _, labels, _ := drain(t, s.Test(i)); len(labels) != 2*n {
			t.Errorf("test set %d: %d images", i, len(labels))
		}
	}
	if slices.Min(delivered) != 1 || slices.Max(delivered) != 1 {
		t.Errorf("images were delivered %v times", delivered)
	}
	// What Keep leaves out moves nothing.
	o.Keep = Range{2, 4}
	whole, kept := mustSplit(t, set, Options{Tasks: 4, TaskClasses: o.TaskClasses, Batch: 3, Seed: 3}),
		mustSplit(t, set, o)
	for i := range 2 {
		a, _, _ := drain(t, whole.Train(i+2))
		if b, _, _ := drain(t, kept.Train(i)); !slices.Equal(a, b) || kept.Original(i) != i+2 {
			t.Errorf("kept task %d: %v, in the whole stream %v", i, b, a)
		}
	}
	if err := kept.Seek(1, 4); err == nil {
		t.Error("seeking beyond the four batches of the last task: no error")
	}
}

// TestCommonTest: there is one test set, of all tasks, in the order of the data set.
func TestCommonTest(t *testing.T) {
	set := tiny(12, 5, 2)
	set.Tasks = 4
	for _, y := range set.Train.Y {
		set.Train.Task = append(set.Train.Task, y/3)
	}
	common := mustSplit(t, set, Options{Batch: 3, TestBatch: 4})
	if common.Info().TestSets() != 1 || common.Info().Tasks[2].Test != 24 {
		t.Errorf("%+v", common.Info())
	}
	for range 2 {
		images, _, sizes := drain(t, common.Test(0))
		if len(images) != 24 || !slices.IsSorted(images) || len(sizes) != 6 {
			t.Errorf("images %v in batches of %v, want all 24 in their order", images, sizes)
		}
	}
	for _, at := range []int{-1, 1} {
		for b, err := range common.Test(at) {
			if err == nil || !strings.Contains(err.Error(), "Use 0 to 0") || b.Len() > 0 {
				t.Errorf("test set %d: error %v", at, err)
			}
		}
	}
	view, err := mustSplit(t, set, Options{Batch: 3}).Offline(1, 8, false)
	if err != nil || view.Info().TestSets() != 1 {
		t.Errorf("offline: %d test sets (%v), want 1", view.Info().TestSets(), err)
	}
	if _, err := Split(set, Options{Batch: 3, HeldOut: true}); err != nil {
		t.Error(err)
	}
	task := set.Train.Task[:36]
	set.Train = first(set.Train, 36) // three of each class, so a tenth of a task is none
	set.Train.Task = task
	if _, err := Split(set, Options{Batch: 3, HeldOut: true}); err == nil ||
		!strings.Contains(err.Error(), "tasks 1 to 4 have no test images") {
		t.Errorf("no image is held out: %v", err)
	}
}

func TestBadTaskClasses(t *testing.T) {
	for _, c := range []struct {
		list []int
		want string
	}{
		{[]int{6, 6}, "2 entries for 4 tasks"},
		{[]int{0, 6, 3, 3}, "task 1 has 0 classes, which is out of range. Use 1 to 12"},
		{[]int{3, 13, -2, -2}, "task 2 has 13 classes, which is out of range. Use 1 to 12"},
		{[]int{3, 3, 3, 2}, "11 classes together, but the data have 12"},
		{[]int{3, 3, 3, 4}, "13 classes together, but the data have 12"},
	} {
		_, err := Split(tiny(12, 5, 2), Options{Tasks: 4, TaskClasses: c.list, Batch: 3})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.list, err, c.want)
		}
	}
	// Tasks that do not divide the classes are in order where their sizes are given.
	if _, err := Split(tiny(12, 5, 2), Options{Tasks: 5, TaskClasses: []int{4, 2, 2, 2, 2}, Batch: 3}); err != nil {
		t.Error(err)
	}
	// A batch of a small task is held to that task.
	_, err := Split(tiny(12, 5, 2), Options{Tasks: 4, TaskClasses: []int{5, 1, 4, 2}, Batch: 6, DropLast: true,
		Order: Given})
	if err == nil || !strings.Contains(err.Error(), "task 2 has fewer training images") {
		t.Errorf("a batch that a small task cannot fill: %v", err)
	}
}

// TestTasksWhereNobodySays: any number of classes becomes a stream without a word about tasks, and no task has one
// class unless there are fewer than four.
func TestTasksWhereNobodySays(t *testing.T) {
	want := map[int][]int{
		2: {1, 1}, 3: {2, 1}, 4: {2, 2}, 5: {3, 2}, 7: {3, 2, 2}, 9: {3, 3, 3}, 11: {3, 2, 2, 2, 2}, 15: {3, 3, 3, 3, 3},
		22: {3, 3, 2, 2, 2, 2, 2, 2, 2, 2}, 25: {5, 5, 5, 5, 5}, 47: {5, 5, 5, 5, 5, 5, 5, 4, 4, 4},
	}
	for k := 2; k <= 110; k++ {
		s := mustSplit(t, tiny(k, 1, 1), Options{Batch: 1})
		var sizes []int
		for _, task := range s.Info().Tasks {
			sizes = append(sizes, len(task.Classes))
		}
		if list := want[k]; list != nil && !slices.Equal(sizes, list) {
			t.Errorf("%d classes: tasks of %v, want %v", k, sizes, list)
		}
		if len(sizes) < 2 || len(sizes) > 10 || k > 3 && slices.Min(sizes) < 2 || slices.Max(sizes)-slices.Min(sizes) > 1 {
			t.Errorf("%d classes: tasks of %v", k, sizes)
		}
	}
	one := tiny(1, 2, 1)
	if s := mustSplit(t, one, Options{Batch: 1}); len(s.Info().Tasks) != 1 {
		t.Errorf("one class: %d tasks", len(s.Info().Tasks))
	}
	// A data set's own number holds, even where it does not divide the classes.
	own := tiny(7, 1, 1)
	own.DefaultTasks = 5
	if s := mustSplit(t, own, Options{Batch: 1}); len(s.Info().Tasks) != 5 || len(s.Info().Tasks[0].Classes) != 2 {
		t.Errorf("five tasks of seven classes: %+v", s.Info().Tasks)
	}
	// A number that was given is not made to fit; the message says what would.
	_, err := Split(tiny(7, 1, 1), Options{Tasks: 3, Batch: 1})
	if err == nil || !strings.Contains(err.Error(),
		"Use --tasks 1 or 7, or give each task its classes with stream.task_classes=3,2,2") {
		t.Errorf("three tasks of seven classes: %v", err)
	}
}

// TestTasksOfDomains: by default each domain is a task, if there are at most ten.
func TestTasksOfDomains(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 7: 7, 10: 10, 11: 11, 12: 6, 20: 10} {
		if got := tasksForDomains(n); got != want {
			t.Errorf("%d domains: %d tasks, want %d", n, got, want)
		}
	}
}
