package stream

import (
	"fmt"

	"ocl"
	"ocl/data"
	"ocl/internal/nearest"
)

// Kind is a way to make tasks of a data set.
type Kind struct {
	Name     string
	Scenario ocl.Scenario
	Summary  string // one sentence
	// AllClasses says that every task has all classes, so that there is no list of them to order.
	AllClasses bool
	// CheckTasks says whether so many tasks can be made of a data set with so many classes, before the data set is
	// open; nil checks nothing.
	CheckTasks func(tasks, classes int) error

	check func(set *data.Set, o Options) error // what the kind wants of data and options
	deal  func(set *data.Set, o Options) []share
}

// share is what a task of the whole stream gets: its classes in their order, and its images in the order of the data set.
type share struct {
	classes     []int
	train, test []int32
}

// kinds is the catalogue. A new kind is a file with its entry and one line here.
var kinds = []Kind{classes, domains}

// Kinds returns all kinds, sorted by name.
func Kinds() []Kind { return append([]Kind(nil), kinds...) }

// LookupKind returns the kind called name; "" is the first. The error says which name was probably meant.
func LookupKind(name string) (Kind, error) {
	var names []string
	for _, k := range kinds {
		if k.Name == name || name == "" {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("unknown kind of stream %q. %s", name, nearest.Names{List: names, All: "`ocl data streams` lists all kinds"}.Hint(name))
}
