package runs

import (
	"ocl/run/result"
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
		{"loss", "mean training loss of a step; if incoming and replayed samples have separate passes, the sum of both",
			"loss", "step", steps},
		{"running_accuracy", "share of the incoming samples of the task so far that the network classified correctly just before it learned them",
			"running accuracy", "step", steps},
		{accuracyBetween, "accuracy on a test set in the middle of a task", "accuracy on test set", "between", steps},
		{averageBetween, "mean accuracy on the test sets of the tasks seen so far, in the middle of a task",
			"average accuracy", "between", steps},
		{accuracy, "share of the samples of a test set that are classified correctly after a task", "accuracy on test set",
			"accuracy", tasks},
	}
	for _, m := range result.AllMetrics() {
		list = append(list, Quantity{m.Key, m.Help + ", as if the run had ended after the task", m.Title, "metrics", tasks})
	}
	list = append(list, Quantity{perClass, "share of the samples of a class that are classified correctly after a task",
		"", "", tasks})
	for _, e := range result.ErrorNumbers() {
		list = append(list, Quantity{e.Key, e.Help, e.Title, e.Group, tasks})
	}
	return append(list, []Quantity{
		{taskConfusion, "test samples of the task in the column test_set that are classified as a class of the task in the column predicted",
			"", "", tasks},
		{taskUnseen, "test samples of the task in the column test_set that are classified as a class that no task of the run has had yet, also one of a parent",
			"", "", tasks},
		{confusion, "test samples of the class in the column class that are classified as the class in the column predicted, after the last task that was evaluated; pairs without samples are left out",
			"", "", tasks},
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

// quantityOf finds a quantity by its name.
var quantityOf = func() map[string]Quantity {
	byName := map[string]Quantity{}
	for _, q := range quantities {
		byName[q.Name] = q
	}
	return byName
}()
