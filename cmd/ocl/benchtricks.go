package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ocl/bench"
	"ocl/internal/count"
	"ocl/method"
)

// benchTricks measures the tricks of one method.
func benchTricks(cmd *cobra.Command, f *benchFlags, o bench.MethodOptions, texts []string, steps int) error {
	opts := bench.TrickOptions{Memory: o.Memory, Workers: o.Workers, Steps: steps, Rounds: o.Rounds, Progress: o.Progress}
	if len(o.Methods) != 1 {
		return usage(fmt.Errorf("--trick measures the tricks of one method, but %d are given. Give one --method", len(o.Methods)))
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
		return usage(fmt.Errorf("--trick cannot be measured with %s, as no trick changes its steps. Use --method er", info.Name))
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
	t := table{head: []string{"method", "step, ms", "task's end, ms", "ratio", "by passes"}, right: []bool{false, true, true, true, true}}
	end := func(ms float64) string {
		if ms == 0 {
			return "–"
		}
		return fmt.Sprintf("%.0f", ms)
	}
	t.rows = append(t.rows, []string{rep.Method, fmt.Sprintf("%.1f", rep.MS), end(rep.EndMS), "1", "1"})
	for _, c := range rep.Tricks {
		t.rows = append(t.rows, []string{rep.Method + "+" + c.Tricks, fmt.Sprintf("%.1f", c.MS), end(c.EndMS), fmt.Sprintf("%.3f", c.Ratio), fmt.Sprintf("%.3f", c.Counted)})
	}
	b.WriteString(t.String())
	return b.String()
}
