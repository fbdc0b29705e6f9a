package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
	var todo []experiment.Turn
	for _, one := range t.order {
		if one.result == nil {
			todo = append(todo, experiment.Turn{Plan: one.plan, Cost: one.plan.Left(t.found(one)), Folder: t.folderOf(one),
				Events: t.events(one), Do: func(workers, concurrency int) error {
					return t.runTrial(ctx, one, workers, concurrency)
				}})
		}
	}
	slices.SortStableFunc(todo, func(a, b experiment.Turn) int { return cmp.Compare(b.Cost, a.Cost) })
	errs, err := experiment.RunAll(ctx, todo, t.opts.Workers, t.opts.Concurrency)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil && t.opts.Guarded {
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
	if r.Outcome.State == result.Interrupted {
		return nil
	}
	if m, _ := scoredBy(t.spec.By); r.Outcome.State == result.Finished && m.Of(r.Metrics) == nil {
		return fmt.Errorf("tune: %s: it has no %s, by which it is to be scored. Choose another tune.by, or measure that: docs/format/result.md says when a run has it",
			one.name, m.Key)
	}
	one.result = r
	return nil
}
