package experiment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ocl/checkpoint"
	"ocl/experiment/result"
)

// Found is what Options.Out has of a job.
type Found struct {
	// State is that of the result (result.Finished, result.Diverged, result.Interrupted), Begun for a run without one, or ""
	// where there is no run.
	State string
	Step  int // steps that need not be made again, as far as names and results tell
}

// Begun is the state of a run that was killed, or is at work.
const Begun = "begun"

// Ended says that the run has its result, which a further run keeps.
func (f Found) Ended() bool { return f.State == result.Finished || f.State == result.Diverged }

// CheckFolder says why the experiment may not use Options.Out, as Run would, such as that the folder has another experiment.
// It writes nothing.
func (x *Experiment) CheckFolder() error {
	if x.opts.Out == "" {
		return nil
	}
	_, err := x.examineFolder()
	return err
}

// Found says how far a job is in Options.Out. It writes nothing, and is an error where the result of the job cannot be
// read. With Options.Force there is nothing, as all would be deleted.
func (x *Experiment) Found(j Job) (Found, error) {
	if x.opts.Out == "" || x.opts.Force {
		return Found{}, nil
	}
	return FoundIn(filepath.Join(x.opts.Out, j.Folder))
}

// FoundIn says how far the run in a folder is, as [Experiment.Found] does.
func FoundIn(folder string) (Found, error) {
	r, err := result.Read(filepath.Join(folder, ResultFile))
	switch {
	case err == nil:
		return Found{r.Outcome.State, r.Outcome.Step}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Found{}, err
	}
	if !exists(filepath.Join(folder, RunConfigFile)) {
		return Found{}, nil
	}
	f := Found{State: Begun}
	files, _ := os.ReadDir(filepath.Join(folder, CheckpointDir)) // that are not there are none
	for _, file := range files {
		if step, is := checkpoint.StepOf(file.Name()); is {
			f.Step = max(f.Step, step)
		}
	}
	return f, nil
}
