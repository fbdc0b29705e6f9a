// Package findings checks what the survey says against results: each [Claim] is a sentence of the paper in our own words, the label under which
// the paper says it, and a function that says which results bear on it and what they show.
//
//	study, err := paper.Read([]string{"results"})
//	for _, f := range findings.Check(study, lambda) {
//		fmt.Println(f.Claim.Text, f.Benchmark, f.Verdict)
//	}
//
// A claim is split into parts, such as "GDumb > ER, M = 5,000". It holds if each part holds, fails if one fails, and is not run if no part has a
// result. In all other cases it is undecided. What decides a part is said at [Part].
package findings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/method"
	"ocl/metric"
	"ocl/report/paper"
	"ocl/survey"
)

// Verdict says whether a claim, or a part of one, is true of the results.
type Verdict string

// The verdicts, in the order in which they are counted.
const (
	Holds     Verdict = "holds"
	Fails     Verdict = "fails"
	Undecided Verdict = "undecided"
	NotRun    Verdict = "not run"
)

// Verdicts are all of them.
func Verdicts() []Verdict { return []Verdict{Holds, Fails, Undecided, NotRun} }

const (
	// Seeds is the least number of seeds that decides a part which compares runs.
	Seeds = 3
	// Level is the largest probability, after Holm's correction over the parts of a claim, that decides a part which orders two methods.
	Level = 0.05
	// Alike is the most by which values may differ that count as equal, in points.
	Alike = 1.0
	// Unlearnt is the accuracy in per cent up to which classes count as nearly unlearnt.
	Unlearnt = 5.0
	// Steady is how much longer a run with a memory of 10,000 may take than with 1,000 for its time not to depend on the memory.
	Steady = 1.1
)

// Group is a section of the page.
type Group string

// The groups, in the order of the page.
const (
	Classes Group = "Methods, where each task brings new classes"
	Errors  Group = "Errors, and what causes them"
	Tricks  Group = "Tricks"
	Domains Group = "Methods, where the tasks have the same classes"
)

// Groups are all of them.
func Groups() []Group { return []Group{Classes, Errors, Tricks, Domains} }

// Claim is something that the survey says of its results.
type Claim struct {
	Title      string // a few words
	Group      Group
	Text       string   // a sentence, in our words
	Source     string   // the label of the paper under which it says so; that of a section, a figure or a table
	Benchmarks []string // on which it is checked, each by itself; names of [paper.Benchmark]
	Rule       string   // what decides it, where that is more than the general rules; "" is not
	Study      string   // the study that makes the runs, below studies/, on the first data set of several; see [Claim.StudyOf]
	Note       string   // what a reader should know of it; "" is nothing

	parts func(e *evidence, benchmark string) []Part
}

// elsewhere are the studies in place of others on some benchmarks: each study has one data set.
var elsewhere = map[string]map[string]string{
	"oci_cifar100.yaml": {survey.MiniImageNet: "oci_mini.yaml", survey.CORe50NC: "oci_core50.yaml"},
	"odi_mini.yaml":     {survey.CORe50NI: "odi_core50.yaml"},
	"tricks_cifar.yaml": {survey.MiniImageNet: "tricks_mini.yaml"},
	"metrics.yaml":      {survey.MiniImageNet: "claims_mini.yaml"},
	"claims_mini.yaml":  {survey.CORe50NI: "claims_core50.yaml"},
}

// StudyOf is the study that makes the runs on a benchmark.
func (c Claim) StudyOf(benchmark string) string {
	return cmp.Or(elsewhere[c.Study][benchmark], c.Study)
}

// Finding is a claim on a benchmark.
type Finding struct {
	Claim     Claim
	Benchmark string
	Verdict   Verdict
	Parts     []Part
}

// Count is the number of parts with a verdict.
func (f Finding) Count(v Verdict) int {
	n := 0
	for _, p := range f.Parts {
		if p.Verdict == v {
			n++
		}
	}
	return n
}

