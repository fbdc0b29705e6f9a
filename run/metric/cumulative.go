package metric

import "math"

// CumulativeForgetting returns the forgetting over all classes learned so far, and not task by task (Soutif-Cormerais
// et al. 2023, A Comprehensive Empirical Evaluation on Online Continual Learning). b[t][k] in [0,1] is the accuracy
// after task t on the test samples of the tasks 0 to k ≤ t together, each predicted as one of the classes of these
// tasks. With the last task T−1 it is
//
//	F = 1/(T−1)·Σ_{k<T−1} max_{k≤t≤T−1} (b[t][k] − b[T−1][k])
//
// In [0,1]; 0 where every b[·][k] is largest at the end. An entry that a row is too short for counts as one that was
// not evaluated. NaN for T < 2, and where an entry is NaN.
func CumulativeForgetting(b [][]float64) float64 {
	m := Matrix{Rows: b}
	last := len(b) - 1
	if last < 1 {
		return math.NaN()
	}
	f := make([]float64, last)
	for k := range f {
		best := math.Inf(-1)
		for t := k; t <= last; t++ {
			best = math.Max(best, m.at(t, k)) // NaN stays
		}
		f[k] = best - m.at(last, k)
	}
	return mean(f)
}
