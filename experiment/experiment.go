// Package experiment wires a Config into streams and learners, runs them, evaluates, checkpoints and writes results. It
// deliberately knows no method by name. Start at [Config] and [Run].
package experiment

import (
	"strings"

	"ocl"
)

// Job is one run of an experiment: one method with its tricks, one seed.
type Job struct {
	Index, Total int
	Method       string
	Tricks       []string // names; nil is none
	Seed         uint64
	Folder       string // its folder's name, such as "er-m5000-s3"; "" when nothing is written
}

// Name is the method with its tricks, such as "er+lb+ncm".
func (j Job) Name() string { return strings.Join(append([]string{j.Method}, j.Tricks...), "+") }

// Options are how an experiment is run; none of them moves a number.
type Options struct {
	Out             string // experiment folder; "" writes nothing
	Force           bool   // replace a different experiment in Out
	Workers         int    // goroutines of one run; 0 chooses
	Concurrency     int    // runs at once; 0 chooses
	CheckpointEvery int    // seconds; 0 is 60, negative only at task ends
	KeepCheckpoint  bool   // keep the last checkpoint of a finished run
	DataDir         string // where the data lie on this machine; "" is Config.Data.Dir
	Revision        string // of the program, recorded in the results
	// Events returns the observers of a job; nil watches nothing. It is called once for each job, from one goroutine.
	Events func(Job) Events

	checkpointSteps int // for tests: also save after every so many steps; 0 does not
}

// Events is what observers of a run may watch; nil fields are no-ops, none can change the run. They are called from the
// goroutine of the run, in order, and the run waits for them; runs at once call theirs at the same time, so observers
// that share something lock it. A run that is kept because it was finished before calls only Begin, Note and End.
type Events struct {
	Begin        func(Job, ocl.StreamInfo, Plan)
	TaskBegin    func(ocl.TaskInfo)
	StepEnd      func(step int, s ocl.StepStats)
	Preparing    func(done, total int) // steps of a preparation that takes long; only of learners that tell
	Evaluated    func(row int, accuracy []*float64)
	Checkpointed func(path string)
	End          func(Job, error)
	Note         func(text string) // something worth saying aloud: a damaged checkpoint was skipped, …
}

// Plan is what a run is going to do, for progress and --dry-run.
type Plan struct {
	Steps         int // learner steps in all
	StepsDone     int // when resumed
	TestSamples   int // samples predicted in all evaluations
	FLOPsPerStep  int64
	FLOPsPerImage int64   // of a prediction
	PrepareFLOPs  []int64 // between the last step and the evaluation of each task
	MemoryBytes   int64   // estimated peak
}
