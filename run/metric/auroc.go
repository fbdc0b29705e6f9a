package metric

import (
	"math"
	"slices"
)

// AUROC is how often a number of a is larger than one of b, where equal ones count half: the area under the receiver
// operating characteristic of telling a from b. It is NaN where one of them is empty. Example: of 3, 1 and 2, 1 it is
// (1 + 1 + 0 + 1/2)/4 = 0.625.
func AUROC(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(b))
	sum := 0.0
	for _, v := range a {
		below, _ := slices.BinarySearch(sorted, v)
		above, _ := slices.BinarySearchFunc(sorted, v, func(e, v float64) int {
			if e <= v {
				return -1
			}
			return 1
		})
		sum += float64(below+above) / 2
	}
	return sum / float64(len(a)) / float64(len(b))
}
