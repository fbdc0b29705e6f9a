package paper

import (
	"math"
	"slices"

	"ocl/config"
	"ocl/rng"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/survey"
)

// FirstLook is the level at which the confirmation as a whole is judged when its cells have five seeds, as the head of
// survey/studies/addendum.yaml says.
const FirstLook = 0.0226

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
	// Uneven is the probability that cells which share one shift are so far from it, and Between their variance around it,
	// less what chance gives, in the unit of Shift squared. It may be below 0.
	Uneven, Between float64
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
		if u == nil || slices.ContainsFunc(c.Runs, func(r *Run) bool { return r.diverged() }) {
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
	w.Equal = math.Abs(mean)+w.Shift.Half(1-FirstLook) < math.Log(alikeRatio)
	offsets, own, published := make([]float64, len(cells)), make([]float64, len(cells)), make([]float64, len(cells))
	for i, c := range cells {
		rest := make([]float64, len(seeds))
		for s, l := range logs[i] {
			offsets[i] += (l - mean) / n
			rest[s] = l - bySeed[s]
		}
		own[i], published[i] = variance(rest), math.Pow(c.publishedLogError(), 2)
		w.Between += offsets[i]*offsets[i]/(k-1) - (own[i]/n+published[i])/k
	}
	w.Uneven = uneven(offsets, own, published)
	w.orders(cells)
	return w
}

// uneven is the probability that the sum over the cells of d²/c² is as large as that of the offsets d, if the cells
// share one shift: the share of made worlds in which it is. c² is own/n + published, the variances of a run and of the
// published mean. In a world the accuracies of a cell and its published mean are normal with these variances, which are
// then estimated from five runs and from as many as the survey has, as they were here.
func uneven(offsets, own, published []float64) float64 {
	const worlds = 4000
	sum := func(offsets, own, published []float64) (all float64) {
		mean := 0.0
		for _, d := range offsets {
			mean += d / float64(len(offsets))
		}
		for i, d := range offsets {
			all += (d - mean) * (d - mean) / (own[i]/confirmingRuns + published[i])
		}
		return all
	}
	r, found, most := rng.New(1, "uneven"), sum(offsets, own, published), 0
	// chi is a draw of chi-square over its degrees of freedom
	chi := func(freedom int) (all float64) {
		for range freedom {
			z := r.NormFloat64()
			all += z * z / float64(freedom)
		}
		return all
	}
	theirs := benchmark(survey.CIFAR100).Runs - 1
	d, o, p := make([]float64, len(own)), make([]float64, len(own)), make([]float64, len(own))
	for range worlds {
		for i := range own {
			d[i] = r.NormFloat64() * math.Sqrt(own[i]/confirmingRuns+published[i])
			o[i], p[i] = own[i]*chi(confirmingRuns-1), published[i]*chi(theirs)
		}
		if sum(d, o, p) >= found {
			most++
		}
	}
	return (float64(most) + 1) / (worlds + 1)
}

// publishedLogError is the standard error of the logarithm of the published mean.
func (c *Cell) publishedLogError() float64 {
	return metric.ErrorOf(c.Published.Interval, benchmark(c.Spec.Benchmark).Runs) / c.Published.Mean
}

// plain says whether a cell is of a method without a trick. NCM is one.
func (c *Cell) plain() bool { return c.Spec.Tricks == "" && c.Spec.Classifier == config.ClassifierHead }

// orders compares each two methods without tricks at one size of the memory; a method without a memory is at each size.
func (w *Whole) orders(cells []*Cell) {
	var differences, p []float64
	for i, a := range cells {
		for _, b := range cells[:i] {
			together := a.Memory == b.Memory || a.Memory == 0 || b.Memory == 0
			if !a.plain() || !b.plain() || !together {
				continue
			}
			theirs := benchmark(a.Spec.Benchmark).Runs
			published := metric.Welch(a.Published.Mean-b.Published.Mean, metric.ErrorOf(a.Published.Interval, theirs),
				float64(theirs-1), metric.ErrorOf(b.Published.Interval, theirs), float64(theirs-1))
			if published.P() > level {
				continue
			}
			own := paired(a.Values, b.Values) // in the order of the seeds, which both have
			differences, p = append(differences, math.Copysign(1, published.Mean)*own.Mean), append(p, own.P())
		}
	}
	for i, adjusted := range compare.Holm(p) {
		switch {
		case !(adjusted <= FirstLook):
			w.NoOrder++
		case differences[i] > 0:
			w.SameOrder++
		default:
			w.OppositeOrder++
		}
	}
}
