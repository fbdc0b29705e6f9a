package stream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ocl/data"
	"ocl/internal/count"
)

// tuningTasks is the number of tasks that the survey uses to choose hyperparameters, D^CV (survey §5).
const tuningTasks = 2

// Protocol says which tasks of a stream a protocol keeps: standard all, survey all but the first two, which are for
// tuning, and tuning only those two (docs/glossary.md, protocol). The protocols survey and tuning need at least three
// tasks.
func Protocol(name string, tasks int) (Range, error) {
	keep, known := map[string]Range{"standard": {0, tasks}, "survey": {tuningTasks, tasks},
		"tuning": {0, tuningTasks}}[name]
	switch {
	case !known:
		return Range{}, fmt.Errorf("stream: unknown protocol %q. Use standard, survey or tuning", name)
	case name != "standard" && tasks <= tuningTasks:
		return Range{}, fmt.Errorf("stream: %[2]d tasks are too few for the protocol %[1]s, which needs at least %[3]d, as the first %[4]d are "+
			"for tuning. Use more --tasks, or --protocol standard", name, tasks, tuningTasks+1, tuningTasks)
	}
	return keep, nil
}

// CheckTasks returns an error unless tasks divides the number of classes. The error names the nearest divisors.
func CheckTasks(tasks, classes int) error {
	if tasks >= 1 && tasks <= classes && classes%tasks == 0 {
		return nil
	}
	var near []string // the divisors below and above
	for _, step := range []int{-1, 1} {
		d := min(max(tasks, 0), classes+1) + step
		for d > 0 && d <= classes && classes%d != 0 {
			d += step
		}
		if d > 0 && d <= classes {
			near = append(near, strconv.Itoa(d))
		}
	}
	unequal := ""
	if list := shared(classes, tasks); len(list) > 0 && len(list) <= mostTasks {
		unequal = ", or give each task its classes with stream.task_classes=" +
			strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
	}
	return fmt.Errorf("%s cannot share %s equally. Use --tasks %s%s", count.Of(tasks, "task"), count.Of(classes, "class"),
		strings.Join(near, " or "), unequal)
}

// CheckTaskClasses returns an error unless list has the number of classes of each task: one entry for each of the
// tasks, each at least 1, and all classes together.
func CheckTaskClasses(list []int, tasks, classes int) error {
	if len(list) != tasks {
		return fmt.Errorf("the list of task sizes has %s for %s. Give one entry for each task", count.Of(len(list), "entry"),
			count.Of(tasks, "task"))
	}
	sum := 0
	for i, n := range list {
		if n < 1 || n > classes {
			return fmt.Errorf("task %d has %s, which is out of range. Use %s in the list of task sizes", i+1,
				count.Of(n, "class"), count.Range(1, classes))
		}
		sum += n
	}
	if sum != classes {
		return fmt.Errorf("the tasks have %s together, but the data have %d. Correct the list of task sizes",
			count.Of(sum, "class"), classes)
	}
	return nil
}

// checkTasks checks Tasks and TaskClasses.
func (o Options) checkTasks(classes int) error {
	if len(o.TaskClasses) > 0 {
		return CheckTaskClasses(o.TaskClasses, o.Tasks, classes)
	}
	return CheckTasks(o.Tasks, classes)
}

// check reports at once what does not fit the data. A config has checked that each option is in its range.
func (o Options) check(set *data.Set) error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if k := o.Keep; k != (Range{}) && (k.From < 0 || k.From >= k.To || k.To > o.Tasks) {
		add("the range %d to %d of tasks to keep is invalid. Use a range within 0 to %d", k.From, k.To, o.Tasks)
	}
	if n := set.Train.Len(); o.Batch < 1 || o.Batch > n {
		add("stream.batch: %d is out of range. Use --batch from 1 to %d, the number of training images", o.Batch, n)
	}
	if o.Blurry > 0 && o.Tasks == 1 {
		add("stream.blurry: %v of the images are to come in a neighbouring task, but there is one task. Use more --tasks, or remove it",
			o.Blurry)
	}
	if err := o.checkOrder(set.Classes); err != nil {
		faults = append(faults, err)
	}
	if o.Kind == shifted.Name && set.Embeddings {
		add("stream.shift: the data are embeddings, and only images can be disturbed. Remove stream.shift, or use images")
	}
	for i, values := range [][]float64{o.Mean, o.Std} {
		switch n := len(values); {
		case n != 0 && set.Embeddings:
			add("stream.%s: the data are embeddings, which are taken as they are. Remove stream.mean and stream.std",
				[]string{"mean", "std"}[i])
		case n != 0 && n != set.C:
			add("stream.%s has %s, but the images have %s. Give one value for each channel", []string{"mean", "std"}[i],
				count.Of(n, "value"), count.Of(set.C, "channel"))
		}
	}
	return errors.Join(faults...)
}

// checkOrder checks that ClassOrder, where it is given, has every class once.
func (o Options) checkOrder(classes int) error {
	seen := make([]bool, classes)
	for i, k := range o.ClassOrder {
		if k < 0 || k >= classes || seen[k] {
			return fmt.Errorf("stream.class_order: entry %d is class %d, which is out of range or listed twice. List each class from 0 to %d once",
				i, k, classes-1)
		}
		seen[k] = true
	}
	if n := len(o.ClassOrder); n != classes && (n > 0 || o.Order == List) {
		return fmt.Errorf("stream.class_order: the list has %s. List each class from 0 to %d once", count.Of(n, "class"),
			classes-1)
	}
	return nil
}
