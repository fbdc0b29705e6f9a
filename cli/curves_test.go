package cli

import (
	"bytes"
	"strings"
	"testing"

	"ocl"
	"ocl/run/experiment"
	"ocl/run/result"
)

// curvesOf are the lines of methods in so many columns.
func curvesOf(p *runsView, width int) string { return strings.Join(p.curves(width), "\n") }

// TestCurves: a method has one line, the mean of its runs; all lines have one scale from 0 on; tasks without a value
// are blanks; narrow terminals have fewer bars, or none.
func TestCurves(t *testing.T) {
	p, _ := watch(&bytes.Buffer{}, true, 101)
	er1, er2, finetune := begin(p, "er", 1, 3, 4, 40), begin(p, "er", 2, 3, 4, 40), begin(p, "finetune", 1, 3, 4, 40)
	if got := curvesOf(p, 100); got != "" {
		t.Errorf("before anything is measured: %q", got)
	}
	er1.Evaluated(experiment.Evaluated{Task: 0, Accuracy: accuracies(0.7)})
	er2.Evaluated(experiment.Evaluated{Task: 0, Accuracy: accuracies(0.9)})
	er1.Evaluated(experiment.Evaluated{Task: 1, Accuracy: accuracies(0.5, 0.3)})
	er1.Evaluated(experiment.Evaluated{Task: 2, MidTask: true, Accuracy: accuracies(0.9, 0.9, 0.9)}) // is of no task's end
	finetune.Evaluated(experiment.Evaluated{Task: 0, Accuracy: accuracies(0.8)})
	finetune.Evaluated(experiment.Evaluated{Task: 1, Accuracy: accuracies(0, 0)})
	finetune.Evaluated(experiment.Evaluated{Task: 3, Accuracy: accuracies(0, 0, 0, 0.4)})
	for width, want := range map[int]string{
		100: "er        █▅     40.0 %  after task 2 of 4  1 of 2 runs\nfinetune  █▁ ▂   10.0 %",
		40:  "er        █▅     40.0 %\nfinetune  █▁ ▂   10.0 %",
		20:  "er         40.0 %\nfinetune   10.0 %",
		17:  "er         40.0 %\nfinetune   10.0 %",
		16:  "",
	} {
		if got := curvesOf(p, width); got != want {
			t.Errorf("in %d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	// What a result says of tasks that an earlier process learned is drawn when the run has ended.
	er2.End(experiment.Job{}, &result.Result{Accuracy: [][]*float64{accuracies(0.9), accuracies(0.2, 0.4),
		accuracies(0.3, 0.3, 0.3), accuracies(0.1, 0.1, 0.1, 0.1)}}, nil)
	if got, want := curvesOf(p, 60), "er        █▄▃▂   10.0 %  1 of 2 runs\nfinetune  █▁ ▂   10.0 %"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestCurvesOfManyTasks: tasks share a bar where there are more than fit, and the last of them counts.
func TestCurvesOfManyTasks(t *testing.T) {
	p, _ := watch(&bytes.Buffer{}, true, 101)
	ev := begin(p, "er", 1, 1, 100, 1000)
	for i := range 100 {
		row := make([]float64, i+1)
		for j := range row {
			row[j] = float64(i+1) / 100
		}
		ev.Evaluated(experiment.Evaluated{Task: i, Accuracy: accuracies(row...)})
	}
	if got, want := curvesOf(p, 100), "er  ▁▁▁▁▁▂▂▂▂▃▃▃▃▃▃▄▄▄▄▅▅▅▅▅▅▆▆▆▆▇▇▇▇▇▇█████  100.0 %"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := curvesOf(p, 23), "er  ▁▂▃▄▅▅▆▇██  100.0 %"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCurvesOfManyMethods: a terminal has few lines.
func TestCurvesOfManyMethods(t *testing.T) {
	p, _ := watch(&bytes.Buffer{}, true, 101)
	for i := range 14 {
		begin(p, "a method with a name of many words "+string(rune('a'+i)), 1, 14, 1,
			10).Evaluated(experiment.Evaluated{Accuracy: accuracies(0.5)})
	}
	lines := p.curves(100)
	if len(lines) != mostCurves+1 || lines[mostCurves] != "and 2 methods more" ||
		lines[0] != "a method with a name of…  █   50.0 %" {
		t.Errorf("got %q", lines)
	}
}

// TestCurvesStay: on a terminal the lines of the methods stay when all has ended. Plain output has none, and neither
// have trials.
func TestCurvesStay(t *testing.T) {
	for _, live := range []bool{true, false} {
		var out bytes.Buffer
		p, _ := watch(&out, live, 101)
		p.last, p.quit, p.done = func() []string { return p.curves(100) }, make(chan struct{}), make(chan struct{})
		close(p.done)
		ev := begin(p, "er", 1, 1, 2, 20)
		ev.TaskBegin(ocl.TaskInfo{Index: 0})
		ev.Evaluated(experiment.Evaluated{Accuracy: accuracies(0.5)})
		trial := p.named("er lr=0.1 s1", 2)
		trial.Begin(experiment.Job{}, streamOf(2), experiment.Plan{Steps: 20, Tasks: numbered(1, 2)})
		trial.Evaluated(experiment.Evaluated{Accuracy: accuracies(0.9)})
		p.draw()
		out.Reset()
		p.stop()
		p.stop()
		want := ""
		if live {
			want = "\x1b[4A\r\x1b[Jer  █    50.0 %  after task 1 of 2\n"
		}
		if out.String() != want {
			t.Errorf("live %v: %q, want %q", live, out.String(), want)
		}
	}
}
