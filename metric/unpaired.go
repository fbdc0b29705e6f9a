package metric

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Unpaired asks whether two samples are of one distribution. It is Student's t-test with the spread that both have together, so its
// probability is exact for normal values, however few there are: also where a has one value, whose interval is then the prediction
// interval of b. Welch's test does not assume that the spreads are equal, but two values against eight reject at a nominal 5 % in 9 %
// of cases, and at 0.25 % in six times as many.
//
// difference is the mean of a minus the mean of b, half is the half width of its 95 % interval, and p is the two-sided probability of
// a difference at least as large. If all values of each sample are equal, half is 0 and p is 0 or 1. It panics with fewer than three
// values in all, or if a sample is empty. Example: 5, 7 and 1, 2, 3 differ by 4 ± 3.3546, and p is 0.0321.
func Unpaired(a, b []float64) (difference, half, p float64) {
	free := float64(len(a) + len(b) - 2)
	if len(a) == 0 || len(b) == 0 || free < 1 {
		panic(fmt.Sprintf("metric: Unpaired of %d and %d values: want one in each, and three together", len(a), len(b)))
	}
	squares := 0.0
	for _, sample := range [][]float64{a, b} {
		average := mean(sample)
		for _, x := range sample {
			squares += (x - average) * (x - average)
		}
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}
	difference = mean(a) - mean(b)
	deviation := math.Sqrt(squares / free * (1/float64(len(a)) + 1/float64(len(b))))
	if difference == 0 {
		return 0, student.Quantile(0.975) * deviation, 1
	}
	return difference, student.Quantile(0.975) * deviation, 2 * student.Survival(math.Abs(difference)/deviation)
}
