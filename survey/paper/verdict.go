package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl/run/metric"
	"ocl/run/metric/compare"
)

// Verdict says whether a cell agrees with the published value.
type Verdict string

// The verdicts, in the order in which they are counted. NoVerdict is that of a cell whose published value has no
// interval, such as a time.
const (
	Agrees      Verdict = "agrees"
	Differs     Verdict = "differs"
	Undecided   Verdict = "undecided"
	Undecidable Verdict = "undecidable"
	NotRun      Verdict = "not run"
	NoVerdict   Verdict = ""
)

// Verdicts are those that are counted.
func Verdicts() []Verdict { return []Verdict{Agrees, Differs, Undecided, Undecidable, NotRun} }

// FormerVerdicts are those that a cell with runs had by the former rule.
func FormerVerdicts() []Verdict { return []Verdict{Agrees, Differs, Undecided} }

// The rule of the verdicts. The head of survey/studies/confirmation.yaml states it too, and a test holds the two
// together.
const (
	level  = compare.Level // of each of the two one-sided tests, and of the test of a difference after Holm's correction
	near   = 2             // points: means that are further apart do not agree
	nearBy = 5             // nor do means that are further apart than this part of the published one: a fifth
	// decisive is the least number of runs that decide anything.
	decisive = compare.LeastSeeds
)

// Judgement is the verdict on a cell and what it follows from. Numbers that it does not need are NaN.
type Judgement struct {
	// Verdict is Agrees if two one-sided tests at 5 % say that our mean is within Margin of the published one. It is
	// Differs if the cell does not agree and PHolm is at most 5 %. Fewer than three runs do neither, and runs of which one
	// diverged do not agree. Of the others a cell is Undecidable if no number of runs could agree, because the published
	// interval alone is too wide, NotRun without a run, and else Undecided.
	Verdict Verdict
	Note    string // what a reader should know of the verdict, such as how many runs have other kernels
	Margin  float64
	// end of the 90 % interval of our mean minus the published one; within ± Margin both one-sided tests say that it is
	// near
	Low  float64
	High float64
	P    float64 // of Welch's two-sided test that the means are the same
	// P with Holm's correction over the cells of the table and data set that have three runs, each in the first table that
	// has it
	PHolm float64
	// Former is the verdict by the rule that held until this one: a cell agreed if the 95 % intervals overlapped and the
	// means differed by less than 2 points, and differed if the intervals did not overlap.
	Former Verdict
	// Anchored is the mean corrected by anchors, of a cell of the confirmation when all anchors are there; nil of others.
	Anchored *Anchored
}

// judge gives the cells of a table their verdicts. A cell that repeats one of another table has that one's. "Best OCI"
// has none: the best of several means is no sample of one.
func (s *Study) judge(cells []*Cell) {
	families := map[string][]*Cell{}
	first := map[string][]*Cell{}
	for _, c := range cells {
		c.Judgement = Judgement{Margin: math.Min(near, c.Published.Mean/nearBy), Low: math.NaN(), High: math.NaN(),
			P: math.NaN(), PHolm: math.NaN()}
		switch {
		case math.IsNaN(c.Published.Interval) || c.Row == bestRow || s.confirms && !confirmed(c.Spec):
		case s.confirms && len(c.Runs) < confirmingRuns:
			c.Verdict, c.Former, c.Note = NotRun, NotRun, fmt.Sprintf("%d of %d runs", len(c.Runs), confirmingRuns)
		case c.Repeat == "":
			c.Former = c.former()
			families[c.Spec.Benchmark] = append(families[c.Spec.Benchmark], c)
		default:
			if first[c.Repeat] == nil {
				first[c.Repeat] = s.Cells(c.Repeat)
			}
			for _, f := range first[c.Repeat] {
				if f.Spec == c.Spec {
					c.Judgement = f.Judgement
				}
			}
		}
	}
	for _, family := range families {
		judgeFamily(family, s.confirms)
	}
	if s.anchors != nil && !slices.ContainsFunc(cells, func(c *Cell) bool { return c.Verdict == NotRun }) {
		anchoring(cells, s.anchors)
	}
}

// judgeFamily gives a verdict to the cells of a table on a data set, which share Holm's correction. The rules of the
// confirmation know no undecidable cell.
func judgeFamily(family []*Cell, confirms bool) {
	var p []float64
	for _, c := range family {
		c.test()
		p = append(p, c.P)
	}
	for i, adjusted := range compare.Holm(p) {
		c := family[i]
		c.PHolm = adjusted
		switch {
		case c.Diverged() == 0 && math.Max(-c.Low, c.High) < c.Margin:
			c.Verdict = Agrees
		case c.PHolm <= level:
			c.Verdict = Differs
		case !confirms && c.undecidable():
			c.Verdict = Undecidable
		case len(c.Runs) == 0:
			c.Verdict = NotRun
		default:
			c.Verdict = Undecided
		}
	}
}

// undecidable says whether a mean without any error could not be shown to be within the margin, even if it were the
// published one.
func (c *Cell) undecidable() bool {
	return c.lessPublished(c.Published.Mean, 0, 1).Half(1-level) >= c.Margin
}

// lessPublished is a mean of ours less the published one, by the error and the degrees of freedom of ours.
func (c *Cell) lessPublished(mean, e, freedom float64) metric.Difference {
	theirs := benchmark(c.Spec.Benchmark).Runs
	return metric.Welch(mean-c.Published.Mean, e, freedom, metric.ErrorOf(c.Published.Interval, theirs), float64(theirs-1))
}

// excess is our mean less the published one, in points.
func (c *Cell) excess() metric.Difference {
	return c.lessPublished(c.Ours.Mean, metric.ErrorOf(c.Ours.Half, c.Ours.N), float64(c.Ours.N-1))
}

// test compares our mean with the published one, if there are enough runs. Else its numbers stay NaN.
func (c *Cell) test() {
	var notes []string
	if others := c.otherKernels(); len(others) > 0 {
		notes = append(notes, fmt.Sprintf("%d of %s with other kernels (%s)", len(others), runsText(len(c.Runs), 0),
			strings.Join(slices.Compact(slices.Sorted(slices.Values(others))), ", ")))
	}
	if n := c.Diverged(); n > 0 {
		notes = append(notes, fmt.Sprintf("%d of %s diverged", n, runsText(len(c.Runs), 0)))
	}
	c.Note = strings.Join(notes, "; ")
	n := c.Ours.N
	if n < decisive {
		return
	}
	d := c.excess()
	c.P, c.Low, c.High = d.P(), d.Mean-d.Half(1-level), d.Mean+d.Half(1-level)
}

// otherKernels are the kernels of the runs that count although they have others than the studies name.
func (c *Cell) otherKernels() (others []string) {
	for _, r := range c.Runs {
		if r.Engine() != compare.StudyEngine {
			others = append(others, r.Kernels())
		}
	}
	return others
}

// former is the verdict by the former rule.
func (c *Cell) former() Verdict {
	distance := math.Abs(c.Difference())
	switch {
	case len(c.Runs) == 0:
		return NotRun
	case c.Ours.N < decisive:
		return Undecided
	case distance > c.Ours.Half+c.Published.Interval:
		return Differs
	case distance < near:
		return Agrees
	}
	return Undecided
}
