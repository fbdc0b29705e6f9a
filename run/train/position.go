package train

import (
	"fmt"

	"ocl/checkpoint"
)

// Phase says how far a run is within its current task.
type Phase int

const (
	beforeTask Phase = iota // the task has not begun
	learning                // batches are left
	midTask                 // as learning, and an evaluation in the middle of the task is pending
	learned                 // all batches observed, EndTask pending
	ended                   // EndTask done, Prepare and evaluation pending
	prepared                // evaluation pending
)

// String is the phase as people read it.
func (p Phase) String() string {
	return [...]string{"before the task", "within the task", "before an evaluation within the task",
		"before the learner ends the task",
		"before the learner prepares for the evaluation", "before the evaluation"}[p]
}

// Position is the place of a run in its stream.
type Position struct {
	Task, Batch      int // the next batch
	Phase            Phase
	Step             int // learner steps taken
	Correct, Samples int // of the current task's incoming samples: predicted correctly before they were learned, and all
}

// Within says whether a part of the current task was learned, and not all of it.
func (p Position) Within() bool { return p.Phase > beforeTask && p.Phase <= learned }

// BetweenTasks says whether the run has ended all tasks that it has begun, with their evaluations.
func (p Position) BetweenTasks() bool { return p.Phase == beforeTask && p.Batch == 0 }

// ended is the number of the stream's tasks that are over, those before its start too.
func (p Position) ended() int {
	if p.Phase > learned {
		return p.Task + 1
	}
	return p.Task
}

func (p *Position) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Values("position", &p.Task, &p.Batch, (*int)(&p.Phase), &p.Step, &p.Correct, &p.Samples),
		checkpoint.Then(func() error {
			if p.Phase < beforeTask || p.Phase > prepared {
				return fmt.Errorf("checkpoint: section position has the unknown phase %d. Use the version of ocl that made the file",
					int(p.Phase))
			}
			if min(p.Task, p.Batch, p.Step, p.Correct, p.Samples) < 0 {
				return fmt.Errorf("checkpoint: section position has a negative number: %+v. Use a file that ocl wrote", *p)
			}
			return nil
		}),
	}
}
