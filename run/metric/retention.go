package metric

import "math"

// Retention returns the mean over the past periods of the stream, all but the last, of the accuracy of the learner at
// the end on held-out samples of what came in each (2305.09275 measures it period by period):
//
//	1/(P−1)·Σ_{p<P−1} A(E_p, f)
//
// A period is a task. E_p is its test set; where all tasks share one and differ only in how often each class comes,
// [HeldOut] is A. Samples of the stream itself say nothing: a memory may have learned them by heart. In [0,1]. NaN for
// less than two periods, and where one was not evaluated.
func Retention(last []float64) float64 {
	if len(last) < 2 {
		return math.NaN()
	}
	return mean(last[:len(last)-1])
}

// HeldOut returns the accuracy on held-out samples with the classes of a period: the accuracies by class, in [0,1],
// weighted by how many samples of each class came,
//
//	Σ_y n_y·a_y / Σ_y n_y
//
// In [0,1]. NaN for a period without samples, and where a class that came was not tested (a_y is NaN).
func HeldOut(came []int, accuracy []float64) float64 {
	sum, n := 0.0, 0
	for y, c := range came {
		if c > 0 {
			sum += float64(float64(c) * accuracy[y])
			n += c
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}
