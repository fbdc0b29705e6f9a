package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/experiment/result"
	"ocl/nn"
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
// the folder is refused before anything is written. Runs of another process are left to it. If it has not ended them
// when all other runs are done, the error wraps [ErrBusy].
//
// A run whose loss is no longer a finite number has a result with the outcome "diverged". A run that fails with an
// error or a panic does not stop the others; the errors of all runs are joined. On a full disk a run fails and keeps
// its previous checkpoint. A result that could not be written is returned together with the error. When ctx ends, every
// run stops after its current batch and writes a checkpoint and a result with the outcome "interrupted", and Run
// returns an error that wraps ctx.Err().
func (x *Experiment) Run(ctx context.Context) ([]*result.Result, error) {
	lock, err := x.enter()
	if err != nil {
		return nil, err
	}
	defer lock.unlock()
	jobs := x.chosen
	costs, err := x.costs(jobs)
	if err != nil {
		return nil, err
	}
	p := party{x: x, results: make([]*result.Result, len(jobs)), errs: make([]error, len(jobs))}
	p.workers, p.concurrency = share(runtime.GOMAXPROCS(0), costs, x.opts.Workers, x.opts.Concurrency)
	all := make([]int, len(jobs))
	for i := range all {
		all[i] = i
	}
	p.run(ctx, jobs, all)
	var busy []int
	for i, err := range p.errs {
		if errors.Is(err, ErrBusy) {
			busy = append(busy, i)
		}
	}
	p.run(ctx, jobs, busy) // the others may have ended them
	return p.collect(ctx)
}

// RunJob runs one job to its end, or keeps its result if it has one. It may be called for different jobs at the same
// time, in this process and in others; Options.Concurrency then says how many, and the cores are divided among them.
// For a run that another process or call runs, the error wraps [ErrBusy].
func (x *Experiment) RunJob(ctx context.Context, j Job) (*result.Result, error) {
	lock, err := x.enter()
	if err != nil {
		return nil, err
	}
	defer lock.unlock()
	concurrency := max(1, x.opts.Concurrency)
	workers, _ := share(runtime.GOMAXPROCS(0), slices.Repeat([]float64{1}, concurrency), x.opts.Workers, concurrency)
	return x.runJob(ctx, j, machinery{workers: workers, together: concurrency})
}

// party is some jobs at work together.
type party struct {
	x                    *Experiment
	workers, concurrency int
	results              []*result.Result
	errs                 []error
}

// run runs the jobs with the given indices.
func (p *party) run(ctx context.Context, jobs []Job, indices []int) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range p.concurrency {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() == nil { // a run that was not begun leaves nothing
					p.results[i], p.errs[i] = p.x.runJob(ctx, jobs[i], machinery{workers: p.workers, together: 1})
				}
			}
		})
	}
	for _, i := range indices {
		next <- i
	}
	close(next)
	wg.Wait()
}

// collect drops the runs without a result and joins the errors.
func (p *party) collect(ctx context.Context) ([]*result.Result, error) {
	var got []*result.Result
	done := 0
	for _, r := range p.results {
		if r != nil {
			got = append(got, r)
			if r.Outcome.State != result.Interrupted {
				done++
			}
		}
	}
	err := errors.Join(p.errs...)
	if ctx.Err() != nil && done < len(p.results) {
		how := "Nothing was saved. Set an output folder to be able to resume"
		if out := p.x.opts.Out; out != "" {
			how = "Continue with `ocl run --resume " + out + "`"
		}
		err = errors.Join(err, fmt.Errorf("experiment: interrupted: %d of %d runs are done. %s: %w", done, len(p.results), how, ctx.Err()))
	}
	return got, err
}

// PanicError is a panic in a run: a bug of ocl, reported with the place where it happened.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic: %v. This is a bug in ocl; please report it with the config", e.Value)
}

// run is one job while it runs: its parts, and the loop over the stream. It belongs to one goroutine.
type run struct {
	x   *Experiment
	job Job
	ev  Events
	on  machinery

	stream  view
	net     *nn.Network
	ws      *nn.Workspace
	learner ocl.Learner
	tests   evaluator
	plan    Plan

	at    position
	found record

	desk  desk
	begun bool // it has told that it begins; what fails before has no step
}

// machinery is what a run may use of the machine.
type machinery struct {
	workers int
	// together is how many runs, this one included, the caller says are at work at once; 1 where it leaves the count to us.
	together int
	timed    bool   // see Place
	place    *Place // nil is the folder of the experiment
}

// taskNumber is the number in the whole stream, from 1, of the task under way, or of the last one at the end.
func (r *run) taskNumber() int {
	return r.stream.Original(min(r.at.task, len(r.stream.Info().Tasks)-1)) + 1
}

// runJob runs a job in its folder. It adds method and seed to errors and panics, and task and step once the run has begun.
func (x *Experiment) runJob(ctx context.Context, j Job, on machinery) (res *result.Result, err error) {
	r := &run{x: x, job: j, on: on}
	err = caught(func() (err error) {
		switch {
		case on.place != nil:
			r.ev = on.place.Events
		case x.opts.Events != nil:
			r.ev = x.opts.Events(j)
		}
		res, err = r.whole(ctx)
		return err
	})
	if p := new(PanicError); errors.As(err, &p) {
		res = nil
	}
	err = errors.Join(err, caught(func() error { r.close(); return nil }))
	if err != nil {
		at := ""
		if r.begun {
			at = fmt.Sprintf(" task %d, step %d:", r.taskNumber(), r.at.step)
		}
		err = fmt.Errorf("experiment: %s, seed %d:%s %w", j.Name(), j.Seed, at, err)
	}
	if r.ev.End != nil {
		err = errors.Join(err, caught(func() error { r.ev.End(j, res, err); return nil }))
	}
	return res, err
}

