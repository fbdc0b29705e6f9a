package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"ocl"
	"ocl/config"
	"ocl/data/embed"
	"ocl/internal/count"
	"ocl/internal/escape"
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

// planned has the facts that --dry-run prints about the runs that differ in their seeds alone.
type planned struct {
	Method          string   `json:"method"` // with its tricks
	Data            string   `json:"data"`
	Memory          int      `json:"memory"`
	Seeds           []uint64 `json:"seeds"`
	Folders         []string `json:"folders"`
	Timing          bool     `json:"timing"`
	Tuned           bool     `json:"tuned"` // before the run; steps and work are with the trials
	After           string   `json:"after"` // the job that tunes for these
	Steps           int      `json:"steps"` // of a run
	TestSamples     int      `json:"test_samples"`
	FLOPs           float64  `json:"flops"`
	MemoryBytes     int64    `json:"memory_bytes"`     // estimated peak of a run
	CheckpointBytes int64    `json:"checkpoint_bytes"` // of one; a run at work has two
	Experts         int      `json:"experts"`          // networks that the learner makes at most; 0 of most methods
	// estimated for the embeddings that no cache has, once for all runs
	Embedding float64 `json:"embedding_seconds"`
	// estimated for what is left of a run, on the machine or, of a study, on one core
	Seconds float64 `json:"seconds"`
	Done    int     `json:"done"`  // runs that --out has the results of
	Taken   int     `json:"taken"` // runs whose results --results has

	left float64 // floating-point operations of all its runs that are not done
	x    *experiment.Experiment
	run  experiment.Job
}

// withPlanned is a list with a run more, which is counted with those that differ from it in their seeds alone and have
// as many steps.
func withPlanned(list []*planned, one planned) []*planned {
	i := slices.IndexFunc(list, func(p *planned) bool {
		return p.x == one.x && p.Method == one.Method && p.Steps == one.Steps && p.Timing == one.Timing &&
			(p.After == "") == (one.After == "")
	})
	if i < 0 {
		return append(list, &one)
	}
	p := list[i]
	p.Seeds, p.Folders, p.left = append(p.Seeds, one.Seeds...), append(p.Folders, one.Folders...), p.left+one.left
	p.Done, p.Taken = p.Done+one.Done, p.Taken+one.Taken
	return list
}

// plan prints what `ocl run` would do. The time is that of a short trial of each method, which writes nothing.
func (f *runFlags) plan(ctx context.Context, w, notes io.Writer, cfg config.Config) error {
	show, embedding := newOpening(notes, f.quiet), time.Duration(0)
	x, err := experiment.Open(ctx, cfg, experiment.Options{Out: f.opts.Out, Force: f.opts.Force, Workers: f.opts.Workers,
		Progress: show.work, ReadOnly: true, Embedding: func(w embed.Work) error {
			embedding = w.Time()
			return show.embedding(w)
		}})
	if err == nil {
		err = f.keepsNetwork(x)
	}
	if err != nil {
		return cmp.Or(stopped(ctx), unfit(err)) // opening the data may be what was interrupted
	}
	return f.planOf(ctx, w, notes, x, embedding)
}

// planOf is plan with an experiment that is open, whose embeddings will take so long to make.
func (f *runFlags) planOf(ctx context.Context, w, notes io.Writer, x *experiment.Experiment,
	embedding time.Duration) error {
	if err := x.CheckFolder(); err != nil {
		return err
	}
	for _, note := range x.Notes() {
		fmt.Fprintln(notes, escape.Line(note))
	}
	var runs []*planned
	var costs []float64
	var plans []experiment.Plan
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
		one := planned{Method: job.Name(), Data: job.Config.Data.Name, Memory: job.Config.Memory, Seeds: []uint64{job.Seed},
			Folders: []string{job.Folder}, Steps: p.Steps,
			TestSamples: p.TestSamples, FLOPs: p.FLOPs(), MemoryBytes: p.MemoryBytes, CheckpointBytes: p.CheckpointBytes,
			Experts:   p.Experts,
			Embedding: embedding.Seconds(), x: x, run: job}
		if found.Ended() {
			one.Done = 1
		} else {
			one.left = p.Left(found)
		}
		costs, plans = append(costs, one.left), append(plans, p)
		runs = withPlanned(runs, one)
	}
	if _, _, err := experiment.ShareMemory(runtime.GOMAXPROCS(0), costs, plans, f.opts.Workers,
		f.opts.Concurrency); err != nil {
		return unfit(err)
	}
	noteBusy(notes)
	if err := estimate(ctx, runs, f.opts.Workers); err != nil {
		return err
	}
	return f.json.printOr(w, runs, escape.Lines(planText(runs, f.opts.Out)))
}

