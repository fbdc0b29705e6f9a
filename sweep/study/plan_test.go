package study_test

import (
	"testing"

	"ocl/config"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/sweep/study"
)

// begun is a store of which one job has done 3 of 4 steps.
type begun struct{ study.Store }

func (begun) State(e study.Entry) progress.State {
	if e.Key == "begun" {
		return progress.State{Phase: progress.Begun, Progress: progress.Progress{Step: 3}}
	}
	return progress.State{Phase: progress.Waiting}
}

// TestPlanOfBegunJobs: the time of a job that somebody has begun is that of the steps which it lacks.
func TestPlanOfBegunJobs(t *testing.T) {
	var jobs []study.Job
	for key, memory := range map[string]int{"begun": 20, "waiting": 30} {
		c := config.Default()
		c.Methods, c.Runs, c.Memory = []string{"er"}, 1, memory
		c.Data = config.Data{Name: "glyphs", Size: 8, TrainPerClass: 2, TestPerClass: 1}
		c.Network.Name = "linear"
		x, err := experiment.Open(t.Context(), c, experiment.Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := x.Jobs()[0]
		p, err := x.Plan(run)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, study.Job{Entry: study.Entry{Key: key, Steps: 4, FLOPs: 1e9}, Run: run, Plan: p, Experiment: x})
	}
	p := study.Plan(begun{}, jobs, nil)
	if err := p.Estimate(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	seconds := map[int]float64{}
	for _, r := range p.Runs {
		seconds[r.Memory] = r.Seconds
	}
	// The trial of one is that of the other, so that both have the same speed.
	if len(p.Runs) != 2 || seconds[20] <= 0 || 4*seconds[20] != seconds[30] {
		t.Errorf("%v s with a memory of 20 and 30, want a quarter for the one that is begun", seconds)
	}
}
