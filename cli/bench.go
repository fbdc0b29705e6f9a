package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/cli/internal/bench"
	"ocl/config"
	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/internal/processor"
	"ocl/learn/method"
	"ocl/run/build"
	"ocl/run/experiment"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of training and of predicting on this machine.",
		Example: `  ocl bench engine
  ocl bench engine --size 32 --layers
  ocl bench methods --method er,mir
  ocl bench predict
  ocl bench serve`,
	}
	return group(cmd, newBenchEngine(), newBenchMethods(), newBenchPredict(), newBenchServe())
}

// benchFlags are the flags of all benchmarks.
type benchFlags struct {
	seconds float64
	rounds  int
	workers int
	quiet   bool
	asJSON  jsonFlag
}

// add defines them, where seconds is the default and what is measured in them.
func (f *benchFlags) add(cmd *cobra.Command, seconds float64, what string, examples ...any) {
	flags := cmd.Flags()
	addWorkers(flags, &f.workers, "goroutines, and threads that measure the peak (default: one per processor)")
	flags.Float64Var(&f.seconds, "seconds", seconds, "S\t"+what+"; at least three rounds are made")
	flags.IntVar(&f.rounds, "repeat", 0, "N\tnumber of rounds, instead of a time (default: as many as --seconds allows)")
	addJSON(cmd, &f.asJSON, examples...)
	addQuiet(flags, &f.quiet)
}

// check refuses values that are out of range; others are further flags.
func (f *benchFlags) check(others ...rangeOf) error {
	return checkRanges(append(others, rangeOf{"seconds", f.seconds > 0, "more than 0"},
		rangeOf{"repeat", f.rounds >= 0, "at least 1, or 0 to measure for a time"})...)
}

// checkRanges refuses flags that are out of range.
func checkRanges(flags ...rangeOf) error {
	for _, c := range flags {
		if !c.ok {
			return usage(fmt.Errorf("--%s is out of range. Use %s", c.flag, c.want))
		}
	}
	return nil
}

// rangeOf says whether the value of a flag is in its range.
type rangeOf struct {
	flag string
	ok   bool
	want string
}

func (f *benchFlags) budget() time.Duration { return time.Duration(f.seconds * float64(time.Second)) }

// progress shows the rounds on a terminal; it is nil elsewhere.
func (f *benchFlags) progress(w io.Writer) *benchProgress {
	if f.quiet || !isTerminal(w) {
		return nil
	}
	return &benchProgress{w: w}
}

// newBenchNetwork is a command that measures the network; text prints its report.
func newBenchNetwork[R any](name string, sizes []int, seconds float64, example R,
	run func(context.Context, bench.Options) (*R, error), text func(*R) string) (*cobra.Command, *bench.Options) {
	var f benchFlags
	opts := &bench.Options{}
	cmd := &cobra.Command{Use: name, Args: exactly(), RunE: func(cmd *cobra.Command, _ []string) error {
		err := f.check(rangeOf{"size", len(opts.Sizes) > 0, "at least one size, such as 32"},
			rangeOf{"at-once", opts.AtOnce == 0 || opts.AtOnce >= 2 && opts.AtOnce <= limit.Concurrency,
				fmt.Sprintf("2 to %d, or 0 for no comparison", limit.Concurrency)})
		for _, s := range opts.Sizes {
			if s < bench.SmallestSize || s > bench.LargestSize {
				err = usage(fmt.Errorf("--size: %d is out of range. Use %d to %d pixels", s, bench.SmallestSize, bench.LargestSize))
			}
		}
		if err != nil {
			return err
		}
		opts.Budget, opts.Rounds, opts.Workers = f.budget(), f.rounds, f.workers
		if progress := f.progress(cmd.ErrOrStderr()); progress != nil {
			opts.Round = progress.round
			defer progress.clear()
		}
		rep, err := run(cmd.Context(), *opts)
		if err != nil {
			return err
		}
		return f.asJSON.printOr(cmd.OutOrStdout(), rep, text(rep))
	}}
	cmd.Flags().IntSliceVar(&opts.Sizes, "size", sizes, "PIXELS,...\tsides of the images, each at least 25")
	f.add(cmd, seconds, "total time to measure", example)
	return cmd, opts
}

