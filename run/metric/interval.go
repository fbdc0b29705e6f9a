package metric

import (
	"math"
	"slices"
)

// Estimate is a mean over runs with its 95 % interval.
type Estimate struct {
	Mean float64 // NaN without runs
	Half float64 // half the interval, as of [Interval]; NaN for fewer than two runs
	N    int     // runs
}

// EstimateOf is the estimate of those values that are numbers.
func EstimateOf(values []float64) Estimate {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	mean, half := Interval(v)
	return Estimate{mean, half, len(v)}
}

// Interval returns the mean of the runs' values and the half width of its 95 % confidence interval, t·s/√n: Student's t
// at 0.975 with n−1 degrees of freedom, s with n−1. One run has no interval: half is then NaN. Without values both are.
// Example: 1, 2, 3 give 2 ± 4.303·1/√3 = 2 ± 2.484.
func Interval(values []float64) (average, half float64) {
	n := float64(len(values))
	average = mean(values)
	if n < 2 {
		return average, math.NaN()
	}
	squares := 0.0
	for _, x := range values {
		squares += float64((x - average) * (x - average))
	}
	return average, wide(len(values)) * math.Sqrt(squares/(n-1)/n)
}
