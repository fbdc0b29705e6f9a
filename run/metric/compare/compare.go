// Package compare says which of two methods is better, by values of runs with the same seeds. It is the only place of
// this program that does: the page of a report and its headline, the comments, the findings and the reproduction read
// their verdicts here. It knows no result files and no names of methods, only values.
//
//	for _, p := range compare.All(arms) { … }          // every two of some arms
//	compare.Family([]compare.Question{{First: a, Second: b}, {First: a, Second: c}})  // given questions
//
// The rules are these:
//
//   - A pair is a seed that both have from the same engine. Runs of one seed with different kernels differ by as much
//     as runs of two seeds, so their difference says nothing of the methods. Of a seed that both have from several
//     engines the first by [Engine.Compare] counts: that of the committed studies, then the others by name.
//   - The paired t-test decides, at [Level] after Holm's correction over the whole family: all pairs of [All], all
//     questions of [Family]. A family must not be chosen by its values. Whoever compares all methods with the observed
//     best, and corrects for these tests alone, finds a difference between 11 equal methods with five seeds in 12 % of
//     all cases, and between 25 in 15 % (TestFamilyWiseError).
//   - The sign-flip test stands beside it. It assumes no distribution, and cannot give less than 2/2ⁿ for n seeds.
//   - Fewer than [LeastSeeds] seeds give no verdict.
//   - Differences without spread give no verdict. Values are shares of a number of test images, so each is rounded to a
//     multiple of one image: it is up to half an image off, by a standard deviation of step/√12. That of a difference
//     of two values is √((a²+b²)/12) for the steps a and b, which is 0.41 images if they are equal. Where the
//     differences of the seeds vary less than that, their spread is hidden by the rounding and cannot be estimated. The
//     t-test divides by it, so its probability then means nothing: equal differences would give p = 0, as few as they
//     are.
//
// Nothing depends on the order of the values or of a map.
package compare

import (
	"cmp"
	"math"
	"slices"

	"ocl/internal/samebits"
	"ocl/run/metric"
)

const (
	// Level is the probability below which a test decides, after Holm's correction.
	Level = 0.05
	// LeastSeeds is the least number of pairs that gives a verdict.
	LeastSeeds = 3
)

// Engine is what computed a run, up to what cannot move its numbers: EngineOf makes it. Runs of different engines are
// not paired.
type Engine struct{ Kernel, Convolution string }

// EngineOf is the engine of a run whose provenance names this kernel set and this algorithm of convolutions. Kernel
// sets of the same bits are one.
func EngineOf(kernel, convolution string) Engine { return Engine{samebits.Of(kernel), convolution} }

// StudyEngine is the one that the committed studies name.
var StudyEngine = Engine{"avx2", "winograd"}

// Compare orders the engines of runs with one seed: the first is the one that counts. That is the one of the studies,
// and of others the first by name.
func (e Engine) Compare(other Engine) int {
	rank := func(e Engine) int {
		if e == StudyEngine {
			return 0
		}
		return 1
	}
	return cmp.Or(rank(e)-rank(other), cmp.Compare(e.Kernel, other.Kernel), cmp.Compare(e.Convolution, other.Convolution))
}

// Value is what a run measured.
type Value struct {
	Seed   uint64
	Engine Engine
	Value  float64 // NaN and infinities are left out
	// what one test image changes, in the unit of Value: 1/n for the share of n images; 0 is unknown, or no share
	Step float64
}

// Verdict is what a comparison says.
type Verdict string

// The verdicts. A question without margin has one of the first three, one with margin one of the last three.
const (
	FirstHigher  Verdict = "first is higher"
	SecondHigher Verdict = "second is higher"
	Undecided    Verdict = "undecided"
	Alike        Verdict = "alike"
	Apart        Verdict = "apart"
)

// Reason says why a comparison is undecided.
type Reason string

// The reasons, in the order in which they are looked for. NotSignificant is that of a test that was made.
const (
	FewSeeds       Reason = "fewer than three seeds in common"
	OtherEngines   Reason = "fewer than three seeds with the same kernels"
	NoSpread       Reason = "differences without spread"
	NotSignificant Reason = "p of 0.05 or more"
)

// Question asks which of two arms is higher. With a Margin it asks whether they are alike, which is to say less than
// the margin apart.
type Question struct {
	First, Second []Value // of any order; several of a seed and an engine count as their mean
	Margin        float64 // above 0, in the unit of the values; 0 asks for the order
}

