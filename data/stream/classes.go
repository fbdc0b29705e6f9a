package stream

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/count"
	"ocl/rng"
)

// classes brings new classes with every task (survey §3.1, class-incremental): equally many, unless Options.TaskClasses
// says otherwise. The order of the classes comes from the source "stream/class-order" of the seed.
var classes = Kind{
	Name: "classes", Scenario: ocl.ClassIncremental, Summary: "new classes in every task",
	CheckTasks: CheckTasks,
	check: func(set *data.Set, o Options) error {
		if o.Order == Official {
			return checkOfficial(o, len(set.Orders.Classes), len(set.Orders.TaskClasses), set.Name)
		}
		return o.checkTasks(set.Classes)
	},
	divide: func(d input) []taskImages {
		order, o := classOrder(d.set, d.o), d.o
		if o.Order == Official {
			o.TaskClasses = d.set.Orders.TaskClasses
		}
		train, test := byClass(d.set.Classes, d.set.Train.Y, d.train), byClass(d.set.Classes, d.set.Test.Y, all(d.set.Test))
		shares := make([]taskImages, o.Tasks)
		for t := range shares {
			of := o.classesOf(t, order)
			shares[t] = taskImages{classes: of, train: gather(train, of), test: gather(test, of)}
		}
		return shares
	},
}

// checkOfficial checks options for a data set that has a number of published orders, each with the given number of
// tasks.
func checkOfficial(o Options, orders, tasks int, name string) error {
	switch {
	case orders == 0:
		return fmt.Errorf("stream.class_order: %s has no published orders of this kind. Use random or given", name)
	case o.Official < 0 || o.Official >= orders:
		return fmt.Errorf("stream.class_order: %s has no published order %d. Use official:0 to official:%d", name, o.Official,
			orders-1)
	case o.Tasks != tasks:
		return fmt.Errorf("stream.tasks: the published orders of %s have %s, but %d are asked for. Use --tasks %d, or stream.class_order=random",
			name, count.Of(tasks, "task"), o.Tasks, tasks)
	case len(o.TaskClasses) > 0:
		return fmt.Errorf("stream.task_classes: the published orders of %s say how large the tasks are. Remove stream.task_classes, or use stream.class_order=random",
			name)
	}
	return nil
}

// classesOf returns the classes of a task of the whole stream.
func (o Options) classesOf(task int, order []int) []int {
	if len(o.TaskClasses) == 0 {
		per := len(order) / o.Tasks
		return order[task*per : (task+1)*per]
	}
	from := 0
	for _, n := range o.TaskClasses[:task] {
		from += n
	}
	return order[from : from+o.TaskClasses[task]]
}

// classOrder returns the classes in the order in which tasks take them.
func classOrder(set *data.Set, opts Options) []int {
	if opts.Order == Official {
		return set.Orders.Classes[opts.Official]
	}
	if len(opts.ClassOrder) > 0 {
		return opts.ClassOrder
	}
	classes := set.Classes
	order := make([]int, classes)
	for i := range order {
		order[i] = i
	}
	if opts.Order != Given {
		src := rng.New(opts.Seed, "stream/class-order")
		src.Shuffle(classes, func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

// all lists the images of a half.
func all(s data.Split) []int32 {
	list := make([]int32, s.Len())
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// byClass divides a list of images by their classes.
func byClass(classes int, labels, list []int32) [][]int32 {
	lists := make([][]int32, classes)
	for _, i := range list {
		lists[labels[i]] = append(lists[labels[i]], i)
	}
	return lists
}

// gather joins the lists of some classes, in the order of the data set.
func gather(lists [][]int32, classes []int) []int32 {
	var all []int32
	for _, k := range classes {
		all = append(all, lists[k]...)
	}
	slices.Sort(all)
	return all
}
