package findings

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/learn/method"
	"ocl/run/experiment"
	"ocl/run/metric/compare"
	"ocl/run/result"
	"ocl/survey"
	"ocl/survey/paper"
)

// made is a made-up result: of an arm and a seed, with an accuracy in per cent at the end.
type made struct {
	arm      arm
	seed     uint64
	accuracy float64
	change   func(*result.Result) // nil changes nothing
}

func ptr(v float64) *float64 { return &v }

// result makes it. Every task has the same accuracy at the end, and so when it was learned; no other task is known.
func (m made) result() *result.Result {
	c := m.arm.spec.Config(m.seed)
	c.Eval = config.EvalAll
	for _, ch := range m.arm.changes {
		if err := experiment.Schema().Set(&c, ch.Key, ch.Value); err != nil {
			panic(err)
		}
	}
	info, err := method.Lookup(m.arm.spec.Method)
	if err != nil {
		panic(err)
	}
	r := &result.Result{Format: result.Format, Version: result.Version, Config: c,
		Method: result.Method{Name: info.Name, Title: info.Title, Options: c.Method[info.Name]},
		Provenance: result.Provenance{Numbers: result.Numbers, Kernel: "avx2", Convolution: "winograd", Workers: 1,
			Concurrency: 1, Timed: true, Go: "go1.26.0",
			DataDigest: "sha256:" + strings.Repeat(fmt.Sprintf("%x", len(c.Data.Name)%16), 64)},
		Stream: result.Stream{Name: c.Data.Name, Scenario: "class-incremental", Protocol: c.Protocol,
			Shape: [3]int{3, 32, 32}, Classes: 100},
		Seconds: result.Seconds{Train: 100}, Outcome: result.Outcome{State: result.Finished, Step: 10}}
	if m.arm.spec.Tricks != "" {
		r.Method.Tricks = strings.Split(m.arm.spec.Tricks, "+")
	}
	if c.Stream.Kind != config.KindClasses {
		r.Stream.Scenario = "domain-incremental"
	}
	for t := range evaluations {
		r.Stream.Tasks = append(r.Stream.Tasks, result.Task{Index: t, Classes: []int{t}, Train: 100, Test: 500})
		row := make([]*float64, evaluations)
		for j := range row {
			row[j] = ptr(0)
			if j <= t {
				row[j] = ptr(m.accuracy / 100)
			}
		}
		r.Accuracy = append(r.Accuracy, row)
	}
	if list := c.Classifiers; len(list) > 1 {
		r.Classifiers = map[string]result.Classifier{list[1]: {Accuracy: r.Accuracy,
			Metrics: result.MetricsOf(r.Accuracy, false, nil)}}
	}
	if m.change != nil {
		m.change(r)
	}
	r.Metrics = result.MetricsOf(r.Accuracy, false, nil)
	r.Key = experiment.Key(r)
	return r
}

// runs are made-up results of an arm, a seed for each accuracy.
func runs(a arm, accuracies ...float64) (all []made) { return with(nil, a, accuracies...) }

func with(change func(*result.Result), a arm, accuracies ...float64) (all []made) {
	for i, v := range accuracies {
		all = append(all, made{a, uint64(i + 1), v, change})
	}
	return all
}

// check judges a claim on a benchmark by made-up results, beside no other claim.
func check(t *testing.T, claim string, all ...[]made) Finding {
	t.Helper()
	title, benchmark, _ := strings.Cut(claim, " / ")
	for _, f := range judge(studyOf(t, all...), slices.DeleteFunc(Claims(), func(c Claim) bool { return c.Title != title })) {
		if f.Benchmark == benchmark {
			return f
		}
	}
	t.Fatalf("there is no claim %s", claim)
	return Finding{}
}

