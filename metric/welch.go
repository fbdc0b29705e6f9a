package metric

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Difference is that of two means whose spreads differ, with its standard error and the degrees of freedom of Welch and Satterthwaite.
type Difference struct{ Mean, Error, Freedom float64 }

// Welch is a difference of two means with the standard errors a and b, each from a variance with so many degrees of freedom. Two errors of 0
// have no degrees of freedom: they are NaN. Example: a difference of 1 with the errors 0.5 and 0.3 from 2 and 14 degrees of freedom has the
// error √0.34 and 0.1156/(0.0625/2 + 0.0081/14) = 3.632 degrees of freedom.
func Welch(difference, a, freedomA, b, freedomB float64) Difference {
	square := a*a + b*b
	return Difference{difference, math.Sqrt(square), square * square / (math.Pow(a, 4)/freedomA + math.Pow(b, 4)/freedomB)}
}

// P is the two-sided probability of a difference at least as far from 0 if the means are the same; NaN if the error is 0.
func (d Difference) P() float64 {
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: d.Freedom}.Survival(math.Abs(d.Mean)/d.Error)
}

// Half returns the half width of the interval around the mean between the quantiles 1−q and q of the difference: with q = 0.95, of the 90 %
// interval. Both one-sided tests at 5 % say that the difference is within a margin of 0 if and only if this interval is.
func (d Difference) Half(q float64) float64 { return quantile(q, d.Freedom) * d.Error }

// ErrorOf is the standard error that a mean of n runs has whose 95 % interval, as of [Interval], reaches so far to either side.
func ErrorOf(half float64, n int) float64 { return half / quantile(0.975, float64(n-1)) }

// quantile is that of Student's t; NaN without degrees of freedom.
func quantile(q, freedom float64) float64 {
	if !(freedom > 0) {
		return math.NaN()
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(q)
}
