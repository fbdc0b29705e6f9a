package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ocl"
	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/train"
	"ocl/internal/count"
	"ocl/method"
)

const (
	// trialSkipped steps come first and are not timed: buffers are made and the memory gets its first samples.
	trialSkipped = 5
	// trialFor is how long each method is timed.
	trialFor = time.Second
)

// planned is what --dry-run prints about a run.
type planned struct {
	Run          string  `json:"run"` // its folder's name
	Steps        int     `json:"steps"`
	TestSamples  int     `json:"test_samples"`
	FLOPsPerStep int64   `json:"flops_per_step"`
	MemoryBytes  int64   `json:"memory_bytes"` // estimated peak
	Seconds      float64 `json:"seconds"`      // estimated for what is left, with the machine to itself
	State        string  `json:"state"`        // of the run in --out; "" where nothing is there
	StepsDone    int     `json:"steps_done"`   // of the run in --out
	Experts      int     `json:"experts"`      // networks that the learner makes at most; 0 of most methods
}

// plan prints what `ocl run` would do. The time is that of a short trial of each method, which writes nothing.
func (f *runFlags) plan(ctx context.Context, w, notes io.Writer, cfg config.Config) error {
	x, err := experiment.Open(ctx, cfg, experiment.Options{Out: f.opts.Out, Force: f.opts.Force, Workers: f.opts.Workers, Progress: newOpening(notes).work, ReadOnly: true})
	if err != nil {
		return cmp.Or(stopped(ctx), unfit(err)) // opening the data may be what was interrupted
	}
	return f.planOf(ctx, w, notes, x)
}

// planOf is plan with an experiment that is open.
func (f *runFlags) planOf(ctx context.Context, w, notes io.Writer, x *experiment.Experiment) error {
	if err := x.CheckFolder(); err != nil {
		return err
	}
	for _, note := range x.Notes() {
		fmt.Fprintln(notes, note)
	}
	clock := timer{workers: f.opts.Workers}
	var runs []planned
	for _, job := range x.Jobs() {
		if err := stopped(ctx); err != nil {
			return err
		}
		p, err := x.Plan(job)
		if err != nil {
			return err
		}
		found, err := x.Found(job)
		if err != nil {
			return err
		}
		left := 0.0
		if !found.Ended() {
			speed, err := clock.speed(ctx, x, job.Method)
			if err != nil {
				return err
			}
			left = p.Left(found) / speed
		}
		runs = append(runs, planned{job.Folder, p.Steps, p.TestSamples, p.FLOPsPerStep, p.MemoryBytes, left, found.State, found.Step, p.Experts})
	}
	if err := stopped(ctx); err != nil {
		return err
	}
	if f.json.given {
		return f.json.print(w, runs)
	}
	return printPlan(w, runs, f.opts.Out)
}

// stopped is an error where the person has interrupted the command.
func stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted before the plan was ready: %w", err)
	}
	return nil
}

// printPlan prints the runs, and where out is a folder also what it has of each.
func printPlan(w io.Writer, runs []planned, out string) error {
	t := table{head: []string{"run", "steps", "images tested", "GFLOP per step", "memory", "time"},
		right: []bool{false, true, true, true, true, true, false}}
	if out != "" {
		t.head = append(t.head[:5], "time left", "so far")
	}
	total, left := 0.0, 0
	for _, r := range runs {
		total += r.Seconds
		row := []string{r.Run, count.Number(r.Steps), count.Number(r.TestSamples),
			fmt.Sprintf("%.2f", float64(r.FLOPsPerStep)/1e9), count.Bytes(r.MemoryBytes), count.Duration(r.Seconds)}
		if out != "" {
			row = append(row, r.soFar())
		}
		t.rows = append(t.rows, row)
		if !r.ended() {
			left++
		}
	}
	if err := t.write(w); err != nil {
		return err
	}
	have := ""
	if kept := len(runs) - left; kept > 0 {
		have = fmt.Sprintf("%s has the results of %d of %s, which are kept.\n", out, kept, count.Of(len(runs), "run"))
	}
	most := 0
	for _, r := range runs {
		most = max(most, r.Experts)
	}
	if most > 0 {
		have += fmt.Sprintf("Times and memory of cndpm are those of as many experts as there can be, up to %d, which are trained for most of the time. "+
			"A run with fewer takes less.\n", most)
	}
	_, err := fmt.Fprintf(w, "\n%sAbout %s for %s, one after the other, on this machine. Nothing was written.\n",
		have, count.Duration(total), count.Of(left, "run"))
	return err
}

