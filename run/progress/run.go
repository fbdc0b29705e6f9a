package progress

import (
	"fmt"
	"time"

	"ocl"
	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/run/result"
	"ocl/run/train"
)

// smoothing is the weight of the newest step in the loss, the running accuracy and the speed: about fifty steps count.
const smoothing = 0.02

// Run is how far one run is. Name, Steps and Work may be set before it begins; the zero value of the rest is a run of
// which nothing is known. It has no lock.
type Run struct {
	State
	Name  string  // for people
	Steps int     // of the whole run, its tuning included; 0 is not known
	Work  float64 // of the whole run, in floating-point operations; 0 is not known
	Began time.Time

	Loss       Mean       // of the steps
	Online     Mean       // share of incoming rows that were predicted right before learning them
	Rate       float64    // images a second of steps, evaluations left out
	EvalShare  float64    // share of the evaluation under way that is done
	Evaluating bool       // an evaluation is under way
	After      []*float64 // accuracy on the tasks learned, after each task; nil where it was not evaluated

	plan  result.Plan
	tasks []Task
	pause float64 // operations of long work inside a step, which the plan spreads over all steps
	ahead int     // steps of the trials before the one under way

	predicted, predicting int     // samples predicted in the evaluations that are over, and in the one under way
	prepared              float64 // operations of the preparations that are done
	between               float64 // of those before evaluations in the middle of tasks
	working               float64 // share of the long work under way that is done; 0 where there is none
	seconds               Mean    // of a step
	samples               Mean    // of a step
	lastStep              time.Time
	marks                 []mark
}

// Task is what is known of a task before it begins.
type Task struct {
	Number int    // in the whole stream, from 1: a protocol may leave out others, which keep theirs
	Name   string // "" for one without
	Test   int    // test images
}

// Mean is an exponential mean whose weights are divided by their sum. So it is a plain mean of the first values. A mean
// that starts at its first value or at 0 would stay near it for a hundred steps.
type Mean struct {
	Value  float64
	weight float64 // of all values so far: 0 without any, 1 after many
}

// Known says whether there is a value.
func (m Mean) Known() bool { return m.weight > 0 }

func (m *Mean) add(v float64) {
	m.weight += smoothing * (1 - m.weight)
	m.Value += smoothing / m.weight * (v - m.Value)
}

