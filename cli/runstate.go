package cli

import (
	"fmt"
	"time"

	"ocl"
	"ocl/internal/count"
	"ocl/run/experiment"
	"ocl/run/result"
)

// smoothing is the weight of the newest step in the shown loss, running accuracy and speed: about fifty steps count.
const smoothing = 0.02

// longestName bounds the name of a task on the screen, in characters.
const longestName = 24

// runState is the state of one run for the progress line.
type runState struct {
	name   string // "er s3"
	method string // "er", of a run whose accuracies are drawn; "" of others, such as trials
	info   ocl.StreamInfo
	plan   experiment.Plan
	began  time.Time
	before float64 // work done before this process, for resumed runs
	total  float64 // work of the whole run, floating-point operations
	// resumed says that an earlier process made some steps, and that this one has done no long work inside a step yet.
	resumed bool
	ended   bool

	task, tasks int  // 1-based
	open        bool // the line for the end of the task is not printed yet
	step        int
	ahead       int // steps of the trials before it, of a run that is tuned first
	tested      int // samples predicted in the evaluations that are over
	testing     int // in the one under way, of toTest samples; 0 where there is none
	toTest      int
	prepared    float64 // floating-point operations of the preparations that are done
	between     float64 // of those before evaluations in the middle of tasks
	working     float64 // share of the long work under way that is done; 0 where there is none
	loss        mean
	running     mean // share of incoming rows predicted before learning them
	seconds     mean // of a step, evaluations left out
	samples     mean // of a step
	rate        float64
	lastStep    time.Time
	seen        *float64   // mean accuracy over the tasks learned, at the last evaluation
	after       []*float64 // the same after each task, nil where it was not evaluated
}

// mean is an exponential mean whose weights are divided by their sum. So it is a plain mean of the first values. A mean
// that starts at its first value or at 0 would stay near it for a hundred steps.
type mean struct {
	value  float64
	weight float64 // of all values so far: 0 without any, 1 after many
}

func (m *mean) add(v float64) {
	m.weight += smoothing * (1 - m.weight)
	m.value += smoothing / m.weight * (v - m.value)
}

func (r *runState) begin(now time.Time, info ocl.StreamInfo, plan experiment.Plan) {
	r.info, r.plan, r.began = info, plan, now
	r.tasks = len(info.Tasks)
	r.step = plan.StepsDone
	r.tested = plan.TestsDone
	r.total = plan.FLOPs()
	r.before = r.work()
	r.resumed = plan.StepsDone > 0
}

// work is the work that the run has done so far, in floating-point operations. Each step counts with its share of the
// long work inside steps, so that the rest of that work is taken off while it lasts.
func (r *runState) work() float64 {
	learned := float64(r.step) * float64(r.plan.FLOPsPerStep)
	if r.working > 0 {
		learned = max(0, learned-(1-r.working)*float64(r.plan.FLOPsPerPause))
	}
	return learned + float64(r.tested+r.testing)*float64(r.plan.FLOPsPerImage) +
		r.prepared + r.between + r.working*r.prepareFLOPs()
}

// workedOn notes the share of the long work under way that is done. The first such work of a resumed run takes off what
// was counted before it, in steps of an earlier process too; workedOn returns how much of that it was, so that it is no
// loss of this process.
func (r *runState) workedOn(share float64) (lowered float64) {
	r.working = share
	if r.resumed {
		lowered = max(0, r.before-r.work())
		r.before -= lowered
		r.resumed = false
	}
	return lowered
}

// prepareFLOPs is the work of the preparation after the present task.
func (r *runState) prepareFLOPs() float64 {
	if r.task < 1 || r.task > len(r.plan.PrepareFLOPs) {
		return 0
	}
	return float64(r.plan.PrepareFLOPs[r.task-1])
}

func (r *runState) taskBegin(t ocl.TaskInfo) {
	first := r.task == 0
	r.task++
	for i, known := range r.info.Tasks {
		if known.Index == t.Index {
			r.task = i + 1
		}
	}
	// A task may have no evaluation, but its preparation (a review) is done.
	r.prepared, r.working = 0, 0
	for _, v := range r.plan.PrepareFLOPs[:min(r.task-1, len(r.plan.PrepareFLOPs))] {
		r.prepared += float64(v)
	}
	if first {
		r.before += r.prepared
	}
	r.open, r.lastStep = true, time.Time{}
}

