// Package metric computes the numbers of the survey's tables from accuracy matrices. It knows nothing of learners,
// runs or files. Start at [Matrix], which has a row for each task that was learned:
//
//	m := metric.Matrix{Rows: [][]float64{{0.9, 0.1, 0.2}, {0.6, 0.8, 0.3}, {0.5, 0.7, 0.85}}}
//	average := metric.AverageAccuracy(m, 2)      // after the last task: 0.683
//	forgetting := metric.AverageForgetting(m, 2) // 0.25
//	mean, half := metric.Interval(averages)      // over runs: mean ± half is the 95 % interval
//
// All indices are 0-based. A value that is undefined or needs an entry that was not evaluated is NaN, never 0; results
// write it as absent. The worked example of the docstrings is
//
//	        te_0  te_1  te_2
//	tr_0    0.9   0.1   0.2
//	tr_1    0.6   0.8   0.3
//	tr_2    0.5   0.7   0.85
package metric

import (
	"math"
	"slices"
)

// Matrix is the accuracy matrix (survey §metrics, tab: metric). T, the number of tasks learned, is that of its rows,
// and with a = Rows a[i][j] in [0,1] is the accuracy on test set j after learning task i.
//
// It need not be square. An entry is NaN where it was not evaluated, and an entry that a row is too short for counts as
// one that was not. Columns from T on, of tasks that were not learned, are ignored, so that the first i+1 rows are the
// matrix of a run that stopped after task i.
type Matrix struct {
	Rows [][]float64
	// Common says that all tasks share one test set (CORe50-NI). The matrix is then T×1: only column 0 is read, and
	// a[i][0] is the accuracy on that set after task i. Otherwise test set j is that of task j.
	Common bool
}

// at is a[i][j], NaN where there is none.
func (m Matrix) at(i, j int) float64 {
	if i < 0 || i >= len(m.Rows) || j >= len(m.Rows[i]) {
		return math.NaN()
	}
	return m.Rows[i][j]
}

// AverageAccuracy returns A_i (survey eq: acc), the mean over j ≤ i of a[i][j], in [0,1]; with a common test set it is
// a[i][0]. NaN for an i that is no row. Example: A_2 = (0.5 + 0.7 + 0.85)/3 = 0.683.
func AverageAccuracy(m Matrix, i int) float64 {
	if i < 0 || i >= len(m.Rows) {
		return math.NaN()
	}
	if m.Common {
		return m.at(i, 0)
	}
	v := make([]float64, i+1)
	for j := range v {
		v[j] = m.at(i, j)
	}
	return mean(v)
}

// AverageForgetting returns F_i (survey eq: fgt), the mean over the earlier tasks j < i of the best accuracy on j
// before task i minus the accuracy on j after it: max_{l<i} a[l][j] − a[i][j]. In [-1,1]; negative means old tasks
// improved. Rows l < j, before j was learned, count where they were evaluated. NaN for i = 0: nothing can be forgotten
// yet. With a common test set it is max_{l<i} a[l][0] − a[i][0]. Example: F_2 = ((0.9 − 0.5) + (0.8 − 0.7))/2 = 0.25.
func AverageForgetting(m Matrix, i int) float64 {
	if i < 1 || i >= len(m.Rows) {
		return math.NaN()
	}
	if m.Common {
		return m.best(0, 0, i) - m.at(i, 0)
	}
	f := make([]float64, i)
	for j := range f {
		f[j] = m.best(j, j, i) - m.at(i, j)
	}
	return mean(f)
}

// ForgettingAllTasks returns the forgetting that the survey's authors computed: the mean over all T tasks of the best
// accuracy on j in any row, the last one too, minus the accuracy in the last row. In [0,1]. NaN for T < 2. Example:
// ((0.9 − 0.5) + (0.8 − 0.7) + 0)/3 = 0.167.
func ForgettingAllTasks(m Matrix) float64 {
	tasks := len(m.Rows)
	if tasks < 2 {
		return math.NaN()
	}
	if m.Common {
		return m.best(0, 0, tasks) - m.at(tasks-1, 0)
	}
	f := make([]float64, tasks)
	for j := range f {
		f[j] = m.best(j, j, tasks) - m.at(tasks-1, j)
	}
	return mean(f)
}

