package findings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ocl/config"
	"ocl/run/metric/compare"
	"ocl/run/result"
	"ocl/survey"
	"ocl/survey/paper"
)

// quantity is what a measure can be at all, and how a made-up run gets a value of it.
type quantity struct {
	values []float64 // some that it can have, from the least to the most
	set    func(r *paper.Run, m measure, v float64)
}

// task is the number at the end of the name of a measure.
func (m measure) task() int {
	k, err := strconv.Atoi(m.name[strings.LastIndexByte(m.name, ' ')+1:])
	if err != nil {
		panic(err)
	}
	return k
}

// metrics are those of a classifier of a made-up run.
func setMetrics(field func(*result.Metrics) **float64) func(*paper.Run, measure, float64) {
	return func(r *paper.Run, m measure, v float64) {
		v /= 100
		if m.classifier == byHead {
			*field(&r.Result.Metrics) = &v
			return
		}
		c := r.Result.Classifiers[m.classifier]
		*field(&c.Metrics) = &v
		r.Result.Classifiers[m.classifier] = c
	}
}

// setCourse has something so in a share of the tasks.
func setCourse(put func(t *result.TaskErrors, a, b *float64)) func(*paper.Run, measure, float64) {
	return func(r *paper.Run, _ measure, v float64) {
		for i := range r.Result.ErrorAnalysis.Tasks {
			a, b := ptr(0.2), ptr(0.8)
			if float64(i) <= v/100*(evaluations-1) {
				a, b = b, a
			}
			put(&r.Result.ErrorAnalysis.Tasks[i], a, b)
		}
	}
}

// quantityOf is what a measure can be. A benchmark whose tasks have classes of their own has no transfer to later ones.
func quantityOf(name, benchmark string) quantity {
	accuracies := []float64{0, 2, 4, 5, 8, 11, 12, 16, 20, 40, 60, 100}
	classes := slices.Contains(classStreams, benchmark)
	switch {
	case name == "accuracy":
		return quantity{accuracies, setMetrics(func(m *result.Metrics) **float64 { return &m.AverageAccuracy })}
	case name == "learning accuracy":
		return quantity{accuracies, setMetrics(func(m *result.Metrics) **float64 { return &m.LearningAccuracy })}
	case name == "forgetting":
		return quantity{[]float64{-20, 0, 20, 60},
			setMetrics(func(m *result.Metrics) **float64 { return &m.AverageForgetting })}
	case name == "FWT" && classes:
		return quantity{[]float64{0}, nil}
	case name == "FWT":
		return quantity{accuracies, setMetrics(func(m *result.Metrics) **float64 { return &m.FWT })}
	case name == "BWT":
		return quantity{[]float64{-50, -10, 0, 10, 40}, func(r *paper.Run, _ measure, v float64) {
			for i, row := range r.Result.Accuracy {
				for j := range i {
					row[j] = ptr(0.5 + v/100)
				}
				row[i] = ptr(0.5)
			}
		}}
	case name == "last task":
		return quantity{accuracies, func(r *paper.Run, _ measure, v float64) {
			r.Result.Accuracy[evaluations-1][evaluations-1] = ptr(v / 100)
		}}
	case strings.HasPrefix(name, "accuracy after "):
		return quantity{accuracies, func(r *paper.Run, m measure, v float64) {
			for j := range m.task() + 1 {
				r.Result.Accuracy[m.task()][j] = ptr(v / 100)
			}
		}}
	case strings.HasPrefix(name, "er(o,n) after "):
		return quantity{accuracies, func(r *paper.Run, m measure, v float64) {
			r.Result.ErrorAnalysis.Tasks[m.task()].OldAsNewOfSamples = ptr(v / 100)
		}}
	case name == "diverged":
		return quantity{[]float64{0, 1}, func(r *paper.Run, _ measure, v float64) {
			if v == 1 {
				r.Result.Outcome.State = result.Diverged
			}
		}}
	case name == "latest third":
		return quantity{[]float64{0, 30, 70, 100}, func(r *paper.Run, _ measure, v float64) {
			r.Held = [][]int{{int(100 - v), 0, int(v)}}
		}}
	case strings.HasPrefix(name, "seconds, "):
		return quantity{[]float64{10, 100, 130, 300, 1000}, func(r *paper.Run, m measure, v float64) {
			r.Result.Config.Eval = strings.TrimPrefix(m.name, "seconds, ")
			r.Result.Config.Classifiers, r.Result.Classifiers = []string{m.classifier}, nil
			r.Result.Seconds.Train = v
		}}
	}
	shares := []float64{0, 100. / 17, 1600. / 17, 100}
	switch name {
	case "error ratios":
		return quantity{shares, setCourse(func(t *result.TaskErrors, a, b *float64) {
			t.OldAsNewOfSamples, t.NewAsOldOfSamples = a, b
		})}
	case "logits":
		return quantity{shares, setCourse(func(t *result.TaskErrors, a,
			b *float64) {
			t.Logits = &result.Logits{NewOwn: a, OldOwn: b}
		})}
	case "weights":
		return quantity{shares, setCourse(func(t *result.TaskErrors, a,
			b *float64) {
			t.Head = &result.Head{NewWeight: a, OldWeight: b}
		})}
	case "biases":
		return quantity{shares, setCourse(func(t *result.TaskErrors, a,
			b *float64) {
			t.Head = &result.Head{NewBias: a, OldBias: b}
		})}
	}
	panic("what can " + name + " be?")
}

