package plan

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"ocl"
	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/learn/method"
	"ocl/run/experiment"
)

const (
	// trialSkipped steps come first and are not timed: buffers are made and the memory gets its first samples.
	trialSkipped = 5
	// trialFor is how long each method is timed.
	trialFor = time.Second
	// busyFrom is the load of each core from which a machine is busy.
	busyFrom = 0.75
)

// Busy says that other programs use the machine, which makes an estimate too long; "" where they do not, or where the
// system does not tell. Ask it before the trials, which use the machine too.
func Busy() string {
	text, err := input.ReadFile("/proc/loadavg", input.Want{Most: 1 << 10}) // Linux alone has it
	if err != nil {
		return ""
	}
	return busyText(string(text), runtime.NumCPU())
}

// busyText is the note for what /proc/loadavg says, which begins with how many threads ran or waited for a core in the
// last minute; "" is none.
func busyText(loads string, cores int) string {
	first, _, _ := strings.Cut(loads, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || load < busyFrom*float64(cores) {
		return ""
	}
	return fmt.Sprintf("This machine is busy: in the last minute %.1f threads on average shared %s. Without other programs, the runs take less time than this estimate.\n",
		load, count.Of(cores, "core"))
}

// Stopped is an error where the person has interrupted the planning.
func Stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted before the plan was ready: %w", err)
	}
	return nil
}

// errDiverged says that a trial has no step whose time could be taken.
var errDiverged = errors.New("the first step diverges")

// Timer measures the speed of methods in short trials, each once. A trial writes nothing.
type Timer struct {
	Workers int // goroutines of a trial
	speeds  map[string]float64
}

// trialMethod returns the method that is timed for a method. Steps that do not train, or do less in the first task,
// cannot be used for an estimate. For such methods it returns one that has as many samples in a step and trains from
// the first step on. Steps of a method without gradient have too few operations to say how fast its predictions are, so
// a linear network is timed for it.
func trialMethod(info method.Info) string {
	switch {
	case info.Deferred || info.OwnNetworks || info.Solves != nil || info.TaskBoundaries && !info.UsesMemory:
		return "finetune"
	case info.TaskBoundaries:
		return "er"
	}
	return info.Name
}

// Speed is the floating-point operations a second of a method on the data of an experiment. Preparations, predictions
// and what tricks add are taken to have the same speed.
func (t *Timer) Speed(ctx context.Context, x *experiment.Experiment, name string) (float64, error) {
	info, err := method.Lookup(name)
	if err != nil {
		return 0, err
	}
	cfg := x.Config()
	if info.Solves != nil { // see trialMethod
		cfg.Network.Name = "linear"
	}
	name = trialMethod(info)
	like := fmt.Sprint(name, cfg.Data, cfg.Network, cfg.Stream.Batch, cfg.Replay.Batch, cfg.Engine)
	if speed, known := t.speeds[like]; known {
		return speed, nil
	}
	cfg.Methods, cfg.Runs, cfg.Classifiers = []string{name}, 1, []string{config.ClassifierHead}
	cfg.Tricks = []string{config.NoTrick}
	cfg.Parent = config.Parent{} // a parent's state does not change the time of a step
	cfg.Eval, cfg.EvalEvery, cfg.EvalSample = config.EvalFinal, 0, 0
	cfg.EvalOnline, cfg.EvalAhead, cfg.EvalProbe = false, 0, 0
	if cfg.Memory == 0 {
		cfg.Memory = config.DefaultMemory
	}
	shrink(&cfg)
	step, plan, err := t.trial(ctx, x, cfg)
	// images that are too small for it, of a method with networks of its own
	if err != nil && !errors.Is(err, errDiverged) && cfg.Network.Name != "mlp" {
		cfg.Network.Name = "mlp"
		step, plan, err = t.trial(ctx, x, cfg)
	}
	if errors.Is(err, errDiverged) {
		return 0, fmt.Errorf("plan: %s: %w, so that nobody can say how long its steps take. Use a smaller --lr", name, err)
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

// shrink makes what a trial takes small. A large network or batch has about the speed of a smaller one, in operations a
// second.
func shrink(c *config.Config) {
	const width, units, layers, batch = 64, 2000, 4, 100
	c.Stream.Batch, c.Replay.Batch = min(c.Stream.Batch, batch), min(c.Replay.Batch, batch)
	n := &c.Network
	if n.Width <= width && len(n.Hidden) <= layers && (len(n.Hidden) == 0 || slices.Max(n.Hidden) <= units) {
		return
	}
	n.Init, n.InitDigest = "", "" // it has weights of another shape
	n.Width, n.Hidden = min(n.Width, width), slices.Clone(n.Hidden[:min(len(n.Hidden), layers)])
	for i, h := range n.Hidden {
		n.Hidden[i] = min(h, units)
	}
}

// trial learns the beginning of the stream with one method. It returns the mean time of a step, without that of getting
// its images: a dry run decodes them, and a run has them in a cache. It also returns the plan of the run.
func (t *Timer) trial(ctx context.Context, x *experiment.Experiment, cfg config.Config) (step time.Duration,
	plan experiment.Plan, err error) {
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
	// over the data that are open
	y, err := x.With(cfg, experiment.Options{Workers: t.Workers,
		Events: func(experiment.Job) experiment.Events { return events }})
	if err != nil {
		return 0, plan, err
	}
	if _, err := y.Run(timed); err != nil && !errors.Is(err, context.Canceled) {
		return 0, plan, err
	}
	if err := Stopped(ctx); err != nil { // and not by the clock of the trial
		return 0, plan, err
	}
	switch n := len(took); {
	case n > trialSkipped:
		took = took[trialSkipped:]
	case n > 1: // the stream is short, such as one that adds a class
		took = took[1:]
	case n == 0:
		return 0, plan, errDiverged
	}
	for _, one := range took {
		step += one
	}
	return step / time.Duration(len(took)), plan, nil
}
