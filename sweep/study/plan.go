package study

import (
	"ocl/run/plan"
	"ocl/run/progress"
)

// Plan is the plan of jobs, with what is left of each. found has the results that are reused; nil is none.
func Plan(store Store, jobs []Job, found *Reuse) *plan.Plan {
	var p plan.Plan
	for n, j := range jobs {
		one, left := plan.Run(j.Experiment, j.Run, j.Plan), 0.0
		one.Folders, one.Timing, one.Tuned, one.After, one.Steps, one.FLOPs = []string{j.Folder}, j.Timing, j.Tuned, j.After,
			j.Steps, j.FLOPs
		switch st := store.State(j.Entry); {
		case st.Phase == progress.Done:
			one.Done = 1
		case found != nil && found.Matches(n):
			one.Taken = 1
		default:
			left = j.FLOPs * (1 - min(1, float64(st.Progress.Step)/float64(max(j.Steps, 1))))
		}
		p.Add(one, j.Plan, left)
	}
	return &p
}

// MostHanded is a bound of the bytes that a job of a study hands over: several times the estimate.
func MostHanded(jobs []Job) int64 {
	most := int64(0)
	for _, j := range jobs {
		most = max(most, 4*j.Plan.CheckpointBytes+int64(j.Steps)*10*plan.EventBytes)
	}
	return most + 64<<20
}
