package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"ocl"
	"ocl/experiment/result"
)

// defaultCheckpointEvery is the time between checkpoints in the middle of a task.
const defaultCheckpointEvery = 60 * time.Second

// errInterrupted ends a loop whose context was cancelled.
var errInterrupted = errors.New("interrupted")

// loop learns and evaluates the tasks that are left. It returns nil at the end of the stream, errInterrupted after ctx
// was cancelled, and an error that wraps ocl.ErrDiverged when the loss is no number.
func (r *run) loop(ctx context.Context) error {
	for tasks := r.stream.Info().Tasks; r.task < len(tasks); {
		if ctx.Err() != nil {
			return r.stop()
		}
		if err := r.learn(ctx, tasks[r.task]); err != nil {
			return err
		}
		if err := r.endTask(ctx); err != nil {
			return err
		}
		if err := r.evaluate(ctx); err != nil {
			return err
		}
		r.task, r.batch, r.phase = r.task+1, 0, learning
		r.taskCorrect, r.taskSamples = 0, 0
		if err := r.save(); err != nil {
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

// learn observes the batches of the current task that are left.
func (r *run) learn(ctx context.Context, task ocl.TaskInfo) error {
	if r.phase != learning {
		return nil
	}
	if r.ev.TaskBegin != nil {
		r.ev.TaskBegin(task)
	}
	start := time.Now()
	if aware, ok := r.learner.(ocl.TaskAware); ok && r.batch == 0 {
		if err := aware.BeginTask(task); err != nil {
			return err
		}
	}
	for b, err := range r.stream.Train(r.task) {
		if err != nil {
			return err
		}
		// A batch takes milliseconds, and a learner stopped in the middle of it could not be saved.
		stats, err := r.learner.Observe(context.WithoutCancel(ctx), b)
		r.seconds.Train += time.Since(start).Seconds()
		r.step++
		r.batch++
		if err == nil && (math.IsNaN(stats.Loss) || math.IsInf(stats.Loss, 0)) {
			err = ocl.ErrDiverged
		}
		if err != nil {
			return err
		}
		if stats.Correct >= 0 { // the learner predicted before it learned
			r.taskCorrect += stats.Correct
			r.taskSamples += stats.Samples
		}
		if err := r.log.add(r.step, r.task, stats.Loss, r.taskCorrect, r.taskSamples); err != nil {
			return err
		}
		if r.ev.StepEnd != nil {
			r.ev.StepEnd(r.step, stats)
		}
		if ctx.Err() != nil {
			return r.stop()
		}
		if r.due() {
			if err := r.save(); err != nil {
				return err
			}
		}
		start = time.Now()
	}
	r.phase = learned
	return nil
}

// due tells whether it is time for a checkpoint in the middle of a task.
func (r *run) due() bool {
	return r.every > 0 && time.Since(r.saved) >= r.every || r.checkpointSteps > 0 && r.step%r.checkpointSteps == 0
}

// endTask tells a learner that uses boundaries, which may train for long; so the state before it is saved first.
func (r *run) endTask(ctx context.Context) error {
	if r.phase != learned {
		return nil
	}
	if aware, ok := r.learner.(ocl.TaskAware); ok {
		if err := r.save(); err != nil {
			return err
		}
		start := time.Now()
		err := aware.EndTask(ctx)
		r.seconds.Train += time.Since(start).Seconds()
		if err != nil {
			return interruptedBy(ctx, err)
		}
	}
	if m, ok := r.learner.(ocl.MemoryReporter); ok {
		counts := map[int]int{}
		for label, n := range m.MemoryCounts() {
			counts[int(label)] = n
		}
		r.counts = append(r.counts, counts)
	}
	r.phase = ended
	return nil
}

// evaluate prepares the learner and fills a row of the accuracy matrix, if the config wants one after this task.
func (r *run) evaluate(ctx context.Context) error {
	tasks := r.stream.Info().Tasks
	if r.config.Eval == EvalFinal && r.task < len(tasks)-1 {
		return nil
	}
	if p, ok := r.learner.(ocl.Preparer); ok && r.phase == ended {
		if err := r.save(); err != nil {
			return err
		}
		start := time.Now()
		err := p.Prepare(ctx)
		r.seconds.Prepare += time.Since(start).Seconds()
		if err != nil {
			return interruptedBy(ctx, err)
		}
	}
	r.phase = prepared
	if err := r.fitClassifiers(ctx); err != nil {
		return err
	}
	tests := len(tasks)
	if r.config.Eval == EvalSeen {
		tests = r.task + 1
	}
	counts := r.newEvaluations()
	for j := range tests {
		start := time.Now()
		err := r.test(ctx, j, counts)
		r.seconds.Test += time.Since(start).Seconds()
		if err != nil {
			return err
		}
	}
	for i := range counts {
		counts[i].into(r.measured[i].perClass[r.task])
		r.analyse(&r.measured[i], &counts[i])
	}
	if r.ev.Evaluated != nil {
		r.ev.Evaluated(r.task, nullable(r.measured[0].accuracy[r.task]))
	}
	return nil
}

// test measures the accuracy of each classifier on the test set of task j; its samples are counted by class too.
func (r *run) test(ctx context.Context, j int, counts []evaluation) error {
	right, all := make([]int, len(counts)), 0
	for b, err := range r.stream.Test(j) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return r.stopTest()
		}
		logits, err := r.classifiers.predict(r.learner, b.X)
		if err != nil {
			return err
		}
		for i := range counts {
			right[i] += counts[i].add(b.Y, r.classifiers.labels[i], logits)
		}
		all += len(b.Y)
	}
	if all == 0 {
		return fmt.Errorf("the test set of task %d is empty; want at least one sample; use other data", j+1)
	}
	for i := range counts {
		r.measured[i].accuracy[r.task][j] = float64(right[i]) / float64(all)
	}
	return nil
}

// stopTest saves the state without the row that is being measured; resuming measures it whole.
func (r *run) stopTest() error {
	for i := range r.measured {
		for j := range r.measured[i].accuracy[r.task] {
			r.measured[i].accuracy[r.task][j] = math.NaN()
		}
	}
	return r.stop()
}

// interruptedBy is errInterrupted when err is how a learner says that ctx ended: the last checkpoint then stands.
func interruptedBy(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return errInterrupted
	}
	return err
}

