package train

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ocl/checkpoint"
	"ocl/run/result"
)

// Found describes the run in a folder.
type Found struct {
	// State is that of the result (result.Finished, result.Diverged, result.Interrupted), Begun for a run without one, or
	// "" where there is no run.
	State string
	Step  int // steps that need not be made again, as far as names and results tell
}

// Begun is the state of a run that was killed, or is at work.
const Begun = "begun"

// Ended says that the run has its result, which a further run keeps.
func (f Found) Ended() bool { return f.State == result.Finished || f.State == result.Diverged }

// Find says how far the run in a folder is. It writes nothing, and is an error where the result cannot be read.
func Find(folder string) (Found, error) {
	r, err := result.Read(filepath.Join(folder, ResultFile))
	switch {
	case err == nil:
		return Found{r.Outcome.State, r.Outcome.Step}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Found{}, err
	}
	if !exists(filepath.Join(folder, ConfigFile)) {
		return Found{}, nil
	}
	f := Found{State: Begun}
	steps, _ := checkpoint.Steps(filepath.Join(folder, CheckpointDir)).Numbers() // a folder that cannot be read has none
	if n := len(steps); n > 0 {
		f.Step = int(steps[n-1])
	}
	return f, nil
}

// exists tells whether a file can be found.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