func (p planned) ended() bool { return train.Found{State: p.State}.Ended() }

// soFar says how far a run is.
func (p planned) soFar() string {
	switch {
	case p.State == "":
		return "not begun"
	case p.ended():
		return p.State
	}
	return fmt.Sprintf("%s, step %s", p.State, count.Number(p.StepsDone))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// timer measures the speed of methods in short trials, each once.
type timer struct {
	workers int
	speeds  map[string]float64
}

// trialMethod returns the method that is timed for a method. Steps that do not train, or do less in the first task, cannot be used
// for an estimate. For such methods it returns one that has as many samples in a step and trains from the first step on.
func trialMethod(name string) (string, error) {
	info, err := method.Lookup(name)
	switch {
	case err != nil:
		return "", err
	case info.Deferred || info.OwnNetworks || info.TaskBoundaries && !info.UsesMemory:
		return "finetune", nil
	case info.TaskBoundaries:
		return "er", nil
	}
	return name, nil
}

// speed is the floating-point operations a second of a method on the data of an experiment. Preparations, predictions and what tricks
// add are taken to have the same speed.
func (t *timer) speed(ctx context.Context, x *experiment.Experiment, name string) (float64, error) {
	name, err := trialMethod(name)
	if err != nil {
		return 0, err
	}
	cfg := x.Config()
	like := fmt.Sprint(name, cfg.Data, cfg.Network, cfg.Stream.Batch, cfg.Replay.Batch, cfg.Engine)
	if speed, known := t.speeds[like]; known {
		return speed, nil
	}
	cfg.Methods, cfg.Runs, cfg.Classifiers = []string{name}, 1, []string{config.ClassifierHead}
	cfg.Tricks = []string{config.NoTrick}
	cfg.Parent = config.Parent{} // a parent's state does not change the time of a step
	cfg.Eval, cfg.EvalEvery = config.EvalFinal, 0
	if cfg.Memory == 0 {
		cfg.Memory = config.DefaultMemory
	}
	step, plan, err := t.trial(ctx, x, cfg)
	if err != nil && cfg.Network.Name != "mlp" { // images that are too small for it, of a method with networks of its own
		cfg.Network.Name = "mlp"
		step, plan, err = t.trial(ctx, x, cfg)
	}
	if err != nil {
		return 0, err
	}
	if t.speeds == nil {
		t.speeds = map[string]float64{}
	}
	t.speeds[like] = float64(plan.FLOPsPerStep) / max(step.Seconds(), 1e-9)
	return t.speeds[like], nil
}

// trial learns the beginning of the stream with one method. It returns the mean time of a step, without that of getting its images:
// a dry run decodes them, and a run has them in a cache. It also returns the plan of the run.
func (t *timer) trial(ctx context.Context, x *experiment.Experiment, cfg config.Config) (step time.Duration, plan experiment.Plan, err error) {
	timed, cancel := context.WithCancel(ctx)
	defer cancel()
	var begun, counted time.Time // the step under way, and the first one that counts
	var took []time.Duration
	events := experiment.Events{
		Begin:     func(_ experiment.Job, _ ocl.StreamInfo, p experiment.Plan) { plan = p },
		StepBegin: func() { begun = time.Now() },
		StepEnd: func(int, ocl.StepStats) {
			took = append(took, time.Since(begun))
			switch {
			case len(took) == trialSkipped:
				counted = time.Now()
			case len(took) > trialSkipped && time.Since(counted) >= trialFor:
				cancel()
			}
		},
	}
	y, err := x.With(cfg, experiment.Options{Workers: t.workers, Events: func(experiment.Job) experiment.Events { return events }}) // over the data that are open
	if err != nil {
		return 0, plan, err
	}
	if _, err := y.Run(timed); err != nil && !errors.Is(err, context.Canceled) {
		return 0, plan, err
	}
	if err := stopped(ctx); err != nil { // and not by the clock of the trial
		return 0, plan, err
	}
	switch n := len(took); {
	case n > trialSkipped:
		took = took[trialSkipped:]
	case n > 1: // the stream is short, such as one that adds a class
		took = took[1:]
	case n == 0: // the first step diverged
		return 0, plan, nil
	}
	for _, t := range took {
		step += t
	}
	return step / time.Duration(len(took)), plan, nil
}
