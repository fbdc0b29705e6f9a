package train

import (
	"math"
	"slices"

	"ocl"
	"ocl/nn"
	"ocl/run/metric"
	"ocl/run/result"
)

// maxConfusion is the most classes of an error analysis: a confusion has a count for each two of them.
const maxConfusion = 1_000

// newEvaluations returns an empty evaluation for each classifier, after task t.
func (c *Classifiers) newEvaluations(info ocl.StreamInfo, t int) []evaluation {
	all := make([]evaluation, len(c.Names))
	for i := range all {
		all[i] = evaluation{accuracy: undefined(info.TestSets()), right: make([]int, info.Classes),
			all: make([]int, info.Classes)}
		if c.cumulates && !c.plain && (c.means(i) != nil || c.ByLogits(i)) {
			all[i].upTo = c.upTo(info, t)
			all[i].under, all[i].sizes = make([]int, t+1), make([]int, t+1)
		}
		if c.plain || info.Scenario != ocl.ClassIncremental || info.Classes > maxConfusion {
			continue
		}
		all[i].confusion = metric.NewConfusion(info.Classes)
		if c.ByLogits(i) {
			all[i].logits = metric.NewLogits(c.groups(info, t))
		}
	}
	return all
}

// upTo are, for each task up to t, its classes of which no earlier task has any. Those that were learned before the
// stream belong to its first task.
func (c *Classifiers) upTo(info ocl.StreamInfo, t int) [][]int {
	list, had := make([][]int, t+1), map[int]bool{}
	for k, classes := range classesOf(info)[:t+1] {
		if k == 0 {
			classes = append(slices.Clone(c.before), classes...)
		}
		for _, class := range classes {
			if !had[class] {
				list[k] = append(list[k], class)
			}
			had[class] = true
		}
	}
	return list
}

// take stores the results of the evaluation after task t.
func (m *measured) take(t int, e *evaluation, info ocl.StreamInfo, c *Classifiers) {
	m.accuracy[t], m.perClass[t] = e.accuracy, e.perClass()
	if e.upTo != nil {
		m.cumulative = append(m.cumulative, e.cumulative())
	}
	if e.confusion != nil {
		m.errors = append(m.errors, taskErrors(t, e, info, c))
		m.confusion = e.confusion
	}
}

// taskErrors counts the errors of an evaluation after a task, by whether classes are new, old or unseen.
func taskErrors(task int, e *evaluation, info ocl.StreamInfo, c *Classifiers) result.TaskErrors {
	tasks := classesOf(info)
	groups := c.groups(info, task)
	errors := e.confusion.Errors(groups)
	t := result.TaskErrors{
		Task: task, New: errors.New, Old: errors.Old,
		NewAsOld: errors.NewAsOld, NewAsNew: errors.NewAsNew, NewAsUnseen: errors.NewAsUnseen,
		OldAsOld: errors.OldAsOld, OldAsNew: errors.OldAsNew, OldAsUnseen: errors.OldAsUnseen,
		NewAsOldOfSamples: finite(errors.NewAsOldOfSamples()), OldAsNewOfSamples: finite(errors.OldAsNewOfSamples()),
		NewAsOldOfErrors: finite(errors.NewAsOldOfErrors()), OldAsNewOfErrors: finite(errors.OldAsNewOfErrors()),
		Confusion: e.confusion.ByTask(tasks, task),
	}
	t.Predictions = metric.Predictions(t.Confusion)
	if l := e.logits; l != nil {
		t.Logits = &result.Logits{
			NewOwn: finite(l.Own(metric.New)), OldOwn: finite(l.Own(metric.Old)),
			NewAll: finite(l.All(metric.New)), OldAll: finite(l.All(metric.Old)),
		}
		if net := c.Open.Parts().Net; net.Info().Head.PerClass() {
			t.Head = headOf(net, groups)
		}
	}
	return t
}

// groups says of each class whether it is new, old or unseen after task t. Classes that were learned before the stream
// are old.
func (c *Classifiers) groups(info ocl.StreamInfo, t int) []metric.Group {
	groups := metric.Groups(classesOf(info), t, info.Classes)
	for _, k := range c.before {
		if groups[k] == metric.Unseen {
			groups[k] = metric.Old
		}
	}
	return groups
}

// headOf returns the mean weight and bias of the head's rows, by the group of their class.
func headOf(net *nn.Network, groups []metric.Group) *result.Head {
	weights, biases := make([]float64, len(groups)), make([]float64, len(groups))
	row := make([]float32, net.Info().FeatureDim)
	for k := range groups {
		biases[k] = float64(nn.HeadRow(net, row, k))
		for _, w := range row {
			weights[k] += float64(w) / float64(len(row))
		}
	}
	return &result.Head{
		NewWeight: finite(metric.GroupMean(weights, groups, metric.New)),
		OldWeight: finite(metric.GroupMean(weights, groups, metric.Old)),
		NewBias:   finite(metric.GroupMean(biases, groups, metric.New)),
		OldBias:   finite(metric.GroupMean(biases, groups, metric.Old)),
	}
}

// classesOf are the classes of each task.
func classesOf(info ocl.StreamInfo) [][]int {
	tasks := make([][]int, len(info.Tasks))
	for i, t := range info.Tasks {
		for _, k := range t.Classes {
			tasks[i] = append(tasks[i], int(k))
		}
	}
	return tasks
}

// analysis is the error analysis of a classifier for result.json, nil without one.
func (m *measured) analysis() *result.ErrorAnalysis {
	if len(m.errors) == 0 {
		return nil
	}
	return &result.ErrorAnalysis{Tasks: m.errors, Confusion: m.confusion}
}

// finite is v for result.json, nil where it is undefined.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
