package stream

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/origin"
	"ocl/rng"
)

// Kind is a way to make tasks of a data set.
type Kind struct {
	Name     string
	Scenario ocl.Scenario
	Summary  string // one sentence
	// AllClasses says that every task has all classes, so that there is no list of them to order.
	AllClasses bool
	// NoBoundaries says that no learner is told where a task begins and ends.
	NoBoundaries bool
	// CheckTasks says whether so many tasks can be made of a data set with so many classes, before the data set is
	// open; nil checks nothing.
	CheckTasks func(tasks, classes int) error

	// Divide shares the images of a kind that another module registers among the tasks, o.Tasks of them: train are the
	// images of set.Train that the stream uses, by their index and rising. Each of them is in one task or in none, and
	// each task has some. Random choices draw from a named source of o.Seed. Options that do not fit are an error.
	Divide func(set *data.Set, o Options, train []int32) ([]Share, error)

	origin origin.Origin

	// tasks returns the default number of tasks; nil derives it from the number of classes.
	tasks  func(set *data.Set, o Options) int
	check  func(set *data.Set, o Options) error // refuses data and options that do not fit the kind
	divide func(d input) []taskImages
	// common says whether the data have one test set for all tasks; nil means no.
	common func(set *data.Set) bool
	mixes  bool // tasks differ in how often each class comes, and in nothing else
	// scenario returns the scenario if it depends on the data; nil means Scenario.
	scenario func(set *data.Set) ocl.Scenario
}

// input is what a kind divides: a data set, and those of its training images that the stream uses, in the order of the
// data set.
type input struct {
	set   *data.Set
	o     Options
	train []int32
}

// taskImages are what a task of the whole stream gets: its classes in their order, and its images in the order of the
// data set. The kinds shift and gaussian have orders of their own.
type taskImages struct {
	classes     []int
	train, test []int32
	ordered     bool // train is in the order in which it comes
}

// heldOut says that Options.HeldOut holds out one training image in ten.
const heldOut = 10

// holdOut makes a tenth of the training images of task t the test images, in the order of the task. The source
// "stream/held_out/t" of the seed draws them.
func (s *taskImages) holdOut(seed uint64, t int) {
	order := slices.Clone(s.train)
	rng.New(seed, fmt.Sprintf("stream/held_out/%d", t)).Shuffle(len(order),
		func(i, j int) { order[i], order[j] = order[j], order[i] })
	drawn := order[:len(s.train)/heldOut]
	slices.Sort(drawn)
	var train, test []int32
	for _, i := range s.train {
		if _, is := slices.BinarySearch(drawn, i); is {
			test = append(test, i)
		} else {
			train = append(train, i)
		}
	}
	s.train, s.test = train, test
}

// SharesTest says whether the data have one test set for all tasks. [Options.For] must have chosen the kind.
func (o Options) SharesTest(set *data.Set) bool {
	kind, err := LookupKind(o.Kind)
	return err == nil && kind.common != nil && kind.common(set)
}

// Share is the images of a task, by their index in set.Train and in set.Test.
type Share struct{ Train, Test []int32 }

// kinds is the catalogue, sorted by name. A new kind is a file with its entry and one line here.
var kinds = origin.NewCatalogue(origin.Kind[Kind]{What: "kind of stream", File: "data/stream/kind.go",
	All: "`ocl data streams` lists all kinds",
	Of:  func(k *Kind) (string, *origin.Origin) { return k.Name, &k.origin }, Fault: (*Kind).fault},
	classes, domains, gaussian, iblurry, shifted, siblurry, tasks)

// Kinds returns all kinds, sorted by name.
func Kinds() []Kind { return kinds.All() }

// LookupKind returns the kind called name. The error says which name was probably meant.
func LookupKind(name string) (Kind, error) { return kinds.Lookup(name) }

// checkLists refuses lists of classes where they say nothing.
func (k Kind) checkLists(o Options) error {
	if k.AllClasses && (len(o.ClassOrder) > 0 || len(o.TaskClasses) > 0) {
		return fmt.Errorf("kind %s: a list of classes is given, but the classes of its tasks cannot be chosen. Remove stream.class_order and stream.task_classes, or use --stream classes",
			k.Name)
	}
	return nil
}

// For fills in what the options leave to the data: the kind, the number of tasks and the order.
func (o Options) For(set *data.Set) Options {
	switch {
	case o.Kind != "":
	case len(o.Shift.Kinds) > 0:
		o.Kind = shifted.Name
	case set.Train.Task != nil:
		o.Kind = tasks.Name
	default:
		o.Kind = classes.Name
	}
	switch {
	case o.Order != "":
	case len(o.ClassOrder) > 0:
		o.Order = List
	case o.Kind == classes.Name && len(set.Orders.Classes) > 0, o.Kind == domains.Name && len(set.Orders.Domains) > 0:
		o.Order = Official
	default:
		o.Order = Random
	}
	if o.Tasks == 0 {
		o.Tasks = o.tasksOf(set)
		if o.Kind == classes.Name && o.Order != Official && len(o.TaskClasses) == 0 {
			o.TaskClasses = shared(set.Classes, o.Tasks)
		}
	}
	return o
}

// tasksOf returns the default number of tasks.
func (o Options) tasksOf(set *data.Set) int {
	kind, err := LookupKind(o.Kind)
	switch {
	case len(o.TaskClasses) > 0:
		return len(o.TaskClasses)
	case err == nil && kind.tasks != nil:
		return kind.tasks(set, o)
	case o.Order == Official:
		return len(set.Orders.TaskClasses)
	case set.DefaultTasks > 0:
		return set.DefaultTasks
	}
	return tasksFor(set.Classes)
}

// mostTasks is the largest default number of tasks, as in most streams of the literature.
const mostTasks = 10

// tasksFor returns the default number of tasks for a number of classes. Each task gets at least two classes, since a
// task of one class needs no classifier, and there are at most ten tasks. If a divisor of the number of classes is at
// least half as large, it is used instead. Two or three classes make two tasks.
func tasksFor(classes int) int {
	most := min(mostTasks, max(classes/2, min(classes, 2)))
	for d := most; d > 1 && 2*d >= most; d-- {
		if classes%d == 0 {
			return d
		}
	}
	return most
}

// shared returns the number of classes of each task if tasks does not divide classes: the first tasks have one class
// more. It returns nil if tasks divides classes, or if there are too few classes.
func shared(classes, tasks int) []int {
	if tasks < 1 || tasks > classes || classes%tasks == 0 {
		return nil
	}
	list := make([]int, tasks)
	for t := range list {
		list[t] = classes / tasks
		if t < classes%tasks {
			list[t]++
		}
	}
	return list
}
