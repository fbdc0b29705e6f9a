package paper

import (
	"maps"
	"math"
	"slices"

	"ocl/run/experiment"
	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/run/result"
	"ocl/survey"
)

// anchorSeeds is how many seeds, from that of the confirmation on, the anchors have: ER without a trick at each size of
// the memory. survey/studies/addendum.yaml has their runs and the rules.
const anchorSeeds = 15

// Anchors says whether a result is of an anchor that the confirmation does not have itself.
func Anchors(r *result.Result) bool {
	seed := r.Config.Seed
	return seed >= confirmingSeed+confirmingRuns && seed < confirmingSeed+anchorSeeds && r.Method.Name == anchor.Method &&
		len(r.Method.Tricks) == 0 && registered(r)
}

// anchor is the cell of the anchors, at whatever size of the memory.
var anchor = Spec{Benchmark: survey.CIFAR100, Method: "er"}

// anchorCells are the cells that the anchors have, in the order of the survey's table, with the runs of the
// confirmation and of the addendum.
func (s *Study) anchorCells() []*Cell {
	anchors := s.only(func(r *Run) bool { return Confirms(r.Result) || Anchors(r.Result) })
	return slices.DeleteFunc(anchors.Cells(survey.ClassIncremental), func(c *Cell) bool {
		return c.Spec.Benchmark != anchor.Benchmark || c.Spec.Method != anchor.Method
	})
}

// anchorsOf are the accuracies of the anchors in per cent by seed, the mean over the sizes of the memory; nil if a run
// is missing or has diverged.
func (s *Study) anchorsOf() map[uint64]float64 {
	cells, means := s.anchorCells(), map[uint64]float64{}
	for _, c := range cells {
		if c.Ours.N < anchorSeeds {
			return nil
		}
		for i, r := range c.Runs {
			means[r.Seed] += c.Values[i] / float64(len(cells))
		}
	}
	return means
}

// AnchorRow is ER without a trick with the fifteen seeds of the anchors, at one size of the memory or as the mean over
// the sizes.
type AnchorRow struct {
	Memory              int               // stored samples; 0 for the mean over the sizes
	Ours                metric.Estimate   // per cent
	Published           metric.Estimate   // per cent
	Excess              metric.Difference // ours less the published mean, in points, by Welch's test
	Confirmation, Later metric.Estimate   // of ours, the seeds of the confirmation and those after them
	Luck                metric.Difference // Confirmation less Later, in points, by Welch's test
}

// AnchorRows are the sizes of the memory, and then the mean over them; nil if an anchor is missing or has diverged.
// That mean takes the published means as independent.
func (s *Study) AnchorRows() (rows []AnchorRow) {
	means := s.anchorsOf()
	if means == nil {
		return nil
	}
	cells := s.anchorCells()
	average, squares, fourths := 0.0, 0.0, 0.0 // of the published means, and of their errors
	for _, c := range cells {
		values := map[uint64]float64{}
		for i, r := range c.Runs {
			values[r.Seed] = c.Values[i]
		}
		n := benchmark(c.Spec.Benchmark).Runs
		e := metric.ErrorOf(c.Published.Interval, n)
		average += c.Published.Mean / float64(len(cells))
		squares, fourths = squares+e*e, fourths+e*e*e*e/float64(n-1)
		rows = append(rows, anchorRow(c.Memory, values, c.Published.Mean, e, float64(n-1)))
	}
	return append(rows, anchorRow(0, means, average, math.Sqrt(squares)/float64(len(cells)), squares*squares/fourths))
}

// anchorRow compares values by seed with a published mean, whose error has so many degrees of freedom.
func anchorRow(memory int, values map[uint64]float64, published, e, freedom float64) AnchorRow {
	var all, first, later []float64
	for _, seed := range slices.Sorted(maps.Keys(values)) {
		all = append(all, values[seed])
		if seed < confirmingSeed+confirmingRuns {
			first = append(first, values[seed])
		} else {
			later = append(later, values[seed])
		}
	}
	r := AnchorRow{Memory: memory, Ours: metric.EstimateOf(all), Confirmation: metric.EstimateOf(first),
		Later: metric.EstimateOf(later)}
	apart := func(a metric.Estimate, b, e, freedom float64) metric.Difference {
		return metric.Welch(a.Mean-b, metric.ErrorOf(a.Half, a.N), float64(a.N-1), e, freedom)
	}
	r.Excess = apart(r.Ours, published, e, freedom)
	r.Luck = apart(r.Confirmation, r.Later.Mean, metric.ErrorOf(r.Later.Half, r.Later.N), float64(r.Later.N-1))
	r.Published = metric.Estimate{Mean: published, Half: metric.Difference{Error: e, Freedom: freedom}.Half(0.975)}
	return r
}

