package findings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl/internal/count"
	"ocl/run/metric/compare"
	"ocl/survey/paper"
)

// Part is a part of a claim. It has a value for each seed: that of one run, or of several runs of that seed.
//
// Most parts compare the values with a limit, as "GDumb > ER" compares the differences of both with 0. [compare.Family]
// decides these, all of a claim together: a part that orders holds or fails by the sign of the mean; one that says that
// values are alike holds if they are less than a margin from the limit, and fails if they are more. A part that says of
// each run that something is so holds if it is so with each seed, and fails if it is with none; it is no test of
// chance. No part is decided by fewer than [compare.LeastSeeds] seeds. A comparison that several claims make counts in
// the family of the first one alone, so that it has one verdict.
type Part struct {
	What      string
	Verdict   Verdict
	Why       string // it is undecided; "" of all others
	Ours      string // what our results show, in words; "" without one
	Published string // the paper's figure for the same; "" where it has none
	// title of the claim before that asks the same. Its verdict and probabilities are this part's too; "" of all others
	As      string
	Seeds   int
	Kernels string // of the runs, such as "avx2, winograd"
	P       float64
	// probabilities after Holm's correction: of the paired t-test, and of the sign-flip test; NaN where there is none
	SignFlip float64
	Paths    []string
}

// rule is what decides a question.
type rule int

const (
	above rule = iota // the values are above the limit
	below             // they are below it
	near              // they are less than the margin from it
	each              // so must be true of the value of each seed
)

// question is a part before it is answered. What it asks does not depend on any result.
type question struct {
	what  string
	terms []term
	// of a seed, from what its runs measured, in the order of the terms; nil is the first minus the second, if any
	value     func(x []float64) float64
	rule      rule
	limit     float64
	margin    float64                         // of near
	so        func(float64) bool              // of each
	text      func(mean, half float64) string // of a value, and of half its interval; NaN is none
	published string
}

// term is runs, and what is measured of them.
type term struct {
	arm arm
	measure
}

// sample is the value of a seed.
type sample struct {
	seed   uint64
	engine compare.Engine
	x      []float64
	steps  []float64
	runs   []*paper.Run
}

// answer answers the questions of the claim of that title.
func (e *evidence) answer(title string, list []question) []Part {
	parts := make([]Part, len(list))
	var asked []compare.Question
	var at []int
	for i, q := range list {
		samples, others := e.samples(q)
		parts[i] = q.part(samples, others)
		key, reversed := q.comparison()
		if known, there := e.answered[key]; there {
			q.decide(&parts[i], compare.Family([]compare.Question{q.ask(samples)})[0])
			parts[i].repeat(known, known.reversed != reversed)
			continue
		}
		if q.rule != each {
			asked, at = append(asked, q.ask(samples)), append(at, i)
		}
	}
	for k, c := range compare.Family(asked) {
		list[at[k]].decide(&parts[at[k]], c)
	}
	for i, q := range list {
		if key, reversed := q.comparison(); key != "" && parts[i].As == "" {
			e.answered[key] = answered{parts[i], title, reversed}
		}
	}
	return parts
}

// answered is a part of the claim of that title.
type answered struct {
	Part
	title    string
	reversed bool // of the key's two terms the second comes first
}

// repeat takes the verdict of a part that compared the same, or the same the other way round.
func (p *Part) repeat(known answered, reversed bool) {
	p.Verdict, p.Why, p.P, p.SignFlip, p.As = known.Verdict, known.Why, known.P, known.SignFlip, known.title
	if !reversed {
		return
	}
	switch known.Verdict {
	case Holds:
		p.Verdict = Fails
	case Fails:
		p.Verdict = Holds
	}
}

// comparison is a key of what a question compares, "" if it is no comparison, or one that a function makes. Two orders
// of two terms have one key; reversed tells them apart.
func (q question) comparison() (key string, reversed bool) {
	if q.rule == each || q.value != nil {
		return "", false
	}
	var terms []string
	for _, t := range q.terms {
		terms = append(terms, fmt.Sprint(t.arm.spec, t.arm.changes, t.name, t.classifier))
	}
	if len(terms) == 2 && q.limit == 0 && terms[1] < terms[0] {
		terms[0], terms[1], reversed = terms[1], terms[0], q.rule != near
	}
	return fmt.Sprint(q.rule, q.limit, q.margin, terms), reversed
}

// samples returns the values of a question, one for each seed, in rising order. A seed counts if all terms have a run
// of it with the same kernels, or if the terms may have different ones. others counts the seeds for which the terms
// have only runs with different kernels, and may not.
func (e *evidence) samples(q question) (list []sample, others int) {
	type key struct {
		seed   uint64
		engine compare.Engine
	}
	found := map[key]*sample{}
	mixed := map[uint64]*sample{} // of each term the run of the kernels that count
	for i, t := range q.terms {
		best := map[uint64]*paper.Run{}
		for _, r := range e.runs(t.arm, t.measure) {
			k := key{r.Seed, t.engine(r)}
			if found[k] == nil {
				found[k] = &sample{seed: r.Seed, engine: k.engine}
			}
			found[k].add(i, t, r)
			if old := best[r.Seed]; old == nil || k.engine.Compare(t.engine(old)) < 0 {
				best[r.Seed] = r
			}
		}
		for seed, r := range best {
			if mixed[seed] == nil {
				mixed[seed] = &sample{seed: seed, engine: t.engine(r)}
			}
			mixed[seed].add(i, t, r)
		}
	}
	of := map[uint64]sample{} // the one that counts
	for k, s := range found {
		if old, there := of[k.seed]; len(s.x) == len(q.terms) && (!there || k.engine.Compare(old.engine) < 0) {
			of[k.seed] = *s
		}
	}
	for seed, s := range mixed {
		switch _, there := of[seed]; {
		case there || len(s.x) < len(q.terms):
		case q.mixes():
			of[seed] = *s
		default:
			others++
		}
	}
	for _, s := range of {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(a.seed, b.seed) })
	return list, others
}

