package reproduce

import (
	"fmt"
	"math"
	"slices"

	"ocl/run/metric"
	"ocl/run/metric/compare"
	"ocl/run/result"
)

const (
	// Level is the chance that a check of right runs, however many, finds one outside.
	Level = compare.Level
	// Least is the smallest number of committed seeds that others are compared with.
	Least = compare.LeastSeeds
)

// Group is what a check says of the runs that learned the same but for their seeds.
type Group struct {
	Runs        []*result.Result
	Why         string // why the runs are compared with nothing; "" where they are compared
	Repeats     []Repeat
	Diverged    []uint64 // seeds of the runs that diverged though no committed run did
	Comparisons []Comparison
	Notes       []string // what else a person should know, a sentence each
}

// Repeat is a run with the seed and the engine of a committed run, which must have the same bits.
type Repeat struct {
	Seed        uint64
	Differences []result.Difference // A is the committed run's
}

// Comparison compares a measure of the runs that repeat no committed one, or not its bits, with the committed runs.
type Comparison struct {
	Measure   Measure
	Seeds     []uint64  // of the runs
	Values    []float64 // of these seeds
	Committed []float64 // of the committed runs, one of each seed
	// mean of the runs minus mean of the committed ones; it and what follows are NaN with fewer than [Least] seeds
	Difference float64
	Half       float64 // half width of its 95 % interval, before the correction
	P          float64 // that runs of the same distribution differ so much
	Adjusted   float64 // P after Holm's correction for all comparisons of the check
}

// Made says whether there are enough committed seeds for the comparison.
func (c Comparison) Made() bool { return !math.IsNaN(c.P) }

// Outside says whether the runs lie outside the committed distribution.
func (c Comparison) Outside() bool { return c.Adjusted < Level }

// Verdicts of a group.
const (
	Same    = "same"         // all that can be compared has the bits of committed runs
	Inside  = "inside"       // some runs may be the same, and all others lie inside
	Outside = "outside"      // some measure lies outside
	Differs = "differs"      // the same run gave other numbers, which lie inside or are compared with nothing else
	None    = "no reference" // compared with nothing
)

// Verdict is the gravest that holds.
func (g *Group) Verdict() string {
	made := slices.ContainsFunc(g.Comparisons, Comparison.Made)
	switch {
	case len(g.Diverged) > 0 || slices.ContainsFunc(g.Comparisons, Comparison.Outside):
		return Outside
	case slices.ContainsFunc(g.Repeats, func(r Repeat) bool { return len(r.Differences) > 0 }):
		return Differs
	case made:
		return Inside
	case len(g.Repeats) > 0:
		return Same
	}
	return None
}

// Check compares runs that have ended with references. Runs that learned the same are a group; groups are in the order
// of their first runs. A run with the seed and the engine of a committed run must have the same bits. Of the others one
// run of each seed counts, and each measure is tested at [Level] after Holm's correction for all measures and groups.
func Check(references []Reference, runs []*result.Result) []*Group {
	byID := map[string]*Reference{}
	for i, r := range references {
		byID[identify(r.Learned, r.Data)] = &references[i]
	}
	groups := map[string]*Group{}
	var list []*Group
	var ids []string
	for _, r := range runs {
		id := identify(Learned(r.Config), r.Provenance.DataDigest)
		if groups[id] == nil {
			groups[id] = &Group{}
			list, ids = append(list, groups[id]), append(ids, id)
		}
		groups[id].Runs = append(groups[id].Runs, r)
	}
	for i, g := range list {
		if reference := byID[ids[i]]; reference != nil {
			g.check(reference)
		} else {
			g.Why = why(references, g.Runs[0])
		}
	}
	correct(list)
	return list
}

// check compares a group with its reference.
func (g *Group) check(reference *Reference) {
	repeated := map[*result.Result]*Run{} // the committed runs whose bits runs have
	diverged := slices.ContainsFunc(reference.Runs, func(r Run) bool { return r.Diverged })
	for _, r := range g.Runs {
		own := runOf(r)
		if i := slices.IndexFunc(reference.Runs, own.sameEngine); i >= 0 {
			if differences, compared := reference.Runs[i].compare(own); compared {
				g.Repeats = append(g.Repeats, Repeat{own.Seed, differences})
				if len(differences) == 0 {
					repeated[r] = &reference.Runs[i]
				}
			}
		}
		if !slices.ContainsFunc(reference.Runs, func(c Run) bool { return c.Numbers == own.Numbers }) {
			g.Notes = append(g.Notes, fmt.Sprintf("seed %d is of numbers version %d, and no committed run is. So its bits are not compared.",
				own.Seed, own.Numbers))
		}
		if own.Diverged && !diverged {
			g.Diverged = append(g.Diverged, own.Seed)
		}
	}
	for _, m := range Measures {
		g.compare(m, reference, func(r *result.Result) bool {
			if twin := repeated[r]; twin != nil {
				_, measured := twin.Values[m.Name]
				return measured
			}
			return false
		})
	}
	if g.Verdict() == None {
		g.Why = tooFew(reference)
	}
}

// compare compares a measure of the runs that have not repeated it to the bit.
func (g *Group) compare(m Measure, reference *Reference, repeated func(*result.Result) bool) {
	c := Comparison{Measure: m, Difference: math.NaN(), Half: math.NaN(), P: math.NaN(), Adjusted: math.NaN()}
	image := 0.0
	for _, r := range g.Runs {
		own := runOf(r)
		if v, measured := own.Values[m.Name]; measured && !repeated(r) && !slices.Contains(c.Seeds, own.Seed) {
			c.Seeds, c.Values = append(c.Seeds, own.Seed), append(c.Values, v)
			image = max(image, r.OneImage())
		}
	}
	if len(c.Values) == 0 {
		return
	}
	c.Committed = reference.values(m)
	if len(c.Committed) >= Least {
		c.Difference, c.Half, c.P = metric.Unpaired(c.Values, c.Committed)
		// else networks that predict one class, whatever the seed, would differ for certain by a rounding
		if math.Abs(c.Difference) < image {
			c.P = 1
		}
	}
	g.Comparisons = append(g.Comparisons, c)
}

// correct corrects the probabilities of all comparisons together.
func correct(groups []*Group) {
	var p []float64
	for _, g := range groups {
		for _, c := range g.Comparisons {
			p = append(p, c.P)
		}
	}
	adjusted := compare.Holm(p)
	for _, g := range groups {
		for i := range g.Comparisons {
			g.Comparisons[i].Adjusted, adjusted = adjusted[0], adjusted[1:]
		}
	}
}
