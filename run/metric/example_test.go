package metric_test

import (
	"fmt"

	"ocl/run/metric"
)

// The numbers of a run, and the mean of some runs.
func Example() {
	m := metric.Matrix{Rows: [][]float64{{0.9, 0.1, 0.2}, {0.6, 0.8, 0.3}, {0.5, 0.7, 0.85}}}
	fmt.Printf("accuracy %.3f, forgetting %.2f\n", metric.AverageAccuracy(m, 2), metric.AverageForgetting(m, 2))
	mean, half := metric.Interval([]float64{0.68, 0.70, 0.69})
	fmt.Printf("%.2f ± %.3f\n", mean, half)
	// Output:
	// accuracy 0.683, forgetting 0.25
	// 0.69 ± 0.025
}
