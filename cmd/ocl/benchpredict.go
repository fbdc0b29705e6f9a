package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ocl/bench"
	"ocl/internal/count"
)

func newBenchPredict() *cobra.Command {
	var (
		opts    bench.Options
		seconds float64
		quiet   bool
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "predict",
		Short: "Measure how fast a trained network predicts: a single image at a time, and 200 at a time.",
		Example: `  ocl bench predict
  ocl bench predict --size 32 --workers 2 --json`,
		Long: "The network is the survey's reduced ResNet-18 with 100 classes. Medians are printed, and the least time of each measurement: " +
			"that of the moments in which nothing else ran on the machine. bench/compare_predict.py compares with PyTorch and ONNX Runtime.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd, opts, seconds, quiet, asJSON, bench.Predict, printBenchPredict)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntSliceVar(&opts.Sizes, "size", []int{32, 84}, "sides of the images, each at least 25")
	addWorkers(flags, &opts.Workers, "goroutines (default: one per processor)")
	flags.Float64Var(&seconds, "seconds", 10, "total time to measure; at least three rounds are made")
	flags.IntVar(&opts.Rounds, "repeat", 0, "number of rounds, instead of a time (default: as many as --seconds allows)")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.BoolVarP(&quiet, "quiet", "q", false, "do not show progress")
	annotate(flags, "Flags", map[string]string{"size": "PIXELS,...", "workers": "N", "seconds": "S", "repeat": "N"})
	return cmd
}

func printBenchPredict(w io.Writer, rep *bench.PredictReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s, convolution %s, %s\n\n", rep.Kernel, rep.Convolution, count.Of(rep.Workers, "worker"))
	t := table{head: []string{"size", "one image, ms", "least", "200 images, ms", "least", "img/s"}, right: []bool{true, true, true, true, true, true}}
	for _, p := range rep.Predict {
		t.rows = append(t.rows, []string{fmt.Sprintf("%d×%d", p.Size, p.Size), fmt.Sprintf("%.2f", p.OneMS), fmt.Sprintf("%.2f", p.OneLeastMS),
			fmt.Sprintf("%.1f", p.BatchMS), fmt.Sprintf("%.1f", p.BatchLeastMS), count.Number(int64(p.ImagesPerSecond + 0.5))})
	}
	if err := t.write(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
