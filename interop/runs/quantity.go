package runs

import (
	"slices"

	"ocl/experiment/result"
)

// Quantity is a kind of number that runs measure.
type Quantity struct {
	Name string // in a table
	Help string // what it is, its unit or range, as a sentence without a full stop

	title   string // of its chart
	group   string // of its charts; "" for what has none
	against axis
}

// axis is what a chart is drawn against.
type axis int

const (
	steps axis = iota // learner steps
	tasks             // tasks learned
)

// Names of quantities that the code below asks for.
const (
	accuracy        = "accuracy"
	accuracyBetween = "between_accuracy"
	averageBetween  = "between_average_accuracy"
	perClass        = "accuracy_per_class"
	confusion       = "confusion"
	taskConfusion   = "task_confusion"
	taskUnseen      = "task_confusion_unseen"
	memorySamples   = "memory_samples"
	memoryOfTask    = "memory_task_count"
	memoryOfClass   = "memory_class_count"
)

// quantities lists all of them.
var quantities = func() []Quantity {
	list := []Quantity{
		{"loss", "mean training loss of a step; if incoming and replayed samples have separate passes, the sum of both", "loss", "step", steps},
		{"running_accuracy", "share of the incoming samples of the task so far that the network classified correctly just before it learned them", "running accuracy", "step", steps},
		{accuracyBetween, "accuracy on a test set in the middle of a task", "accuracy on test set", "between", steps},
		{averageBetween, "mean accuracy on the test sets of the tasks seen so far, in the middle of a task", "average accuracy", "between", steps},
		{accuracy, "share of the samples of a test set that are classified correctly after a task", "accuracy on test set", "accuracy", tasks},
	}
	for _, m := range result.AllMetrics() {
		list = append(list, Quantity{m.Key, m.Help + ", as if the run had ended after the task", m.Title, "metrics", tasks})
	}
	list = append(list, Quantity{perClass, "share of the samples of a class that are classified correctly after a task", "", "", tasks})
	for _, e := range errorNumbers {
		list = append(list, e.Quantity)
	}
	return append(list, []Quantity{
		{taskConfusion, "test samples of the task in the column test_set that are classified as a class of the task in the column predicted", "", "", tasks},
		{taskUnseen, "test samples of the task in the column test_set that are classified as a class that no task of the run has had yet, also one of a parent", "", "", tasks},
		{confusion, "test samples of the class in the column class that are classified as the class in the column predicted, after the last task that was evaluated; pairs without samples are left out", "", "", tasks},
		{memorySamples, "samples stored after a task", "stored samples", "memory", tasks},
		{memoryOfTask, "samples stored after a task that came with one task", "stored samples of task", "memory", tasks},
		{memoryOfClass, "samples of a class stored after a task", "", "", tasks},
		{"steps", "learner steps of the run", "", "", steps},
		{"seconds_train", "seconds of training, including decoding the batches", "", "", steps},
		{"seconds_prepare", "seconds of preparing for evaluations", "", "", steps},
		{"seconds_test", "seconds of predicting test samples", "", "", steps},
		{"peak_resident_bytes", "peak resident memory of the process, with all simultaneous runs", "", "", steps},
		{"parameters", "parameters of the network", "", "", steps},
		{"memory_bytes", "bytes of the stored samples", "", "", steps},
		{"state_bytes", "bytes of everything that the learner needs to go on", "", "", steps},
		{"flops_per_step", "floating-point operations of one full step, forward and backward", "", "", steps},
	}...)
}()

// Quantities are all kinds of numbers.
func Quantities() []Quantity { return slices.Clone(quantities) }

// quantityOf finds a quantity by its name.
var quantityOf = func() map[string]Quantity {
	byName := map[string]Quantity{}
	for _, q := range quantities {
		byName[q.Name] = q
	}
	return byName
}()

// errorNumber is a number of an error analysis; of returns nil where it is undefined.
type errorNumber struct {
	Quantity
	of func(*result.TaskErrors) *float64
}