// Comparison is the answer to a question. Differences are first minus second.
type Comparison struct {
	Seeds   []uint64 // of the pairs, rising
	Engines []Engine // of the pairs, each once, sorted
	Others  int      // seeds that both arms have, but from other engines
	Mean    float64  // of the differences; NaN without pairs
	// half width of its 95 % interval, as of [metric.Interval]; NaN for fewer than two pairs and without spread
	Half float64
	T    float64 // Mean by its standard error; NaN for fewer than [LeastSeeds] pairs and without spread
	// P is the probability of the paired t-test with N−1 degrees of freedom, in [0,1]; NaN where T is. With a margin it is
	// that of the test which speaks for the nearer of Alike and Apart: the two one-sided tests for Alike, and for Apart
	// the chance of a |Mean| at least as large if the true difference were the margin.
	P        float64
	SignFlip float64 // two-sided probability of the sign-flip test, in (0,1]; NaN without pairs and with a margin

	// Holm and SignFlipHolm are P and SignFlip after Holm's correction over the family. NaN where there are fewer than
	// LeastSeeds pairs, which are not in the family, and where P or SignFlip is. A pair without spread is in the family as
	// one with a P of 1.
	Holm, SignFlipHolm float64

	Verdict Verdict
	Reason  Reason // "" for a comparison that is decided
}

// N is the number of pairs.
func (c Comparison) N() int { return len(c.Seeds) }

// Reversed is the same comparison, second minus first.
func (c Comparison) Reversed() Comparison {
	c.Mean, c.T = 0-c.Mean, 0-c.T
	switch c.Verdict {
	case FirstHigher:
		c.Verdict = SecondHigher
	case SecondHigher:
		c.Verdict = FirstHigher
	}
	return c
}

// Pair is a comparison of two of some arms; First is smaller than Second.
type Pair struct {
	First, Second int
	Comparison
}

// All compares every two of the arms, which are one family: (0,1), (0,2), … (1,2), …
func All(arms [][]Value) []Pair {
	var pairs []Pair
	var family []Question
	for i, a := range arms {
		for k, b := range arms[i+1:] {
			pairs = append(pairs, Pair{First: i, Second: i + 1 + k})
			family = append(family, Question{First: a, Second: b})
		}
	}
	for i, c := range Family(family) {
		pairs[i].Comparison = c
	}
	return pairs
}

// Family answers questions that belong together, in their order. Holm's correction is over all of them that have enough
// pairs, so what is asked must not depend on what was measured.
func Family(questions []Question) []Comparison {
	all := make([]Comparison, len(questions))
	p, flips := make([]float64, len(questions)), make([]float64, len(questions))
	for i, q := range questions {
		c := q.measure()
		all[i], p[i], flips[i] = c, c.P, c.SignFlip
		switch {
		case c.N() < LeastSeeds:
			p[i], flips[i] = math.NaN(), math.NaN()
		case math.IsNaN(c.P):
			p[i] = 1 // the spread is known only from the values, so a pair without spread must not make the family smaller
		}
	}
	p, flips = Holm(p), Holm(flips)
	for i := range all {
		c := &all[i]
		if c.SignFlipHolm = flips[i]; !math.IsNaN(c.P) {
			c.Holm = p[i]
		}
		c.decide(questions[i].Margin)
	}
	return all
}

// decide gives the verdict, once Holm is known.
func (c *Comparison) decide(margin float64) {
	switch {
	case c.N() < LeastSeeds && c.N()+c.Others >= LeastSeeds:
		c.Reason = OtherEngines
	case c.N() < LeastSeeds:
		c.Reason = FewSeeds
	case math.IsNaN(c.Holm):
		c.Reason = NoSpread
	case !(c.Holm < Level):
		c.Reason = NotSignificant
	}
	switch {
	case c.Reason != "":
		c.Verdict = Undecided
	case margin > 0 && math.Abs(c.Mean) < margin:
		c.Verdict = Alike
	case margin > 0:
		c.Verdict = Apart
	case c.Mean > 0:
		c.Verdict = FirstHigher
	default:
		c.Verdict = SecondHigher
	}
}

