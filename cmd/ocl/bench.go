package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/bench"
	"ocl/internal/count"
	"ocl/method"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of training and of predicting on this machine.",
		Example: `  ocl bench engine
  ocl bench engine --size 32 --layers
  ocl bench methods --method er,mir
  ocl bench predict`,
	}
	return group(cmd, newBenchEngine(), newBenchMethods(), newBenchPredict())
}

func newBenchEngine() *cobra.Command {
	var (
		opts    bench.Options
		seconds float64
		quiet   bool
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Measure the speed of a training step and of an evaluation, as shares of the machine's peak speed (FMA).",
		Example: `  ocl bench engine
  ocl bench engine --size 32 --layers
  OCL_KERNEL=avx2 ocl bench engine --size 32 --json
  OCL_CONV=direct ocl bench engine --layers`,
		Long: "The network is the survey's reduced ResNet-18. A step is a forward and a backward pass on 10 incoming images, the same on 10 " +
			"replayed images, and one SGD update. An evaluation predicts 200 images. Peak, steps and evaluations are measured " +
			"in turn, and medians are printed. Run nothing else on the machine at the same time. OCL_KERNEL=avx512|avx2|generic " +
			"chooses the kernels, and OCL_CONV=direct|winograd|table the algorithm of convolutions, for all commands. Without " +
			"them, the fastest are used.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd, opts, seconds, quiet, asJSON, bench.Engine, printBench)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntSliceVar(&opts.Sizes, "size", []int{32, 84, 128}, "sides of the images, each at least 25")
	addWorkers(flags, &opts.Workers, "goroutines, and threads that measure the peak (default: one per processor)")
	flags.Float64Var(&seconds, "seconds", 30, "total time to measure; at least three rounds are made")
	flags.IntVar(&opts.Rounds, "repeat", 0, "number of rounds, instead of a time (default: as many as --seconds allows)")
	flags.IntVar(&opts.AtOnce, "at-once", 0, "also compare N runs at the same time, one worker each, with one run alone (default: no)")
	flags.BoolVar(&opts.Layers, "layers", false, "also print the time of each layer in a step")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.BoolVarP(&quiet, "quiet", "q", false, "do not show progress")
	annotate(flags, "Flags", map[string]string{"size": "PIXELS,...", "workers": "N", "seconds": "S", "repeat": "N", "at-once": "N"})
	return cmd
}

func newBenchMethods() *cobra.Command {
	var (
		opts    bench.MethodOptions
		tricks  []string
		steps   int
		seconds float64
		quiet   bool
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "methods",
		Short: "Measure the time of a training step of each method, and the time of the network passes in that step.",
		Example: `  ocl bench methods
  ocl bench methods --method er,mir,gss --memory 1000
  ocl bench methods --trick 'lb,ss,kdc,kdc*,mi,ncm,rv'
  ocl bench methods --json --quiet`,
		Long: "A step is everything that a method does with an incoming batch of 10 images of 32×32. For GDumb it is one step of its " +
			"training, for Offline one of its batches. Options have their defaults, and replay batches have 10 samples. First the " +
			"memory is filled as a stream would fill it, which takes a while. Then, in a second task, two measurements alternate: five " +
			"steps, and five times only the passes and the update of the parameters. Medians are printed. The pass \"learn 10 + 10\" is forward " +
			"and backward on two batches, \"predict\" is forward in evaluation mode, \"score\" is forward by two networks, and " +
			"\"gradients\" is one gradient for each image. With --trick, steps of one method (--method, by default er) with each trick " +
			"alternate with steps without it. The median ratio of their times is printed beside the ratio that the passes predict. " +
			"For rv and ncm the end of the task is measured too, with the review or the class means and an evaluation of 21 images per " +
			"step; it is compared with the same evaluation without the trick. Run nothing else on the machine at the same time.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkBenchMethods(opts, seconds); err != nil {
				return err
			}
			opts.Budget = time.Duration(seconds * float64(time.Second))
			show := &benchProgress{w: cmd.ErrOrStderr()}
			if !quiet && isTerminal(show.w) {
				opts.Progress = show.method
			}
			if cmd.Flags().Changed("trick") {
				if !cmd.Flags().Changed("method") {
					opts.Methods = []string{"er"}
				}
				return benchTricks(cmd, opts, tricks, steps, show, asJSON)
			}
			rep, err := bench.Methods(cmd.Context(), opts)
			show.clear()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), rep)
			}
			return printBenchMethods(cmd.OutOrStdout(), rep)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&opts.Methods, "method", methodNames(), "methods to measure")
	flags.StringSliceVar(&tricks, "trick", nil, "tricks, each compared with the method without it; + combines tricks")
	flags.IntVar(&opts.Memory, "memory", 5000, "samples in memory")
	addWorkers(flags, &opts.Workers, "goroutines, and threads that measure the peak (default: one per processor)")
	flags.Float64Var(&seconds, "seconds", 10, "time to measure each method; at least three rounds are made; not used with --trick")
	flags.IntVar(&opts.Rounds, "repeat", 0, "rounds for each method, instead of a time (default: as many as --seconds allows; 9 with --trick)")
	flags.IntVar(&steps, "steps", 250, "with --trick: steps with the trick, and without it, before the two alternate")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.BoolVarP(&quiet, "quiet", "q", false, "do not show progress")
	annotate(flags, "Flags", map[string]string{"method": "NAME,...", "trick": "NAME,...", "steps": "N", "memory": "N", "workers": "N", "seconds": "S", "repeat": "N"})
	return cmd
}

