package stream

import (
	"errors"
	"fmt"
	"math"

	"ocl/data"
)

// Protocols lists the names that Protocol knows.
func Protocols() []string { return []string{"standard", "survey", "tuning"} }

// tuningTasks is the number of tasks the survey leaves to the choice of hyperparameters, D^CV (survey §5).
const tuningTasks = 2

// Protocol says which tasks of a whole stream of the given length a protocol keeps: standard all, survey all but the first
// two, which are left to tuning, and tuning those two (DECISIONS row 1). The last two need at least three tasks.
func Protocol(name string, tasks int) (Range, error) {
	if name != "standard" && name != "survey" && name != "tuning" {
		return Range{}, fmt.Errorf("stream: protocol %q; want standard, survey or tuning", name)
	}
	if name == "standard" {
		return Range{0, tasks}, nil
	}
	if tasks <= tuningTasks {
		return Range{}, fmt.Errorf("stream: protocol %s: the stream has %d tasks; want at least %d, as the first %d are for "+
			"tuning; raise stream.tasks or use the protocol standard", name, tasks, tuningTasks+1, tuningTasks)
	}
	if name == "tuning" {
		return Range{0, tuningTasks}, nil
	}
	return Range{tuningTasks, tasks}, nil
}

// CheckTasks returns an error naming the nearest divisors unless tasks divides the number of classes.
func CheckTasks(tasks, classes int) error {
	if tasks >= 1 && tasks <= classes && classes%tasks == 0 {
		return nil
	}
	below, above := 0, 0
	for d := 1; d <= classes; d++ {
		if classes%d != 0 {
			continue
		}
		if d < tasks {
			below = d
		}
		if d > tasks && above == 0 {
			above = d
		}
	}
	near := fmt.Sprint(below)
	switch {
	case below == 0:
		near = fmt.Sprint(above)
	case above != 0:
		near = fmt.Sprintf("%d or %d", below, above)
	}
	return fmt.Errorf("tasks %d do not divide the %d classes; want equally many classes in each task; set stream.tasks to %s",
		tasks, classes, near)
}

// CheckTaskClasses returns an error unless the list is the number of classes of each of so many tasks: at least 1 each, and
// all classes together.
func CheckTaskClasses(list []int, tasks, classes int) error {
	if len(list) != tasks {
		return fmt.Errorf("the list of task sizes has %d entries; want one for each of the %d tasks; correct one of the two", len(list), tasks)
	}
	sum := 0
	for i, n := range list {
		if n < 1 || n > classes {
			return fmt.Errorf("task %d has %d classes; want 1 to %d; correct the list of task sizes", i+1, n, classes)
		}
		sum += n
	}
	if sum != classes {
		return fmt.Errorf("the tasks have %d classes together; want the %d that the data have; correct the list of task sizes", sum, classes)
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

// check reports all faults of the options at once.
func (o Options) check(set *data.Set) error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if k := o.Keep; k != (Range{}) && (k.From < 0 || k.From >= k.To || k.To > o.Tasks) {
		add("tasks %d to %d are to be kept; want a range within 0 to %d", k.From, k.To, o.Tasks)
	}
	if n := set.Train.Len(); o.Batch < 1 || o.Batch > n {
		add("batch %d; want 1 to %d, the training pictures there are; set stream.batch", o.Batch, n)
	}
	if o.TestBatch < 1 {
		add("test batch %d; want at least 1", o.TestBatch)
	}
	if err := o.checkOrder(set.Classes); err != nil {
		faults = append(faults, err)
	}
	for _, v := range []struct {
		key    string
		values []float64
		lowest float64
	}{{"mean", o.Mean, math.Inf(-1)}, {"std", o.Std, 0}} {
		if n := len(v.values); n != 0 && n != set.C {
			add("%s has %d values; want %d, one a channel; set stream.%s", v.key, n, set.C, v.key)
		}
		for _, x := range v.values {
			if !(x > v.lowest) || math.IsInf(x, 0) {
				add("%s holds %v; want finite numbers, and positive ones for std; set stream.%s", v.key, x, v.key)
			}
		}
	}
	return errors.Join(faults...)
}

// checkOrder checks Order and ClassOrder.
func (o Options) checkOrder(classes int) error {
	switch o.Order {
	case "", Random, Given, List:
	default:
		return fmt.Errorf("class order %q; want random, given or a list of all classes; set stream.class_order", o.Order)
	}
	if len(o.ClassOrder) == 0 {
		if o.Order == List {
			return fmt.Errorf("class order: the list is empty; want every class from 0 to %d once; set stream.class_order", classes-1)
		}
		return nil
	}
	if o.Order == Random || o.Order == Given {
		return fmt.Errorf("class order %s with a list of %d classes; want one of them; set stream.class_order", o.Order, len(o.ClassOrder))
	}
	seen := make([]bool, classes)
	for i, k := range o.ClassOrder {
		if k < 0 || k >= classes || seen[k] {
			return fmt.Errorf("class order: entry %d is %d, out of range or a second time; want every class from 0 to %d once; "+
				"set stream.class_order", i, k, classes-1)
		}
		seen[k] = true
	}
	if len(o.ClassOrder) != classes {
		return fmt.Errorf("class order: %d classes; want every class from 0 to %d once; set stream.class_order",
			len(o.ClassOrder), classes-1)
	}
	return nil
}
