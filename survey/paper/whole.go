package paper

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"ocl/run/metric"
	"ocl/run/metric/compare"
)

// firstLook is the level at which the confirmation as a whole is judged when its cells have five seeds, as the head of
// survey/studies/addendum.yaml says.
const firstLook = 0.0226

// alikeRatio is by which ratio means may differ on the whole, either way.
const alikeRatio = 1.1

// Whole says what the cells of the confirmation show together. The head of survey/studies/addendum.yaml states its
// rules.
type Whole struct {
	Cells int
	// Shift is the mean of ln(ours/published), with its error and degrees of freedom.
	Shift metric.Difference
	// Equal says that two one-sided tests have the ratio within 1.1 either way.
	Equal bool
	// Uneven is the probability that cells are so far from one common shift by chance alone, and Spread what is left of
	// their standard deviation without chance, in the unit of Shift.
	Uneven, Spread float64
	// Of the pairs of methods whose published order is decided: how many have that order here, the opposite one, and none
	// that is decided.
	SameOrder, OppositeOrder, NoOrder int
}

// WholeOf judges the cells of the confirmation together; nil unless each has all its runs and none has diverged.
func WholeOf(cells []*Cell) *Whole {
	var seeds []uint64
	for i := range uint64(confirmingRuns) {
		seeds = append(seeds, confirmingSeed+i)
	}
	n, k := float64(len(seeds)), float64(len(cells))
	logs := make([][]float64, len(cells)) // of ours over the published mean, by cell and seed
	bySeed := make([]float64, len(seeds))
	squares, fourths := 0.0, 0.0 // of the published errors of a log
	for i, c := range cells {
		u := c.relative(seeds)
		if u == nil {
			return nil
		}
		for s := range u {
			u[s] = math.Log(u[s])
			bySeed[s] += u[s] / k
		}
		logs[i] = u
		e := c.publishedLogError()
		squares, fourths = squares+e*e, fourths+e*e*e*e/float64(benchmark(c.Spec.Benchmark).Runs-1)
	}
	if len(cells) == 0 {
		return nil
	}
	mean, half := metric.Interval(bySeed)
	w := &Whole{Cells: len(cells), Shift: metric.Welch(mean, metric.ErrorOf(half, len(seeds)), n-1,
		math.Sqrt(squares)/k, squares*squares/fourths)}
	w.Equal = math.Abs(mean)+w.Shift.Half(1-firstLook) < math.Log(alikeRatio)
	distance, chance, between := 0.0, 0.0, 0.0
	for i, c := range cells {
		d, rest := 0.0, make([]float64, len(seeds))
		for s, l := range logs[i] {
			d += (l - mean) / n
			rest[s] = l - bySeed[s]
		}
		e := c.publishedLogError()
		own := variance(rest, rest, 0)/n + e*e
		distance, chance, between = distance+d*d/own, chance+own/k, between+d*d/(k-1)
	}
	w.Uneven = mathext.GammaIncRegComp((k-1)/2, distance/2)
	w.Spread = math.Sqrt(math.Max(0, between-chance))
	w.orders(cells)
	return w
}

// publishedLogError is the standard error of the logarithm of the published mean.
func (c *Cell) publishedLogError() float64 {
	return metric.ErrorOf(c.Published.Interval, benchmark(c.Spec.Benchmark).Runs) / c.Published.Mean
}

// orders compares each two methods without tricks at one size of the memory; a method without a memory is at each size.
func (w *Whole) orders(cells []*Cell) {
	var differences, p []float64
	for i, a := range cells {
		for _, b := range cells[:i] {
			together := a.Memory == b.Memory || a.Memory == 0 || b.Memory == 0
			if a.Spec.Tricks != "" || b.Spec.Tricks != "" || a.Spec.Method == b.Spec.Method || !together {
				continue
			}
			theirs := benchmark(a.Spec.Benchmark).Runs
			published := metric.Welch(a.Published.Mean-b.Published.Mean, metric.ErrorOf(a.Published.Interval, theirs),
				float64(theirs-1), metric.ErrorOf(b.Published.Interval, theirs), float64(theirs-1))
			if published.P() > level {
				continue
			}
			values := make([]float64, len(a.Values)) // in the order of the seeds, which both have
			for s := range values {
				values[s] = math.Copysign(1, published.Mean) * (a.Values[s] - b.Values[s])
			}
			mean, half := metric.Interval(values)
			own := metric.Difference{Mean: mean, Error: metric.ErrorOf(half, len(values)), Freedom: float64(len(values) - 1)}
			differences, p = append(differences, mean), append(p, own.P())
		}
	}
	for i, adjusted := range compare.Holm(p) {
		switch {
		case !(adjusted <= firstLook):
			w.NoOrder++
		case differences[i] > 0:
			w.SameOrder++
		default:
			w.OppositeOrder++
		}
	}
}
