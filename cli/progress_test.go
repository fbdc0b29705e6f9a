package cli

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ocl"
	"ocl/data/embed"
	"ocl/run/experiment"
	"ocl/run/result"
)

// watch is a view of runs with a clock of its own that draws only when a test says so.
func watch(w *bytes.Buffer, live bool, width int) (*runsView, *time.Time) {
	now := time.Unix(1_000_000, 0)
	p := &runsView{screen: &screen{out: w, notes: w, live: live, now: func() time.Time { return now },
		width: func() int { return width }, height: func() int { return 0 }}}
	p.lines = p.shown
	return p, &now
}

func streamOf(tasks int) ocl.StreamInfo {
	info := ocl.StreamInfo{Batch: 10}
	for i := range tasks {
		info.Tasks = append(info.Tasks, ocl.TaskInfo{Index: i, Train: 2500, Test: 500})
	}
	return info
}

// begin starts a run with so many steps whose evaluations weigh nothing, so that time is steps.
func begin(p *runsView, method string, seed uint64, total, tasks, steps int) experiment.Events {
	job := experiment.Job{Index: len(p.runs), Total: total, Method: method, Seed: seed}
	ev := p.job(job)
	ev.Begin(job, streamOf(tasks), experiment.Plan{Steps: steps, FLOPsPerStep: 1000, Tasks: numbered(1, tasks)})
	return ev
}

// numbered are the numbers of so many tasks, from the first on.
func numbered(first, tasks int) []int {
	var list []int
	for i := range tasks {
		list = append(list, first+i)
	}
	return list
}

func accuracies(v ...float64) []*float64 {
	var a []*float64
	for i := range v {
		a = append(a, &v[i])
	}
	return a
}

// shownAt are the lines of a view in so many columns, without those of accuracies.
func shownAt(p *runsView, width int) string {
	p.width = func() int { return width + 1 }
	lines := p.shown()
	return strings.Join(lines[:len(lines)-len(p.curves(width))], "\n")
}

// TestProgressLine pins the line of docs/cli.md on a wide and on narrow terminals.
func TestProgressLine(t *testing.T) {
	var out bytes.Buffer
	p, now := watch(&out, true, 121)
	ev := begin(p, "er", 3, 1, 20, 5000)
	ev.Evaluated(experiment.Evaluated{Task: 5, Accuracy: append(accuracies(0.2, 0.2, 0.2, 0.2, 0.242, 0.242),
		make([]*float64, 14)...)})
	ev.TaskBegin(ocl.TaskInfo{Index: 6})
	for step := 1; step <= 1430; step++ {
		*now = now.Add(10 * time.Millisecond)
		ev.StepEnd(step, ocl.StepStats{Loss: 2.31, Correct: 4, Samples: 10})
	}
	for _, c := range []struct {
		width int
		want  string
	}{
		{120, "er s3  task 7/20  step 1,430/5,000  loss 2.31  running 40.0 %  seen 21.4 %  1,000 img/s  36s left"},
		{90, "er s3  task 7/20  step 1,430/5,000  loss 2.31  seen 21.4 %  1,000 img/s  36s left"},
		{75, "er s3  task 7/20  step 1,430/5,000  seen 21.4 %  1,000 img/s  36s left"},
		{50, "er s3  task 7/20  seen 21.4 %  36s left"},
		{26, "er s3  task 7/20  36s left"},
		{5, "er s3"},
	} {
		if got := shownAt(p, c.width); got != c.want {
			t.Errorf("width %d:\n got %s\nwant %s", c.width, got, c.want)
		}
	}
	p.width = func() int { return 121 }
	p.draw()
	p.draw()
	bar := "er       █                 21.4 %  after task 6 of 20\x1b[K"
	if lines := strings.Split(out.String(), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[0], "er s3  task 7/20") ||
		lines[1] != bar || !strings.HasPrefix(lines[2], "\x1b[J\x1b[2A\rer s3") || lines[3] != bar || lines[4] != "\x1b[J" {
		t.Errorf("live lines are drawn twice as %q", out.String())
	}
	out.Reset()
	p.height = func() int { return 2 }
	p.draw()
	if lines := strings.Split(out.String(), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "\x1b[2A\rer s3") {
		t.Errorf("on a terminal of two lines: %q", out.String())
	}
}