// bareRun is a made-up run with a seed that has been tested after each task, and that measured nothing yet.
func bareRun(seed uint64, engine compare.Engine) *paper.Run {
	r := &result.Result{Outcome: result.Outcome{State: result.Finished}, ErrorAnalysis: &result.ErrorAnalysis{},
		Classifiers: map[string]result.Classifier{config.ClassifierNCM: {}},
		Provenance:  result.Provenance{Kernel: engine.Kernel, Convolution: engine.Convolution, Timed: true, Processor: "one"}}
	r.Config.Eval, r.Config.Classifiers = config.EvalAll, []string{byHead, config.ClassifierNCM}
	for i := range evaluations {
		r.Stream.Tasks = append(r.Stream.Tasks, result.Task{Test: 500})
		r.Accuracy = append(r.Accuracy, make([]*float64, evaluations))
		for j := range evaluations {
			r.Accuracy[i][j] = ptr(0)
		}
		r.ErrorAnalysis.Tasks = append(r.ErrorAnalysis.Tasks, result.TaskErrors{Task: i, Old: 500 * i})
	}
	return &paper.Run{Path: fmt.Sprint(engine, seed), Seed: seed, Result: r}
}

// world is evidence of made-up runs.
type world struct {
	evidence
	runs map[string][]*paper.Run // by changedKey
}

func newWorld(engines ...compare.Engine) *world {
	w := &world{runs: map[string][]*paper.Run{}}
	w.engines, w.changed, w.answered = engines, w.runs, map[string]answered{}
	w.find = func(spec paper.Spec, need paper.Need) (runs []*paper.Run, settings string) {
		for _, r := range w.runs[changedKey(spec, nil)] {
			if need(r) && !slices.ContainsFunc(runs, func(other *paper.Run) bool { return other.Seed == r.Seed }) {
				runs = append(runs, r)
			}
		}
		return runs, "chosen"
	}
	return w
}

// measured gives an arm a run with a value. Terms with the same arm share a run.
func (w *world) measured(t term, seed uint64, engine compare.Engine, v float64, benchmark string) {
	key := changedKey(t.arm.spec, t.arm.changes)
	var run *paper.Run
	for _, r := range w.runs[key] {
		if r.Seed == seed && r.Engine() == engine {
			run = r
		}
	}
	if run == nil {
		run = bareRun(seed, engine)
		run.Path = key + run.Path
		w.runs[key] = append(w.runs[key], run)
	}
	quantityOf(t.name, benchmark).set(run, t.measure, v)
}

// seedsOfWorld is with how many seeds a part is made to hold or to fail.
const seedsOfWorld = 4