func newBenchEngine() *cobra.Command {
	cmd, opts := newBenchNetwork("engine", []int{32, 84, 128}, 30, bench.Report{}, bench.Engine, printBench)
	cmd.Short = "Measure the speed of a training step and of an evaluation, as shares of the machine's peak speed (FMA)."
	cmd.Example = `  ocl bench engine
  ocl bench engine --size 32 --layers
  OCL_KERNEL=avx2 ocl bench engine --size 32 --json steps
  OCL_CONV=direct ocl bench engine --layers`
	cmd.Long = "The network is the survey's reduced ResNet-18. A step is a forward and a backward pass on 10 incoming images, the same on 10 " +
		"replayed images, and one SGD update. An evaluation predicts 200 images. Peak, steps and evaluations are measured " +
		"in turn, and medians are printed; a line below them has machine, kernels and steps together. Run nothing else on the machine at the same time. OCL_KERNEL=avx512|avx2|neon|generic " +
		"chooses the kernels, and OCL_CONV=direct|winograd|table the algorithm of convolutions, for all commands. Without " +
		"them, the fastest are used."
	cmd.Flags().IntVar(&opts.AtOnce, "at-once", 0,
		"N\talso compare N runs at the same time, one worker each, with one run alone (default: no)")
	cmd.Flags().BoolVar(&opts.Layers, "layers", false, "also print the time of each layer in a step")
	return cmd
}

func newBenchPredict() *cobra.Command {
	cmd, _ := newBenchNetwork("predict", []int{32, 84}, 10, bench.PredictReport{}, bench.Predict, printBenchPredict)
	cmd.Short = "Measure how fast a trained network predicts: a single image at a time, and 200 at a time."
	cmd.Example = `  ocl bench predict
  ocl bench predict --size 32 --workers 2 --json all`
	cmd.Long = "The network is the survey's reduced ResNet-18 with 100 classes. It prints the median and the least time of each measurement. " +
		"The least time shows the machine without other work. cli/internal/bench/compare_predict.py compares with PyTorch and ONNX Runtime."
	return cmd
}

