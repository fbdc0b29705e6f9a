// Package findings checks what the survey says against results: each [Claim] is a sentence of the paper in our own
// words, the label under which the paper says it, and its parts, which say what is measured of which runs and what
// decides.
//
//	study, err := paper.Read(ctx, []string{"results"})
//	for _, f := range findings.Check(study) {
//		fmt.Println(f.Claim.Text, f.Benchmark, f.Verdict)
//	}
//
// A claim is split into parts, such as "GDumb > ER, M = 5,000". It holds if each part holds, fails if one fails, and is
// not run if no part has a result. In all other cases it is undecided. What decides a part is said at [Part].
//
// Only what can turn out either way is a part. A test makes results for each part under which it holds, and others
// under which it fails.
package findings

import (
	"cmp"
	"slices"

	"ocl/survey"
	"ocl/survey/paper"
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
	// Alike is the margin in points within which accuracies count as equal, or one part in [AlikeOf] of the smaller
	// published one if that is less.
	Alike   = 2.0
	AlikeOf = 5.0
	// Unlearnt is the accuracy in per cent up to which classes count as nearly unlearnt.
	Unlearnt = 5.0
	// Guessed is forward transfer in per cent that counts as none. It is twice what guessing among 100 classes gives.
	Guessed = 2.0
	// Steady is how much longer a run with a memory of 10,000 may take than with 1,000 for its time not to depend on the
	// memory.
	Steady = 1.1
	// Limited is how much longer a run with a trick may take than one without for its overhead to be limited.
	Limited = 1.5
	// Similar is how much longer a run may take than another for their times to be similar.
	Similar = 2.0
)

// Group is a section of the page.
type Group string

// The groups, in the order of the page.
const (
	Classes Group = "Methods, where each task brings new classes"
	Errors  Group = "Errors, and what causes them"
	Tricks  Group = "Tricks"
	Domains Group = "Methods, where the tasks have the same classes"
	Times   Group = "Run times"
)

// Groups are all of them.
func Groups() []Group { return []Group{Classes, Errors, Tricks, Domains, Times} }

// Claim is something that the survey says of its results.
type Claim struct {
	Title      string // a few words
	Group      Group
	Text       string   // a sentence, in our words
	Source     string   // the label of the paper under which it says so; that of a section, a figure or a table
	Benchmarks []string // on which it is checked, each by itself; names of [paper.Benchmark]
	Rule       string   // what decides it, where that is more than the general rules; "" is not
	// the study that makes the runs, below studies/, on the first data set of several; see [Claim.StudyOf]
	Study string
	Note  string // what a reader should know of it; "" is nothing

	parts func(benchmark string) []question
}

// Studies that make the runs of claims, on the first data set of each.
const (
	methodStudy     = "oci_cifar100.yaml"
	domainStudy     = "odi_mini.yaml"
	claimStudy      = "claims_mini.yaml"
	metricStudy     = "metrics.yaml"
	trickStudy      = "tricks_cifar.yaml"
	trickTimeStudy  = "trick_time.yaml"
	methodTimeStudy = "method_time.yaml"
)

// elsewhere are the studies in place of others on some benchmarks: each study has one data set.
var elsewhere = map[string]map[string]string{
	methodStudy: {survey.MiniImageNet: "oci_mini.yaml", survey.CORe50NC: "oci_core50.yaml"},
	domainStudy: {survey.CORe50NI: "odi_core50.yaml"},
	trickStudy:  {survey.MiniImageNet: "tricks_mini.yaml"},
	metricStudy: {survey.MiniImageNet: claimStudy},
	claimStudy:  {survey.CORe50NI: "claims_core50.yaml"},
}

// StudyOf is the study that makes the runs on a benchmark.
func (c Claim) StudyOf(benchmark string) string {
	return cmp.Or(elsewhere[c.Study][benchmark], c.Study)
}

// Claims are those that are checked, in the order of the page.
func Claims() []Claim {
	return slices.Concat(classClaims(), errorClaims(), trickClaims(), domainClaims(), timeClaims())
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

// Check judges every claim on every benchmark for which it is made.
func Check(s *paper.Study) []Finding { return judge(s, Claims()) }

// judge judges some claims.
func judge(s *paper.Study, claims []Claim) []Finding {
	e := newEvidence(s)
	var all []Finding
	for _, c := range claims {
		for _, b := range c.Benchmarks {
			parts := e.answer(c.Title, c.parts(b))
			all = append(all, Finding{Claim: c, Benchmark: b, Verdict: verdictOf(parts), Parts: parts})
		}
	}
	return all
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