// TestProgressCountsTasksAsNotesDo: a task has the number that it has in the whole stream, where some are left out, and
// its name.
func TestProgressCountsTasksAsNotesDo(t *testing.T) {
	var out bytes.Buffer
	p, _ := watch(&out, false, 121)
	job := experiment.Job{Total: 1, Method: "er", Seed: 3}
	ev := p.job(job)
	ev.Begin(job, streamOf(3), experiment.Plan{Steps: 30, FLOPsPerStep: 1000, Tasks: []int{2, 4, 5},
		TaskNames: []string{"spring", "", "a season of more than 24 letters"}})
	for i, want := range []string{"task 2/5  spring  step", "task 4/5  step", "task 5/5  a season of more than 2…  step"} {
		ev.TaskBegin(ocl.TaskInfo{Index: i})
		if got := shownAt(p, 120); !strings.Contains(got, want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
	if !strings.Contains(out.String(), "task 2/5 (spring) learned") {
		t.Errorf("printed %q", out.String())
	}
}

// TestProgressSeveral checks the combined line and that the time left counts runs that have not begun.
func TestProgressSeveral(t *testing.T) {
	p, now := watch(&bytes.Buffer{}, true, 121)
	er, finetune := begin(p, "er", 1, 6, 10, 1000), begin(p, "finetune", 1, 6, 10, 1000)
	for _, ev := range []experiment.Events{er, finetune} {
		ev.TaskBegin(ocl.TaskInfo{Index: 0})
	}
	*now = now.Add(10 * time.Second)
	er.StepEnd(400, ocl.StepStats{Samples: 10})
	finetune.StepEnd(600, ocl.StepStats{Samples: 10})
	// 1,000 of 6,000 steps took 10 s.
	want := "0 of 6 runs done, 2 running, 4 waiting  50s left\n  er s1  task 1/10  step 400/1,000  loss 0.00  running 0.0 %\n  finetune s1  task 1/10  step 600/1,000  loss 0.00  running 0.0 %"
	if got := shownAt(p, 120); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	finetune.End(experiment.Job{}, nil, nil)
	if got, want := shownAt(p, 120),
		"1 of 6 runs done, 1 running, 4 waiting  46s left\n"+
			"  er s1  task 1/10  step 400/1,000  loss 0.00  running 0.0 %"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProgressPlain checks the lines of output that is no terminal.
func TestProgressPlain(t *testing.T) {
	var out bytes.Buffer
	p, now := watch(&out, false, 100)
	ev := begin(p, "er", 1, 1, 2, 20)
	for task := range 2 {
		ev.TaskBegin(ocl.TaskInfo{Index: task})
		for step := 1; step <= 10; step++ {
			*now = now.Add(time.Second)
			ev.StepEnd(10*task+step, ocl.StepStats{Loss: 1.5, Correct: 5, Samples: 10})
		}
		p.draw()
		ev.Evaluated(experiment.Evaluated{Task: task, Accuracy: accuracies(0.5, 0.25)[:task+1]})
	}
	ev.Note("step 20: a checkpoint was damaged")
	ev.End(experiment.Job{}, nil, nil)
	p.draw()
	want := strings.TrimPrefix(`
er s1  task 1/2  step 10/20  loss 1.50  running 50.0 %  10 img/s  10s left
er s1  task 1/2 learned  seen 50.0 %  after 10s
er s1  task 2/2  step 20/20  loss 1.50  running 50.0 %  seen 50.0 %  10 img/s  0.0s left
er s1  task 2/2 learned  seen 37.5 %  after 20s
er s1  step 20: a checkpoint was damaged
er s1  finished after 20s  seen 37.5 %
`, "\n")
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// TestProgressFinalEval: without an evaluation after each task, the end of a task is told when the next begins.
func TestProgressFinalEval(t *testing.T) {
	var out bytes.Buffer
	p, _ := watch(&out, false, 100)
	ev := begin(p, "er", 1, 1, 2, 20)
	ev.TaskBegin(ocl.TaskInfo{Index: 0})
	ev.TaskBegin(ocl.TaskInfo{Index: 1})
	if got, want := out.String(), "er s1  task 1/2 learned  after 0.0s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProgressQuiet: notes are said all the same.
func TestProgressQuiet(t *testing.T) {
	var out bytes.Buffer
	p := newRunsView(&out, true)
	ev := begin(p, "er", 1, 1, 2, 20)
	ev.TaskBegin(ocl.TaskInfo{Index: 0})
	ev.StepEnd(1, ocl.StepStats{})
	ev.Evaluated(experiment.Evaluated{Accuracy: accuracies(1)})
	ev.Note("look here")
	ev.End(experiment.Job{}, nil, nil)
	p.stop()
	if got, want := out.String(), "er s1  look here\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProgressEnds checks the line that stays for each way a run can end.
// TestQuietWhereProgressIs: every command takes --quiet but those that show no progress.
func TestQuietWhereProgressIs(t *testing.T) {
	var out strings.Builder
	o := newOpening(&out, true)
	for i := range int64(3) {
		o.now = func() time.Time { return time.Unix(1000+20*i, 0) }
		o.tell("a", i, 9)
	}
	if err := o.embedding(embed.Work{Images: 9, Cores: 1}); err != nil || out.Len() > 0 {
		t.Errorf("with --quiet %q is shown, error %v", out.String(), err)
	}
	var without []string
	for _, cmd := range allCommands(newRoot(io.Discard, io.Discard)) {
		if cmd.Name() == "help" || cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") {
			continue
		}
		if flag := cmd.Flags().Lookup("quiet"); flag == nil || flag.Shorthand != "q" {
			without = append(without, pathOf(cmd))
		}
	}
	slices.Sort(without)
	want := []string{"classes", "config check", "config keys", "config schema", "config show", "data cache clean", "data list",
		"data streams", "export", "inspect", "methods",
		"report import", "report paper", "serve token", "serve verify", "sweep cancel", "sweep retry", "sweep status"}
	if !slices.Equal(without, want) {
		t.Errorf("without --quiet are %q, want %q", without, want)
	}
}

func TestProgressEnds(t *testing.T) {
	for _, c := range []struct {
		step  int
		state string
		err   error
		want  string
	}{
		{20, result.Finished, nil, "er s1  finished after 0.0s"},
		{7, result.Interrupted, nil, "er s1  stopped at step 7/20 after 0.0s"},
		{7, result.Diverged, nil, "er s1  diverged after 0.0s"}, {20, result.Diverged, nil, "er s1  diverged after 0.0s"},
		{7, "", errors.New("no space left"), "er s1  failed: no space left"},
	} {
		var out bytes.Buffer
		p, _ := watch(&out, true, 100)
		ev := begin(p, "er", 1, 1, 2, 20)
		ev.StepEnd(c.step, ocl.StepStats{})
		p.draw()
		out.Reset()
		ev.End(experiment.Job{}, &result.Result{Outcome: result.Outcome{State: c.state}}, c.err)
		if got := strings.TrimPrefix(out.String(), "\x1b[1A\r\x1b[J"); got != c.want+"\n" {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestProgressOfTheLastEvaluation: a resumed run that lacks nothing else says which task's evaluation goes on, how far
// it is and what it found; what an earlier process tested is no work of this one.
func TestProgressOfTheLastEvaluation(t *testing.T) {
	var out bytes.Buffer
	p, now := watch(&out, false, 100)
	ev := p.job(experiment.Job{Total: 1, Method: "er", Seed: 3})
	ev.Begin(experiment.Job{Total: 1}, streamOf(2),
		experiment.Plan{Steps: 20, StepsDone: 20, TestSamples: 1500, TestsDone: 500, Tasks: numbered(1, 2),
			FLOPsPerStep:  1000,
			FLOPsPerImage: 100, Evaluating: true})
	ev.TaskBegin(ocl.TaskInfo{Index: 1})
	ev.Tested(0, 1000)
	p.draw()
	*now = now.Add(4 * time.Second)
	ev.Tested(400, 1000)
	p.draw()
	*now = now.Add(6 * time.Second)
	ev.Evaluated(experiment.Evaluated{Task: 1, Accuracy: accuracies(0.5, 0.25)})
	ev.End(experiment.Job{}, nil, nil)
	want := strings.TrimPrefix(`
er s3  continues at step 20/20, with the evaluation after task 2/2
er s3  task 2/2  step 20/20  testing 0.0 %
er s3  task 2/2  step 20/20  testing 40.0 %  6.0s left
er s3  task 2/2 learned  seen 37.5 %  after 10s
er s3  finished after 10s  seen 37.5 %
`, "\n")
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// A run that goes on says where; one that is kept says so once, and nothing where quiet is wanted.
func TestProgressOfResumedRuns(t *testing.T) {
	for _, tt := range []struct {
		done  int
		quiet bool
		want  string
	}{
		{0, false, ""}, {145, false, "er s3  continues at step 145/1,000\n"}, {1000, false, "er s3  its result is kept\n"},
		{145, true, ""}, {1000, true, ""},
	} {
		var out bytes.Buffer
		p, _ := watch(&out, false, 100)
		if tt.quiet {
			p.out = nil
		}
		job := experiment.Job{Total: 1, Method: "er", Seed: 3}
		ev := p.job(job)
		ev.Begin(job, streamOf(2), experiment.Plan{Steps: 1000, StepsDone: tt.done, FLOPsPerStep: 1, Kept: tt.done == 1000,
			Tasks: numbered(1, 2)})
		if tt.done == 1000 {
			ev.Note("its result is kept")
			ev.End(job, nil, nil)
		}
		if out.String() != tt.want {
			t.Errorf("%d steps done, quiet %v: %q, want %q", tt.done, tt.quiet, out.String(), tt.want)
		}
	}
}