func newBenchMethods() *cobra.Command {
	var (
		f      benchFlags
		opts   bench.MethodOptions
		tricks []string
		steps  int
	)
	cmd := &cobra.Command{
		Use:   "methods [KEY=VALUE...]",
		Short: "Measure the time of a training step of each method, and the time of the network passes in that step.",
		Example: `  ocl bench methods
  ocl bench methods --method er,mir,gss --memory 1000
  ocl bench methods --method er,scr replay.batch=100
  ocl bench methods --method er replay.update=balanced
  ocl bench methods --trick 'lb,ss,kdc,kdc*,mi,ncm,rv'
  ocl bench methods --json methods --quiet`,
		Long: "A step is everything that a method does with an incoming batch of 10 images of 32×32. For GDumb it is one step of its " +
			"training, for Offline one of its batches. Options have their defaults, and replay batches have 10 samples, unless KEY=VALUE sets a key replay.… or method.…. Beside each method er takes " +
			"turns with its defaults: \"times er\" is the ratio of the times for a sample, and \"by passes\" that of the arithmetic of the passes. First the " +
			"memory is filled as a stream would fill it, which takes a while. Then, in a second task, two measurements alternate: five " +
			"steps, and five times only the passes and the update of the parameters. Medians are printed. The pass \"learn 10 + 10\" is forward " +
			"and backward on two batches, \"predict\" is forward in evaluation mode, \"score\" is forward by two networks, and " +
			"\"gradients\" is one gradient for each image. With --trick, steps of one method (--method, by default er) with each trick " +
			"alternate with steps without it. The median ratio of their times is printed beside the ratio that the passes predict. " +
			"For rv and ncm the end of the task is measured too, with the review or the class means and an evaluation of 21 images per " +
			"step; it is compared with the same evaluation without the trick. Run nothing else on the machine at the same time.",
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := benchSettings(args)
			if err != nil {
				return usage(err)
			}
			opts.Base = base
			err = f.check(rangeOf{"method", len(opts.Methods) > 0, "at least one method, such as er"},
				rangeOf{"memory", opts.Memory >= 50 && opts.Memory <= limit.BenchMemory,
					fmt.Sprintf("50 to %d", limit.BenchMemory)},
				rangeOf{"steps", steps >= 1 && steps <= limit.BenchSteps, fmt.Sprintf("1 to %d", limit.BenchSteps)})
			for _, name := range opts.Methods {
				if _, unknown := method.Lookup(name); unknown != nil && err == nil {
					err = usage(fmt.Errorf("--method: unknown method %q. %s", name, meantMethod(name)))
				}
			}
			if err != nil {
				return err
			}
			opts.Budget, opts.Rounds, opts.Workers = f.budget(), f.rounds, f.workers
			if progress := f.progress(cmd.ErrOrStderr()); progress != nil {
				opts.Progress = progress.method
				defer progress.clear()
			}
			if cmd.Flags().Changed("trick") {
				if !cmd.Flags().Changed("method") {
					opts.Methods = []string{"er"}
				}
				return benchTricks(cmd, &f, opts, tricks, steps)
			}
			rep, err := bench.Methods(cmd.Context(), opts)
			if err != nil {
				return err
			}
			return f.asJSON.printOr(cmd.OutOrStdout(), rep, printBenchMethods(rep))
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.Methods, "method", steppingMethods(),
		"NAME,...\tmethods to measure (default: all but those that make networks as they learn)")
	flags.Lookup("method").DefValue = "" // the usage says it
	flags.StringSliceVar(&tricks, "trick", nil, "NAME,...\ttricks, each compared with the method without it; + combines tricks")
	flags.IntVar(&opts.Memory, "memory", 5000, "N\tsamples in memory")
	flags.IntVar(&steps, "steps", 250, "N\twith --trick: steps with the trick, and without it, before the two alternate")
	f.add(cmd, 10, "time to measure each method, without --trick", bench.MethodsReport{}, bench.TricksReport{})
	return cmd
}

// steppingMethods are the methods that learn step by step with one network, or with sums.
func steppingMethods() (names []string) {
	for _, info := range method.Catalogue() {
		if !info.OwnNetworks {
			names = append(names, info.Name)
		}
	}
	return names
}

// benchSettings gives the settings of a method where KEY=VALUE sets some; nil where none does.
func benchSettings(args []string) (func(name string) method.Setup, error) {
	if len(args) == 0 {
		return nil, nil
	}
	c := config.Default()
	for _, arg := range args {
		key, value, is := strings.Cut(arg, "=")
		if !is || !strings.HasPrefix(key, "replay.") && !strings.HasPrefix(key, "method.") || key == "replay.passes" {
			return nil, fmt.Errorf("bench methods: %s is no setting of a step. Use a key replay.… or method.…, such as replay.batch=100", arg)
		}
		if err := experiment.Schema().Set(&c, key, value); err != nil {
			return nil, err
		}
	}
	return func(name string) method.Setup {
		one := c.Clone()
		one.Methods, one.Tricks = []string{name}, []string{config.NoTrick}
		return build.Setup(one)
	}, nil
}

// benchProgress redraws one line after each round.
type benchProgress struct{ w io.Writer }

func (p *benchProgress) round(round int, left time.Duration) {
	fmt.Fprintf(p.w, "\rround %d  %s left\x1b[K", round, duration(left))
}