// studyOf has made-up results and one more, of a method that no claim is about, so that there is always one.
func studyOf(t *testing.T, all ...[]made) *paper.Study {
	t.Helper()
	dir := t.TempDir()
	for i, m := range append(slices.Concat(all...),
		made{arm: of(survey.CIFAR100, "er", "lb+rv", 5000), seed: 1, accuracy: 10}) {
		text, err := result.Encode(m.result())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprint(i), "result.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := paper.Read(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	onCIFAR = " / " + survey.CIFAR100
	onNoise = " / " + survey.Noise
)

// from has a run computed by other kernels.
func from(kernel string) func(*result.Result) {
	return func(r *result.Result) { r.Provenance.Kernel = kernel }
}

// TestFromFiles: the runs of all kinds of parts are found among result files, and decide.
func TestFromFiles(t *testing.T) {
	c := survey.CIFAR100
	atEach := func(name string, accuracies ...float64) (all []made) {
		for _, m := range sizes {
			all = append(all, runs(of(c, name, "none", m), accuracies...)...)
		}
		return all
	}
	kdc := func(percent float64) (all []made) {
		for _, m := range large {
			for _, name := range replayed {
				all = append(all, with(func(r *result.Result) { r.Accuracy[evaluations-1][evaluations-1] = ptr(percent / 100) },
					of(c, name, "kdc", m), 10, 11, 12)...)
			}
		}
		return all
	}
	learnt := func(kept float64) (all []made) {
		for _, name := range methods {
			m := 5000
			if !has(name, m) {
				m = 1000
			}
			for seed := range uint64(3) {
				all = append(all, made{of(c, name, "none", m), seed + 1, 30, func(r *result.Result) {
					for i := range evaluations {
						for j := range i {
							r.Accuracy[i][j] = ptr((kept + float64(seed)) / 100)
						}
					}
				}})
			}
		}
		return all
	}
	ends := func(diverge ...string) (all []made) {
		for _, term := range explosion(c)[0].terms {
			change := func(r *result.Result) {
				if slices.Contains(diverge, term.arm.changes[0].Value) {
					r.Outcome.State, r.Accuracy = result.Diverged, [][]*float64{}
				}
			}
			all = append(all, with(change, term.arm, 4, 5, 6)...)
		}
		return all
	}
	courses := func(so bool) (all []made) {
		change := func(r *result.Result) {
			r.ErrorAnalysis = &result.ErrorAnalysis{}
			for i := range evaluations {
				newer, older := ptr(0.8), ptr(0.2)
				if !so {
					newer, older = older, newer
				}
				r.ErrorAnalysis.Tasks = append(r.ErrorAnalysis.Tasks,
					result.TaskErrors{Task: i, New: 100, Old: 100 * i, OldAsNewOfSamples: newer, NewAsOldOfSamples: older,
						Logits: &result.Logits{NewOwn: newer, OldOwn: older},
						Head:   &result.Head{NewWeight: newer, OldWeight: older, NewBias: newer, OldBias: older}})
			}
		}
		for _, name := range bases {
			all = append(all, with(change, of(c, name, "none", 5000), 10, 11, 12)...)
		}
		return all
	}
	stored := func(late int) (all []made) {
		change := func(r *result.Result) {
			r.Memory = &result.Memory{Capacity: 1000}
			for i := range evaluations {
				classes, tasks := map[int]int{0: 1000}, map[int]int{0: 1000}
				if i == evaluations-1 {
					classes, tasks = map[int]int{0: 1000 - late, i: late}, map[int]int{0: 1000 - late, i: late}
				}
				r.Memory.ClassCounts, r.Memory.TaskCounts = append(r.Memory.ClassCounts, classes),
					append(r.Memory.TaskCounts, tasks)
			}
		}
		for _, m := range sizes {
			all = append(all, with(change, of(survey.Noise, "gdumb", "none", m), 10, 11, 12)...)
		}
		return all
	}
	trickTimes := func(more float64) (all []made) {
		seconds := func(s float64, classifier string) func(*result.Result) {
			return func(r *result.Result) {
				r.Config.Eval, r.Config.Classifiers, r.Classifiers = config.EvalFinal, []string{classifier}, nil
				r.Seconds.Train = s + math.Pow(s/100, float64(r.Config.Seed))
			}
		}
		for _, trick := range append([]string{"none"}, allTricks...) {
			a, b := of(c, "er", trick, 1000), of(c, "er", trick, 10000)
			last := 100.0
			if trick == "rv" || trick == config.ClassifierNCM {
				last = more
			}
			all = append(all, with(seconds(102, a.spec.Classifier), a, 10, 10.1, 10)...)
			all = append(all, with(seconds(last, b.spec.Classifier), b, 10, 10, 10)...)
		}
		return all
	}
	both, alone, offline := of(c, "mir", "rv", 10000), of(c, "mir", "none", 10000), of(c, "offline", "none", 0)
	both.spec.Classifier = config.ClassifierNCM
	finetune := of(c, "finetune", "none", 0)
	greedy := of(survey.Noise, "gdumb", "none", 5000)
	reservoir := greedy.with(changed("method.gdumb.update", "reservoir"))
	across := of(survey.Blur, "er", "none", 5000)
	byImage := across.with(changed("stream.shift.blur", config.BlurPerImage))
	blurs := func(image float64) [][]made {
		return [][]made{runs(across, 6, 6.1, 5.9), runs(byImage, image, image+0.05, image-0.15),
			runs(of(survey.Noise, "er", "none", 5000), 20, 21, 22), runs(of(survey.Occlusion, "er", "none", 5000), 20, 21, 22)}
	}
	for _, try := range []struct {
		claim string
		want  Verdict
		runs  [][]made
	}{
		{"EWC++ explodes with λ" + onCIFAR, Holds, [][]made{ends("1000")}},
		{"EWC++ explodes with λ" + onCIFAR, Fails, [][]made{ends()}},
		{"A-GEM and Finetune" + onCIFAR, Holds, [][]made{atEach("agem", 10, 11, 12), runs(finetune, 10.1, 11.2, 12)}},
		// one size of the memory
		{"A-GEM and Finetune" + onCIFAR, Undecided, [][]made{runs(of(c, "agem", "none", 5000), 10, 11, 12),
			runs(finetune, 10.1, 11.2, 12)}},
		// two seeds
		{"A-GEM and Finetune" + onCIFAR, Undecided, [][]made{atEach("agem", 10, 11), runs(finetune, 10.1, 11.2)}},
		{"A-GEM and Finetune" + onCIFAR, NotRun, [][]made{runs(finetune, 10.1, 11.2, 12)}},
		{"GSS stays below ER" + onCIFAR, Holds, [][]made{atEach("er", 20, 21, 22), atEach("gss", 10, 11.1, 12.1)}},
		{"GSS stays below ER" + onCIFAR, Undecided, [][]made{atEach("er", 10, 21, 12), atEach("gss", 10, 11.1, 12.1)}},
		// no spread
		{"GSS stays below ER" + onCIFAR, Undecided, [][]made{atEach("er", 20, 21, 22), atEach("gss", 10, 11, 12)}},
		{"No transfer between classes" + onCIFAR, Holds, [][]made{learnt(5)}},
		{"Old classes are taken for new ones" + onCIFAR, Holds, [][]made{courses(true)}},
		{"Logits of new classes" + onCIFAR, Fails, [][]made{courses(false)}},
		{"New classes under KDC" + onCIFAR, Holds, [][]made{kdc(0.5)}},
		{"MIR with both tricks and Offline" + onCIFAR, Holds,
			[][]made{runs(both, 40, 41, 42), runs(alone, 10, 11, 12.1), runs(offline, 50, 51, 52)}},
		{"Run times of tricks" + onCIFAR, Holds, [][]made{trickTimes(200)}},
		{"What GDumb stores" + onNoise, Holds, [][]made{stored(600)}},
		{"GDumb with a reservoir" + onNoise, Holds, [][]made{runs(reservoir, 20, 21, 22), runs(greedy, 10, 11, 12.1)}},
		{"Why blur is hard / " + survey.Blur, Holds, blurs(6)},
	} {
		if f := check(t, try.claim, try.runs...); f.Verdict != try.want {
			t.Errorf("%s is %q, want %q: %+v", try.claim, f.Verdict, try.want, f.Parts)
		}
	}
}

// TestSeedsCountOnce: runs of one seed count once, and of several kernels that one which the studies name, whatever
// else they measured.
func TestSeedsCountOnce(t *testing.T) {
	c := survey.CIFAR100
	er, gss := of(c, "er", "none", 5000), of(c, "gss", "none", 5000)
	parts := check(t, "GSS stays below ER"+onCIFAR, runs(er, 20, 21, 22), runs(gss, 10, 11.1, 12.1),
		with(from("avx512"), er, 40, 41, 42), with(from("avx512"), gss, 50, 51.1, 52.1)).Parts
	if p := parts[1]; p.Seeds != 3 || p.Kernels != "avx2, winograd" || p.Verdict != Holds {
		t.Errorf("of two kernels: %+v", p)
	}
	one := made{er, 1, 20, nil}
	twice := one
	twice.change = func(r *result.Result) { r.Config.Eval = config.EvalFinal }
	again := made{gss, 1, 10, nil}
	stored := func(r *result.Result) {
		r.Memory = &result.Memory{Capacity: 1000}
		for range evaluations {
			r.Memory.ClassCounts, r.Memory.TaskCounts = append(r.Memory.ClassCounts, map[int]int{0: 1000}),
				append(r.Memory.TaskCounts, map[int]int{0: 1000})
		}
	}
	if p := check(t, "What GDumb stores"+onNoise,
		with(stored, of(survey.Noise, "gdumb", "none", 5000), 10)).Parts[1]; p.Verdict != Undecided || p.Why != "one run" {
		t.Errorf("one run of thousands of samples: %+v", p)
	}
	if p := check(t, "GSS stays below ER"+onCIFAR, []made{one, twice, again}).Parts[1]; p.Seeds != 1 ||
		p.Verdict != Undecided || p.Why != "one run" {
		t.Errorf("a seed that ran twice: %+v", p)
	}
}

// TestOtherProtocols: a run of a seed that was shown all tasks is no further run.
func TestOtherProtocols(t *testing.T) {
	change := func(r *result.Result) {
		r.ErrorAnalysis = &result.ErrorAnalysis{}
		for i := range evaluations {
			r.ErrorAnalysis.Tasks = append(r.ErrorAnalysis.Tasks,
				result.TaskErrors{Task: i, New: 100, Old: 100 * i, OldAsNewOfSamples: ptr(0.8), NewAsOldOfSamples: ptr(0.2)})
		}
	}
	er := of(survey.CIFAR100, "er", "none", 5000)
	standard := er
	standard.spec.Protocol = config.ProtocolStandard
	p := check(t, "Old classes are taken for new ones"+onCIFAR, with(change, er, 10, 11),
		with(change, standard, 10)).Parts[1]
	if p.Verdict != Undecided || p.Seeds != 2 || p.Why != "two seeds" {
		t.Errorf("two seeds, one with both protocols: %+v", p)
	}
}

// TestKernels: runs of one method with different kernels are not compared, and a part says so; runs of two methods are.
// A seed of equal kernels goes before one of the studies' kernels.
func TestKernels(t *testing.T) {
	c := survey.CIFAR100
	er, rv, gss := of(c, "er", "none", 5000), of(c, "er", "rv", 5000), of(c, "gss", "none", 5000)
	const helps, ahead = "Review helps with a large memory" + onCIFAR, "GSS stays below ER" + onCIFAR
	part := func(claim string, all ...[]made) Part {
		t.Helper()
		parts := check(t, claim, all...).Parts
		i := slices.IndexFunc(parts, func(p Part) bool {
			return p.What == "ER + RV > ER, M = 5,000" || p.What == "ER > GSS, M = 5,000"
		})
		return parts[max(i, 0)]
	}
	p := part(helps, runs(er, 10, 11, 12.1), with(from("avx512"), rv, 20, 21, 22))
	if p.Verdict != Undecided || p.Why != "only runs of different kernels" || p.Seeds != 0 {
		t.Errorf("a trick, avx2 and avx512: %+v", p)
	}
	p = part(helps, runs(rv, 20, 21, 22), runs(er, 10, 11.1), []made{{er, 3, 12.1, from("avx512")}})
	if p.Verdict != Undecided || p.Why != "two seeds with the same kernels" || p.Seeds != 2 ||
		p.Kernels != "avx2, winograd" {
		t.Errorf("a trick, a seed with other kernels: %+v", p)
	}
	p = part(helps, with(from("avx512"), rv, 20, 21, 22), with(from("avx512"), er, 10, 11, 12.1))
	if p.Verdict != Holds || p.Kernels != "avx512, winograd" {
		t.Errorf("a trick, avx512 alone: %+v", p)
	}
	p = part(ahead, runs(er, 20, 21, 22), with(from("avx512"), gss, 10, 11, 12.1))
	if p.Verdict != Holds || p.Seeds != 3 || p.Kernels != "avx2, winograd; avx512, winograd" {
		t.Errorf("two methods, avx2 and avx512: %+v", p)
	}
	p = part(ahead, runs(er, 40, 41, 42), with(from("avx512"), er, 20, 21, 22), with(from("avx512"), gss, 10, 11, 12.1))
	if p.Verdict != Holds || p.Kernels != "avx512, winograd" || !strings.HasPrefix(p.Ours, "+10.0") {
		t.Errorf("two methods, one of them with both: %+v", p)
	}
}

// TestOneComparisonOneVerdict: a comparison that two claims make counts in the family of the first one.
func TestOneComparisonOneVerdict(t *testing.T) {
	c := survey.CIFAR100
	var all [][]made
	for _, m := range sizes {
		a := of(c, "er", config.ClassifierNCM, m)
		a.spec.Classifier = config.ClassifierHead
		all = append(all, runs(of(c, "er", "lb", m), 20.1, 21, 22), with(func(r *result.Result) {
			r.Classifiers = map[string]result.Classifier{config.ClassifierNCM: {Accuracy: r.Accuracy,
				Metrics: result.Metrics{AverageAccuracy: ptr(0.2 + 0.01*float64(r.Config.Seed%2))}}}
		}, a, 10, 11, 12))
	}
	all = append(all, runs(of(c, "er", "kdc", 5000), 5, 5.1, 5.3))
	seen := map[string]Part{}
	shared := 0
	for _, f := range judge(studyOf(t, all...), Claims()) {
		for _, p := range f.Parts {
			first, there := seen[f.Benchmark+p.What]
			if seen[f.Benchmark+p.What] = p; p.As == "" {
				continue
			}
			if math.IsNaN(p.P) {
				continue
			}
			if shared++; there && (p.Verdict != first.Verdict || p.P != first.P || p.Ours != first.Ours) {
				t.Errorf("%s of %q is %+v, and %+v before", p.What, f.Claim.Title, p, first)
			}
		}
	}
	if shared < 3 {
		t.Errorf("%d comparisons of two claims", shared)
	}
	a, b := seen[c+"ER + KDC > ER, M = 5,000"], seen[c+"ER > ER + KDC, M = 5,000"]
	if a.Verdict != Fails || b.Verdict != Holds || a.P != b.P || b.As != "Every trick helps" || a.Ours == b.Ours {
		t.Errorf("the two orders of one comparison are\n%+v\n%+v", a, b)
	}
}

// TestTimes: a run each decides nothing, nor do runs on different processors or of jobs that were not timed.
func TestTimes(t *testing.T) {
	c := survey.CIFAR100
	run := func(seconds float64, timed bool, processor string, n int) []made {
		change := func(r *result.Result) {
			r.Config.Eval, r.Config.Classifiers, r.Classifiers = config.EvalFinal, []string{byHead}, nil
			r.Seconds.Train, r.Provenance.Timed, r.Provenance.Processor = seconds+float64(r.Config.Seed), timed, processor
		}
		return with(change, of(c, "er", map[bool]string{true: "none", false: "lb"}[seconds < 150], 5000),
			[]float64{10, 10, 10}[:n]...)
	}
	for _, try := range []struct {
		name      string
		er, lb    []made
		want      Verdict
		why, ours string
	}{
		{"three seeds", run(100, true, "one", 3), run(200, true, "one", 3), Fails, "", "× 1.98 ± 0.02"},
		{"one seed", run(100, true, "one", 1), run(200, true, "one", 1), Undecided, "one run", "× 1.99"},
		{"two processors", run(100, true, "one", 3), run(200, true, "another", 3), Undecided,
			"only runs of different kernels or processors", ""},
		{"not timed", run(100, false, "one", 3), run(200, false, "one", 3), NotRun, "", ""},
	} {
		p := check(t, "Overhead of tricks"+onCIFAR, try.er, try.lb).Parts[0]
		if p.Verdict != try.want || p.Why != try.why || p.Ours != try.ours {
			t.Errorf("%s: %+v", try.name, p)
		}
	}
}

// TestHolm: many comparisons need a smaller probability than one. The correction is over the comparisons of a claim
// that have enough seeds.
func TestHolm(t *testing.T) {
	c := survey.CIFAR100
	// The difference is 2 ± 1.7 with each method: p = 0.037 alone.
	lead := runs(of(c, "icarl", "none", 1000), 12, 12.7, 13.3)
	one := check(t, "iCaRL leads with a small memory"+onCIFAR, lead, runs(of(c, "er", "none", 1000), 10, 10, 12))
	two := check(t, "iCaRL leads with a small memory"+onCIFAR, lead, runs(of(c, "er", "none", 1000), 10, 10, 12),
		runs(of(c, "mir", "none", 1000), 10, 10, 12), runs(of(c, "gss", "none", 1000), 10, 10))
	if one.Count(Holds) != 1 || one.Verdict != Undecided {
		t.Errorf("one comparison: %+v", one)
	}
	if two.Count(Holds) != 0 || two.Count(Undecided) != 3 {
		t.Errorf("two comparisons with three seeds and one with two: %+v", two)
	}
	var p []float64
	for _, part := range two.Parts {
		if !math.IsNaN(part.P) {
			p = append(p, part.P)
		}
	}
	if len(p) != 2 || !(p[0] > compare.Level && p[0] < 2*compare.Level) {
		t.Errorf("the probabilities are %v", p)
	}
}

// TestClaims: titles are there once, as links need them, and what a claim names exists.
func TestClaims(t *testing.T) {
	titles := map[string]bool{}
	for _, c := range Claims() {
		if titles[c.Title] || c.Text == "" || len(c.Benchmarks) == 0 || !slices.Contains(Groups(), c.Group) {
			t.Errorf("%q is there twice, or lacks a text, a benchmark or a group", c.Title)
		}
		titles[c.Title] = true
		for _, b := range c.Benchmarks {
			if _, err := os.Stat(filepath.Join("..", "studies", c.StudyOf(b))); err != nil {
				t.Errorf("%s: %v", c.Title, err)
			}
			parts := map[string]bool{}
			for _, q := range c.parts(b) {
				if parts[q.what] {
					t.Errorf("%s on %s has the part %q twice", c.Title, b, q.what)
				}
				parts[q.what] = true
			}
		}
	}
	if len(titles) < 45 {
		t.Errorf("%d claims", len(titles))
	}
}

// TestSources: every claim names a label of the paper.
func TestSources(t *testing.T) {
	source, err := os.ReadFile("../../../shared/survey.tex")
	if err != nil {
		t.Skip("../../../shared/survey.tex is not there, so the labels of the claims are not looked up")
	}
	for _, c := range Claims() {
		if !strings.Contains(string(source), `\label{`+c.Source+`}`) {
			t.Errorf("%s: the survey has no label %s", c.Title, c.Source)
		}
	}
}
