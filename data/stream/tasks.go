package stream

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/count"
)

// tasks takes the tasks that the data set comes with, such as the column "task" of a CSV file, in their order.
var tasks = Kind{
	Name: "tasks", Scenario: ocl.ClassIncremental, AllClasses: true,
	Summary: "the tasks that the data set gives, such as the column task of a CSV file",
	tasks:   func(set *data.Set, _ Options) int { return set.Tasks },
	check: func(set *data.Set, o Options) error {
		switch {
		case set.Train.Task == nil:
			return fmt.Errorf("kind tasks: the data set %s gives no tasks. Use --stream classes", set.Name)
		case o.Tasks != set.Tasks:
			return fmt.Errorf("kind tasks: %s has %s, but %d are asked for. Remove stream.tasks (--tasks)", set.Name,
				count.Of(set.Tasks, "task"), o.Tasks)
		}
		return nil
	},
	common: func(set *data.Set) bool { return set.Test.Task == nil },
	divide: func(d input) []taskImages {
		shares := make([]taskImages, d.o.Tasks)
		for _, i := range d.train {
			s := &shares[d.set.Train.Task[i]]
			s.train = append(s.train, i)
		}
		for i, t := range d.set.Test.Task {
			shares[t].test = append(shares[t].test, int32(i))
		}
		nameClasses(shares, d.set)
		return shares
	},
	scenario: func(set *data.Set) ocl.Scenario {
		of := make([]int32, set.Classes) // the task of each class, plus one
		if slices.ContainsFunc(all(set.Train), func(i int32) bool {
			y, t := set.Train.Y[i], set.Train.Task[i]+1
			before := of[y]
			of[y] = t
			return before != 0 && before != t
		}) {
			return ocl.DomainIncremental // some class is in two tasks
		}
		return ocl.ClassIncremental
	},
}