// Anchored is a mean of the confirmation's runs, corrected for how lucky their seeds were with the anchors.
type Anchored struct {
	Mean float64 // per cent
	Low  float64 // end of the 90 % interval of the mean minus the published one, in points
	High float64
	// Verdict is Agrees if that interval is within the margin of the cell, and else Undecided.
	Verdict Verdict
}

// anchoring corrects the means of cells by anchors of the same seeds (Lavenberg and Welch's control variate), by the
// equations in the head of survey/studies/addendum.yaml and with their names: v and u are v_s and u_s, vMean is V,
// slope is b, spread is w^2 and ofSlope is q^2. A cell without all seeds has no corrected mean.
func anchoring(cells []*Cell, anchors map[uint64]float64) {
	var seeds []uint64
	for s := range uint64(confirmingRuns) {
		seeds = append(seeds, confirmingSeed+s)
	}
	all := 0.0
	for _, v := range anchors {
		all += v / float64(len(anchors))
	}
	spread := 0.0
	for _, v := range anchors {
		spread += math.Pow(v/all-1, 2) / float64(len(anchors)-1)
	}
	n := float64(len(seeds))
	v, vMean := make([]float64, len(seeds)), 0.0
	for i, s := range seeds {
		v[i] = anchors[s] / all
		vMean += v[i] / n
	}
	squares := 0.0
	for i := range v {
		squares += (v[i] - vMean) * (v[i] - vMean)
	}
	var whole []*Cell
	var relative [][]float64
	mean := make([]float64, len(seeds)) // of u over the cells, by seed
	for _, c := range cells {
		if u := c.relative(seeds); u != nil {
			whole, relative = append(whole, c), append(relative, u)
			for i := range u {
				mean[i] += u[i]
			}
		}
	}
	for i := range mean {
		mean[i] /= float64(len(whole))
	}
	slope := 0.0 // the mean of the slopes is the slope of the mean
	for i := range mean {
		slope += mean[i] * (v[i] - vMean) / squares
	}
	ofSlope := variance(less(mean, v, slope)) * (n - 1) / (n - 2) / squares
	for k, c := range whole {
		p, ours := c.Published.Mean, 0.0
		for _, u := range relative[k] {
			ours += u * p / n
		}
		parts := []struct{ square, freedom float64 }{{variance(less(relative[k], v, slope)) / n, n - 1},
			{slope * slope * spread / float64(len(anchors)), float64(len(anchors) - 1)},
			{ofSlope * (vMean - 1) * (vMean - 1), n - 2}}
		square, freedom := 0.0, 0.0
		for _, part := range parts {
			square, freedom = square+part.square, freedom+part.square*part.square/part.freedom
		}
		a := Anchored{Mean: ours - p*slope*(vMean-1), Verdict: Undecided}
		d := c.lessPublished(a.Mean, p*math.Sqrt(square), square*square/freedom)
		a.Low, a.High = d.Mean-d.Half(1-level), d.Mean+d.Half(1-level)
		if math.Max(-a.Low, a.High) < c.Margin {
			a.Verdict = Agrees
		}
		c.Anchored = &a
	}
}

// relative are the accuracies of a cell over the published mean, in the order of the seeds; nil if one is missing, and
// of a cell that belongs to another table.
func (c *Cell) relative(seeds []uint64) []float64 {
	u := make([]float64, 0, len(seeds))
	for _, s := range seeds {
		i := slices.IndexFunc(c.Runs, func(r *Run) bool { return r.Seed == s })
		if i < 0 || math.IsNaN(c.Values[i]) || math.IsNaN(c.Published.Interval) || c.Repeat != "" {
			return nil
		}
		u = append(u, c.Values[i]/c.Published.Mean)
	}
	return u
}

// less is u − slope·v.
func less(u, v []float64, slope float64) []float64 {
	rest := make([]float64, len(u))
	for i := range u {
		rest[i] = u[i] - slope*v[i]
	}
	return rest
}

// variance is that of values, with as many degrees of freedom as values but one.
func variance(values []float64) float64 {
	_, half := metric.Interval(values)
	e := metric.ErrorOf(half, len(values))
	return e * e * float64(len(values))
}

// registered says whether a result has the settings and the kernels of the confirmation, whatever its seed.
func registered(r *result.Result) bool {
	if r.Tuning != nil || engineOf(r) != compare.StudyEngine {
		return false
	}
	cell, settings := cellOf(experiment.IdentityOf(r))
	wanted, ok := confirmingKeys()[cell.String()]
	return ok && settings == wanted
}
