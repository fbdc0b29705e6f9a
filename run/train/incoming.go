package train

import (
	"context"

	"ocl"
	"ocl/config"
	"ocl/run/result"
)

// aheads are the steps between a prediction of incoming images and the step that learns them, rising, that a config
// wants.
func aheads(c config.Config) (list []int) {
	if c.EvalOnline {
		list = append(list, 0)
	}
	if c.EvalAhead > 0 {
		list = append(list, c.EvalAhead)
	}
	return list
}

// incoming counts what was predicted of the stream before it was learned. A checkpoint saves it.
type incoming struct {
	Counts []result.Incoming `json:"counts,omitempty"`
	// Until is the learner step before which images were predicted last: a batch that a learner pauses in comes again.
	Until int `json:"until,omitempty"`
}

// newIncoming counts for a stream of so many tasks.
func newIncoming(c config.Config, tasks int) (n incoming) {
	for _, ahead := range aheads(c) {
		n.Counts = append(n.Counts, result.Incoming{Ahead: ahead, Right: make([]int, tasks), Samples: make([]int, tasks)})
	}
	return n
}

// foresee predicts batches that are still to be learned, before the step that learns next: the one that it learns, and
// one further on. It does not change the training. Nothing is predicted before the first step, by which nobody has
// learned anything.
func (r *run) foresee(ctx context.Context, next ocl.Batch) error {
	n := &r.found.Incoming
	if len(n.Counts) == 0 || r.at.Step == 0 || n.Until >= r.at.Step {
		return nil
	}
	if err := r.prepare(ctx); err != nil {
		return r.stopOn(ctx, err)
	}
	c := &r.tests.midTask
	if err := clock(&r.found.Seconds.Prepare, func() error { return c.Fit(ctx) }); err != nil {
		return r.stopOn(ctx, err)
	}
	err := clock(&r.found.Seconds.Test, func() error {
		for i := range n.Counts {
			of := &n.Counts[i]
			task, b := r.at.Task, next
			if of.Ahead > 0 {
				var at int
				var err error
				if task, at = r.after(of.Ahead); task == len(of.Right) {
					continue
				}
				if b, err = r.Stream.Peek(task, at); err != nil {
					return err
				}
			}
			if _, err := c.Predict(r.learner, b.X); err != nil {
				return err
			}
			for j, y := range b.Y {
				if c.Labels[0][j] == y {
					of.Right[task]++
				}
			}
			of.Samples[task] += b.Len()
		}
		return nil
	})
	n.Until = r.at.Step
	return err
}

// after is the place in the stream of the batch so many steps after the next one, the number of tasks where there is
// none.
func (r *run) after(steps int) (task, batch int) {
	task, batch = r.at.Task, r.at.Batch+steps
	for n := len(r.Stream.Info().Tasks); task < n && batch >= r.Stream.Batches(task); task++ {
		batch -= r.Stream.Batches(task)
	}
	return task, batch
}