// errorNumbers are those of an error analysis, its counts first.
var errorNumbers = []errorNumber{
	counted("errors_new", "test samples of the classes of the task just learned, which are new", func(t *result.TaskErrors) int { return t.New }),
	counted("errors_old", "test samples of the classes of earlier tasks, which are old", func(t *result.TaskErrors) int { return t.Old }),
	counted("errors_new_as_old", "number e(n,o) of samples of new classes classified as an old class", func(t *result.TaskErrors) int { return t.NewAsOld }),
	counted("errors_new_as_new", "number e(n,n) of samples of new classes classified as another new class", func(t *result.TaskErrors) int { return t.NewAsNew }),
	counted("errors_new_as_unseen", "samples of new classes classified as a class not seen yet", func(t *result.TaskErrors) int { return t.NewAsUnseen }),
	counted("errors_old_as_old", "number e(o,o) of samples of old classes classified as another old class", func(t *result.TaskErrors) int { return t.OldAsOld }),
	counted("errors_old_as_new", "number e(o,n) of samples of old classes classified as a new class", func(t *result.TaskErrors) int { return t.OldAsNew }),
	counted("errors_old_as_unseen", "samples of old classes classified as a class not seen yet", func(t *result.TaskErrors) int { return t.OldAsUnseen }),
	{Quantity{"errors_new_as_old_of_samples", "share er(n,o) of all samples of new classes that are classified as an old class", "er(n,o) of the samples", "errors", tasks},
		func(t *result.TaskErrors) *float64 { return t.NewAsOldOfSamples }},
	{Quantity{"errors_old_as_new_of_samples", "share er(o,n) of all samples of old classes that are classified as a new class", "er(o,n) of the samples", "errors", tasks},
		func(t *result.TaskErrors) *float64 { return t.OldAsNewOfSamples }},
	{Quantity{"errors_new_as_old_of_errors", "share er(n,o) of the misclassified samples of new classes that are classified as an old class", "er(n,o) of the errors", "errors", tasks},
		func(t *result.TaskErrors) *float64 { return t.NewAsOldOfErrors }},
	{Quantity{"errors_old_as_new_of_errors", "share er(o,n) of the misclassified samples of old classes that are classified as a new class", "er(o,n) of the errors", "errors", tasks},
		func(t *result.TaskErrors) *float64 { return t.OldAsNewOfErrors }},
	ofLogits("logits_new_own", "new classes on own samples", "mean logit of the new classes on samples of new classes", func(l *result.Logits) *float64 { return l.NewOwn }),
	ofLogits("logits_old_own", "old classes on own samples", "mean logit of the old classes on samples of old classes", func(l *result.Logits) *float64 { return l.OldOwn }),
	ofLogits("logits_new_all", "new classes on all samples", "mean logit of the new classes on all samples", func(l *result.Logits) *float64 { return l.NewAll }),
	ofLogits("logits_old_all", "old classes on all samples", "mean logit of the old classes on all samples", func(l *result.Logits) *float64 { return l.OldAll }),
	ofHead("head_new_weight", "weight of new classes", "mean weight of the rows of new classes in the last layer", func(h *result.Head) *float64 { return h.NewWeight }),
	ofHead("head_old_weight", "weight of old classes", "mean weight of the rows of old classes in the last layer", func(h *result.Head) *float64 { return h.OldWeight }),
	ofHead("head_new_bias", "bias of new classes", "mean bias of the rows of new classes in the last layer", func(h *result.Head) *float64 { return h.NewBias }),
	ofHead("head_old_bias", "bias of old classes", "mean bias of the rows of old classes in the last layer", func(h *result.Head) *float64 { return h.OldBias }),
}

func counted(name, help string, of func(*result.TaskErrors) int) errorNumber {
	return errorNumber{Quantity{Name: name, Help: help, against: tasks}, func(t *result.TaskErrors) *float64 {
		v := float64(of(t))
		return &v
	}}
}

func ofLogits(name, title, help string, of func(*result.Logits) *float64) errorNumber {
	return errorNumber{Quantity{name, help, title, "logits", tasks}, func(t *result.TaskErrors) *float64 {
		if t.Logits == nil {
			return nil
		}
		return of(t.Logits)
	}}
}

func ofHead(name, title, help string, of func(*result.Head) *float64) errorNumber {
	return errorNumber{Quantity{name, help, title, "head", tasks}, func(t *result.TaskErrors) *float64 {
		if t.Head == nil {
			return nil
		}
		return of(t.Head)
	}}
}
