package stream

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/count"
	"ocl/rng"
)

// domains brings new instances of the same classes with every task (survey §3.1, domain-incremental). Each task has its
// own domains, and all tasks have equally many. The domains of the glyphs are their typefaces. The order of the domains
// comes from the source "stream/domain-order" of the seed; Given takes the order of the data set.
var domains = Kind{
	Name: "domains", Scenario: ocl.DomainIncremental, AllClasses: true,
	Summary: "each task has all classes, in other domains, such as the typefaces of glyphs; for data sets with domains",
	tasks: func(set *data.Set, o Options) int {
		if o.Order == Official {
			return len(set.Orders.Domains[0])
		}
		return tasksForDomains(len(trainDomains(set)))
	},
	check: func(set *data.Set, o Options) error {
		if len(set.Domains) == 0 || set.Train.Domain == nil {
			return fmt.Errorf("kind domains: the data set %s has no domains. Use --data glyphs, or --stream classes", set.Name)
		}
		if o.Order == Official {
			tasks := 0
			if len(set.Orders.Domains) > 0 {
				tasks = len(set.Orders.Domains[0])
			}
			return checkOfficial(o, len(set.Orders.Domains), tasks, set.Name)
		}
		if n := len(trainDomains(set)); o.Tasks < 1 || o.Tasks > n || n%o.Tasks != 0 {
			return fmt.Errorf("kind domains: %s cannot share the %s of %s equally. Use --tasks with a divisor of %d",
				count.Of(o.Tasks, "task"), count.Of(n, "domain"), set.Name, n)
		}
		return nil
	},
	common: func(set *data.Set) bool {
		own := trainDomains(set)
		return !slices.ContainsFunc(set.Test.Domain, func(d int32) bool { return slices.Contains(own, int(d)) })
	},
	divide: func(d input) []taskImages {
		order := domainOrder(d.set, d.o)
		per := len(order) / d.o.Tasks
		taskOf := map[int32]int{}
		for place, domain := range order {
			taskOf[int32(domain)] = place / per
		}
		shares := make([]taskImages, d.o.Tasks)
		for _, i := range d.train {
			s := &shares[taskOf[d.set.Train.Domain[i]]]
			s.train = append(s.train, i)
		}
		for i, domain := range d.set.Test.Domain {
			if t, ok := taskOf[domain]; ok {
				shares[t].test = append(shares[t].test, int32(i))
			}
		}
		nameClasses(shares, d.set)
		return shares
	},
}

// tasksForDomains returns the default number of tasks for n domains: the largest divisor up to ten, or n if n is a
// larger prime.
func tasksForDomains(n int) int {
	for d := min(n, mostTasks); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return n
}

// trainDomains are the domains that have training images, sorted.
func trainDomains(set *data.Set) []int {
	var list []int
	for d := range set.Domains {
		if slices.Contains(set.Train.Domain, int32(d)) {
			list = append(list, d)
		}
	}
	return list
}

// domainOrder returns the domains of the training images in the order in which tasks take them.
func domainOrder(set *data.Set, o Options) []int {
	if o.Order == Official {
		return set.Orders.Domains[o.Official]
	}
	order := trainDomains(set)
	if o.Order != Given {
		src := rng.New(o.Seed, "stream/domain-order")
		src.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

// nameClasses fills in the classes of the training images of each task, sorted.
func nameClasses(shares []taskImages, set *data.Set) {
	for t, s := range shares {
		var classes []int
		for _, i := range s.train {
			classes = append(classes, int(set.Train.Y[i]))
		}
		slices.Sort(classes)
		shares[t].classes = slices.Compact(classes)
	}
}
