package paper

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/experiment/result"
	"ocl/survey"
)

// studyOf are results that were read from memory.
func studyOf(results ...*result.Result) *paper {
	s := &Study{byKey: map[string][]*Run{}}
	for i, r := range results {
		run := runOf(fmt.Sprint(i), r)
		s.Runs = append(s.Runs, run)
		s.byKey[run.key] = append(s.byKey[run.key], run)
	}
	return &paper{study: s}
}

// with is a made-up result with an accuracy of a method on Split CIFAR-100 at a memory of 1,000.
func with(method string, seed uint64, accuracy float64, change func(*result.Result)) *result.Result {
	spec := Spec{Benchmark: survey.CIFAR100, Protocol: config.ProtocolSurvey, Method: method, Classifier: config.ClassifierHead, Memory: 1000}
	r := fake(spec, seed, config.EvalFinal)
	r.Metrics.AverageAccuracy = &accuracy
	if change != nil {
		change(r)
	}
	return r
}

// TestCommentsKeepToOneProtocol: runs of different protocols, data and numbers versions were one range, "7 runs, from 8.7 to 40.9 %", and one
// count of those that diverged. A run that two results have, which evaluate differently, counted twice.
func TestCommentsKeepToOneProtocol(t *testing.T) {
	tuning := func(r *result.Result) { r.Config.Protocol = config.ProtocolTuning }
	evaluated := func(r *result.Result) { r.Config.Eval = config.EvalAll }
	data := func(r *result.Result) { r.Provenance.DataDigest = "sha256:0123456789" }
	numbers := func(r *result.Result) { r.Provenance.Numbers = 1 }
	p := studyOf(with("cndpm", 1, .087, nil), with("cndpm", 1, .409, tuning), with("cndpm", 2, .1, tuning), with("cndpm", 2, .2, nil), with("cndpm", 2, .2, evaluated),
		with("cndpm", 2, .6, data), with("cndpm", 2, .7, numbers))
	want := []string{
		"Split CIFAR-100, protocol survey, data 01234567, numbers version 2: 1 run, 60.0 %",
		"Split CIFAR-100, protocol survey, data 88888888, numbers version 1: 1 run, 70.0 %",
		"Split CIFAR-100, protocol survey, data 88888888, numbers version 2: 2 runs, from 8.7 to 20.0 %",
		"Split CIFAR-100, protocol tuning, data 88888888, numbers version 2: 2 runs, from 10.0 to 40.9 %",
	}
	if got := p.answers(survey.MethodComments, []string{"CN-DPM", "2"}); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	diverged := func(r *result.Result) { r.Outcome.State = result.Diverged }
	both := func(r *result.Result) { tuning(r); diverged(r) }
	p = studyOf(with("ewc++", 1, .1, diverged), with("ewc++", 1, .1, both), with("ewc++", 2, .1, nil), with("ewc++", 2, .1, evaluated), with("ewc++", 2, .1, numbers))
	want = []string{
		"Runs that diverged on Split CIFAR-100, protocol survey, data 88888888, numbers version 1: λ = 100: 0 of 1 run",
		"Runs that diverged on Split CIFAR-100, protocol survey, data 88888888, numbers version 2: λ = 100: 1 of 2 runs",
		"Runs that diverged on Split CIFAR-100, protocol tuning, data 88888888, numbers version 2: λ = 100: 1 of 1 run",
	}
	if got := p.answers(survey.MethodComments, []string{"EWC++", "2"}); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestCommentsAreTheSameAlways: of more than 40 common seeds the first 40 in the order of a map were compared, 23 different texts in 30 calls.
func TestCommentsAreTheSameAlways(t *testing.T) {
	var results []*result.Result
	for seed := range uint64(60) {
		results = append(results, with("mir", seed, .2+.001*float64(seed%11), nil), with("er", seed, .18+.001*float64(seed%7), nil))
	}
	p := studyOf(results...)
	ask := func() string { return strings.Join(p.answers(survey.MethodComments, []string{"MIR", "2"}), "\n") }
	first := ask()
	if !strings.Contains(first, "(60 seeds, higher)") {
		t.Errorf("60 seeds give %q", first)
	}
	for range 30 {
		if again := ask(); again != first {
			t.Fatalf("%q, and again %q", first, again)
		}
	}
}

// TestCommentsHaveVerdicts: by the package that compares, so not below three seeds, and not of runs of other kernels.
func TestCommentsHaveVerdicts(t *testing.T) {
	other := func(r *result.Result) { r.Provenance.Kernel = "avx512" }
	p := studyOf(with("mir", 1, .2, nil), with("er", 1, .1, nil), with("mir", 2, .21, nil), with("er", 2, .11, nil), with("mir", 3, .22, nil), with("er", 3, .12, other))
	if got := p.answers(survey.MethodComments, []string{"MIR", "2"}); len(got) != 1 || !strings.Contains(got[0], "+10.0 on Split CIFAR-100, M = 1k (2 seeds, undecided)") {
		t.Errorf("two seeds with equal kernels and equal differences: %q", got)
	}
	p = studyOf(with("mir", 3, .22, nil), with("er", 3, .12, other))
	if got := p.answers(survey.MethodComments, []string{"MIR", "2"}); len(got) != 1 || !strings.Contains(got[0], "not compared on Split CIFAR-100, M = 1k (1 seed, but with other kernels)") {
		t.Errorf("one seed with other kernels: %q", got)
	}
}

// TestBestOtherIsChosenBeforeItIsTested: GDumb is the best other one by its values, so its test is corrected for all that might have been.
func TestBestOtherIsChosenBeforeItIsTested(t *testing.T) {
	values := map[string][]float64{"icarl": {.100, .110, .120}, "gdumb": {.070, .074, .100}, "er": {.000, .100, .110}, "mir": {.090, .020, .110}}
	ask := func(names ...string) string {
		var results []*result.Result
		for _, name := range names {
			for seed, v := range values[name] {
				results = append(results, with(name, uint64(seed), v, nil))
			}
		}
		return strings.Join(studyOf(results...).answers(survey.MethodComments, []string{"iCaRL", "1"}), "\n")
	}
	// p = 0.026, which is 0.077 for one of three.
	for names, verdict := range map[string]string{"icarl gdumb": "higher", "icarl gdumb er mir": "undecided"} {
		if got := ask(strings.Fields(names)...); !strings.Contains(got, "+2.9 ± 2.0 on Split CIFAR-100, M = 1k (GDumb) (3 seeds, "+verdict+")") {
			t.Errorf("of %s: %q, want %s", names, got, verdict)
		}
	}
}
