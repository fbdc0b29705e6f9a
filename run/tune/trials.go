package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"ocl/internal/atomicfile"
	"ocl/internal/count"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/run/train"
)

// runTrials runs the trials that have no result. The costly ones come first, so that no core waits for one of them at
// the end.
func (t *Tuner) runTrials(ctx context.Context) error {
	var todo []*trial
	for _, one := range t.order {
		if one.result == nil {
			one.cost = one.plan.Left(t.found(one))
			todo = append(todo, one)
		}
	}
	slices.SortStableFunc(todo, func(a, b *trial) int { return cmp.Compare(b.cost, a.cost) })
	costs, plans := make([]float64, len(todo)), make([]experiment.Plan, len(todo))
	for i, one := range todo {
		costs[i], plans[i] = one.cost, one.plan
	}
	workers, concurrency, err := experiment.ShareMemory(runtime.GOMAXPROCS(0), costs, plans, t.opts.Workers,
		t.opts.Concurrency)
	if err != nil {
		return err
	}
	errs := make([]error, len(todo))
	run := func(wanted func(i int) bool) {
		experiment.Each(ctx, len(todo), concurrency, func(i int) {
			if wanted(i) {
				errs[i] = t.runTrial(ctx, todo[i], workers, concurrency)
			}
		})
	}
	isBusy := func(err error) bool { return errors.Is(err, experiment.ErrBusy) }
	run(func(int) bool { return true })
	run(func(i int) bool { return isBusy(errs[i]) }) // another process may have ended them
	for ctx.Err() == nil && slices.ContainsFunc(errs, isBusy) {
		run(func(i int) bool { return isBusy(errs[i]) && t.freed(ctx, todo[i]) })
	}
	if err := ctx.Err(); err != nil && t.opts.Guarded {
		// who waits for another process knows of it already
		errs = slices.DeleteFunc(errs, isBusy)
		// the caller guards the folder and says how to continue
		return errors.Join(append(errs, fmt.Errorf("tune: interrupted: %w", err))...)
	} else if err != nil {
		done := len(t.order) - len(slices.DeleteFunc(slices.Clone(t.order),
			func(one *trial) bool { return one.result != nil }))
		return fmt.Errorf("tune: interrupted: %d of %s are done. Give the same command with --out %s to continue: %w", done,
			count.Of(len(t.order), "trial"), t.opts.Out, err)
	}
	return errors.Join(errs...)
}

// freed waits until no other process is at work on a trial. It is false if ctx ended before.
func (t *Tuner) freed(ctx context.Context, one *trial) bool {
	if note := t.events(one).Note; note != nil {
		note(experiment.Waiting)
	}
	return train.Await(ctx, t.folderOf(one))
}

// events are the observers of a trial.
func (t *Tuner) events(one *trial) experiment.Events {
	if t.opts.Events == nil {
		return experiment.Events{}
	}
	return t.opts.Events(Running{one.name, slices.Index(t.order, one), len(t.order), one.job})
}

// folderOf is the run folder of a trial.
func (t *Tuner) folderOf(one *trial) string {
	return filepath.Join(t.opts.Out, Trials, one.job.Folder)
}

// found says how far a trial is in the folder. An error is reported when it runs.
func (t *Tuner) found(one *trial) (f train.Found) {
	if t.archived(one) != nil {
		return train.Found{State: result.Finished, Step: one.plan.Steps}
	}
	if t.opts.Out != "" {
		f, _ = train.Find(t.folderOf(one))
	}
	return f
}

// archived is the result of a trial that exists already; nil is none.
func (t *Tuner) archived(one *trial) *experiment.Archived {
	if t.opts.Archive == nil {
		return nil
	}
	if r, there := t.opts.Archive.Find(one.job.Key); there {
		return &r
	}
	return nil
}

// take copies the result of a trial that exists already into its folder. One that another process is at work on is left
// to it.
func (t *Tuner) take(one *trial) error {
	r := t.archived(one)
	if r == nil {
		return nil
	}
	folder := t.folderOf(one)
	unlock, err := experiment.LockRun(folder)
	if errors.Is(err, experiment.ErrBusy) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	defer unlock()
	if found, err := train.Find(folder); err == nil && found.Ended() {
		return nil
	}
	if err := r.Copy(folder); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	return nil
}

func (t *Tuner) runTrial(ctx context.Context, one *trial, workers, concurrency int) error {
	place := experiment.RunIn{Folder: t.folderOf(one), Workers: workers, Concurrent: concurrency, Locked: t.opts.Guarded,
		Events: t.events(one)}
	if err := atomicfile.MakeFolder(filepath.Dir(place.Folder)); err != nil {
		return fmt.Errorf("tune: %w. Use --out to choose a folder that can be written", err)
	}
	if err := t.take(one); err != nil {
		return err
	}
	r, err := one.x.RunJob(ctx, one.job, place)
	if err != nil {
		return fmt.Errorf("tune: %s: %w", one.name, err)
	}
	if r.Outcome.State != result.Interrupted {
		one.result = r
	}
	return nil
}
