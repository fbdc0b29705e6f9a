package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"ocl/data"
	"ocl/experiment/result"
	"ocl/method"
)

// Run runs an experiment: each method with each seed, several at once where the last one then ends sooner. It returns the
// results of the runs that have one, in the order of [Jobs].
//
// The data are opened once and shared. With Options.Out set, every run has its folder there with result.json, steps.csv
// and checkpoint/; runs that are finished in it are kept and the others go on where their checkpoint is, so the same
// call again completes an experiment that was stopped at any instant, with the same numbers. Another experiment in the
// folder, or another process at work in it, is refused before anything is written.
//
// A run whose loss is no longer a number ends with outcome "diverged" and is a result. A run that fails, by an error or
// a panic, does not stop the others; the errors of all of them are joined. A full disk fails a run and leaves it the
// checkpoint before; a result that was measured and could not be written is returned beside the error. When ctx ends,
// every run stops after its current batch, writes a checkpoint and a result marked "interrupted", and Run returns an
// error that wraps ctx.Err().
func Run(ctx context.Context, c Config, o Options) ([]*result.Result, error) {
	return runJobs(ctx, c, o, func(Job) bool { return true })
}

// Resume continues what was interrupted in dir: an experiment folder, or the folder of one run in it. Options.Out is
// ignored. It ends in the same result.json, bit for bit, as a run without interruption, except for seconds, the peak
// memory and the provenance of workers.
func Resume(ctx context.Context, dir string, o Options) ([]*result.Result, error) {
	if o.Force {
		return nil, errors.New("experiment: resume: force was asked for; want to go on, not to start again; take one of the two away")
	}
	dir = filepath.Clean(dir)
	keep := func(Job) bool { return true }
	o.Out = dir
	if _, err := os.Stat(filepath.Join(dir, ConfigFile)); err != nil {
		full, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("experiment: resume: %w", err)
		}
		o.Out = filepath.Dir(full)
		keep = func(j Job) bool { return j.Folder == filepath.Base(full) }
	}
	c, err := Load(filepath.Join(o.Out, ConfigFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("experiment: resume: %s: no %s there, nor in the folder around it; "+
			"want the --out of an experiment or the folder of a run in it; check the path", dir, ConfigFile)
	case err != nil:
		return nil, fmt.Errorf("experiment: resume: %s: %w", o.Out, err)
	}
	found := false
	for _, j := range Jobs(c) {
		found = found || keep(j)
	}
	if !found {
		return nil, fmt.Errorf("experiment: resume: %s: not a run of the experiment in %s; want the folder of one of its runs; "+
			"give the experiment's folder to resume all", dir, o.Out)
	}
	return runJobs(ctx, c, o, keep)
}

// experimentRun is what the runs of one call share.
type experimentRun struct {
	Options
	config      Config
	set         *data.Set
	workers     int
	concurrency int
	lock        *folderLock // of Out; nil without
	warn        sync.Once   // about a lock that is missing
}

func runJobs(ctx context.Context, c Config, o Options, keep func(Job) bool) ([]*result.Result, error) {
	x, err := open(c, o)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	for _, j := range Jobs(x.config) {
		if keep(j) {
			jobs = append(jobs, j)
		}
	}
	plans, err := x.plansByMethod(jobs) // before anything is written, as it finds what does not fit together
	if err != nil {
		return nil, err
	}
	if x.Out != "" {
		if x.lock, err = prepareFolder(x.Out, c, x.Force); err != nil {
			return nil, err
		}
		defer x.lock.unlock()
	}
	results := make([]*result.Result, len(jobs))
	errs := make([]error, len(jobs))
	x.workers, x.concurrency = share(runtime.GOMAXPROCS(0), x.costs(jobs, plans), o.Workers, o.Concurrency)
	next := make(chan int)
	var wg sync.WaitGroup
	for range x.concurrency {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() == nil { // a run that was not begun leaves nothing
					results[i], errs[i] = x.runJob(ctx, jobs[i])
				}
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	wg.Wait()
	return collect(ctx, results, errs, x.Out)
}

// collect drops the runs without a result and joins the errors.
func collect(ctx context.Context, results []*result.Result, errs []error, out string) ([]*result.Result, error) {
	var got []*result.Result
	done := 0
	for _, r := range results {
		if r != nil {
			got = append(got, r)
			if r.Outcome.State != result.Interrupted {
				done++
			}
		}
	}
	err := errors.Join(errs...)
	if ctx.Err() != nil && done < len(results) {
		how := "nothing was saved, give an output folder to be able to resume"
		if out != "" {
			how = "continue with `ocl run --resume " + out + "`"
		}
		err = errors.Join(err, fmt.Errorf("experiment: interrupted: %d of %d runs are done; %s: %w", done, len(results), how, ctx.Err()))
	}
	return got, err
}

// open validates the config and opens the data.
func open(c Config, o Options) (*experimentRun, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if o.Workers < 0 || o.Concurrency < 0 {
		return nil, fmt.Errorf("experiment: %d workers and %d runs at once; want 0 (chosen) or more; correct the flags", o.Workers, o.Concurrency)
	}
	dir := c.Data.Dir
	if o.DataDir != "" {
		dir = o.DataDir
	}
	set, err := data.Open(data.Spec{
		Name: c.Data.Name, Dir: dir, Size: c.Data.Size,
		TrainPerClass: c.Data.TrainPerClass, TestPerClass: c.Data.TestPerClass,
	})
	if err != nil {
		return nil, err
	}
	return &experimentRun{Options: o, config: c.Resolved(), set: set}, nil
}

// PanicError is a panic in a run: a bug of the program, told where it happened.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic: %v; this is a bug of the program; report it with the config", e.Value)
}

// runJob runs one job to its end, or keeps the result it has. Errors and panics are given method and seed, and once the run has
// begun task and step.
func (x *experimentRun) runJob(ctx context.Context, j Job) (res *result.Result, err error) {
	var ev Events
	if x.Events != nil {
		ev = x.Events(j)
	}
	r := &run{experimentRun: x, job: j, ev: ev}
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, &PanicError{Value: v, Stack: debug.Stack()}
		}
		r.close()
		if err != nil {
			at := ""
			if r.begun {
				at = fmt.Sprintf(" task %d, step %d:", r.task+1, r.step)
			}
			err = fmt.Errorf("experiment: %s, seed %d:%s %w", j.Name(), j.Seed, at, err)
		}
		if ev.End != nil {
			ev.End(j, err)
		}
	}()
	if err := r.build(); err != nil {
		return nil, err
	}
	if r.folder != "" {
		kept, err := keptResult(r.folder, r.id)
		if err != nil || kept != nil {
			if kept != nil {
				r.step = r.plan.Steps
				r.begin()
				r.note(fmt.Sprintf("%s is %s already; its result is kept", j.Folder, kept.Outcome.State))
			}
			return kept, err
		}
		if err := r.openFolder(); err != nil {
			return nil, err
		}
	}
	r.begin()
	return r.conclude(r.loop(ctx))
}

func (r *run) begin() {
	r.begun = true
	r.plan.StepsDone = r.step
	if r.ev.Begin != nil {
		r.ev.Begin(r.job, r.stream.Info(), r.plan)
	}
	r.warn.Do(func() {
		if warning := r.lock.warning(); warning != "" {
			r.note(warning)
		}
	})
}

func (r *run) note(text string) {
	if r.ev.Note != nil {
		r.ev.Note(text)
	}
}

func infoOf(name string) method.Info {
	info, err := method.Lookup(name)
	if err != nil {
		panic("experiment: a validated config names an unknown method: " + name)
	}
	return info
}
