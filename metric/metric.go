// Package metric turns accuracy matrices into the numbers of the survey's tables. It is pure arithmetic: it knows
// nothing of learners, runs or files. Start at [Matrix].
//
// All indices are 0-based. A value that is undefined or needs an entry that was not evaluated is NaN, never 0; results
// write it as absent. The worked example of the docstrings is
//
//	        te_0  te_1  te_2
//	tr_0    0.9   0.1   0.2
//	tr_1    0.6   0.8   0.3
//	tr_2    0.5   0.7   0.85
package metric

import "math"

// Matrix is the accuracy matrix (survey §metrics, tab: metric): m[i][j] in [0,1] is the accuracy on the test set of task
// j after learning task i, NaN where it was not evaluated. T is the number of rows; columns of tasks beyond the last row
// are ignored, so m[:i+1] is the matrix of a run that stopped after task i. A matrix with several rows of one column is
// that of a stream with one common test set (CORe50-NI): m[i][0] is then the accuracy on it after task i.
type Matrix [][]float64

// Common tells whether all tasks share one test set.
func (m Matrix) Common() bool { return len(m) > 1 && len(m[0]) == 1 }

// AverageAccuracy returns A_i (survey eq: acc), the mean over j ≤ i of m[i][j], in [0,1]; with a common test set it is
// m[i][0]. Example: A_2 = (0.5 + 0.7 + 0.85)/3 = 0.683.
func AverageAccuracy(m Matrix, i int) float64 {
	if i < 0 || i >= len(m) {
		return math.NaN()
	}
	if m.Common() {
		return m[i][0]
	}
	return mean(m[i][:i+1])
}

// AverageForgetting returns F_i (survey eq: fgt), the mean over the earlier tasks j < i of the best accuracy on j before
// task i minus the accuracy on j after it: max_{l<i} m[l][j] − m[i][j]. In [-1,1]; negative means old tasks improved.
// Rows l < j, before j was learned, count where they were evaluated. NaN for i = 0: nothing can be forgotten yet. With a
// common test set it is max_{l<i} m[l][0] − m[i][0]. Example: F_2 = ((0.9 − 0.5) + (0.8 − 0.7))/2 = 0.25.
func AverageForgetting(m Matrix, i int) float64 {
	if i < 1 || i >= len(m) {
		return math.NaN()
	}
	if m.Common() {
		return m.best(0, 0, i) - m[i][0]
	}
	f := make([]float64, i)
	for j := range f {
		f[j] = m.best(j, j, i) - m[i][j]
	}
	return mean(f)
}

// ForgettingAllTasks returns the forgetting that the survey's authors computed: the mean over all T tasks of the best
// accuracy on j in any row, the last one too, minus the accuracy in the last row. In [0,1]. NaN for T < 2. Example:
// ((0.9 − 0.5) + (0.8 − 0.7) + 0)/3 = 0.167.
func ForgettingAllTasks(m Matrix) float64 {
	if len(m) < 2 {
		return math.NaN()
	}
	last := m[len(m)-1]
	if m.Common() {
		return m.best(0, 0, len(m)) - last[0]
	}
	f := make([]float64, len(m))
	for j := range f {
		f[j] = m.best(j, j, len(m)) - last[j]
	}
	return mean(f)
}

// BWTPlus returns positive backward transfer (survey eq: bwt), the mean over the T(T−1)/2 pairs j < i of m[i][j] − m[j][j],
// or 0 if that is negative: the clip acts on each run, before runs are averaged. In [0,1]. NaN for T < 2 and with a
// common test set. Example: (−0.3 − 0.4 − 0.1)/3 = −0.267, so 0.
func BWTPlus(m Matrix) float64 {
	if m.Common() {
		return math.NaN()
	}
	var d []float64
	for i := range m {
		for j := range i {
			d = append(d, m[i][j]-m[j][j])
		}
	}
	b := mean(d)
	if b < 0 {
		return 0
	}
	return b
}

// FWT returns forward transfer (survey eq: fwt), the mean over the T(T−1)/2 pairs i < j of m[i][j], the accuracy on tasks
// not yet learned. In [0,1]. NaN for T < 2, with a common test set, and where only learned tasks were evaluated.
// Example: (0.1 + 0.2 + 0.3)/3 = 0.2.
func FWT(m Matrix) float64 {
	if m.Common() {
		return math.NaN()
	}
	var v []float64
	for i := range m {
		v = append(v, m[i][i+1:len(m)]...)
	}
	return mean(v)
}

// LearningAccuracy returns the mean over tasks of m[i][i], the accuracy on a task just learned. In [0,1]. NaN with a
// common test set. Example: (0.9 + 0.8 + 0.85)/3 = 0.85.
func LearningAccuracy(m Matrix) float64 {
	if m.Common() {
		return math.NaN()
	}
	v := make([]float64, len(m))
	for i := range m {
		v[i] = m[i][i]
	}
	return mean(v)
}

// AverageIncrementalAccuracy returns the mean over i of [AverageAccuracy] A_i. In [0,1]. Example:
// (0.9 + 0.7 + 0.683)/3 = 0.761.
func AverageIncrementalAccuracy(m Matrix) float64 {
	v := make([]float64, len(m))
	for i := range m {
		v[i] = AverageAccuracy(m, i)
	}
	return mean(v)
}

// best is the highest m[l][j] with l < end: NaN unless all rows from first on were evaluated; earlier rows count where
// they were.
func (m Matrix) best(j, first, end int) float64 {
	best := math.Inf(-1)
	for l, row := range m[:end] {
		switch {
		case !math.IsNaN(row[j]):
			best = max(best, row[j])
		case l >= first:
			return math.NaN()
		}
	}
	return best
}

// mean is NaN for no values.
func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