// caught calls f and turns a panic into an error with the stack.
func caught(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *checkpoint.Panic: // of the goroutine that wrote
			err = &PanicError{Value: v, Stack: v.Stack}
		default:
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// whole is the run from its parts to its result.
func (r *run) whole(ctx context.Context) (*result.Result, error) {
	if err := r.build(); err != nil {
		return nil, err
	}
	if r.desk.folder != "" {
		kept, err := r.openFolder()
		if err != nil {
			return nil, err
		}
		if kept != nil {
			r.at.step, r.plan.Kept = r.plan.Steps, true
			r.begin()
			r.note(fmt.Sprintf("%s is already %s; its result is kept", r.job.Folder, kept.Outcome.State))
			return kept, nil
		}
	} else if err := r.inherit(); err != nil {
		return nil, err
	}
	r.begin()
	r.x.crowd.join(r)
	defer r.x.crowd.leave(r)
	return r.conclude(r.loop(ctx))
}

// build wires the parts of the run from its config. Random choices come from sources named after their use.
func (r *run) build() error {
	c := r.job.Config
	var err error
	if r.stream, err = r.x.newStream(c); err != nil {
		return err
	}
	if f := r.x.opts.hooks.stream; f != nil {
		r.stream = f(r.stream)
	}
	info := r.stream.Info()
	if r.net, err = newNetwork(info, c, r.x.parent); err != nil {
		return err
	}
	r.x.start.into(r.net, r.job.Method)
	r.ws = r.net.NewWorkspace(r.on.workers)
	if r.learner, err = newLearner(r.net, r.ws, info, c); err != nil {
		return err
	}
	if f := r.x.opts.hooks.learner; f != nil {
		r.learner = f(r.learner, r.net)
	}
	if r.tests, err = newEvaluator(c, r.stream, r.learner, r.x.before().Learned); err != nil {
		return err
	}
	r.tests.tested = r.ev.Tested
	r.found = newRecord(len(c.Classifiers), info)
	r.found.together, r.found.timed = r.on.together, r.on.timed
	r.found.started = time.Now().UTC().Format(time.RFC3339)
	r.at.task = r.stream.Start()
	r.plan = r.x.newPlan(r.stream, r.job)
	if w, ok := r.learner.(ocl.Watched); ok {
		w.Watch(r.ev.Working)
	}
	switch p := r.on.place; {
	case p != nil:
		r.desk.folder, r.desk.held, r.desk.permit = p.Folder, p.Locked, p.Permit
	case r.x.opts.Out != "":
		r.desk.folder = filepath.Join(r.x.opts.Out, r.job.Folder)
	}
	return nil
}

// countTogether notes how many runs were at work with this one so far, in this process and in earlier ones.
func (r *run) countTogether() {
	r.found.together = max(r.found.together, r.on.together, r.x.crowd.of(r))
	r.found.timed = r.found.timed && r.on.timed && r.found.together == 1
}

func (r *run) close() {
	if r.ws != nil {
		defer r.ws.Close()
	}
	r.desk.close()
}

func (r *run) begin() {
	r.begun = true
	c, info := r.job.Config, r.stream.Info()
	r.plan.StepsDone, r.plan.TestsDone = r.at.step, r.found.tested(info)
	r.plan.Evaluating = r.at.phase > between && evaluatedAfter(c.Eval, r.at.task, len(info.Tasks))
	if r.ev.Begin != nil {
		r.ev.Begin(r.job, info, r.plan)
	}
}

func (r *run) note(text string) {
	if r.ev.Note != nil {
		r.ev.Note(text)
	}
}

// openFolder claims the folder of the run. It returns the result if the run has ended before; otherwise the run
// continues from its newest checkpoint that is not damaged. Without a checkpoint it saves the state at step 0, so that
// a full disk is noticed before the training begins.
func (r *run) openFolder() (kept *result.Result, err error) {
	d := &r.desk
	if kept, err = d.claim(r.job); kept != nil || err != nil {
		return kept, err
	}
	if d.store, err = openSnapshots(filepath.Join(d.folder, CheckpointDir), r.x.opts.interval(), d.permit); err != nil {
		return nil, fmt.Errorf("%w. Use --out to choose a folder that can be written", err)
	}
	d.store.told, d.store.note, d.store.patient = r.ev.Checkpointed, r.note, r.x.opts.hooks.checkpointSteps > 0
	length, found, err := r.load()
	if err == nil && !found {
		err = r.x.start.absent
	}
	if err != nil {
		return nil, err
	}
	whole, err := d.openJournal(length, r.job)
	if err != nil {
		return nil, err
	}
	if !whole {
		r.note(fmt.Sprintf("%s: the events of the first %d steps are missing. The results do not depend on them", filepath.Join(d.folder, EventsFile), r.at.step))
	}
	d.store.taken = time.Now()
	if r.at.phase == waiting && r.at.step == 0 {
		if err := r.save(); err != nil {
			return nil, err
		}
		return nil, d.store.wait()
	}
	return nil, nil
}
