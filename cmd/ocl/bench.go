package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ocl/bench"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast this machine learns.",
		Example: `  ocl bench engine
  ocl bench engine --size 32 --layers`,
	}
	return group(cmd, newBenchEngine())
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
		Short: "Measure a training step and evaluation of the survey's network, as shares of the machine's FMA peak.",
		Example: `  ocl bench engine
  ocl bench engine --size 32 --layers
  OCL_KERNEL=avx2 ocl bench engine --size 32 --json
  OCL_CONV=direct ocl bench engine --layers`,
		Long: "A step is forward and backward on 10 incoming and, separately, on 10 replayed pictures, and one SGD update; an " +
			"evaluation predicts 200 pictures. Peak, steps and evaluations alternate; medians are printed. Give the machine " +
			"nothing else to do meanwhile. OCL_KERNEL=avx512|avx2|generic chooses the kernels and OCL_CONV=direct|winograd the algorithm of " +
			"convolutions, here and everywhere; unset, the faster ones are taken.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkBench(opts, seconds); err != nil {
				return err
			}
			opts.Budget = time.Duration(seconds * float64(time.Second))
			show := &benchProgress{w: cmd.ErrOrStderr()}
			if !quiet && isTerminal(show.w) {
				opts.Round = show.round
			}
			rep, err := bench.Engine(cmd.Context(), opts)
			show.clear()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), rep)
			}
			return printBench(cmd.OutOrStdout(), rep)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntSliceVar(&opts.Sizes, "size", []int{32, 84, 128}, "sides of the pictures, each at least 25")
	flags.IntVar(&opts.Workers, "workers", 0, "goroutines, and threads of the peak (default: one a processor)")
	flags.Float64Var(&seconds, "seconds", 30, "how long to measure in all; at least three rounds are made")
	flags.IntVar(&opts.Rounds, "repeat", 0, "rounds instead of a time (default: as many as --seconds allows)")
	flags.IntVar(&opts.AtOnce, "at-once", 0, "also compare so many runs at once, one worker each, with one alone (default: no)")
	flags.BoolVar(&opts.Layers, "layers", false, "break a step down by layer")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	annotate(flags, "Flags", map[string]string{"size": "PIXELS,...", "workers": "N", "seconds": "S", "repeat": "N", "at-once": "N"})
	return cmd
}

func checkBench(o bench.Options, seconds float64) error {
	for _, c := range []struct {
		flag string
		ok   bool
		want string
	}{
		{"size", len(o.Sizes) > 0, "at least one size, such as 32"},
		{"workers", o.Workers >= 0, "at least 1, or 0 for one a processor"},
		{"seconds", seconds > 0, "more than 0"},
		{"repeat", o.Rounds >= 0, "at least 1, or 0 to go by time"},
		{"at-once", o.AtOnce == 0 || o.AtOnce >= 2, "at least 2, or 0"},
	} {
		if !c.ok {
			return usage(fmt.Errorf("--%s: out of range; want %s; see `ocl bench engine --help`", c.flag, c.want))
		}
	}
	for _, s := range o.Sizes {
		if s < bench.SmallestSize || s > bench.LargestSize {
			return usage(fmt.Errorf("--size: found %d; want %d to %d pixels; correct the number", s, bench.SmallestSize, bench.LargestSize))
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

func (p *benchProgress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func printBench(w io.Writer, rep *bench.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s, convolution %s, %s, FMA peak %.1f GFLOP/s\n\n", rep.Kernel, rep.Convolution, plural(rep.Workers, "worker", "workers"), rep.PeakGFLOPS)
	t := table{head: []string{"size", "step, ms", "GFLOP/s", "of peak", "evaluation, img/s", "of peak"},
		right: []bool{true, true, true, true, true, true}}
	for i, s := range rep.Steps {
		e := rep.Evaluation[i]
		t.rows = append(t.rows, []string{fmt.Sprintf("%d×%d", s.Size, s.Size), fmt.Sprintf("%.1f", s.MS), fmt.Sprintf("%.1f", s.GFLOPS),
			percent(s.PeakShare), thousands(int64(e.ImagesPerSecond + 0.5)), percent(e.PeakShare)})
	}
	if err := t.write(&b); err != nil {
		return err
	}
	for _, a := range rep.AtOnce {
		fmt.Fprintf(&b, "\n%d×%d: %d runs at once, one worker each, do %.2f times the steps of one\n", a.Size, a.Size, a.Runs, a.Throughput)
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