// measure is everything of the comparison that does not depend on the family.
func (q Question) measure() Comparison {
	nan := math.NaN()
	c := Comparison{T: nan, P: nan, SignFlip: nan, Holm: nan, SignFlipHolm: nan}
	var d []float64
	rounding, size := 0.0, 0.0
	for _, v := range q.differences(&c) {
		c.Seeds, d = append(c.Seeds, v.seed), append(d, v.value)
		rounding += v.variance
		size = max(size, v.size)
	}
	n := float64(len(d))
	c.Mean, c.Half = metric.Interval(d)
	if q.Margin == 0 {
		c.SignFlip = signFlip(d)
	}
	if len(d) < 2 {
		return c
	}
	squares := 0.0
	for _, v := range d {
		squares += float64((v - c.Mean) * (v - c.Mean))
	}
	spread := math.Sqrt(squares / (n - 1))
	// Of values without step, differences that are equal but for the rounding of float64 have no spread.
	if spread <= 1e-12*size || spread < math.Sqrt(rounding/n) {
		c.Half = nan
		return c
	}
	if len(d) < LeastSeeds {
		return c
	}
	se := spread / math.Sqrt(n)
	beyond := func(distance float64) float64 { return metric.Tail(distance/se, n-1) }
	c.T = c.Mean / se
	switch size := math.Abs(c.Mean); {
	case q.Margin > 0 && size < q.Margin: // alike
		c.P = beyond(q.Margin - size)
	default: // the margin is on both sides of 0, and without one this is the two-sided test
		c.P = beyond(size-q.Margin) + beyond(size+q.Margin)
	}
	return c
}

// average is the mean value of a seed and an engine, or the difference of two.
type average struct {
	seed     uint64
	engine   Engine
	value    float64
	variance float64 // of the rounding to test images
	size     float64 // of the largest value behind it
}

// differences are those of the seeds that both arms have from one engine, by rising seed. It adds the engines to c, and
// counts the seeds that have none in common.
func (q Question) differences(c *Comparison) []average {
	first, second := averages(q.First), averages(q.Second)
	var all []average
	for len(first) > 0 && len(second) > 0 {
		seed := max(first[0].seed, second[0].seed)
		var a, b []average
		a, first = cut(first, seed)
		b, second = cut(second, seed)
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		i := slices.IndexFunc(a, func(v average) bool { return engineAt(b, v.engine) >= 0 })
		if i < 0 {
			c.Others++
			continue
		}
		v, w := a[i], b[engineAt(b, a[i].engine)]
		all = append(all, average{v.seed, v.engine, v.value - w.value, v.variance + w.variance, max(v.size, w.size)})
		c.Engines = append(c.Engines, v.engine)
	}
	slices.SortFunc(c.Engines, Engine.Compare)
	c.Engines = slices.Compact(c.Engines)
	return all
}

func engineAt(list []average, engine Engine) int {
	return slices.IndexFunc(list, func(v average) bool { return v.engine == engine })
}

// cut splits a list that is sorted by seed into the averages of the seed and those after it.
func cut(list []average, seed uint64) (of, after []average) {
	from, _ := slices.BinarySearchFunc(list, seed, func(a average, seed uint64) int { return cmp.Compare(a.seed, seed) })
	to := from
	for to < len(list) && list[to].seed == seed {
		to++
	}
	return list[from:to], list[to:]
}

// averages are the values by seed and engine, sorted.
func averages(values []Value) []average {
	values = slices.DeleteFunc(slices.Clone(values),
		func(v Value) bool { return math.IsNaN(v.Value) || math.IsInf(v.Value, 0) })
	// By value too, so that a sum does not depend on the order of repeats.
	slices.SortFunc(values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), a.Engine.Compare(b.Engine), cmp.Compare(a.Value, b.Value),
			cmp.Compare(a.Step, b.Step))
	})
	var all, repeats []average
	for i, v := range values {
		repeats = append(repeats, average{seed: v.Seed, engine: v.Engine, value: v.Value, variance: v.Step * v.Step / 12,
			size: math.Abs(v.Value)})
		if next := i + 1; next == len(values) || values[next].Seed != v.Seed || values[next].Engine != v.Engine {
			all, repeats = append(all, meanOf(repeats)), repeats[:0]
		}
	}
	return all
}

// meanOf returns the mean of the values of one seed. Averaging does not reduce its rounding error, because repeats may
// be equal bit for bit.
func meanOf(list []average) average {
	m := list[0]
	for _, x := range list[1:] {
		m.value += x.value
		m.variance += x.variance
		m.size = max(m.size, x.size)
	}
	n := float64(len(list))
	m.value /= n
	m.variance /= n
	return m
}

// String is the kernel set and the algorithm of convolutions, such as "avx2, winograd"; "unknown" if the result does
// not say.
func (e Engine) String() string {
	switch {
	case e == Engine{}:
		return "unknown"
	case e.Kernel == "" || e.Convolution == "":
		return e.Kernel + e.Convolution
	}
	return e.Kernel + ", " + e.Convolution
}
