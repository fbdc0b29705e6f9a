// Package plan says before any work what runs will take: steps, time, memory and disk, and what is there already. The
// time is that of a short trial of each method, which writes nothing. Start at [Of]; package study plans the jobs of a
// study with it, and package tune its trials.
package plan

import (
	"context"
	"slices"

	"ocl/run/experiment"
)

// resultBytes and EventBytes are about what a finished run leaves: its result and, for each step, a line of
// events.jsonl. They were measured on runs of Split CIFAR-100.
const (
	resultBytes = 40_000
	EventBytes  = 110
)

// Runs are planned runs that differ in their seeds alone.
type Runs struct {
	Method          string   `json:"method"` // with its tricks
	Data            string   `json:"data"`
	Memory          int      `json:"memory"`
	Seeds           []uint64 `json:"seeds"`
	Folders         []string `json:"folders"`
	Timing          bool     `json:"timing"`
	Tuned           bool     `json:"tuned"` // before the run; steps and work are with the trials
	After           string   `json:"after"` // the job that tunes for these
	Steps           int      `json:"steps"` // of a run
	TestSamples     int      `json:"test_samples"`
	FLOPs           float64  `json:"flops"`
	MemoryBytes     int64    `json:"memory_bytes"`     // estimated peak of a run
	CheckpointBytes int64    `json:"checkpoint_bytes"` // of one; a run at work has two
	Experts         int      `json:"experts"`          // networks that the learner makes at most; 0 of most methods
	// estimated for the embeddings that no cache has, once for all runs
	Embedding float64 `json:"embedding_seconds"`
	// estimated for what is left of a run, on the machine or, of a study, on one core
	Seconds float64 `json:"seconds"`
	Done    int     `json:"done"`  // runs whose results are there
	Taken   int     `json:"taken"` // runs whose results are elsewhere and can be copied

	left float64 // floating-point operations of all its runs that are not done
	x    *experiment.Experiment
	run  experiment.Job
}

// Run is a planned run of an experiment, of which nothing is done.
func Run(x *experiment.Experiment, run experiment.Job, p experiment.Plan) Runs {
	return Runs{Method: run.Name(), Data: run.Config.Data.Name, Memory: run.Config.Memory, Seeds: []uint64{run.Seed},
		Folders: []string{run.Folder}, Steps: p.Steps, TestSamples: p.TestSamples, FLOPs: p.FLOPs(),
		MemoryBytes: p.MemoryBytes, CheckpointBytes: p.CheckpointBytes, Experts: p.Experts, x: x, run: run}
}

// Open is the number of runs that are still to be done.
func (r *Runs) Open() int { return len(r.Seeds) - r.Done - r.Taken }

// Plan is a list of runs.
type Plan struct {
	Runs  []*Runs
	costs []float64
	plans []experiment.Plan
}

// Add adds a run of which so much work is left, 0 of one that is done or taken. It is counted with those that differ
// from it in their seeds alone and have as many steps. Runs that are timed run alone.
func (p *Plan) Add(one Runs, of experiment.Plan, left float64) {
	one.left = left
	if !one.Timing {
		p.costs, p.plans = append(p.costs, left), append(p.plans, of)
	}
	i := slices.IndexFunc(p.Runs, func(r *Runs) bool {
		return r.x == one.x && r.Method == one.Method && r.Steps == one.Steps && r.Timing == one.Timing &&
			(r.After == "") == (one.After == "")
	})
	if i < 0 {
		p.Runs = append(p.Runs, &one)
		return
	}
	r := p.Runs[i]
	r.Seeds, r.Folders, r.left = append(r.Seeds, one.Seeds...), append(r.Folders, one.Folders...), r.left+left
	r.Done, r.Taken = r.Done+one.Done, r.Taken+one.Taken
}

// Of is the plan of an experiment.
func Of(ctx context.Context, x *experiment.Experiment) (*Plan, error) {
	var p Plan
	for _, job := range x.Jobs() {
		if err := Stopped(ctx); err != nil {
			return nil, err
		}
		of, err := x.Plan(job)
		if err != nil {
			return nil, err
		}
		found, err := x.Found(job)
		if err != nil {
			return nil, err
		}
		one := Run(x, job, of)
		if found.Ended() {
			one.Done = 1
		}
		p.Add(one, of, of.Left(found))
	}
	return &p, nil
}

// Places is the number of runs that are at work at once, of so many goroutines and so many runs; 0 of both chooses. It
// is an error if they do not fit the memory.
func (p *Plan) Places(workers, concurrency int) (int, error) {
	_, places, err := experiment.ShareMemory(p.costs, p.plans, workers, concurrency)
	return places, err
}

// Estimate estimates the seconds of the runs by short trials of their methods.
func (p *Plan) Estimate(ctx context.Context, workers int) error {
	clock := Timer{Workers: workers}
	for _, r := range p.Runs {
		if r.Open() == 0 {
			continue
		}
		speed, err := clock.Speed(ctx, r.x, r.run.Method)
		if err != nil {
			return err
		}
		r.Seconds = r.left / float64(r.Open()) / speed
	}
	return Stopped(ctx)
}

// Total is what all runs of a plan take together.
type Total struct {
	Runs, Done, Open int
	Seconds          float64 // of those that are open, one after the other
	MemoryBytes      int64   // of the largest
	DiskBytes        int64   // of what those that are open leave, without checkpoints
	CheckpointBytes  int64   // of the checkpoints that they leave, where they keep them
	WorkBytes        int64   // of the checkpoints of the largest that is open, while it is at work
	Experts          int     // most networks of a learner
}

// Total sums a plan.
func (p *Plan) Total() (t Total) {
	for _, r := range p.Runs {
		open := r.Open()
		t.Runs, t.Done, t.Open = t.Runs+len(r.Seeds), t.Done+r.Done, t.Open+open
		t.Seconds += float64(open) * r.Seconds
		t.DiskBytes += int64(open) * (resultBytes + int64(r.Steps)*EventBytes)
		t.CheckpointBytes += int64(open) * 2 * r.CheckpointBytes
		t.MemoryBytes, t.Experts = max(t.MemoryBytes, r.MemoryBytes), max(t.Experts, r.Experts)
		if open > 0 {
			t.WorkBytes = max(t.WorkBytes, 2*r.CheckpointBytes)
		}
	}
	return t
}
