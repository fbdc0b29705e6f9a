package report

import (
	"fmt"
	"strings"
	"testing"

	"ocl/run/result"
)

// remembered is the memory figure of one row of fakes, each changed.
func remembered(change func(*result.Result), fakes ...fake) *figure {
	var runs []*run
	for _, f := range fakes {
		r := f.make()
		change(r)
		runs = append(runs, newRun(r, ""))
	}
	return studyOf(runs, nil).rows[0].memoryFigure()
}

// TestMemoryFigureBySource: what is drawn are the counts by task, also where classes return in each task.
func TestMemoryFigureBySource(t *testing.T) {
	er := fake{method: "er", title: "ER", memory: 100, seed: 1, tasks: 3, perTask: 2, level: 0.5, decay: 0.5}
	other := er
	other.seed = 2
	for _, scenario := range []string{"class-incremental", "domain-incremental"} {
		f := remembered(func(r *result.Result) {
			r.Stream.Scenario = scenario
			for i := range r.Stream.Tasks {
				r.Stream.Tasks[i].Classes = []int{0, 1, 2, 3, 4, 5}
			}
			r.Memory.ClassCounts = []map[int]int{{0: 100}, {0: 100}, {0: 100}}
			r.Memory.TaskCounts = []map[int]int{{0: 100}, {0: 50, 1: 50}, {1: 25, 2: 75}}
			if r.Config.Seed == 2 {
				r.Memory.TaskCounts[1] = map[int]int{0: 100}
			}
		}, er, other)
		if f == nil {
			t.Fatalf("%s: no figure", scenario)
		}
		want := "er,100,standard,1,1,1\ner,100,standard,2,1,0.75\ner,100,standard,2,2,0.25\n" +
			"er,100,standard,3,1,0\ner,100,standard,3,2,0.25\ner,100,standard,3,3,0.75\n"
		if got := string(f.Data.csvBytes()); got != "method,memory,protocol,after_task,from_task,share\n"+want {
			t.Errorf("%s: %s", scenario, got)
		}
		if !strings.Contains(f.Caption, "100 samples stored by ER, memory 100 that came with each task") ||
			f.Areas.Parts[2] != "task 3" {
			t.Errorf("%s: caption %q", scenario, f.Caption)
		}
	}
}

// TestMemoryFigureOfAParent: samples from before the run have a column of their own, and shares are of all that is
// stored.
func TestMemoryFigureOfAParent(t *testing.T) {
	f := remembered(func(r *result.Result) {
		r.Parent = &result.Parent{Run: "er", Tasks: 5}
		r.Memory.ClassCounts = []map[int]int{{0: 100}, {0: 100}}
		r.Memory.TaskCounts = []map[int]int{{0: 25}, {0: 20, 1: 30}}
	}, fake{method: "er", title: "ER", memory: 100, seed: 1, tasks: 2, perTask: 2, level: 0.5, decay: 0.5})
	if f == nil {
		t.Fatal("no figure")
	}
	want := "er,100,standard,1,before,0.75\ner,100,standard,1,1,0.25\ner,100,standard,2,before,0.5\ner,100,standard,2,1,0.2\ner,100,standard,2,2,0.3\n"
	if got := string(f.Data.csvBytes()); got != "method,memory,protocol,after_task,from_task,share\n"+want {
		t.Error(got)
	}
	if got := fmt.Sprint(f.Areas.Parts, f.Areas.V[0]); got != "[before task 1 task 2] [0.75 0.5]" {
		t.Errorf("the areas are %s", got)
	}
}

// TestMemoryFigureOfOlderFiles: files that do not count by task say it by class, and nothing where classes return.
func TestMemoryFigureOfOlderFiles(t *testing.T) {
	older := fake{method: "er", title: "ER", memory: 100, seed: 1, tasks: 4, perTask: 2, level: 0.5, decay: 0.5,
		older: true}
	f := remembered(func(*result.Result) {}, older)
	if f == nil || !strings.Contains(string(f.Data.csvBytes()), ",4,1,0.25\n") {
		t.Errorf("the figure is %+v", f)
	}
	if f := remembered(func(r *result.Result) { r.Stream.Scenario = "domain-incremental" }, older); f != nil {
		t.Error("a figure of a stream whose classes return")
	}
}
