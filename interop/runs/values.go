package runs

import (
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"ocl/run/result"
)

// None is the index of a value that has no such index.
const None = -1

// Value is one number that a run measured, and where. Indices count from 0, as in the files of a run; None where a
// value has none.
type Value struct {
	Quantity   string // the name of one of [Quantity]
	Classifier string // whose predictions it is of; "" where it is of no predictions
	Step       int    // learner steps taken before; None if the files do not say
	Task       int    // the task under way, or just learned
	TestSet    int
	Class      int
	Predicted  int       // the class, or for task_confusion the task, that samples were taken for
	Time       time.Time // zero if the files do not say
	Value      float64   // finite
}

// at is a value with no indices but those of a moment in a task.
func at(m moment, task int, classifier string) Value {
	return Value{Classifier: classifier, Step: m.step, Task: task, TestSet: None, Class: None, Predicted: None, Time: m.at}
}

func (v Value) onTestSet(j int) Value { v.TestSet = j; return v }
func (v Value) ofClass(k int) Value   { v.Class = k; return v }
func (v Value) takenFor(k int) Value  { v.Predicted = k; return v }

// emitter hands numbers over until the first error.
type emitter struct {
	to  func(Value) error
	err error
}

// put hands over a number, if there is one.
func (e *emitter) put(v Value, quantity string, number *float64) {
	if number == nil || e.err != nil {
		return
	}
	v.Quantity, v.Value = quantity, *number
	e.err = e.to(v)
}

func (e *emitter) count(v Value, quantity string, n int) {
	number := float64(n)
	e.put(v, quantity, &number)
}

// Each calls f with every number of the run: first the steps, from its events, then what its result says. The order
// depends on the files alone. An error, also one of f, ends it.
func (r *Run) Each(f func(Value) error) error {
	e := &emitter{to: f}
	for event, err := range r.events() {
		if err == nil && event.Event.Event == result.EventStep {
			task := None
			if event.Task != nil {
				task = *event.Task
			}
			v := at(moment{event.Step, event.at}, task, "")
			e.put(v, "loss", event.Loss)
			e.put(v, "running_accuracy", event.RunningAccuracy)
			err = e.err
		}
		if err != nil {
			return err
		}
	}
	r.inTasks(e)
	for name, c := range r.classifiers() {
		evaluations := r.Result.Evaluations
		if name != r.classifier() {
			evaluations = nil
		}
		r.measured(e, name, c, evaluations)
		if name == r.classifier() { // a result has accuracies on classes of its first one alone
			r.matrix(e, name, perClass, r.Result.PerClass, Value.ofClass)
		}
		r.errors(e, name, c.ErrorAnalysis)
	}
	r.stored(e)
	r.costs(e)
	return e.err
}

// inTasks are the evaluations in the middle of tasks.
func (r *Run) inTasks(e *emitter) {
	for _, between := range r.Result.Evaluations {
		v := at(r.inTask(between.Step), between.Task, r.classifier())
		for j, a := range between.Accuracy {
			e.put(v.onTestSet(j), accuracyBetween, a)
		}
		if mean := r.Result.Anytime(between.Step); !math.IsNaN(mean) {
			e.put(v, averageBetween, &mean)
		}
	}
}

// classifiers are all classifiers of the run by name, the one of its accuracy and metrics first.
func (r *Run) classifiers() iter.Seq2[string, result.Classifier] {
	return func(yield func(string, result.Classifier) bool) {
		res := r.Result
		if !yield(r.classifier(), result.Classifier{Accuracy: res.Accuracy, Metrics: res.Metrics,
			ErrorAnalysis: res.ErrorAnalysis}) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(res.Classifiers)) {
			if !yield(name, res.Classifiers[name]) {
				return
			}
		}
	}
}

// matrix are the numbers of a matrix: a row after each task, whose columns of says.
func (r *Run) matrix(e *emitter, name, quantity string, rows [][]*float64, of func(Value, int) Value) {
	for i, row := range rows {
		for j, a := range row {
			e.put(of(at(r.afterTask(i), i, name), j), quantity, a)
		}
	}
}

// measured emits the accuracies of a classifier and, for each evaluated task, the metrics that the run would have if it
// had stopped there. The last ones equal those of the result.
func (r *Run) measured(e *emitter, name string, c result.Classifier, evaluations []result.Evaluation) {
	r.matrix(e, name, accuracy, c.Accuracy, Value.onTestSet)
	last := None
	for i, row := range c.Accuracy {
		if len(row) > 0 && row[0] != nil {
			last = i
		}
	}
	for i, row := range c.Accuracy[:last+1] {
		if len(row) == 0 || row[0] == nil {
			continue
		}
		m := c.Metrics
		if i < last {
			until, _ := slices.BinarySearchFunc(evaluations, i+1,
				func(e result.Evaluation, task int) int { return e.Task - task })
			m = result.MetricsOf(c.Accuracy[:i+1], r.Result.Stream.CommonTest, evaluations[:until])
		}
		for _, d := range result.AllMetrics() {
			e.put(at(r.afterTask(i), i, name), d.Key, d.Of(m))
		}
	}
}

// errors are the numbers of the error analysis.
func (r *Run) errors(e *emitter, name string, a *result.ErrorAnalysis) {
	if a == nil {
		return
	}
	last := None
	for _, t := range a.Tasks {
		last = t.Task
		v := at(r.afterTask(t.Task), t.Task, name)
		for _, n := range result.ErrorNumbers() {
			e.put(v, n.Key, n.Of(&t))
		}
		for of, row := range t.Confusion {
			for by, n := range row {
				if by == t.Task+1 {
					e.count(v.onTestSet(of), taskUnseen, n)
				} else {
					e.count(v.onTestSet(of).takenFor(by), taskConfusion, n)
				}
			}
		}
	}
	v := at(r.afterTask(last), last, name)
	for y, row := range a.Confusion {
		for k, n := range row {
			if n > 0 {
				e.count(v.ofClass(y).takenFor(k), confusion, n)
			}
		}
	}
}

// stored is what the memory held after each task.
func (r *Run) stored(e *emitter) {
	m := r.Result.Memory
	if m == nil {
		return
	}
	for i, counts := range m.ClassCounts {
		v := at(r.afterTask(i), i, "")
		sum := 0
		for _, n := range counts {
			sum += n
		}
		e.count(v, memorySamples, sum)
		if len(m.TaskCounts) > i {
			for j := range i + 1 {
				e.count(v.onTestSet(j), memoryOfTask, m.TaskCounts[i][j])
			}
		}
		for _, k := range slices.Sorted(maps.Keys(counts)) {
			e.count(v.ofClass(k), memoryOfClass, counts[k])
		}
	}
}

// costs are what the whole run needed.
func (r *Run) costs(e *emitter) {
	s, x := r.Result.Seconds, r.Result.Resources
	v := at(r.ended, None, "")
	for _, c := range []struct {
		name   string
		number float64
	}{
		{"steps", float64(r.ended.step)},
		{"seconds_train", s.Train}, {"seconds_prepare", s.Prepare}, {"seconds_test", s.Test},
		{"peak_resident_bytes", float64(x.PeakResidentBytes)}, {"parameters", float64(x.Parameters)},
		{"memory_bytes", float64(x.MemoryBytes)}, {"state_bytes", float64(x.StateBytes)},
		{"flops_per_step", float64(x.FLOPsPerStep)},
	} {
		e.put(v, c.name, &c.number)
	}
}
