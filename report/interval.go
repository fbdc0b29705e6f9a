package report

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

func interval(v []float64) (mean, half float64) {
	mean = stat.Mean(v, nil)
	n := float64(len(v))
	if n < 2 {
		return mean, math.NaN()
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return mean, t * stat.StdDev(v, nil) / math.Sqrt(n)
}
