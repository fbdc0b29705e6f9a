package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ocl"
	"ocl/config"
	"ocl/experiment"
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
	Seconds      float64 `json:"seconds"`      // estimated, with the machine to itself
}

// plan prints what `ocl run` would do. The time is that of a short trial of each method, which writes nothing.
func (f *runFlags) plan(ctx context.Context, w, notes io.Writer, cfg config.Config) error {
	x, err := experiment.Open(ctx, cfg, experiment.Options{Workers: f.opts.Workers, DataDir: f.opts.DataDir, Progress: newOpening(notes).work})
	if errors.Is(err, experiment.ErrUnfit) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	for _, note := range x.Notes() {
		fmt.Fprintln(notes, note)
	}
	speeds := map[string]float64{}
	var runs []planned
	for _, job := range x.Jobs() {
		if err := stopped(ctx); err != nil {
			return err
		}
		p, err := x.Plan(job)
		if err != nil {
			return err
		}
		timed, err := trialMethod(job.Method)
		if err != nil {
			return err
		}
		if _, known := speeds[timed]; !known {
			if speeds[timed], err = f.speed(ctx, x, timed); err != nil {
				return err
			}
		}
		runs = append(runs, planned{job.Folder, p.Steps, p.TestSamples, p.FLOPsPerStep, p.MemoryBytes,
			p.FLOPs() / speeds[timed]})
	}
	if err := stopped(ctx); err != nil {
		return err
	}
	if f.json {
		return printJSON(w, runs)
	}
	return printPlan(w, runs)
}

// stopped is an error where the person has interrupted the command.
func stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted before the plan was ready: %w", err)
	}
	return nil
}

func printPlan(w io.Writer, runs []planned) error {
	t := table{head: []string{"run", "steps", "images tested", "GFLOP per step", "memory", "time"},
		right: []bool{false, true, true, true, true, true}}
	total := 0.0
	for _, r := range runs {
		total += r.Seconds
		t.rows = append(t.rows, []string{r.Run, thousands(int64(r.Steps)), thousands(int64(r.TestSamples)),
			fmt.Sprintf("%.2f", float64(r.FLOPsPerStep)/1e9), byteCount(r.MemoryBytes), duration(seconds(r.Seconds))})
	}
	if err := t.write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nAbout %s for %s, one after the other, on this machine. Nothing was written.\n",
		duration(seconds(total)), plural(len(runs), "run", "runs"))
	return err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// trialMethod is the method that is timed in place of another. Steps that do not train, or do less in the first task, say
// nothing about the time; a method is timed instead that has as many samples in a step and trains from the first step.
func trialMethod(name string) (string, error) {
	info, err := method.Lookup(name)
	switch {
	case err != nil:
		return "", err
	case info.Deferred || info.TaskBoundaries && !info.UsesMemory:
		return "finetune", nil
	case info.TaskBoundaries:
		return "er", nil
	}
	return name, nil
}

// speed is the floating-point operations a second in a short trial. Preparations, predictions and what tricks add are taken
// to have the same speed.
func (f *runFlags) speed(ctx context.Context, x *experiment.Experiment, name string) (float64, error) {
	cfg := x.Config()
	cfg.Methods, cfg.Runs, cfg.Classifiers = []string{name}, 1, []string{config.ClassifierHead}
	cfg.Tricks = []string{config.NoTrick}
	cfg.Eval, cfg.EvalEvery = config.EvalFinal, 0
	if cfg.Memory == 0 {
		cfg.Memory = config.DefaultMemory
	}
	step, plan, err := f.trial(ctx, x, cfg)
	if err != nil {
		return 0, err
	}
	return float64(plan.FLOPsPerStep) / max(step.Seconds(), 1e-9), nil
}

// trial learns the beginning of the stream with one method. It returns the mean time of a step and the plan of the run.
func (f *runFlags) trial(ctx context.Context, x *experiment.Experiment, cfg config.Config) (step time.Duration, plan experiment.Plan, err error) {
	timed, cancel := context.WithCancel(ctx)
	defer cancel()
	steps, begun, last := 0, time.Time{}, time.Time{}
	opts := experiment.Options{Workers: f.opts.Workers, DataDir: f.opts.DataDir}
	opts.Events = func(experiment.Job) experiment.Events {
		return experiment.Events{Begin: func(_ experiment.Job, _ ocl.StreamInfo, p experiment.Plan) { plan = p }, StepEnd: func(int, ocl.StepStats) {
			steps++
			last = time.Now()
			if steps == trialSkipped {
				begun = last
			}
			if steps > trialSkipped && last.Sub(begun) >= trialFor {
				cancel()
			}
		}}
	}
	y, err := x.With(cfg, opts) // over the data that are open
	if err != nil {
		return 0, plan, err
	}
	began := time.Now()
	if _, err := y.Run(timed); err != nil && !errors.Is(err, context.Canceled) {
		return 0, plan, err
	}
	if err := stopped(ctx); err != nil { // and not by the clock of the trial
		return 0, plan, err
	}
	if steps <= trialSkipped {
		return last.Sub(began) / time.Duration(max(steps, 1)), plan, nil
	}
	return last.Sub(begun) / time.Duration(steps-trialSkipped), plan, nil
}
