package metric_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ocl/run/metric"
)

// confused is the worked example of the docstrings and of docs/error-analysis.md: three tasks of two classes, after the
// second.
func confused() (c metric.Confusion, tasks [][]int) {
	return metric.Confusion{
		{1, 1, 2, 0, 0, 0},
		{0, 1, 1, 1, 0, 1},
		{1, 0, 3, 0, 0, 0},
		{0, 0, 1, 3, 0, 0},
		{0, 0, 0, 0, 0, 0},
		{0, 0, 0, 0, 0, 0},
	}, [][]int{{0, 1}, {2, 3}, {4, 5}}
}

func ExampleConfusion_Errors() {
	c, tasks := confused()
	groups := metric.Groups(tasks, 1, 6)
	e := c.Errors(groups)
	fmt.Printf("new: e(n,o) = %d, e(n,n) = %d, unseen %d, of %d samples\n", e.NewAsOld, e.NewAsNew, e.NewAsUnseen, e.New)
	fmt.Printf("old: e(o,o) = %d, e(o,n) = %d, unseen %d, of %d samples\n", e.OldAsOld, e.OldAsNew, e.OldAsUnseen, e.Old)
	fmt.Printf("er(n,o): %.3f of the samples, %.3f of the errors\n", e.NewAsOldOfSamples(), e.NewAsOldOfErrors())
	fmt.Printf("er(o,n): %.3f of the samples, %.3f of the errors\n", e.OldAsNewOfSamples(), e.OldAsNewOfErrors())
	by := c.ByTask(tasks, 1)
	fmt.Println("by task:", by)
	fmt.Println("predictions:", metric.Predictions(by))
	// Output:
	// new: e(n,o) = 1, e(n,n) = 1, unseen 0, of 8 samples
	// old: e(o,o) = 1, e(o,n) = 4, unseen 1, of 8 samples
	// er(n,o): 0.125 of the samples, 0.500 of the errors
	// er(o,n): 0.500 of the samples, 0.667 of the errors
	// by task: [[3 4 1] [1 7 0]]
	// predictions: [4 11 1]
}

// The mean logits of a class of each group, on one old and two new samples.
func ExampleLogits() {
	l := metric.NewLogits([]metric.Group{metric.Old, metric.New, metric.Unseen})
	l.Add(0, []float32{2, 5, -1})
	l.Add(1, []float32{-1, 4, -1})
	l.Add(1, []float32{2, 6, -1})
	fmt.Println("new:", l.Own(metric.New), "on its own samples,", l.All(metric.New), "on all")
	fmt.Println("old:", l.Own(metric.Old), "on its own samples,", l.All(metric.Old), "on all")
	// Output:
	// new: 5 on its own samples, 5 on all
	// old: 2 on its own samples, 1 on all
}

// TestErrorAnalysisPage: the page prints what the examples print.
func TestErrorAnalysisPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/error-analysis.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("confusion_test.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, example := range strings.Split(string(source), "// Output:\n")[1:] {
		for _, line := range strings.Split(example, "\n") {
			text, ok := strings.CutPrefix(line, "\t// ")
			if !ok {
				break
			}
			lines++
			if !strings.Contains(string(page), "    "+text+"\n") {
				t.Errorf("docs/error-analysis.md does not print %q", text)
			}
		}
	}
	if lines != 8 {
		t.Errorf("%d lines of output found, want 8", lines)
	}
}

