package metric

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// Difference is that of two means whose spreads differ, with its standard error and the degrees of freedom of Welch and
// Satterthwaite.
type Difference struct{ Mean, Error, Freedom float64 }

// Welch is a difference of two means with the standard errors a and b, each from a variance with so many degrees of
// freedom. Two errors of 0 have no degrees of freedom: they are NaN. Example: a difference of 1 with the errors 0.5 and
// 0.3 from 2 and 14 degrees of freedom has the error √0.34 and 0.1156/(0.0625/2 + 0.0081/14) = 3.632 degrees of
// freedom.
func Welch(difference, a, freedomA, b, freedomB float64) Difference {
	square := float64(a*a) + float64(b*b)
	return Difference{difference, math.Sqrt(square), square * square / (math.Pow(a, 4)/freedomA + math.Pow(b, 4)/freedomB)}
}

// P is the two-sided probability of a difference at least as far from 0 if the means are the same; NaN if the error is
// 0.
func (d Difference) P() float64 {
	return 2 * Tail(math.Abs(d.Mean)/d.Error, d.Freedom)
}

// Half returns the half width of the interval around the mean between the quantiles 1−q and q of the difference: with q
// = 0.95, of the 90 % interval. Both one-sided tests at 5 % say that the difference is within a margin of 0 if and only
// if this interval is.
func (d Difference) Half(q float64) float64 { return quantile(q, d.Freedom) * d.Error }

// ErrorOf is the standard error that a mean of n runs has whose 95 % interval, as of [Interval], reaches so far to
// either side.
func ErrorOf(half float64, n int) float64 { return half / wide(n) }

// Tail is the probability that Student's t with so many degrees of freedom is above t.
func Tail(t, freedom float64) float64 {
	if t == 0 {
		return 0.5
	}
	beyond := 0.5 * mathext.RegIncBeta(freedom/2, 0.5, freedom/(float64(t*t)+freedom)) // |t|, on one side
	if t > 0 {
		return beyond
	}
	return 1 - beyond
}

// Unpaired asks whether two samples are of one distribution. It is Student's t-test with the spread that both have
// together, so its probability is exact for normal values, however few there are: also where a has one value, whose
// interval is then the prediction interval of b. Welch's test does not assume that the spreads are equal, but two
// values against eight reject at a nominal 5 % in 9 % of cases, and at 0.25 % in six times as many.
//
// difference is the mean of a minus the mean of b, half is the half width of its 95 % interval, and p is the two-sided
// probability of a difference at least as large. If all values of each sample are equal, half is 0 and p is 0 or 1. It
// panics with fewer than three values in all, or if a sample is empty. Example: 5, 7 and 1, 2, 3 differ by 4 ± 3.3546,
// and p is 0.0321.
func Unpaired(a, b []float64) (difference, half, p float64) {
	free := float64(len(a) + len(b) - 2)
	if len(a) == 0 || len(b) == 0 || free < 1 {
		panic(fmt.Sprintf("metric: Unpaired of %d and %d values: want one in each, and three together", len(a), len(b)))
	}
	squares := 0.0
	for _, sample := range [][]float64{a, b} {
		average := mean(sample)
		for _, x := range sample {
			squares += float64((x - average) * (x - average))
		}
	}
	difference = mean(a) - mean(b)
	deviation := math.Sqrt(squares / free * (1/float64(len(a)) + 1/float64(len(b))))
	half = quantile(0.975, free) * deviation
	if difference == 0 {
		return 0, half, 1
	}
	return difference, half, 2 * Tail(math.Abs(difference)/deviation, free)
}

// wide is Student's t at 0.975 with n−1 degrees of freedom, for n values; NaN for fewer than two. A report asks for it
// in each cell of its matrices, always with the same few n, so it is kept.
func wide(n int) float64 {
	if t, ok := wides.Load(n); ok {
		return t.(float64)
	}
	t := quantile(0.975, float64(n-1))
	wides.Store(n, t)
	return t
}

var wides sync.Map // of float64, by n

// quantile is that of Student's t; NaN without degrees of freedom.
func quantile(q, freedom float64) float64 {
	if !(freedom > 0) {
		return math.NaN()
	}
	if q == 0.5 {
		return 0
	}
	x := mathext.InvRegIncBeta(freedom/2, 0.5, 2*min(q, 1-q))
	return math.Copysign(math.Sqrt(freedom*(1-x)/x), q-0.5)
}