// add takes a run for the i-th term of a question, if the terms before it have one, and it has none.
func (s *sample) add(i int, t term, r *paper.Run) {
	if len(s.x) != i {
		return
	}
	v, _ := t.of(r)
	s.x, s.steps, s.runs = append(s.x, v), append(s.steps, t.step(r)), append(s.runs, r)
}

// mixes says whether the terms of a question may have different kernels: two methods share no rounding.
func (q question) mixes() bool {
	return len(q.terms) == 2 && q.terms[0].arm.spec.Method != q.terms[1].arm.spec.Method &&
		!q.terms[0].machine && !q.terms[1].machine
}

// valueOf is the value of a seed.
func (q question) valueOf(x []float64) float64 {
	switch {
	case q.value != nil:
		return q.value(x)
	case len(x) > 1:
		return x[0] - x[1]
	}
	return x[0]
}

// part is what is known of a part without a comparison: all of one about each run.
func (q question) part(samples []sample, others int) Part {
	p := Part{What: q.what, Verdict: NotRun, Published: q.published, P: math.NaN(), SignFlip: math.NaN(),
		Seeds: len(samples)}
	if len(samples) == 0 && others > 0 {
		p.Verdict, p.Why = Undecided, "only runs of different "+q.apart()
	}
	if len(samples) == 0 {
		return p
	}
	var engines, words []string
	so := 0
	for _, s := range samples {
		for i, r := range s.runs {
			if name := q.terms[i].engine(r).String(); !slices.Contains(engines, name) {
				engines = append(engines, name)
			}
			if !slices.Contains(p.Paths, r.Path) {
				p.Paths = append(p.Paths, r.Path)
			}
		}
		if q.rule == each {
			v := q.valueOf(s.x)
			words = append(words, q.text(v, math.NaN()))
			if q.so(v) {
				so++
			}
		}
	}
	slices.Sort(engines)
	p.Verdict, p.Kernels, p.Ours = Undecided, strings.Join(engines, "; "), strings.Join(words, ", ")
	switch n := len(samples); {
	case n < compare.LeastSeeds:
		p.Why = few(n)
		if others > 0 {
			p.Why += " with the same " + q.apart()
		}
	case q.rule != each:
	case so == n:
		p.Verdict = Holds
	case so == 0:
		p.Verdict = Fails
	default:
		p.Why = fmt.Sprintf("so with %d of %d seeds", so, n)
	}
	return p
}

// few returns the reason for n seeds, if they are too few for a verdict.
func few(n int) string {
	if n == 1 {
		return "one run"
	}
	return "two seeds"
}

// ask is the question as package compare takes it: the values beside the limit.
func (q question) ask(samples []sample) compare.Question {
	c := compare.Question{Margin: q.margin}
	for _, s := range samples {
		c.First = append(c.First, compare.Value{Seed: s.seed, Engine: s.engine, Value: q.valueOf(s.x), Step: q.step(s)})
		c.Second = append(c.Second, compare.Value{Seed: s.seed, Engine: s.engine, Value: q.limit})
	}
	return c
}

// step is what one test image of each run changes in the value of a seed, as independent errors add up.
func (q question) step(s sample) float64 {
	squares := 0.0
	for i, step := range s.steps {
		x := slices.Clone(s.x)
		x[i] += step
		d := q.valueOf(x) - q.valueOf(s.x)
		squares += d * d
	}
	return math.Sqrt(squares)
}

// decide fills in what a comparison says.
func (q question) decide(p *Part, c compare.Comparison) {
	if c.N() == 0 {
		return
	}
	p.P, p.SignFlip = c.Holm, c.SignFlipHolm
	half := c.Half
	if c.N() < compare.LeastSeeds {
		half = math.NaN()
	}
	p.Ours = q.text(c.Mean+q.limit, half)
	switch {
	case c.N() < compare.LeastSeeds: // why is said already
	case c.Verdict == compare.Undecided:
		p.Why = string(c.Reason)
	case c.Verdict == compare.Alike, c.Verdict == compare.FirstHigher && q.rule == above,
		c.Verdict == compare.SecondHigher && q.rule == below:
		p.Verdict = Holds
	default:
		p.Verdict = Fails
	}
}

// points is a difference, with its interval where there are seeds for one.
func points(mean, half float64) string { return signed(mean) + interval(half, 1) }

// percent is a share, and wholePercent one without decimals.
func percent(mean, half float64) string      { return count.Fixed(mean, 1) + interval(half, 1) + " %" }
func wholePercent(mean, half float64) string { return count.Fixed(mean, 0) + interval(half, 0) + " %" }

// times is a ratio.
func times(mean, half float64) string { return "× " + count.Fixed(mean, 2) + interval(half, 2) }

func interval(half float64, decimals int) string {
	if math.IsNaN(half) {
		return ""
	}
	return " ± " + count.Fixed(half, decimals)
}

func signed(v float64) string { return count.Signed(v, 1) }

// apart says in words what runs must have in common to be compared.
func (q question) apart() string {
	if slices.ContainsFunc(q.terms, func(t term) bool { return t.machine }) {
		return "kernels or processors"
	}
	return "kernels"
}
