package paper

import (
	"math"
	"slices"

	"ocl/config"
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

// anchorsOf are the accuracies of the anchors in per cent by seed, the mean over the sizes of the memory; nil if a run
// is missing or has diverged.
func (s *Study) anchorsOf() map[uint64]float64 {
	sums, runs := map[uint64]float64{}, map[[2]uint64]bool{}
	for _, r := range s.Runs {
		res := r.Result
		if !Anchors(res) && !(Confirms(res) && res.Method.Name == anchor.Method && len(res.Method.Tricks) == 0) {
			continue
		}
		key := [2]uint64{r.Seed, uint64(res.Config.Memory)}
		m, ok := r.Metrics(config.ClassifierHead)
		if ok && m.AverageAccuracy != nil && res.Outcome.State == result.Finished && !runs[key] {
			runs[key] = true
			sums[r.Seed] += 100 * *m.AverageAccuracy / float64(len(anchorMemories()))
		}
	}
	if len(runs) < anchorSeeds*len(anchorMemories()) {
		return nil
	}
	return sums
}

// anchorMemories are the sizes of the memory in the survey's table.
func anchorMemories() (sizes []int) {
	for _, v := range survey.Read(survey.ClassIncremental) {
		s, ok := specOf(survey.ClassIncremental, v)
		if ok && s.Benchmark == anchor.Benchmark && s.Method == anchor.Method && !slices.Contains(sizes, s.Memory) {
			sizes = append(sizes, s.Memory)
		}
	}
	return sizes
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
