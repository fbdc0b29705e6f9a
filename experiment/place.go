package experiment

import (
	"context"
	"errors"
	"fmt"

	"ocl/checkpoint"
	"ocl/experiment/result"
)

// Place is where a job runs that is in no experiment's folder, and what it may use there. Options.Out, Workers,
// Concurrency and Events are those of experiments and do not count.
type Place struct {
	Folder string // of the run; it is made if it is missing
	Locked bool   // the caller has it locked by [LockRun], or knows that its file system has no locks
	// Permit is asked before each file of the run gets its name. Its error ends the run, and the file does not appear. So
	// a process that has lost its claim on the run writes nothing more. nil allows all.
	Permit   func() error
	Workers  int // goroutines of the run; at least 1
	Together int // runs that are at work at once, this one included; 0 leaves the count to the experiment
	// Timed says that the run time is wanted, and that the caller lets no other job of the study be at work on the machine.
	Timed  bool
	Events Events
}

// RunJobAt runs one job to its end at a place, or keeps the result that it has there. It may be called for different jobs
// at the same time. If another process or call has the folder locked, the error wraps [ErrBusy].
func (x *Experiment) RunJobAt(ctx context.Context, j Job, p Place) (*result.Result, error) {
	if p.Folder == "" || p.Workers < 1 {
		return nil, errors.New("experiment: a place needs a folder and at least one worker")
	}
	return x.runJob(ctx, j, machinery{workers: p.Workers, together: max(1, p.Together), timed: p.Timed, place: &p})
}

// LockRun locks the folder of a run as a run does, and makes it if it is missing. If it is locked already, the error wraps
// [ErrBusy]; another error says that there are no locks, or that the folder cannot be written. The end of the process
// unlocks it too.
func LockRun(folder string) (unlock func(), err error) {
	if err := checkpoint.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("experiment: %w. Choose a folder that can be written", err)
	}
	lock, err := lockFolder(folder, LockFile, alone)
	if err != nil {
		return nil, err
	}
	return lock.unlock, nil
}

// Share chooses the goroutines of each run and the number of runs at once so that the last of them ends first, as
// [Experiment.Run] does. costs are those of the runs in the order in which they start; what is given (above 0) stays.
func Share(cores int, costs []float64, workers, concurrency int) (w, c int) {
	return share(cores, costs, workers, concurrency)
}
