package study

import (
	"fmt"

	"ocl/run/progress"
)

// Attempt is one try of a process to do a job, as stores keep it for as long as the process has the job. One that is
// left there is of a process that has died.
type Attempt struct {
	Number            int `json:"attempt"` // from 1
	Start             int `json:"start"`   // the step at which it began
	Deaths            int `json:"deaths"`  // attempts before this one that died without a checkpoint of a later step
	progress.Progress     // of its last beat
}

// FirstAttempt begins at a step.
func FirstAttempt(step int) Attempt {
	return Attempt{Number: 1, Start: step, Progress: progress.Progress{Step: step}}
}

// Next is the attempt after one that has died. It begins at a step.
func (a Attempt) Next(step int) Attempt {
	next := FirstAttempt(step)
	next.Number = a.Number + 1
	if next.Deaths = 1; a.Start == step {
		next.Deaths = a.Deaths + 1
	}
	if a.Stopping {
		next.Deaths-- // a person or the system ended it
	}
	return next
}

// TooMany says that so many attempts died at the step where this one would begin that the job has failed; nil is fewer.
func (a Attempt) TooMany() error {
	if a.Deaths < MostDeaths {
		return nil
	}
	return fmt.Errorf("%d attempts died at step %d", a.Deaths, a.Start)
}
