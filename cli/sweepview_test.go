package cli

import (
	"bytes"
	"testing"
	"time"

	"ocl"
	"ocl/experiment"
	"ocl/study"
)

// TestSweepPauses: the time left of a study counts long work inside a step as it is done, also where a job is resumed before such work. A step
// of a hundred works for 100 seconds here; the others only store.
func TestSweepPauses(t *testing.T) {
	for _, resumed := range []int{0, 50} {
		now := time.Unix(1_000_000, 0)
		j := study.Job{Entry: study.Entry{Folder: "a", Name: "cndpm", Steps: 400, FLOPs: 400_000}}
		v := &sweepView{screen: &screen{out: &bytes.Buffer{}, notes: &bytes.Buffer{}, now: func() time.Time { return now }, width: func() int { return 100 }}, jobs: []study.Job{j},
			states: []study.State{{Phase: study.Begun, Progress: study.Progress{Step: resumed}}}, place: map[string]int{"a": 0}, own: map[string]*runState{}}
		v.begun, v.first = now, v.worked()
		ev := v.watch(j)
		ev.Begin(experiment.Job{Total: 1}, streamOf(1), experiment.Plan{Steps: 400, StepsDone: resumed, FLOPsPerStep: 1000, FLOPsPerPause: 100_000, Tasks: numbered(1, 1)})
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