// BWTPlus returns positive backward transfer (survey eq: bwt): [BWT], or 0 if that is negative. The clip acts on each
// run, before runs are averaged. In [0,1]. NaN where BWT is. Example: 0.
func BWTPlus(m Matrix) float64 {
	b := BWT(m)
	if b < 0 {
		return 0
	}
	return b
}

// BWT returns backward transfer, the mean over the T(T−1)/2 pairs j < i of a[i][j] − a[j][j]. It is what [BWTPlus]
// clips: only this one can say that learning harmed the earlier tasks, and by how much. In [-1,1]. NaN for T < 2 and
// with a common test set. Example: (−0.3 − 0.4 − 0.1)/3 = −0.267.
func BWT(m Matrix) float64 {
	if m.Common {
		return math.NaN()
	}
	var d []float64
	for i := range m.Rows {
		for j := range i {
			d = append(d, m.at(i, j)-m.at(j, j))
		}
	}
	return mean(d)
}

// FWT returns forward transfer (survey eq: fwt), the mean over the T(T−1)/2 pairs i < j of a[i][j], the accuracy on
// tasks not yet learned. In [0,1]. NaN for T < 2, with a common test set, and where only learned tasks were evaluated.
// Example: (0.1 + 0.2 + 0.3)/3 = 0.2.
func FWT(m Matrix) float64 {
	if m.Common {
		return math.NaN()
	}
	var v []float64
	for i := range m.Rows {
		for j := i + 1; j < len(m.Rows); j++ {
			v = append(v, m.at(i, j))
		}
	}
	return mean(v)
}

// LearningAccuracy returns the mean over tasks of a[i][i], the accuracy on a task just learned. In [0,1]. NaN with a
// common test set. Example: (0.9 + 0.8 + 0.85)/3 = 0.85.
func LearningAccuracy(m Matrix) float64 {
	if m.Common {
		return math.NaN()
	}
	v := make([]float64, len(m.Rows))
	for i := range v {
		v[i] = m.at(i, i)
	}
	return mean(v)
}

// AverageIncrementalAccuracy returns the mean over i of [AverageAccuracy] A_i. In [0,1]. Example:
// (0.9 + 0.7 + 0.683)/3 = 0.761.
func AverageIncrementalAccuracy(m Matrix) float64 {
	v := make([]float64, len(m.Rows))
	for i := range v {
		v[i] = AverageAccuracy(m, i)
	}
	return mean(v)
}

// AverageAnytimeAccuracy returns the mean over evaluations during training of the mean accuracy on the test sets of
// each, those of the tasks seen so far (Caccia et al. 2022). evaluations[k][j] in [0,1] is the accuracy on test set j,
// NaN where it was not evaluated. In [0,1]. NaN for no evaluations, and where one has no test set. Example: for (0.4),
// (0.8), (0.6, 0.2) and (0.5, 0.7) it is (0.4 + 0.8 + 0.4 + 0.6)/4 = 0.55.
func AverageAnytimeAccuracy(evaluations [][]float64) float64 {
	v := make([]float64, len(evaluations))
	for k, row := range evaluations {
		v[k] = mean(slices.DeleteFunc(slices.Clone(row), math.IsNaN))
	}
	return mean(v)
}

// best is the highest a[l][j] with l < end: NaN unless all rows from first on were evaluated; earlier rows count where
// they were.
func (m Matrix) best(j, first, end int) float64 {
	best := math.Inf(-1)
	for l := range end {
		switch v := m.at(l, j); {
		case !math.IsNaN(v):
			best = max(best, v)
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
