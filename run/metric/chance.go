package metric

import "math"

// Luck returns how many of n test samples of equally many samples of k classes a learner that guesses gets right by
// luck: the largest number that it reaches with a probability above 2.5 %, the upper tail of a 95 % interval. The
// number of right guesses is binomial with probability 1/k:
//
//	P(X ≥ c) = Σ_{i=c…n} n!/(i!(n−i)!) · (1/k)^i · (1−1/k)^(n−i)
//
// An accuracy of at most Luck(n, k)/n does not tell a learner from one that guesses. Example: Luck(120, 10) is 19, so
// 15.8 % of ten classes may be luck. For n = 0 or k = 1 it is n. It panics if n < 0 or k < 1.
func Luck(n, k int) int {
	switch {
	case n < 0 || k < 1:
		panic("metric: Luck of no samples or no classes")
	case n == 0 || k == 1:
		return n
	}
	const tail = 0.025
	p := 1 / float64(k)
	all, _ := math.Lgamma(float64(n) + 1)
	sum := 0.0 // P(X ≥ c)
	for c := n; ; c-- {
		right, _ := math.Lgamma(float64(c) + 1)
		wrong, _ := math.Lgamma(float64(n-c) + 1)
		sum += math.Exp(all - right - wrong + float64(float64(c)*math.Log(p)) + float64(float64(n-c)*math.Log1p(-p)))
		if sum > tail {
			return c
		}
	}
}
