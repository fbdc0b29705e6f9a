package metric

import "math"

// OnlineAccuracy returns the prequential accuracy: the share of the samples of the stream that were predicted correctly
// just before they were learned. With the learner f_n after n batches, and the batch B_{n+1} that it learns next,
//
//	Σ_{n≥1} Σ_{(x,y)∈B_{n+1}} [f_n(x) = y] / Σ_{n≥1} |B_{n+1}|
//
// The first batch is left out, as nothing was learned before it. right and all count the samples of parts of the
// stream, such as tasks. In [0,1]. NaN where there are no samples. On a stream in order it is high for a learner that
// repeats the last label; [NearFutureAccuracy] is not.
func OnlineAccuracy(right, all []int) float64 { return shareOf(right, all) }

// NearFutureAccuracy returns the share of the samples that come k batches after the next one and are predicted
// correctly (Al Kader Hammoud et al. 2023, Rapid Adaptation in Online Continual Learning: Are We Evaluating It Right?):
//
//	Σ_{n≥1} Σ_{(x,y)∈B_{n+1+k}} [f_n(x) = y] / Σ_{n≥1} |B_{n+1+k}|
//
// with the learner f_n after n batches. k = 0 is [OnlineAccuracy]; the paper takes the least k at which repeating
// labels is no better than chance. right and all are as there, by the part of the stream in which a sample came. In
// [0,1]. NaN where there are no samples.
func NearFutureAccuracy(right, all []int) float64 { return shareOf(right, all) }

// ProbedAccuracy returns the accuracy of a probe (Soutif-Cormerais et al. 2023): right of all test samples that a
// multinomial logistic regression, fitted to features of the network after the last task, predicts correctly. In [0,1].
// NaN for none.
func ProbedAccuracy(right, all int) float64 { return shareOf([]int{right}, []int{all}) }

func shareOf(right, all []int) float64 {
	hits, n := 0, 0
	for _, v := range right {
		hits += v
	}
	for _, v := range all {
		n += v
	}
	if n == 0 {
		return math.NaN()
	}
	return float64(hits) / float64(n)
}