// tally counts test samples by class.
type tally struct{ right, all []int }

func newTally(classes int) tally { return tally{make([]int, classes), make([]int, classes)} }

// add counts predictions of samples with the labels y and returns how many are right.
func (t *tally) add(y, predicted []ocl.Label) (right int) {
	for i, label := range y {
		t.all[label]++
		if predicted[i] == label {
			t.right[label]++
			right++
		}
	}
	return right
}

// into writes the accuracy of each class that was tested.
func (t *tally) into(dst []float64) {
	for k, n := range t.all {
		if n > 0 {
			dst[k] = float64(t.right[k]) / float64(n)
		}
	}
}

// nullable copies a row for result.json, nil where it is NaN.
func nullable(row []float64) []*float64 {
	out := make([]*float64, len(row))
	for i, v := range row {
		if !math.IsNaN(v) {
			out[i] = &v
		}
	}
	return out
}

// conclude turns how the loop ended into a result, and writes it.
func (r *run) conclude(err error) (*result.Result, error) {
	outcome := result.Outcome{State: result.Finished, Step: r.step}
	switch {
	case errors.Is(err, errInterrupted):
		outcome.State = result.Interrupted
	case errors.Is(err, ocl.ErrDiverged):
		outcome.State = result.Diverged
		outcome.Reason = fmt.Sprintf("task %d, step %d: %v", r.task+1, r.step, err)
	case err != nil:
		return nil, err
	}
	res, err := r.result(outcome)
	if err != nil {
		return nil, err
	}
	return res, r.writeResult(res)
}