// show fills a world with runs that measured about x with each seed.
func (w *world) show(q question, x []float64, benchmark string) {
	for s := range seedsOfWorld {
		for i, t := range q.terms {
			v := x[i]
			if off := []float64{0, 0.1, 0.2, 0.05}[(s+i)%seedsOfWorld]; q.rule != each && v < 50 { // no two seeds are the same
				v += off
			} else if q.rule != each {
				v -= off
			}
			w.measured(t, uint64(s+1), compare.StudyEngine, v, benchmark)
		}
	}
}

// tries are values of the terms of a question that its runs can have. Of many terms, every second one has the same.
func tries(q question, benchmark string) [][]float64 {
	free := len(q.terms)
	if free > 4 {
		free = 2
	}
	list := [][]float64{{}}
	for i := range free {
		var longer [][]float64
		for _, x := range list {
			for _, v := range quantityOf(q.terms[i].name, benchmark).values {
				longer = append(longer, append(slices.Clone(x), v))
			}
		}
		list = longer
	}
	for k := range list {
		for len(list[k]) < len(q.terms) {
			list[k] = append(list[k], list[k][len(list[k])-2])
		}
	}
	return list
}

// clearly says whether a question is answered so by a value, with something to spare.
func clearly(q question, v float64, want Verdict) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	d := v - q.limit
	if q.rule == below {
		d = -d
	}
	spare := 0.05 * math.Max(math.Abs(q.limit), 5)
	switch {
	case q.rule == each:
		return q.so(v) == (want == Holds)
	case q.rule == near && want == Holds:
		return math.Abs(d) < q.margin/2
	case q.rule == near:
		return math.Abs(d) > 2*q.margin
	case want == Holds:
		return d > spare
	}
	return d < -spare
}

// canTurnOut looks for results that a part can have under which the verdict is the wanted one.
func canTurnOut(list []question, i int, benchmark string, want Verdict) error {
	q := list[i]
	for _, x := range tries(q, benchmark) {
		if !clearly(q, q.valueOf(x), want) {
			continue
		}
		w := newWorld(compare.StudyEngine)
		w.show(q, x, benchmark)
		if p := w.answer("", list)[i]; p.Verdict != want || p.Seeds != seedsOfWorld || p.Kernels != "avx2, winograd" &&
			!strings.HasPrefix(p.Kernels, "avx2, winograd on ") {
			return fmt.Errorf("%s %s: with %v it is %+v", p.What, want, x, p)
		}
		return nil
	}
	return fmt.Errorf("%s: no results under which it %s", q.what, want)
}

// TestVerdictsCanTurnOutEitherWay: for each part of each claim there are results under which it holds and results under
// which it fails.
func TestVerdictsCanTurnOutEitherWay(t *testing.T) {
	parts := 0
	for _, c := range Claims() {
		for _, b := range c.Benchmarks {
			list := c.parts(b)
			if len(list) == 0 {
				t.Errorf("%s on %s has no parts", c.Title, b)
			}
			for i := range list {
				parts++
				for _, want := range []Verdict{Holds, Fails} {
					if err := canTurnOut(list, i, b, want); err != nil {
						t.Errorf("%s on %s: %v", c.Title, b, err)
					}
				}
			}
		}
	}
	t.Logf("%d parts", parts)
}

// TestPartsThatCannotFail: the test above finds parts that cannot fail. Both were parts of claims once.
func TestPartsThatCannotFail(t *testing.T) {
	er := of(survey.CIFAR100, "er", "none", 5000)
	untrained := question{what: "FWT is 0", terms: []term{{er, forward()}}, rule: near, margin: 1, text: points}
	if err := canTurnOut([]question{untrained}, 0, survey.CIFAR100, Fails); err == nil {
		t.Error("FWT between classes can be other than 0")
	}
	positive := question{what: "FWT ≥ 0", terms: []term{{of(survey.Noise, "er", "none", 5000), forward()}}, rule: each,
		text: points, so: func(v float64) bool { return v >= 0 }}
	if err := canTurnOut([]question{positive}, 0, survey.Noise, Fails); err == nil {
		t.Error("FWT can be below 0")
	}
}
