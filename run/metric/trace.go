package metric

import (
	"math"
	"slices"
)

// Trace has all evaluations of a run in the order of their steps: those in the middle of tasks, and one at the end of
// each task. Test set j is that of task j. A value that was not evaluated is NaN.
type Trace []Evaluated

// Evaluated is one evaluation of a [Trace].
type Evaluated struct {
	Task     int       // under way, or just ended
	Ended    bool      // at the end of the task
	Accuracy []float64 // by test set, in [0,1]
}

func (e Evaluated) at(j int) float64 {
	if j >= len(e.Accuracy) {
		return math.NaN()
	}
	return e.Accuracy[j]
}

// MinAccuracy returns min-ACC (De Lange et al. 2023, Continual Evaluation for Lifelong Learning): the mean over the
// tasks j before the last one, k, of the least accuracy on j in an evaluation after the end of j,
//
//	min-ACC = 1/k·Σ_{j<k} min_{n > |T_j|} A(E_j, f_n)
//
// In [0,1]. NaN where there is one task, or where no evaluation comes in the middle of tasks.
func MinAccuracy(t Trace) float64 {
	if !t.between() {
		return math.NaN()
	}
	last := t[len(t)-1].Task
	least := make([]float64, last)
	for j := range least {
		least[j] = math.Inf(1)
	}
	for _, e := range t {
		for j := range min(e.Task, last) {
			least[j] = math.Min(least[j], e.at(j)) // NaN stays
		}
	}
	return mean(least)
}

// WorstCaseAccuracy returns WC-ACC (De Lange et al. 2023): what a user can count on, the last accuracy on the last task
// k, 0-based, and the least accuracies on the others,
//
//	WC-ACC = A(E_k, f)/(k+1) + (1 − 1/(k+1))·min-ACC
//
// In [0,1]. NaN where [MinAccuracy] is.
func WorstCaseAccuracy(t Trace) float64 {
	least := MinAccuracy(t)
	if math.IsNaN(least) {
		return least
	}
	end := t[len(t)-1]
	share := 1 / float64(end.Task+1)
	return float64(share*end.at(end.Task)) + float64((1-share)*least)
}

// LargestDrop returns WF^w (De Lange et al. 2023): the mean over tasks of the largest fall of the accuracy on one
// within w evaluations in a row. In [0,1]. NaN for fewer than two evaluations, and where none comes in the middle of a
// task.
func LargestDrop(t Trace, w int) float64 {
	if !t.between() {
		return math.NaN()
	}
	drops := make([]float64, t[len(t)-1].Task+1)
	for j := range drops {
		for n, e := range t {
			for _, later := range t[n+1 : min(n+w, len(t))] {
				if fall := e.at(j) - later.at(j); fall > drops[j] {
					drops[j] = fall
				}
			}
		}
	}
	return mean(drops)
}

// StabilityGap returns the mean over the boundaries of tasks of how far the accuracy on the earlier tasks falls at
// worst within the next task: their mean accuracy at the end of task i, less the least such mean in task i+1. In
// [-1,1]; negative where it only rises. NaN where there is one task, and where a task has no evaluation in its middle.
func StabilityGap(t Trace) float64 {
	if !t.between() {
		return math.NaN()
	}
	var gaps []float64
	for i := range t[len(t)-1].Task {
		before, least := math.NaN(), math.Inf(1)
		for _, e := range t {
			switch {
			case e.Task == i && e.Ended:
				before = mean(e.Accuracy[:min(i+1, len(e.Accuracy))])
			case e.Task == i+1 && !e.Ended:
				least = math.Min(least, mean(e.Accuracy[:min(i+1, len(e.Accuracy))]))
			}
		}
		if math.IsInf(least, 1) {
			return math.NaN()
		}
		gaps = append(gaps, before-least)
	}
	return mean(gaps)
}

// between says whether there are two tasks, and an evaluation in the middle of one.
func (t Trace) between() bool {
	return len(t) > 1 && t[len(t)-1].Task > 0 && t[len(t)-1].Ended &&
		slices.ContainsFunc(t, func(e Evaluated) bool { return !e.Ended })
}

// Mean returns the mean of values, NaN for none and where one is.
func Mean(v []float64) float64 { return mean(v) }