// noteBusy notes that other programs use the machine, which makes an estimate too long. It says nothing where they do
// not, or where the system does not tell. It is asked before the trials, which use the machine too.
func noteBusy(notes io.Writer) {
	if text, err := input.ReadFile("/proc/loadavg", input.Want{Most: 1 << 10}); err == nil { // Linux alone has it
		fmt.Fprint(notes, busyText(string(text), runtime.NumCPU()))
	}
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

// estimate estimates the seconds of the runs by short trials of their methods.
func estimate(ctx context.Context, runs []*planned, workers int) error {
	clock := timer{workers: workers}
	for _, p := range runs {
		if p.open() == 0 {
			continue
		}
		speed, err := clock.speed(ctx, p.x, p.run.Method)
		if err != nil {
			return err
		}
		p.Seconds = p.left / float64(max(1, p.open())) / speed
	}
	return stopped(ctx)
}

// open is the number of runs that are still to be done.
func (p *planned) open() int { return len(p.Seeds) - p.Done - p.Taken }

// stopped is an error where the person has interrupted the command.
func stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted before the plan was ready: %w", err)
	}
	return nil
}

// planTable lists planned runs.
func planTable(runs []*planned) table {
	t := table{head: []string{"method", "data", "memory", "runs", "steps", "RAM", "time each"},
		right: []bool{false, false, true, true, true, true, true}}
	for _, p := range runs {
		name, memory, each := p.Method, "–", count.Duration(p.Seconds)
		if p.Memory > 0 {
			memory = count.Number(p.Memory)
		}
		if p.Timing {
			name += " (timed)"
		}
		switch {
		case p.After != "":
			name += " (tuned by another)"
		case p.Tuned:
			name += " (with tuning)"
		}
		if p.open() == 0 {
			each = "done"
		}
		t.rows = append(t.rows, []string{name, p.Data, memory, count.Number(len(p.Seeds)), count.Number(p.Steps),
			count.Bytes(p.MemoryBytes), each})
	}
	return t
}

// planText is the plan of `ocl run`.
func planText(runs []*planned, out string) string {
	text := planTable(runs).String() + "\n"
	total, all, left, experts := 0.0, 0, 0, 0
	for _, p := range runs {
		total += float64(p.open()) * p.Seconds
		all, left, experts = all+len(p.Seeds), left+p.open(), max(experts, p.Experts)
	}
	if kept := all - left; kept > 0 {
		text += fmt.Sprintf("%s has the results of %d of %s, which are kept.\n", out, kept, count.Of(all, "run"))
	}
	if experts > 0 {
		text += fmt.Sprintf("Times and memory of cndpm are those of as many experts as there can be, up to %d, which are trained for most of the time. "+
			"A run with fewer takes less.\n", experts)
	}
	made := ""
	if e := runs[0].Embedding; e > 0 && left > 0 {
		total += e
		made = fmt.Sprintf(", of which the embeddings take %s", count.Duration(e))
	}
	return text + fmt.Sprintf("About %s for %s, one after the other, on this machine%s. Nothing was written.\n",
		count.Duration(total), count.Of(left, "run"), made)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// timer measures the speed of methods in short trials, each once.
type timer struct {
	workers int
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

// speed is the floating-point operations a second of a method on the data of an experiment. Preparations, predictions
// and what tricks add are taken to have the same speed.
func (t *timer) speed(ctx context.Context, x *experiment.Experiment, name string) (float64, error) {
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
	cfg.Eval, cfg.EvalEvery = config.EvalFinal, 0
	if cfg.Memory == 0 {
		cfg.Memory = config.DefaultMemory
	}
	shrink(&cfg)
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
func (t *timer) trial(ctx context.Context, x *experiment.Experiment, cfg config.Config) (step time.Duration,
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
	y, err := x.With(cfg, experiment.Options{Workers: t.workers,
		Events: func(experiment.Job) experiment.Events { return events }})
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
