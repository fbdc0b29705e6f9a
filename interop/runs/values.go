package runs

import (
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"ocl/experiment/result"
	"ocl/metric"
)

// None is the index of a value that has no such index.
const None = -1

// Value is one number that a run measured, and where. Indices count from 0, as in the files of a run; None where a
// value has none.
type Value struct {
	Quantity   string // the name of one of [Quantities]
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

// of is the value with a quantity and its number.
func (v Value) of(quantity string, number float64) Value {
	v.Quantity, v.Value = quantity, number
	return v
}

func (v Value) onTestSet(j int) Value { v.TestSet = j; return v }
func (v Value) ofClass(k int) Value   { v.Class = k; return v }
func (v Value) takenFor(k int) Value  { v.Predicted = k; return v }

// Values gives every number of the run: first the steps, from its events, then what its result says. The order depends
// on the files alone. An error ends it.
func (r *Run) Values() iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for e, err := range r.events() {
			if err != nil {
				yield(Value{}, err)
				return
			}
			if e.Event.Event == result.EventStep && !r.step(e, yield) {
				return
			}
		}
		for _, part := range []iter.Seq[Value]{r.inTasks, r.measuredOfAll, r.stored, r.costs} {
			for v := range part {
				if !yield(v, nil) {
					return
				}
			}
		}
	}
}

func (r *Run) step(e event, yield func(Value, error) bool) bool {
	task := None
	if e.Task != nil {
		task = *e.Task
	}
	v := at(moment{e.Step, e.at}, task, "")
	return (e.Loss == nil || yield(v.of("loss", *e.Loss), nil)) &&
		(e.RunningAccuracy == nil || yield(v.of("running_accuracy", *e.RunningAccuracy), nil))
}

// inTasks are the evaluations in the middle of tasks.
func (r *Run) inTasks(yield func(Value) bool) {
	for _, e := range r.Result.Evaluations {
		v := at(r.inTask(e.Step), e.Task, r.classifier())
		seen := make([]float64, len(e.Accuracy))
		for j, a := range e.Accuracy {
			seen[j] = math.NaN()
			if a == nil {
				continue
			}
			seen[j] = *a
			if !yield(v.onTestSet(j).of(accuracyBetween, *a)) {
				return
			}
		}
		if mean := metric.AverageAnytimeAccuracy([][]float64{seen}); !math.IsNaN(mean) && !yield(v.of(averageBetween, mean)) {
			return
		}
	}
}

// measuredOfAll is what was measured after tasks, of every classifier.
func (r *Run) measuredOfAll(yield func(Value) bool) {
	for name, c := range r.classifiers() {
		evaluations := r.Result.Evaluations
		if name != r.classifier() {
			evaluations = nil
		}
		for _, part := range []iter.Seq[Value]{r.accuracies(name, c), r.metrics(name, c, evaluations), r.classes(name), r.errors(name, c)} {
			for v := range part {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// classifiers are all classifiers of the run by name, the one of its accuracy and metrics first.
func (r *Run) classifiers() iter.Seq2[string, result.Classifier] {
	return func(yield func(string, result.Classifier) bool) {
		res := r.Result
		if !yield(r.classifier(), result.Classifier{Accuracy: res.Accuracy, Metrics: res.Metrics, ErrorAnalysis: res.ErrorAnalysis}) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(res.Classifiers)) {
			if !yield(name, res.Classifiers[name]) {
				return
			}
		}
	}
}

func (r *Run) accuracies(name string, c result.Classifier) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for i, row := range c.Accuracy {
			v := at(r.afterTask(i), i, name)
			for j, a := range row {
				if a != nil && !yield(v.onTestSet(j).of(accuracy, *a)) {
					return
				}
			}
		}
	}
}

// metrics returns, for each evaluated task, the metrics that the run would have if it had stopped there. The last ones equal
// those of the result.
func (r *Run) metrics(name string, c result.Classifier, evaluations []result.Evaluation) iter.Seq[Value] {
	return func(yield func(Value) bool) {
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
			until, _ := slices.BinarySearchFunc(evaluations, i+1, func(e result.Evaluation, task int) int { return e.Task - task })
			m := c.Metrics
			if i < last {
				m = result.MetricsOf(c.Accuracy[:i+1], r.Result.OneTestSet(), evaluations[:until])
			}
			for _, d := range result.AllMetrics() {
				if a := d.Of(m); a != nil && !yield(at(r.afterTask(i), i, name).of(d.Key, *a)) {
					return
				}
			}
		}
	}
}

// classes are the accuracies on classes, which a result has of its first classifier.
func (r *Run) classes(name string) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if name != r.classifier() {
			return
		}
		for i, row := range r.Result.PerClass {
			v := at(r.afterTask(i), i, name)
			for k, a := range row {
				if a != nil && !yield(v.ofClass(k).of(perClass, *a)) {
					return
				}
			}
		}
	}
}

// errors are the numbers of the error analysis.
func (r *Run) errors(name string, c result.Classifier) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if c.ErrorAnalysis == nil {
			return
		}
		last := None
		for _, t := range c.ErrorAnalysis.Tasks {
			last = t.Task
			v := at(r.afterTask(t.Task), t.Task, name)
			for _, e := range errorNumbers {
				if n := e.of(&t); n != nil && !yield(v.of(e.Name, *n)) {
					return
				}
			}
			for a, row := range t.Confusion {
				for b, n := range row {
					w := v.onTestSet(a).takenFor(b).of(taskConfusion, float64(n))
					if b == t.Task+1 {
						w = v.onTestSet(a).of(taskUnseen, float64(n))
					}
					if !yield(w) {
						return
					}
				}
			}
		}
		v := at(r.afterTask(last), last, name)
		for y, row := range c.ErrorAnalysis.Confusion {
			for k, n := range row {
				if n > 0 && !yield(v.ofClass(y).takenFor(k).of(confusion, float64(n))) {
					return
				}
			}
		}
	}
}

// stored is what the memory held after each task.
func (r *Run) stored(yield func(Value) bool) {
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
		if !yield(v.of(memorySamples, float64(sum))) {
			return
		}
		if len(m.TaskCounts) > i {
			for j := range i + 1 {
				if !yield(v.onTestSet(j).of(memoryOfTask, float64(m.TaskCounts[i][j]))) {
					return
				}
			}
		}
		for _, k := range slices.Sorted(maps.Keys(counts)) {
			if !yield(v.ofClass(k).of(memoryOfClass, float64(counts[k]))) {
				return
			}
		}
	}
}

// costs are what the whole run needed.
func (r *Run) costs(yield func(Value) bool) {
	s, x := r.Result.Seconds, r.Result.Resources
	v := at(r.ended, None, "")
	for _, c := range []struct {
		name   string
		number float64
	}{
		{"steps", float64(r.ended.step)},
		{"seconds_train", s.Train}, {"seconds_prepare", s.Prepare}, {"seconds_test", s.Test},
		{"peak_resident_bytes", float64(x.PeakResidentBytes)}, {"parameters", float64(x.Parameters)},
		{"memory_bytes", float64(x.MemoryBytes)}, {"state_bytes", float64(x.StateBytes)}, {"flops_per_step", float64(x.FLOPsPerStep)},
	} {
		if !yield(v.of(c.name, c.number)) {
			return
		}
	}
}
