package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"ocl"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/sweep/study"
)

// viewOf shows jobs, which are added.
func viewOf(t *testing.T, now *time.Time) *sweepView {
	return &sweepView{screen: &screen{out: &bytes.Buffer{}, notes: &bytes.Buffer{}, now: func() time.Time { return *now },
		width: func() int { return 100 }}, dir: "runs/quick", store: study.OpenFolder(t.TempDir()), place: map[string]int{},
		own: map[string]bool{}}
}

// TestSweepPauses: the time left of a study counts long work inside a step as it is done, also where a job is resumed
// before such work. A step of a hundred works for 100 seconds here; the others only store.
func TestSweepPauses(t *testing.T) {
	for _, resumed := range []int{0, 50} {
		now := time.Unix(1_000_000, 0)
		v, j := viewOf(t, &now), study.Job{Entry: study.Entry{Folder: "a", Name: "cndpm", Steps: 400, FLOPs: 400_000}}
		v.add(j)
		v.runs[0].Told(now, progress.State{Phase: progress.Begun, Progress: progress.Progress{Step: resumed}})
		ev := v.watch(j)
		ev.Begin(experiment.Job{Total: 1}, streamOf(1),
			experiment.Plan{Steps: 400, StepsDone: resumed, FLOPsPerStep: 1000, FLOPsPerPause: 100_000, Tasks: numbered(1, 1)})
		ev.TaskBegin(ocl.TaskInfo{Index: 0})
		for step := resumed + 1; step < 100; step++ {
			ev.StepEnd(step, ocl.StepStats{Samples: 10, Correct: -1})
		}
		for done := 1; done <= 50; done++ {
			now = now.Add(time.Second)
			ev.Working(done, 100)
		}
		if got := progress.Left(v.runs...); got < 340*time.Second || got > 370*time.Second {
			t.Errorf("from step %d, in the middle of the first of four, %v left, want 350 s", resumed, got)
		}
		want := "  cndpm s0  task 1/1  step 99/400  working 50.0 %"
		if lines := v.overview(100); len(lines) != 2 || lines[1] != want {
			t.Errorf("shown are %q", lines)
		}
	}
}

// TestSweepStatus: the JSON of a study says what is at work here and elsewhere.
func TestSweepStatus(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	v := viewOf(t, &now)
	for i, st := range []progress.State{
		{Phase: progress.Done, Outcome: "diverged"},
		{Phase: progress.Running, Progress: progress.Progress{Host: "far", PID: 1, Step: 50, Task: 1, Tasks: 2}},
		{Phase: progress.Begun, Progress: progress.Progress{Step: 20}},
	} {
		v.add(study.Job{Entry: study.Entry{Folder: string(rune('a' + i)), Name: "er", Seed: uint64(i), Steps: 100}})
		v.runs[i].Told(now, st)
	}
	ev := v.watch(v.jobs[2])
	ev.Begin(experiment.Job{Total: 1}, streamOf(2), experiment.Plan{Steps: 100, StepsDone: 20, FLOPsPerStep: 1})
	ev.TaskBegin(ocl.TaskInfo{Index: 1})
	ev.StepEnd(25, ocl.StepStats{Samples: 10})
	s := v.status()
	if s.Line("job") != "1 of 3 jobs done (1 diverged), 2 running" || s.List[1].Host != "far" || s.List[2].Step != 25 ||
		s.List[2].Task != 2 || s.List[2].Host != study.HostName() {
		t.Errorf("%+v", s)
	}
	if page := string(v.board()); !strings.Contains(page, "1 of 3 jobs done (1 diverged), 2 running") {
		t.Error("the page says something else")
	}
	ev.End(experiment.Job{}, nil, nil)
	if s := v.status(); s.Running != 1 || s.Begun != 1 || s.List[2].Step != 25 {
		t.Errorf("between a trial and the run: %+v", s)
	}
	v.changed(v.jobs[2], progress.State{Phase: progress.Done, Outcome: "finished"})
	if got := v.notes.(*bytes.Buffer).String() + v.out.(*bytes.Buffer).String(); s.Done != 1 ||
		!strings.Contains(got, "er s2  continues at step 20/100\ner s2  finished\n") {
		t.Errorf("said %q", got)
	}
}

// TestSweepReadsData: a job of a new study whose data are read is not one that was stopped.
func TestSweepReadsData(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	v, j := viewOf(t, &now), study.Job{Entry: study.Entry{Folder: "a", Name: "er", Steps: 400, FLOPs: 400_000}}
	v.add(j)
	v.runs[0].Told(now, progress.State{Phase: progress.Waiting})
	v.watch(j)
	if lines := strings.Join(v.shown(), "\n"); strings.Contains(lines, "stopped") {
		t.Errorf("before it begins: %s", lines)
	}
}