func (r *runState) stepEnd(now time.Time, step int, s ocl.StepStats) {
	r.step, r.working = step, 0
	if s.Samples > 0 && s.Correct >= 0 { // otherwise the learner only stored
		r.loss.add(s.Loss)
		r.running.add(float64(s.Correct) / float64(s.Samples))
	}
	r.samples.add(float64(s.Samples))
	if !r.lastStep.IsZero() {
		r.seconds.add(now.Sub(r.lastStep).Seconds())
	}
	if r.seconds.value > 0 {
		r.rate = r.samples.value / r.seconds.value
	}
	r.lastStep = now
}

func (r *runState) evaluated(e experiment.Evaluated) {
	switch {
	case !e.MidTask:
		r.prepared += r.prepareFLOPs()
	case e.Task < len(r.plan.MidTaskFLOPs):
		r.between += float64(r.plan.MidTaskFLOPs[e.Task])
	}
	r.testing, r.toTest = 0, 0
	r.working, r.lastStep = 0, time.Time{} // the next step does not begin where the last one ended
	for j, a := range e.Accuracy {
		if a != nil && j < len(r.info.Tasks) {
			r.tested += r.info.Tasks[j].Test
		}
	}
	if seen := seenAfter(e.Task, e.Accuracy); seen != nil {
		r.seen = seen
	}
	if !e.MidTask {
		r.learned(e.Task, e.Accuracy)
	}
}

// continues says where a resumed run goes on.
func (r *runState) continues() string {
	return fmt.Sprintf("%s  continues at step %s/%s", r.name, count.Number(r.plan.StepsDone), count.Number(r.plan.Steps))
}

// parts are the pieces of the line of one run.
func (r *runState) parts() []part {
	parts := []part{{r.name, 0}}
	if r.task > 0 {
		parts = append(parts, part{r.place(), 0}, part{r.taskName(), 4})
	}
	parts = append(parts, part{fmt.Sprintf("step %s/%s", count.Number(r.step), count.Number(r.plan.Steps)), 2})
	switch {
	case r.toTest > 0:
		parts = append(parts, part{"testing " + percent(float64(r.testing)/float64(r.toTest)), 1})
	case r.working > 0:
		parts = append(parts, part{"working " + percent(r.working), 1})
	}
	if r.loss.weight > 0 {
		parts = append(parts, part{fmt.Sprintf("loss %.2f", r.loss.value), 4})
	}
	if r.running.weight > 0 {
		parts = append(parts, part{"running " + percent(r.running.value), 5})
	}
	parts = append(parts, part{r.seenText(), 1})
	if r.rate > 0 && r.working == 0 { // the speed of steps says nothing about the speed of long work
		parts = append(parts, part{count.Number(int64(r.rate+0.5)) + " img/s", 3})
	}
	return parts
}

func (r *runState) seenText() string {
	if r.seen == nil {
		return ""
	}
	return "seen " + percent(*r.seen)
}

// place is the task under way, with the number that it has in the whole stream, and the number of the last one: notes
// and the report count so too. Before the first task it is the number of tasks.
func (r *runState) place() string {
	if r.task < 1 {
		return fmt.Sprintf("task 0/%d", r.tasks)
	}
	return fmt.Sprintf("task %d/%d", r.plan.Tasks[r.task-1], r.plan.Tasks[r.tasks-1])
}

// taskName is the name of the task under way, cut to what a line can take; "" where it has none.
func (r *runState) taskName() string {
	if r.task < 1 || len(r.plan.TaskNames) < r.task {
		return ""
	}
	name := []rune(r.plan.TaskNames[r.task-1])
	if len(name) > longestName {
		name = append(name[:longestName-1], '…')
	}
	return string(name)
}

// last is the line that stays when the run has ended. A run that was interrupted or diverged has a result and no error,
// and has not made all its steps; the table after it says at which step a run diverged.
func (r *runState) last(now time.Time, res *result.Result, err error) string {
	how := "finished"
	switch {
	case err != nil:
		return fmt.Sprintf("%s  failed: %v", r.name, err)
	case res != nil && res.Outcome.State == result.Diverged:
		how = "diverged"
	case r.step < r.plan.Steps:
		how = fmt.Sprintf("stopped at step %s/%s", count.Number(r.step), count.Number(r.plan.Steps))
	}
	return fit([]part{{r.name, 0}, {how + " after " + duration(now.Sub(r.began)), 0}, {r.seenText(), 0}}, plainWidth)
}