// TestErrorsOfPublishedTable: from the counts of table:trick_motivation come its shares, which are those of the errors.
func TestErrorsOfPublishedTable(t *testing.T) {
	for _, c := range []struct {
		e        metric.Errors
		no, on   float64 // in the table
		noS, onS float64 // as the text defines them
	}{
		{metric.Errors{NewAsNew: 177, OldAsNew: 9500, New: 500, Old: 9500}, 0, 1, 0, 1},
		{metric.Errors{NewAsOld: 37, NewAsNew: 148, OldAsOld: 2269, OldAsNew: 5852, New: 500, Old: 9500}, 0.20, 0.72, 0.074,
			0.616},
		{metric.Errors{NewAsOld: 54, NewAsNew: 113, OldAsOld: 2770, OldAsNew: 5330, New: 500, Old: 9500}, 0.32, 0.66, 0.108,
			0.561},
	} {
		for _, v := range [][2]float64{
			{c.e.NewAsOldOfErrors(), c.no}, {c.e.OldAsNewOfErrors(), c.on},
			{c.e.NewAsOldOfSamples(), c.noS}, {c.e.OldAsNewOfSamples(), c.onS},
		} {
			if !(math.Abs(v[0]-v[1]) <= 0.005) {
				t.Errorf("%+v: got %v, want %v", c.e, v[0], v[1])
			}
		}
	}
}

// After the first task nothing is old: what is said of old classes is undefined, not 0.
func TestErrorsOfFirstTask(t *testing.T) {
	c, tasks := confused()
	g := metric.Groups(tasks, 0, 6)
	e := c.Errors(g)
	want := metric.Errors{NewAsNew: 1, NewAsUnseen: 5, New: 8}
	if d := cmp.Diff(want, e); d != "" {
		t.Error(d)
	}
	if v := e.OldAsNewOfSamples(); !math.IsNaN(v) {
		t.Errorf("er(o,n) of no old samples is %v", v)
	}
	l := metric.NewLogits(g)
	l.Add(0, make([]float32, 6))
	for what, v := range map[string]float64{
		"own": l.Own(metric.Old), "all": l.All(metric.Old), "mean": metric.GroupMean(make([]float64, 6), g, metric.Old),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s of no old class is %v", what, v)
		}
	}
	if d := cmp.Diff([][]int{{3, 5}}, c.ByTask(tasks, 0)); d != "" {
		t.Error(d)
	}
}

// TestConfusionAddsUp: errors and right predictions are all samples, by class and by task, whatever the confusion; the
// order of the classes' names changes nothing.
func TestConfusionAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := [][]int{{4, 0}, {1}, {5, 2}}
		i := rapid.IntRange(0, 2).Draw(t, "after task")
		c := metric.NewConfusion(6)
		names := rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, "names")
		renamed, renamedTasks := metric.NewConfusion(6), make([][]int, 3)
		right, all := 0, 0
		for j, classes := range tasks {
			for _, y := range classes {
				renamedTasks[j] = append(renamedTasks[j], names[y])
				for k := range 6 {
					n := rapid.IntRange(0, 3).Draw(t, "count")
					for range n {
						c.Add(y, k)
						renamed.Add(names[y], names[k])
					}
					if j <= i {
						all += n
						if k == y {
							right += n
						}
					}
				}
			}
		}
		e := c.Errors(metric.Groups(tasks, i, 6))
		wrong := e.NewAsOld + e.NewAsNew + e.NewAsUnseen + e.OldAsOld + e.OldAsNew + e.OldAsUnseen
		if right+wrong != all || e.New+e.Old != all {
			t.Fatalf("%d right, %d wrong, %d new, %d old: want %d samples", right, wrong, e.New, e.Old, all)
		}
		by := c.ByTask(tasks, i)
		sum := 0
		for _, n := range slices.Concat(by...) {
			sum += n
		}
		if predicted := metric.Predictions(by); sum != all || predicted[i+1] != e.NewAsUnseen+e.OldAsUnseen {
			t.Fatalf("by task %v: %d samples, want %d; unseen %d", by, sum, all, e.NewAsUnseen+e.OldAsUnseen)
		}
		if d := cmp.Diff(e, renamed.Errors(metric.Groups(renamedTasks, i, 6))); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(by, renamed.ByTask(renamedTasks, i)); d != "" {
			t.Fatal(d)
		}
	})
}
