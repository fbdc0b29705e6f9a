package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"ocl"
	"ocl/learn/learner"
	"ocl/run/result"
)

// errInterrupted ends a loop whose context was cancelled.
var errInterrupted = errors.New("interrupted")

// loop learns and evaluates the tasks that are left. It returns nil at the end of the stream and errInterrupted after
// ctx was cancelled. The error wraps ocl.ErrDiverged if the loss or an output of the network is not a finite number.
func (r *run) loop(ctx context.Context) error {
	for tasks := r.Stream.Info().Tasks; r.at.Task < len(tasks); {
		if ctx.Err() != nil {
			return r.stop()
		}
		if err := r.learn(ctx, tasks[r.at.Task]); err != nil {
			return err
		}
		if err := r.endTask(ctx); err != nil {
			return err
		}
		if err := r.evaluate(ctx); err != nil {
			return err
		}
		r.at = Position{Task: r.at.Task + 1, Step: r.at.Step}
		save := r.saveBetween
		if r.at.Task == len(tasks) {
			save = r.save
		}
		if err := save(); err != nil {
			return err
		}
	}
	return nil
}

// stop saves the state and returns errInterrupted.
func (r *run) stop() error {
	if err := r.save(); err != nil {
		return err
	}
	return errInterrupted
}

// stopOn is stop if err says that ctx has ended, and err otherwise.
func (r *run) stopOn(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return r.stop()
	}
	return err
}

// interruptedBy is errInterrupted if err says that ctx has ended, and err otherwise. The run then continues from its
// last checkpoint.
func interruptedBy(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return errInterrupted
	}
	return err
}

// learn observes the batches of the current task that are left.
func (r *run) learn(ctx context.Context, task ocl.TaskInfo) error {
	if r.Events.TaskBegin != nil {
		r.Events.TaskBegin(task)
	}
	if r.at.Phase > midTask { // of a resumed run
		return nil
	}
	switch r.at.Phase {
	case beforeTask:
		if err := r.beginTask(task); err != nil {
			return err
		}
	case midTask:
		if err := r.afterStep(ctx); err != nil {
			return err
		}
	}
	start := time.Now()
	for b, err := range r.Stream.Train(r.at.Task) {
		if err != nil {
			return err
		}
		if err := r.step(ctx, b, start); err != nil {
			return err
		}
		start = time.Now()
	}
	r.at.Phase = learned
	return nil
}

// beginTask writes the event, and calls a learner that uses boundaries.
func (r *run) beginTask(task ocl.TaskInfo) error {
	if err := r.journal.task(task, r.at.Step); err != nil {
		return err
	}
	if aware, ok := r.learner.(ocl.TaskAware); ok {
		if err := clock(&r.found.Seconds.Train, func() error { return aware.BeginTask(r.numbered(task)) }); err != nil {
			return err
		}
	}
	r.at.Phase = learning
	return nil
}

// step observes a batch, and then evaluates and saves if that is due. start is the time at which the batch began to be
// made; the seconds of the step count from there.
func (r *run) step(ctx context.Context, b ocl.Batch, start time.Time) error {
	r.found.Seconds.Train += time.Since(start).Seconds()
	if r.Events.StepBegin != nil {
		r.Events.StepBegin()
	}
	if err := r.foresee(ctx, b); err != nil {
		return err
	}
	stats, err := r.observe(ctx, b)
	if errors.Is(err, errInterrupted) {
		return err
	}
	r.at.Step++
	r.at.Batch++
	if err == nil && (math.IsNaN(stats.Loss) || math.IsInf(stats.Loss, 0)) {
		err = ocl.ErrDiverged
	}
	if err != nil {
		return err
	}
	if stats.Correct >= 0 { // the learner predicted before it learned
		r.at.Correct += stats.Correct
		r.at.Samples += stats.Samples
	}
	if err := r.journal.step(r.at, stats); err != nil {
		return err
	}
	if r.Events.StepEnd != nil {
		r.Events.StepEnd(r.at.Step, stats)
	}
	if every := r.Job.Config.EvalEvery; every > 0 && r.at.Step%every == 0 {
		r.at.Phase = midTask
	}
	return r.afterStep(ctx)
}

