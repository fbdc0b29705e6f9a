package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"ocl/config"
	"ocl/run/build"
	"ocl/run/result"
	"ocl/run/train"
)

// Run opens an experiment and runs all its jobs: [Open] and [Experiment.Run] in one call.
func Run(ctx context.Context, c config.Config, o Options) ([]*result.Result, error) {
	x, err := Open(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return x.Run(ctx)
}

// Run runs all jobs, several at the same time if the last one then ends sooner. It returns the results that there are,
// in the order of [Experiment.Jobs].
//
// With Options.Out set, every run has its folder there with config.yaml, events.jsonl, result.json and checkpoint/.
// Finished runs in it are kept, and the others continue from their checkpoints. So the same call again completes an
// experiment that was stopped at any moment, with the same numbers. The folder may have the same experiment, or one
// whose runs are all among those of x, such as fewer seeds or methods: the new runs are added. Another experiment in
// the folder is refused before anything is written. Runs of another process are left to it. When no other run is left,
// Run waits for them until ctx ends, and continues those that the other process did not end.
//
// A run whose loss is no longer a finite number has a result with the outcome "diverged". A run that fails with an
// error or a panic does not stop the others; the errors of all runs are joined. On a full disk a run fails and keeps
// its previous checkpoint. A result that could not be written is returned together with the error. When ctx ends, every
// run stops after its current batch and writes a checkpoint and a result with the outcome "interrupted", and Run
// returns an error that wraps ctx.Err().
func (x *Experiment) Run(ctx context.Context) ([]*result.Result, error) {
	if err := x.SetUp(); err != nil {
		return nil, err
	}
	if x.opts.Out != "" { // nobody may remove it meanwhile
		lock, err := train.LockFolder(x.opts.Out, UseFile, train.Together)
		if err != nil {
			return nil, err
		}
		defer lock.Unlock()
	}
	jobs := x.chosen
	results := make([]*result.Result, len(jobs))
	turns, err := x.turns(jobs)
	if err != nil {
		return nil, err
	}
	for i := range turns {
		turns[i].Events = x.events(jobs[i])
		turns[i].Do = func(workers, concurrency int) (err error) {
			in := RunIn{Workers: workers, Concurrent: concurrency, Events: turns[i].Events}
			results[i], err = x.runJob(ctx, jobs[i], in)
			return err
		}
	}
	errs, err := RunAll(ctx, turns, x.opts.Workers, x.opts.Concurrency)
	if err != nil {
		return nil, err
	}
	results = slices.DeleteFunc(results, func(r *result.Result) bool { return r == nil })
	err = errors.Join(errs...)
	done := 0
	for _, r := range results {
		if r.Outcome.State != result.Interrupted {
			done++
		}
	}
	if ctx.Err() != nil && done < len(jobs) {
		how := "Nothing was saved. Set an output folder to be able to resume"
		if out := x.opts.Out; out != "" {
			how = "Continue with `ocl run --resume " + out + "`"
		}
		err = errors.Join(err, fmt.Errorf("experiment: interrupted: %d of %d runs are done. %s: %w", done, len(jobs), how,
			ctx.Err()))
	}
	return results, err
}

// RunJob runs one job to its end in a folder of its own, or keeps the result that it has there. It may be called for
// different jobs at the same time. If another process or call has the folder locked, the error wraps [ErrBusy].
// Options.Out, Workers, Concurrency and Events are those of the experiment and do not count.
func (x *Experiment) RunJob(ctx context.Context, j Job, in RunIn) (*result.Result, error) {
	if in.Folder == "" || in.Workers < 1 {
		return nil, errors.New("experiment: a job needs a folder and at least one worker")
	}
	s, err := x.spec(j)
	if err != nil {
		return nil, err
	}
	s.RunIn = in
	return train.Run(ctx, s)
}

// spec returns the arguments of a job's run, without its folder, its workers and its observers.
func (x *Experiment) spec(j Job) (train.Spec, error) {
	o := x.opts
	s := train.Spec{
		Job: j, ClassNames: x.classNames(), Notes: slices.Clone(x.set.Notes), Tuning: o.Tuning, Weights: x.weights,
		NoWeights: x.absent, Pictures: x.set.Sketches,
		SaveEvery: o.interval(), KeepCheckpoint: o.KeepCheckpoint, Program: o.Program, Revision: o.Revision,
		Command:     o.Command,
		WrapLearner: o.hooks.learner, SaveSteps: o.hooks.checkpointSteps,
	}
	if x.parent != nil {
		s.Parent, s.Pictures = &x.parent.Parent, x.classes.Sketches(x.parent.Known.Pictures, x.set)
		if x.classes.Note != "" {
			s.Notes = append(s.Notes, x.classes.Note)
		}
	}
	var err error
	if s.Stream, err = x.newStream(j.Config); err != nil {
		return s, err
	}
	if o.hooks.stream != nil {
		s.Stream = o.hooks.stream(s.Stream)
	}
	s.Plan = x.plan(s.Stream, j)
	return s, nil
}

// runJob runs a job in the folder of the experiment, if there is one.
func (x *Experiment) runJob(ctx context.Context, j Job, in RunIn) (*result.Result, error) {
	s, err := x.spec(j)
	if err != nil {
		return nil, err
	}
	s.RunIn = in
	if x.opts.Out != "" {
		if err := train.Vanished(x.opts.Out); err != nil { // the run would make it again, without its config
			return nil, fmt.Errorf("experiment: %w", err)
		}
		s.Folder = filepath.Join(x.opts.Out, j.Folder)
	}
	return train.Run(ctx, s)
}

// defaultCheckpointEvery is the time between checkpoints in the middle of a task.
const defaultCheckpointEvery = 60 * time.Second

// interval is the time between checkpoints in the middle of a task, 0 for none there.
func (o Options) interval() time.Duration {
	if o.CheckpointEvery == 0 {
		return defaultCheckpointEvery
	}
	return max(0, time.Duration(o.CheckpointEvery)*time.Second)
}

// Plan says what a job is going to do, without learning or writing anything.
func (x *Experiment) Plan(j Job) (Plan, error) {
	st, err := x.newStream(j.Config)
	if err != nil {
		return Plan{}, err
	}
	return x.plan(st, j), nil
}

// plan is the plan of a job on its stream.
func (x *Experiment) plan(st build.Stream, j Job) Plan {
	before := 0 // about how many samples the memory was offered before
	if p := x.parent; p != nil {
		before = p.Steps * p.Config.Stream.Batch
	}
	p := train.NewPlan(j.Config, st, x.network[kindOf(j)].Network, before,
		x.set.Train.MemoryBytes()+x.set.Test.MemoryBytes())
	p.MemoryBytes = max(p.MemoryBytes, x.making)
	return p
}

// events are the observers of a job.
func (x *Experiment) events(j Job) Events {
	if x.opts.Events == nil {
		return Events{}
	}
	return x.opts.Events(j)
}

// turns are jobs with their plans and the work that is left of each, in floating-point operations: none for a run that
// has ended, and what comes after the last step that is known for one that was interrupted. With another seed, classes
// of unequal size may be in other tasks, which makes a step more or less; all seeds are taken to cost the same.
func (x *Experiment) turns(jobs []Job) ([]Turn, error) {
	plans, turns := map[string]Plan{}, make([]Turn, len(jobs))
	for i, j := range jobs {
		p, known := plans[j.Name()]
		if !known {
			var err error
			if p, err = x.Plan(j); err != nil {
				return nil, err
			}
			plans[j.Name()] = p
		}
		turns[i] = Turn{Plan: p, Cost: p.FLOPs(), Folder: filepath.Join(x.opts.Out, j.Folder)}
		if f, err := x.Found(j); x.opts.Out != "" && err == nil { // an error is reported when the run begins
			turns[i].Cost = p.Left(f)
		}
	}
	return turns, nil
}