// Paths are the results that bear on it, each once, in the order in which parts use them.
func (f Finding) Paths() []string {
	var paths []string
	for _, p := range f.Parts {
		for _, path := range p.Paths {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Part is a part of a claim.
//
// One that orders two methods compares runs with the same seeds: it holds or fails by the sign of the mean difference if Holm's correction
// of the paired t-test over all such parts of the claim leaves a probability of less than [Level]. One that calls two methods alike holds if the
// whole 95 % interval of the difference is within [Alike] of 0, and fails if the whole interval is outside. Both need [Seeds] seeds. What decides
// any other part is said by the claim.
type Part struct {
	What      string
	Verdict   Verdict
	Ours      string // what our results show, in words; "" without one
	Published string // the paper's figure for the same; "" where it has none
	Runs      int    // pairs of runs of a comparison, else runs
	P         float64
	SignFlip  float64 // probabilities of a comparison: Holm's correction of the paired t-test, and the sign-flip test without correction; else NaN
	Paths     []string

	ordered    bool // by comparison, which finish decides
	comparison metric.Comparison
}

// decided is a part without a comparison.
func decided(what string, v Verdict, ours string, runs []*paper.Run) Part {
	return Part{What: what, Verdict: v, Ours: ours, Runs: len(runs), P: math.NaN(), SignFlip: math.NaN(), Paths: pathsOf(runs)}
}

// Check judges every claim on every benchmark for which it is made. lambda has the runs of EWC++ with rising λ whose full results are not kept.
func Check(s *paper.Study, lambda []Lambda) []Finding {
	e := newEvidence(s, lambda)
	var all []Finding
	for _, c := range Claims() {
		for _, b := range c.Benchmarks {
			parts := c.parts(e, b)
			finish(parts)
			all = append(all, Finding{Claim: c, Benchmark: b, Verdict: verdictOf(parts), Parts: parts})
		}
	}
	return all
}

// finish decides the parts that order methods, with Holm's correction over all of them.
func finish(parts []Part) {
	p := make([]float64, len(parts))
	for i := range parts {
		p[i] = math.NaN()
		if parts[i].ordered && parts[i].comparison.N >= Seeds {
			p[i] = parts[i].comparison.P
		}
	}
	for i, v := range metric.Holm(p) {
		part := &parts[i]
		if !part.ordered || math.IsNaN(v) {
			continue
		}
		part.P, part.Verdict = v, Undecided
		switch {
		case v < Level && part.comparison.Mean > 0:
			part.Verdict = Holds
		case v < Level && part.comparison.Mean < 0:
			part.Verdict = Fails
		}
	}
}

// verdictOf is the verdict of a claim with these parts.
func verdictOf(parts []Part) Verdict {
	count := map[Verdict]int{}
	for _, p := range parts {
		count[p.Verdict]++
	}
	switch {
	case count[NotRun] == len(parts):
		return NotRun
	case count[Fails] > 0:
		return Fails
	case count[Holds] == len(parts):
		return Holds
	}
	return Undecided
}

// Lambda is how a run of EWC++ with some λ ended.
type Lambda struct {
	Rate, Lambda float64
	Diverged     bool
	Path         string
}

// evidence has the results.
type evidence struct {
	study     *paper.Study
	lambda    []Lambda
	published map[paper.Spec]survey.Value
	changed   map[string][]*paper.Run // runs with something changed, by spec and changes
}

func newEvidence(s *paper.Study, lambda []Lambda) *evidence {
	e := &evidence{study: s, lambda: lambda, published: map[paper.Spec]survey.Value{}, changed: map[string][]*paper.Run{}}
	for _, label := range []string{survey.ClassIncremental, survey.TricksCIFAR100, survey.TricksMiniImage, survey.DomainIncremental} {
		cells, err := s.Cells(label)
		if err != nil {
			panic("findings: " + err.Error()) // the labels are tables
		}
		for _, c := range cells {
			if c.Spec != (paper.Spec{}) && c.Repeat != survey.ClassIncremental {
				e.published[c.Spec] = c.Published
			}
		}
	}
	for _, r := range s.Runs {
		spec, changes, err := paper.Planned(r.Result.Config)
		if err == nil && len(changes) > 0 {
			key := fmt.Sprint(spec, changes)
			e.changed[key] = append(e.changed[key], r)
		}
	}
	return e
}

// arm is runs that are compared with others.
type arm struct {
	spec    paper.Spec
	changes []paper.Change // from the spec
	name    string         // "" is by the spec
}

// of is the arm of a method with tricks on a benchmark, by its own classifier. A method without memory has none of any size.
func of(benchmark, name, tricks string, memory int) arm {
	if info, err := method.Lookup(name); err == nil && !info.UsesMemory {
		memory = 0
	}
	a := arm{spec: paper.Spec{Benchmark: benchmark, Protocol: config.ProtocolSurvey, Method: name, Classifier: config.ClassifierHead, Memory: memory}}
	switch tricks {
	case "none":
	case config.ClassifierNCM:
		a.spec.Classifier = config.ClassifierNCM
	default:
		a.spec.Tricks = tricks
	}
	return a
}

// String is the arm as the survey would call it.
func (a arm) String() string {
	if a.name != "" {
		return a.name
	}
	name := titleOf(a.spec.Method)
	for _, trick := range strings.Split(a.spec.Tricks, "+") {
		if trick != "" {
			name += " + " + strings.ToUpper(trick)
		}
	}
	if a.spec.Classifier == config.ClassifierNCM {
		name += " + NCM"
	}
	return name
}

// titleOf is what the survey calls a method.
func titleOf(name string) string {
	info, err := method.Lookup(name)
	if err != nil {
		return name
	}
	return strings.TrimSuffix(info.Title, "-Greedy")
}

// measure is a number of a run, in points; ok is false where it was not measured.
type measure func(r *paper.Run) (value float64, ok bool)

// accuracy is the average accuracy at the end by a classifier, in per cent.
func accuracy(classifier string) measure {
	return metricOf(classifier, func(m result.Metrics) *float64 { return m.AverageAccuracy })
}

// metricOf is a metric of a classifier times 100.
func metricOf(classifier string, of func(result.Metrics) *float64) measure {
	return func(r *paper.Run) (float64, bool) {
		m, ok := r.Metrics(classifier)
		if !ok || of(m) == nil || r.Result.Outcome.State != result.Finished {
			return 0, false
		}
		return 100 * *of(m), true
	}
}

// onAll is a measure of runs that were tested on all tasks.
func onAll(m measure) measure {
	return func(r *paper.Run) (float64, bool) {
		v, ok := m(r)
		return v, ok && r.Result.Config.Eval == config.EvalAll
	}
}

// sinceLearnt is a measure of runs that were tested on each task when it was learned.
func sinceLearnt(m measure) measure {
	return func(r *paper.Run) (float64, bool) {
		v, ok := m(r)
		return v, ok && r.Result.Config.Eval != config.EvalFinal
	}
}

// runs are those of an arm that have a measure.
func (e *evidence) runs(a arm, m measure) []*paper.Run {
	has := func(r *paper.Run) bool { _, ok := m(r); return ok }
	if len(a.changes) > 0 {
		spec := a.spec
		spec.Classifier = config.ClassifierHead
		seen := map[uint64]bool{}
		return slices.DeleteFunc(slices.Clone(e.changed[fmt.Sprint(spec, a.changes)]), func(r *paper.Run) bool {
			again := !has(r) || seen[r.Seed]
			seen[r.Seed] = seen[r.Seed] || has(r)
			return again
		})
	}
	runs, _ := e.study.Find(a.spec, has)
	return runs
}

// pairs are the values of two arms with the same seeds, in the order of the seeds, and the runs that have them.
func (e *evidence) pairs(a, b arm, m, n measure) (x, y []float64, runs []*paper.Run) {
	others := map[uint64]*paper.Run{}
	for _, r := range e.runs(b, n) {
		others[r.Seed] = r
	}
	for _, r := range e.runs(a, m) {
		other := others[r.Seed]
		if other == nil {
			continue
		}
		v, _ := m(r)
		w, _ := n(other)
		x, y, runs = append(x, v), append(y, w), append(runs, r, other)
	}
	return x, y, runs
}

// compared is a part that compares two arms, without its verdict but for one that is not run.
func (e *evidence) compared(what string, x, y []float64, runs []*paper.Run) Part {
	p := Part{What: what, Verdict: NotRun, P: math.NaN(), SignFlip: math.NaN()}
	if len(x) == 0 {
		return p
	}
	p.comparison = metric.Paired(x, y)
	p.Verdict, p.Runs, p.SignFlip, p.Paths = Undecided, len(x), p.comparison.SignFlip, pathsOf(runs)
	p.Ours = differenceText(p.comparison)
	return p
}

// differenceText is a mean difference, with its interval where there are seeds for one.
func differenceText(c metric.Comparison) string {
	if c.N < Seeds {
		return signed(c.Mean)
	}
	return fmt.Sprintf("%s ± %.1f", signed(c.Mean), c.Half)
}

// ahead is the part that the accuracy of a is above that of b.
func (e *evidence) ahead(a, b arm, at string) Part {
	p := e.more(a, b, at, accuracy(a.spec.Classifier), accuracy(b.spec.Classifier))
	p.Published = e.publishedDifference(a, b)
	return p
}

// more is the part that a measure of a is above that of b.
func (e *evidence) more(a, b arm, at string, m, n measure) Part {
	x, y, runs := e.pairs(a, b, m, n)
	p := e.compared(a.String()+" > "+b.String()+at, x, y, runs)
	p.ordered = true
	return p
}

// alike is the part that the accuracies of a and b are the same.
func (e *evidence) alike(a, b arm, at string) Part {
	x, y, runs := e.pairs(a, b, accuracy(a.spec.Classifier), accuracy(b.spec.Classifier))
	p := e.compared(a.String()+" ≈ "+b.String()+at, x, y, runs)
	p.Published = e.publishedDifference(a, b)
	if p.comparison.N >= Seeds {
		p.Verdict = within(p.comparison.Mean, p.comparison.Half, Alike)
	}
	return p
}

// within says whether a value is at most so far from 0, by its 95 % interval.
func within(mean, half, most float64) Verdict {
	switch {
	case math.Abs(mean)+half <= most:
		return Holds
	case math.Abs(mean)-half > most:
		return Fails
	}
	return Undecided
}

// publishedDifference is the paper's accuracy of a minus that of b; "" where it does not have both.
func (e *evidence) publishedDifference(a, b arm) string {
	x, ok := e.published[a.spec]
	y, also := e.published[b.spec]
	if !ok || !also || len(a.changes)+len(b.changes) > 0 {
		return ""
	}
	return signed(x.Mean - y.Mean)
}

// signed is a difference with its sign, never −0.0.
func signed(v float64) string {
	return strings.ReplaceAll(fmt.Sprintf("%+.1f", math.Round(v*10)/10+0), "-", "−")
}

// values are what runs have of a measure.
func values(runs []*paper.Run, m measure) []float64 {
	var list []float64
	for _, r := range runs {
		if v, ok := m(r); ok {
			list = append(list, v)
		}
	}
	return list
}

// estimateText is a mean, with its interval where there are runs for one.
func estimateText(list []float64) string {
	mean, half := metric.Interval(list)
	if len(list) < Seeds {
		return fmt.Sprintf("%.1f", mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", mean, half)
}

func pathsOf(runs []*paper.Run) []string {
	var paths []string
	for _, r := range runs {
		paths = append(paths, r.Path)
	}
	return paths
}
