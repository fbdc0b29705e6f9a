package stream

import (
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/rng"
)

// classes brings new classes with every task (survey §3.1, class-incremental): equally many, unless Options.TaskClasses
// says otherwise. The order of the classes comes from the source "stream/class-order" of the seed.
var classes = Kind{
	Name: "classes", Scenario: ocl.ClassIncremental, Summary: "new classes in every task",
	CheckTasks: CheckTasks,
	check:      func(set *data.Set, o Options) error { return o.checkTasks(set.Classes) },
	deal: func(set *data.Set, o Options) []share {
		order := classOrder(set.Classes, o)
		train, test := byClass(set.Classes, set.Train.Y), byClass(set.Classes, set.Test.Y)
		shares := make([]share, o.Tasks)
		for t := range shares {
			of := o.classesOf(t, order)
			shares[t] = share{of, gather(train, of), gather(test, of)}
		}
		return shares
	},
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
func classOrder(classes int, opts Options) []int {
	if len(opts.ClassOrder) > 0 {
		return opts.ClassOrder
	}
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

// byClass lists the images of each class.
func byClass(classes int, labels []int32) [][]int32 {
	lists := make([][]int32, classes)
	for i, y := range labels {
		lists[y] = append(lists[y], int32(i))
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