func (p *benchProgress) method(m bench.MethodProgress) {
	if m.Filled >= 0 {
		fmt.Fprintf(p.w, "\r%s: %s samples in memory\x1b[K", m.Method, count.Number(m.Filled))
	} else {
		fmt.Fprintf(p.w, "\r%s: round %d  %s left\x1b[K", m.Method, m.Round, duration(m.Left))
	}
}

func (p *benchProgress) clear() {
	fmt.Fprint(p.w, "\r\x1b[K")
}

// benchLine is what a person sends who tells how fast a machine is.
func benchLine(rep *bench.Report) string {
	steps := make([]string, len(rep.Steps))
	for i, s := range rep.Steps {
		steps[i] = fmt.Sprintf("%d×%d %.1f ms", s.Size, s.Size, s.MS)
		if rep.PeakGFLOPS > 0 {
			steps[i] += " (" + percent(s.PeakShare) + " of the peak)"
		}
	}
	text := fmt.Sprintf("ocl %s, %s, %s/%s, %s, %s: step %s", release, processor.Name(), runtime.GOOS, runtime.GOARCH,
		rep.Kernel, count.Of(rep.Workers, "worker"), strings.Join(steps, ", "))
	if rep.PeakGFLOPS > 0 {
		text += fmt.Sprintf("; FMA peak %.1f GFLOP/s", rep.PeakGFLOPS)
	}
	return text
}

func printBench(rep *bench.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s, convolution %s, %s, FMA peak %.1f GFLOP/s\n\n", rep.Kernel, rep.Convolution,
		count.Of(rep.Workers, "worker"), rep.PeakGFLOPS)
	t := table{head: []string{">size", ">step, ms", ">GFLOP/s", ">of peak", ">evaluation, img/s", ">of peak"}}
	for i, s := range rep.Steps {
		e := rep.Evaluation[i]
		t.rows = append(t.rows, []string{fmt.Sprintf("%d×%d", s.Size, s.Size), fmt.Sprintf("%.1f", s.MS),
			fmt.Sprintf("%.1f", s.GFLOPS),
			percent(s.PeakShare), count.Number(int64(e.ImagesPerSecond + 0.5)), percent(e.PeakShare)})
	}
	b.WriteString(t.String())
	fmt.Fprintf(&b, "\n%s\n", benchLine(rep))
	for _, a := range rep.AtOnce {
		fmt.Fprintf(&b, "\n%d×%d: %d runs at the same time, one worker each, make %.2f times the steps of one run\n", a.Size,
			a.Size, a.Runs, a.Throughput)
	}
	for _, l := range rep.Layers {
		fmt.Fprintf(&b, "\n%d×%d by layer:\n", l.Size, l.Size)
		t := table{head: []string{"layer", "work", ">ms", ">of step", ">GFLOP/s", ">of peak"}}
		for _, p := range l.Parts {
			gflops, share := "–", "–"
			if p.GFLOPS > 0 {
				gflops, share = fmt.Sprintf("%.1f", p.GFLOPS), percent(p.PeakShare)
			}
			t.rows = append(t.rows, []string{p.Layer, p.Work, fmt.Sprintf("%.3f", p.MS), percent(p.Share), gflops, share})
		}
		b.WriteString(t.String())
	}
	return b.String()
}

func printBenchMethods(rep *bench.MethodsReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s, convolution %s, %s, FMA peak %.1f GFLOP/s, memory %s\n\n", rep.Kernel, rep.Convolution,
		count.Of(rep.Workers, "worker"), rep.PeakGFLOPS, count.Number(rep.Memory))
	t := table{head: []string{"method", ">step, ms", ">passes alone, ms", ">overhead", ">times er", ">by passes", "passes"}}
	var notes []string
	for _, m := range rep.Methods {
		alone, overhead, ratio, counted := "–", "–", "–", "–"
		if m.PassesMS > 0 {
			alone, overhead = fmt.Sprintf("%.1f", m.PassesMS), percent(m.Overhead)
		}
		if m.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", m.Ratio)
		}
		if m.Counted > 0 {
			counted = fmt.Sprintf("%.2f", m.Counted)
		}
		t.rows = append(t.rows, []string{m.Method, fmt.Sprintf("%.1f", m.MS), alone, overhead, ratio, counted,
			strings.Join(m.Passes, ", ")})
		if m.StoreMS > 0 {
			notes = append(notes, fmt.Sprintf("%s stores an incoming batch in %.3f ms; the step in the table is one of its training before an evaluation",
				m.Method, m.StoreMS))
		}
	}
	b.WriteString(t.String())
	for _, n := range notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	return b.String()
}

