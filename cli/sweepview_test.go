package cli

import (
	"bytes"
	"testing"
	"time"

	"ocl"
	"ocl/run/experiment"
	"ocl/sweep/study"
)

// TestSweepPauses: the time left of a study counts long work inside a step as it is done, also where a job is resumed
// before such work. A step of a hundred works for 100 seconds here; the others only store.
func TestSweepPauses(t *testing.T) {
	for _, resumed := range []int{0, 50} {
		now := time.Unix(1_000_000, 0)
		j := study.Job{Entry: study.Entry{Folder: "a", Name: "cndpm", Steps: 400, FLOPs: 400_000}}
		v := &sweepView{screen: &screen{out: &bytes.Buffer{}, notes: &bytes.Buffer{}, now: func() time.Time { return now },
			width: func() int { return 100 }}, jobs: []study.Job{j},
			states: []study.State{{Phase: study.Begun, Progress: study.Progress{Step: resumed}}}, place: map[string]int{"a": 0},
			own: map[string]*runState{}}
		v.begun, v.first = now, v.worked()
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
		if got, ok := v.left(); !ok || got < 340*time.Second || got > 370*time.Second {
			t.Errorf("from step %d, in the middle of the first of four, %v left (%t), want 350 s", resumed, got, ok)
		}
	}
}

// TestSweepBoard: the page of a study and its JSON say what is at work here and elsewhere, what has failed and the mean
// of what is done.
func TestSweepBoard(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	v := &sweepView{screen: &screen{out: &bytes.Buffer{}, notes: &bytes.Buffer{}, now: func() time.Time { return now }},
		store: study.OpenFolder(t.TempDir()), place: map[string]int{}, own: map[string]*runState{}}
	half, most := 0.5, 0.7
	for i, st := range []study.State{
		{Phase: study.Done, Outcome: "finished", Accuracy: &half},
		{Phase: study.Done, Outcome: "finished", Accuracy: &most},
		{Phase: study.Done, Outcome: "diverged"},
		{Phase: study.Running, Progress: study.Progress{Host: "far", PID: 1, Step: 50, Task: 1, Tasks: 2, Seen: &half}},
		{Phase: study.Running, Progress: study.Progress{Host: "far", PID: 1}},
		{Phase: study.Failed, Error: "no luck\nat all"},
		{Phase: study.Waiting},
	} {
		name := "er"
		if i > 4 {
			name = "agem"
		}
		v.jobs = append(v.jobs, study.Job{Entry: study.Entry{Folder: string(rune('a' + i)), Name: name, Memory: 1000,
			Data: "mnist", Seed: uint64(i), Steps: 100, FLOPs: 1}})
		v.states = append(v.states, st)
		v.place[v.jobs[i].Folder] = i
	}
	v.own["g"] = &runState{step: 25, task: 2, tasks: 2, total: 1}
	b := v.boardOf("runs/quick")
	if b.Name != "quick" || b.Line != "3 of 7 jobs done (1 diverged), 3 running, 1 failed" || len(b.Work) != 3 ||
		len(b.Hosts) != 2 {
		t.Errorf("%+v", b)
	}
	if c := b.Cells[0]; c.Name != "er, memory 1,000, on mnist" || c.Done != 3 || c.Jobs != 5 || c.Accuracy == nil ||
		*c.Accuracy != 0.6 {
		t.Errorf("the first row is %+v", c)
	}
	if h := b.Hosts[0]; h.Name != "far" || h.Jobs != 2 || h.Processes != 1 {
		t.Errorf("the other machine is %+v", h)
	}
	if e := b.Errors; len(e) != 1 || e[0].Error != "no luck" {
		t.Errorf("errors %+v", e)
	}
	if s := v.status("runs/quick"); s.Running != 3 || s.Done != 3 || s.List[6].Step != 25 ||
		s.List[6].Host != study.HostName() {
		t.Errorf("%+v", s)
	}
}
