package stream

import (
	"errors"
	"fmt"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/rng"
)

// domains brings new instances of the same classes with every task (survey §3.1, domain-incremental). Each task has its own
// domains, and all tasks have equally many. The domains of the glyphs are their typefaces. The order of the domains comes
// from the source "stream/domain-order" of the seed; Given takes the order of the data set.
var domains = Kind{
	Name: "domains", Scenario: ocl.DomainIncremental, AllClasses: true,
	Summary: "each task has all classes, in other domains, such as the typefaces of glyphs; for data sets with domains",
	check: func(set *data.Set, o Options) error {
		n := len(set.Domains)
		switch {
		case n == 0 || set.Train.Domain == nil || set.Test.Domain == nil:
			return fmt.Errorf("kind domains: the data set %s has no domains. Use --data glyphs, or --stream classes", set.Name)
		case o.Tasks < 1 || o.Tasks > n || n%o.Tasks != 0:
			return fmt.Errorf("kind domains: %d tasks cannot share the %d domains of %s equally. Use --tasks with a divisor of %d", o.Tasks, n, set.Name, n)
		case len(o.ClassOrder) > 0 || len(o.TaskClasses) > 0:
			return errors.New("kind domains: a list of classes is given, but every task has all classes. Use --class-order random or given")
		}
		return nil
	},
	deal: func(set *data.Set, o Options) []share {
		order := make([]int, len(set.Domains))
		for i := range order {
			order[i] = i
		}
		if o.Order != Given {
			src := rng.New(o.Seed, "stream/domain-order")
			src.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		per := len(order) / o.Tasks
		taskOf := make([]int, len(order))
		for place, domain := range order {
			taskOf[domain] = place / per
		}
		shares := make([]share, o.Tasks)
		for i, domain := range set.Train.Domain {
			s := &shares[taskOf[domain]]
			s.train = append(s.train, int32(i))
			s.classes = append(s.classes, int(set.Train.Y[i]))
		}
		for i, domain := range set.Test.Domain {
			s := &shares[taskOf[domain]]
			s.test = append(s.test, int32(i))
		}
		for i := range shares {
			slices.Sort(shares[i].classes)
			shares[i].classes = slices.Compact(shares[i].classes)
		}
		return shares
	},
}
