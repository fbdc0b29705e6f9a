// Package progress is the model of what happens in runs and how far they are: in which phase each is, what it has done
// of its work, how long the rest takes, and why it has failed. A [Run] is fed by the events of a run in this process
// ([Run.Events]), by those that another process writes into its folder, or by the [State] that a store of jobs has of
// it. What is shown of runs (lines and tables of terminals, pages, JSON) asks this package and counts nothing itself.
//
// It does not know where runs lie and how they are shown.
package progress

import (
	"cmp"
	"fmt"
	"slices"

	"ocl/internal/count"
	"ocl/run/result"
)

// Phases of a run.
const (
	Waiting = "waiting" // nobody has begun it
	Begun   = "begun"   // it was stopped or killed, and nobody is at work on it
	Running = "running"
	Failed  = "failed"
	Done    = "done" // it has its result
)

// State says how far a run is, as others can be told.
type State struct {
	Phase   string
	Outcome string // that of its result, of one that is done
	// Sure says that the process of a running job is known to be alive. Otherwise it is only not known to be dead.
	Sure     bool
	Progress Progress // of the last beat; Step alone if nobody is at work
	Attempt  int      // the number of the last attempt, as far as is known
	Error    string   // why it failed, or why what it has left cannot be used
	Accuracy *float64 // average accuracy of the result
}

// Progress says how far a run is that somebody is at work on. Its JSON is what processes tell each other.
type Progress struct {
	Host  string `json:"host,omitempty"` // of the process
	PID   int    `json:"pid,omitempty"`
	Step  int    `json:"step,omitempty"`
	Task  int    `json:"task,omitempty"` // under way, from 1; 0 means none yet
	Tasks int    `json:"tasks,omitempty"`
	// Trial is that of the tuning under way, from 1, and Trials how many there are as far as is known; 0 outside a tuning.
	// Task and Tasks are then those of the trial, and Step has all steps of the job so far.
	Trial  int `json:"trial,omitempty"`
	Trials int `json:"trials,omitempty"`
	// share of long work under way that is done, such as a sleep of CN-DPM or a review; 0 where there is none
	Working float64  `json:"working,omitempty"`
	Seen    *float64 `json:"seen,omitempty"` // mean accuracy on the tasks learned, nil before the first evaluation
	// Stopping says that the process was asked to end. If it dies then, that says nothing against the job.
	Stopping bool `json:"stopping,omitempty"`
}

// Counts has the number of runs in each phase.
type Counts struct {
	Jobs     int `json:"jobs"`
	Done     int `json:"done"`
	Diverged int `json:"diverged"` // of those that are done
	Running  int `json:"running"`
	Begun    int `json:"begun"` // and nobody is at work on them
	Failed   int `json:"failed"`
	Waiting  int `json:"waiting"`
}

// Add counts a run.
func (c *Counts) Add(st State) {
	c.Jobs++
	switch st.Phase {
	case Done:
		c.Done++
		if st.Outcome == result.Diverged {
			c.Diverged++
		}
	case Running:
		c.Running++
	case Begun:
		c.Begun++
	case Failed:
		c.Failed++
	default:
		c.Waiting++
	}
}

// Over says that there are runs and that all have ended.
func (c Counts) Over() bool { return c.Jobs > 0 && c.Done+c.Failed == c.Jobs }

// Line says it in words: "2 of 6 runs done, 2 running". What there is none of is left out. noun is run or job.
func (c Counts) Line(noun string) string {
	text := fmt.Sprintf("%s of %s done", count.Number(c.Done), count.Of(c.Jobs, noun))
	if c.Diverged > 0 {
		text += fmt.Sprintf(" (%s diverged)", count.Number(c.Diverged))
	}
	for _, v := range []struct {
		n    int
		word string
	}{{c.Running, "running"}, {c.Begun, "begun and stopped"}, {c.Failed, "failed"}, {c.Waiting, "waiting"}} {
		if v.n > 0 {
			text += fmt.Sprintf(", %s %s", count.Number(v.n), v.word)
		}
	}
	return text
}

// Count counts runs.
func Count(runs []*Run) (c Counts) {
	for _, r := range runs {
		c.Add(r.State)
	}
	return c
}

// Sort puts what somebody waits for first: runs at work, then those that failed or were stopped.
func Sort(runs []*Run) {
	order := []string{Running, Failed, Begun, Done, Waiting}
	slices.SortStableFunc(runs, func(a, b *Run) int {
		return cmp.Compare(slices.Index(order, a.Phase), slices.Index(order, b.Phase))
	})
}