func checkBenchMethods(o bench.MethodOptions, seconds float64) error {
	for _, c := range []struct {
		flag string
		ok   bool
		want string
	}{
		{"method", len(o.Methods) > 0, "at least one method, such as er"},
		{"memory", o.Memory >= 50, "at least 50"},
		{"seconds", seconds > 0, "more than 0"},
		{"repeat", o.Rounds >= 0, "at least 1, or 0 to measure for a time"},
	} {
		if !c.ok {
			return usage(fmt.Errorf("--%s is out of range. Use %s", c.flag, c.want))
		}
	}
	for _, name := range o.Methods {
		if _, err := method.Lookup(name); err != nil {
			return usage(fmt.Errorf("--method: unknown method %q. %s", name, meantMethod(name)))
		}
	}
	return nil
}

func checkBench(o bench.Options, seconds float64) error {
	for _, c := range []struct {
		flag string
		ok   bool
		want string
	}{
		{"size", len(o.Sizes) > 0, "at least one size, such as 32"},
		{"seconds", seconds > 0, "more than 0"},
		{"repeat", o.Rounds >= 0, "at least 1, or 0 to measure for a time"},
		{"at-once", o.AtOnce == 0 || o.AtOnce >= 2, "at least 2, or 0 for no comparison"},
	} {
		if !c.ok {
			return usage(fmt.Errorf("--%s is out of range. Use %s", c.flag, c.want))
		}
	}
	for _, s := range o.Sizes {
		if s < bench.SmallestSize || s > bench.LargestSize {
			return usage(fmt.Errorf("--size: %d is out of range. Use %d to %d pixels", s, bench.SmallestSize, bench.LargestSize))
		}
	}
	return nil
}

// benchProgress redraws one line after each round.
type benchProgress struct {
	w     io.Writer
	shown bool
}

func (p *benchProgress) round(round int, left time.Duration) {
	fmt.Fprintf(p.w, "\rround %d  %s left\x1b[K", round, duration(left))
	p.shown = true
}

func (p *benchProgress) method(m bench.MethodProgress) {
	if m.Filled >= 0 {
		fmt.Fprintf(p.w, "\r%s: %s samples in memory\x1b[K", m.Method, count.Number(m.Filled))
	} else {
		fmt.Fprintf(p.w, "\r%s: round %d  %s left\x1b[K", m.Method, m.Round, duration(m.Left))
	}
	p.shown = true
}

func (p *benchProgress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func printBench(w io.Writer, rep *bench.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s, convolution %s, %s, FMA peak %.1f GFLOP/s\n\n", rep.Kernel, rep.Convolution, count.Of(rep.Workers, "worker"), rep.PeakGFLOPS)
	t := table{head: []string{"size", "step, ms", "GFLOP/s", "of peak", "evaluation, img/s", "of peak"},
		right: []bool{true, true, true, true, true, true}}
	for i, s := range rep.Steps {
		e := rep.Evaluation[i]
		t.rows = append(t.rows, []string{fmt.Sprintf("%d×%d", s.Size, s.Size), fmt.Sprintf("%.1f", s.MS), fmt.Sprintf("%.1f", s.GFLOPS),
			percent(s.PeakShare), count.Number(int64(e.ImagesPerSecond + 0.5)), percent(e.PeakShare)})
	}
	if err := t.write(&b); err != nil {
		return err
	}
	for _, a := range rep.AtOnce {
		fmt.Fprintf(&b, "\n%d×%d: %d runs at the same time, one worker each, make %.2f times the steps of one run\n", a.Size, a.Size, a.Runs, a.Throughput)
	}
	for _, l := range rep.Layers {
		fmt.Fprintf(&b, "\n%d×%d by layer:\n", l.Size, l.Size)
		t := table{head: []string{"layer", "work", "ms", "of step", "GFLOP/s", "of peak"}, right: []bool{false, false, true, true, true, true}}
		for _, p := range l.Parts {
			gflops, share := "–", "–"
			if p.GFLOPS > 0 {
				gflops, share = fmt.Sprintf("%.1f", p.GFLOPS), percent(p.PeakShare)
			}
			t.rows = append(t.rows, []string{p.Layer, p.Work, fmt.Sprintf("%.3f", p.MS), percent(p.Share), gflops, share})
		}
		if err := t.write(&b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printBenchMethods(w io.Writer, rep *bench.MethodsReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s, convolution %s, %s, FMA peak %.1f GFLOP/s, memory %s\n\n", rep.Kernel, rep.Convolution,
		count.Of(rep.Workers, "worker"), rep.PeakGFLOPS, count.Number(rep.Memory))
	t := table{head: []string{"method", "step, ms", "passes alone, ms", "overhead", "passes"}, right: []bool{false, true, true, true, false}}
	var notes []string
	for _, m := range rep.Methods {
		t.rows = append(t.rows, []string{m.Method, fmt.Sprintf("%.1f", m.MS), fmt.Sprintf("%.1f", m.PassesMS), percent(m.Overhead), strings.Join(m.Passes, ", ")})
		if m.StoreMS > 0 {
			notes = append(notes, fmt.Sprintf("%s stores an incoming batch in %.3f ms; the step in the table is one of its training before an evaluation", m.Method, m.StoreMS))
		}
	}
	if err := t.write(&b); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// measure runs a benchmark of the engine with its progress on the terminal, and prints what it found.
func measure[R any](cmd *cobra.Command, opts bench.Options, seconds float64, quiet, asJSON bool,
	run func(context.Context, bench.Options) (*R, error), show func(io.Writer, *R) error) error {
	if err := checkBench(opts, seconds); err != nil {
		return err
	}
	opts.Budget = time.Duration(seconds * float64(time.Second))
	progress := &benchProgress{w: cmd.ErrOrStderr()}
	if !quiet && isTerminal(progress.w) {
		opts.Round = progress.round
	}
	rep, err := run(cmd.Context(), opts)
	progress.clear()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), rep)
	}
	return show(cmd.OutOrStdout(), rep)
}