// seen is the mean accuracy on the tasks learned after task t (0-based); nil where none of them was evaluated.
func seen(t int, accuracy []*float64) *float64 {
	sum, n := 0.0, 0
	for j, a := range accuracy {
		if a != nil && j <= t {
			sum += *a
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

// Begin notes that a run begins, or goes on after so many steps and test images. A second call is that of the next
// trial of a tuning, or of the run after it.
func (r *Run) Begin(now time.Time, plan result.Plan, tasks []Task, steps, tests int) {
	ahead := 0
	if r.Progress.Tasks > 0 {
		ahead = r.Progress.Step
	}
	host, pid := r.Progress.Host, r.Progress.PID
	if steps > 0 { // what an earlier process did is none of this one's speed
		r.marks = nil
	}
	*r = Run{Name: r.Name, Steps: r.Steps, Work: r.Work, Began: now, plan: plan, tasks: tasks, ahead: ahead,
		predicted: tests, marks: r.marks, State: State{Phase: Running, Sure: true, Attempt: r.Attempt,
			Progress: Progress{Host: host, PID: pid, Step: ahead + steps, Tasks: len(tasks)}}}
	if r.Steps == 0 {
		r.Steps, r.Work = plan.Steps, plan.FLOPs
	}
	r.mark(now)
}

// Told takes what a store says of a run that another process may be at work on.
func (r *Run) Told(now time.Time, st State) {
	*r = Run{Name: r.Name, Steps: r.Steps, Work: r.Work, marks: r.marks, State: st}
	r.mark(now)
}

// TaskBegin notes that task t (0-based) begins. A task may have no evaluation, but its preparation (a review) is done.
func (r *Run) TaskBegin(now time.Time, t int) {
	first := r.Progress.Task == 0
	r.Progress.Task, r.Progress.Working = t+1, 0
	r.prepared, r.working, r.lastStep = 0, 0, time.Time{}
	for _, v := range r.plan.PrepareFLOPs[:min(t, len(r.plan.PrepareFLOPs))] {
		r.prepared += float64(v)
	}
	if first && r.ahead == 0 { // what an earlier process prepared is none of this one's speed
		r.marks = nil
	}
	r.mark(now)
}

// Step notes that a step of the run has ended, with what it says of itself; nil is not known.
func (r *Run) Step(now time.Time, step int, s *ocl.StepStats) {
	r.Progress.Step, r.Progress.Working, r.working = r.ahead+step, 0, 0
	if s == nil {
		r.mark(now)
		return
	}
	if s.Samples > 0 && s.Correct >= 0 { // otherwise the learner only stored
		r.Loss.add(s.Loss)
		r.Online.add(float64(s.Correct) / float64(s.Samples))
	}
	r.samples.add(float64(s.Samples))
	if !r.lastStep.IsZero() {
		r.seconds.add(now.Sub(r.lastStep).Seconds())
	}
	if r.seconds.Value > 0 {
		r.Rate = r.samples.Value / r.seconds.Value
	}
	r.lastStep = now
	r.mark(now)
}

// Working notes the share of the long work under way that is done, inside a step or before an evaluation.
func (r *Run) Working(now time.Time, share float64) {
	r.working, r.Progress.Working = share, share
	r.mark(now)
}

// Tested notes that so many samples of an evaluation are predicted.
func (r *Run) Tested(now time.Time, done, total int) {
	r.Progress.Working = 0
	r.predicting, r.Evaluating, r.EvalShare = done, total > 0, float64(done)/float64(max(total, 1))
	r.mark(now)
}

// Evaluated notes that an evaluation is over.
func (r *Run) Evaluated(now time.Time, e train.Evaluated) {
	if e.MidTask {
		r.between += at(r.plan.BetweenFLOPs, e.Task)
	} else {
		r.prepared += at(r.plan.PrepareFLOPs, e.Task)
		r.learned(e.Task, e.Accuracy)
	}
	r.predicting, r.Evaluating, r.EvalShare = 0, false, 0
	r.working, r.lastStep = 0, time.Time{} // the next step does not begin where the last one ended
	for j, a := range e.Accuracy {
		if a != nil && j < len(r.tasks) {
			r.predicted += r.tasks[j].Test
		}
	}
	if seen := seen(e.Task, e.Accuracy); seen != nil {
		r.Progress.Seen = seen
	}
	r.mark(now)
}

func at(list []int64, t int) float64 {
	if t < 0 || t >= len(list) {
		return 0
	}
	return float64(list[t])
}

// learned notes what was measured after task t (0-based).
func (r *Run) learned(t int, accuracy []*float64) {
	for len(r.After) <= t {
		r.After = append(r.After, nil)
	}
	r.After[t] = seen(t, accuracy)
}

// End notes how a run has ended, with its result, which may be nil. A run that is kept, or that an earlier process
// began, sent no events about its first tasks.
func (r *Run) End(res *result.Result, err error) {
	switch {
	case err != nil:
		r.Phase, r.Error = Failed, err.Error()
	case res != nil && res.Outcome.State == result.Interrupted:
		r.Phase, r.Outcome = Begun, result.Interrupted
	default:
		r.Phase = Done
	}
	if res != nil {
		r.Outcome = res.Outcome.State
		for t, row := range res.Accuracy {
			r.learned(t, row)
		}
	}
}

// Events are observers that feed the run with what happens in this process. They call do for each change, which calls
// it, with the locks of whoever else reads the run.
func (r *Run) Events(now func() time.Time, do func(change func())) train.Events {
	return train.Events{
		Begin: func(j train.Job, info ocl.StreamInfo, plan train.Plan) {
			do(func() {
				tasks := make([]Task, len(info.Tasks))
				for i, t := range info.Tasks {
					tasks[i] = Task{Test: t.Test, Number: t.Index + 1}
					if i < len(plan.Tasks) {
						tasks[i].Number = plan.Tasks[i]
					}
					if i < len(plan.TaskNames) {
						tasks[i].Name = plan.TaskNames[i]
					}
				}
				r.Begin(now(), plan.Brief(), tasks, plan.StepsDone, plan.TestsDone)
				r.pause = float64(plan.FLOPsPerPause)
				if j.Config.Protocol == config.ProtocolTuning && r.Steps > plan.Steps { // of a job with more than this run
					r.Progress.Trial, r.Progress.Trials = j.Index+1, j.Total
				}
			})
		},
		TaskBegin: func(t ocl.TaskInfo) { do(func() { r.TaskBegin(now(), t.Index) }) },
		StepEnd:   func(step int, s ocl.StepStats) { do(func() { r.Step(now(), step, &s) }) },
		Working:   func(done, total int) { do(func() { r.Working(now(), float64(done)/float64(total)) }) },
		Tested:    func(done, total int) { do(func() { r.Tested(now(), done, total) }) },
		Evaluated: func(e train.Evaluated) { do(func() { r.Evaluated(now(), e) }) },
		End:       func(_ train.Job, res *result.Result, err error) { do(func() { r.End(res, err) }) },
	}
}

// Place is the task under way: "task 2/10", with the numbers that tasks have in the whole stream. Before the first task
// it has the number of tasks; "" where they are not known.
func (r *Run) Place() string {
	p := r.Progress
	switch {
	case p.Tasks == 0:
		return ""
	case p.Task > 0 && len(r.tasks) == p.Tasks:
		return fmt.Sprintf("task %d/%d", r.tasks[min(p.Task, p.Tasks)-1].Number, r.tasks[p.Tasks-1].Number)
	}
	return fmt.Sprintf("task %d/%d", min(p.Task, p.Tasks), p.Tasks)
}

// TaskName is the name of the task under way; "" where it has none.
func (r *Run) TaskName() string {
	if t := r.Progress.Task; t > 0 && t <= len(r.tasks) {
		return r.tasks[t-1].Name
	}
	return ""
}

// StepText is the step of all steps: "step 20/1,000".
func (r *Run) StepText() string {
	return fmt.Sprintf("step %s/%s", count.Number(r.Progress.Step), count.Number(r.Steps))
}

// Note is what else there is to say of a run, in a few words; "" is nothing.
func (r *Run) Note() string {
	switch p := r.Progress; {
	case r.Error != "":
		return cause.Line(r.Error)
	case r.Phase == Done && r.Outcome != result.Finished:
		return r.Outcome
	case r.Phase == Running && p.Trial > 0:
		return fmt.Sprintf("trial %d/%d", p.Trial, p.Trials)
	}
	return ""
}