func printBenchPredict(rep *bench.PredictReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s, convolution %s, %s\n\n", rep.Kernel, rep.Convolution, count.Of(rep.Workers, "worker"))
	t := table{head: []string{">size", ">one image, ms", ">least", ">200 images, ms", ">least", ">img/s"}}
	for _, p := range rep.Predict {
		t.rows = append(t.rows, []string{fmt.Sprintf("%d×%d", p.Size, p.Size), fmt.Sprintf("%.2f", p.OneMS),
			fmt.Sprintf("%.2f", p.OneLeastMS),
			fmt.Sprintf("%.1f", p.BatchMS), fmt.Sprintf("%.1f", p.BatchLeastMS), count.Number(int64(p.ImagesPerSecond + 0.5))})
	}
	b.WriteString(t.String())
	return b.String()
}

// benchTricks measures the tricks of one method.
func benchTricks(cmd *cobra.Command, f *benchFlags, o bench.MethodOptions, texts []string, steps int) error {
	opts := bench.TrickOptions{Memory: o.Memory, Workers: o.Workers, Steps: steps, Rounds: o.Rounds, Progress: o.Progress,
		Base: o.Base}
	if len(o.Methods) != 1 {
		return usage(fmt.Errorf("--trick measures the tricks of one method, but %d are given. Give one --method",
			len(o.Methods)))
	}
	if steps < 1 {
		return usage(fmt.Errorf("--steps: %d is out of range. Use at least 1", steps))
	}
	opts.Method = o.Methods[0]
	info, err := method.Lookup(opts.Method)
	if err != nil {
		return usage(err)
	}
	if info.Deferred || info.Offline {
		return usage(fmt.Errorf("--trick cannot be measured with %s, as no trick changes its steps. Use --method er",
			info.Name))
	}
	for _, text := range texts {
		names, err := method.ParseTricks(text)
		if err == nil {
			err = errors.Join(info.CheckTricks(names)...)
		}
		if err != nil {
			return usage(fmt.Errorf("--trick: %w", err))
		}
		opts.Tricks = append(opts.Tricks, names)
	}
	rep, err := bench.Tricks(cmd.Context(), opts)
	if err != nil {
		return err
	}
	return f.asJSON.printOr(cmd.OutOrStdout(), rep, printBenchTricks(rep))
}

func printBenchTricks(rep *bench.TricksReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s, convolution %s, %s, memory %s; medians of %s of %s each\n\n", rep.Kernel, rep.Convolution,
		count.Of(rep.Workers, "worker"), count.Number(rep.Memory), count.Of(rep.Rounds, "turn"), count.Of(rep.Steps, "step"))
	t := table{head: []string{"method", ">step, ms", ">task's end, ms", ">ratio", ">by passes"}}
	end := func(ms float64) string {
		if ms == 0 {
			return "–"
		}
		return fmt.Sprintf("%.0f", ms)
	}
	t.rows = append(t.rows, []string{rep.Method, fmt.Sprintf("%.1f", rep.MS), end(rep.EndMS), "1", "1"})
	for _, c := range rep.Tricks {
		t.rows = append(t.rows, []string{rep.Method + "+" + c.Tricks, fmt.Sprintf("%.1f", c.MS), end(c.EndMS),
			fmt.Sprintf("%.3f", c.Ratio), fmt.Sprintf("%.3f", c.Counted)})
	}
	b.WriteString(t.String())
	return b.String()
}