// afterStep does what is due between two steps.
func (r *run) afterStep(ctx context.Context) error {
	if ctx.Err() != nil {
		return r.stop()
	}
	if r.at.Phase == midTask {
		if err := r.evaluateMidTask(ctx); err != nil {
			return err
		}
		r.at.Phase = learning
	}
	if n := r.SaveSteps; r.snapshots.due(time.Now()) || n > 0 && r.at.Step%n == 0 {
		return r.save()
	}
	return r.snapshots.watch()
}

// paused says whether the learner has stopped in the middle of a batch.
func paused(l ocl.Learner) bool {
	p, ok := l.(ocl.Pausing)
	return ok && p.Paused()
}

// observe lets the learner learn a batch. Most learners take milliseconds and are not interrupted: a learner that is
// stopped in the middle of a batch cannot be saved. A learner that can pause is stopped when ctx ends, and when a
// checkpoint is due.
func (r *run) observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	start := time.Now()
	b, err := r.latents.Of(b)
	if err != nil {
		return ocl.StepStats{}, err
	}
	spent := func() {
		r.found.Seconds.Train += time.Since(start).Seconds()
		start = time.Now()
	}
	if _, ok := r.learner.(ocl.Pausing); !ok {
		defer spent()
		return r.learner.Observe(context.WithoutCancel(ctx), b)
	}
	if err := r.journal.flush(); err != nil { // the next line may come late
		return ocl.StepStats{}, err
	}
	for {
		piece, cancel := r.snapshots.until(ctx)
		start = time.Now()
		stats, err := r.learner.Observe(piece, b)
		spent()
		ended := piece.Err()
		cancel()
		switch {
		case err == nil || ended == nil || !errors.Is(err, ended):
			return stats, err
		case ctx.Err() != nil:
			return stats, r.stop()
		}
		if err := r.save(); err != nil {
			return stats, err
		}
	}
}

// endTask calls a learner that uses task boundaries. The learner may then train for long, so the state is saved first.
func (r *run) endTask(ctx context.Context) error {
	if r.at.Phase != learned {
		return nil
	}
	if aware, ok := r.learner.(ocl.TaskAware); ok {
		if err := r.saveBetween(); err != nil {
			return err
		}
		if err := clock(&r.found.Seconds.Train, func() error { return aware.EndTask(ctx) }); err != nil {
			return interruptedBy(ctx, err)
		}
	}
	if err := r.found.countMemory(learner.MemoryOf(r.learner), r.Stream.Info().Tasks[:r.at.Task+1]); err != nil {
		return err
	}
	r.at.Phase = ended
	return nil
}

// conclude makes the result of a loop that ended with err, and writes it.
func (r *run) conclude(err error) (*result.Result, error) {
	outcome := result.Outcome{State: result.Finished, Step: r.at.Step}
	switch {
	case errors.Is(err, errInterrupted):
		outcome.State = result.Interrupted
	case errors.Is(err, ocl.ErrDiverged):
		outcome.State = result.Diverged
		outcome.Reason = fmt.Sprintf("task %d, step %d: %v", r.taskNumber(), r.at.Step, err)
	case err != nil:
		return nil, err
	}
	unsaved := r.snapshots.wait() // the result is written even if the last checkpoint was not
	res, err := r.result(outcome)
	if err != nil {
		return nil, errors.Join(unsaved, err)
	}
	return res, errors.Join(unsaved, r.finish(res))
}

// numbered is a task as its learner knows it, whose tasks are counted from the first of all parents.
func (r *run) numbered(task ocl.TaskInfo) ocl.TaskInfo {
	task.Index += r.before().Tasks
	return task
}
