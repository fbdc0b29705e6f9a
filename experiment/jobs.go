package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ocl/method"
)

// Jobs lists the runs of an experiment in the order in which they start: seed by seed, and for each seed the methods in
// the order of the config, each with all its tricks in that order, so that an experiment that is stopped early leaves
// comparable runs.
func Jobs(c Config) []Job {
	var jobs []Job
	sets := c.trickSets()
	for i := range c.Runs {
		for _, name := range c.Methods {
			for _, tricks := range sets {
				j := Job{
					Index: len(jobs), Total: c.Runs * len(c.Methods) * len(sets),
					Method: name, Tricks: tricks, Seed: c.Seed + uint64(i),
				}
				j.Folder = folderName(c, j)
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// folderName is <method>_<trick>-m<capacity>-s<seed>, without -m where the method has no memory and with as many tricks as
// there are.
func folderName(c Config, j Job) string {
	capacity := ""
	if info, err := method.Lookup(j.Method); err == nil && info.UsesMemory {
		capacity = fmt.Sprintf("-m%d", c.Memory)
	}
	name := sanitised(j.Method)
	for _, t := range j.Tricks {
		name += "_" + sanitised(t)
	}
	return fmt.Sprintf("%s%s-s%d", name, capacity, j.Seed)
}

// sanitised makes a name fit for a folder on every system: a plus sign becomes p (ewc++ is ewcpp), an asterisk s (kdc* is
// kdcs), other characters than letters, digits, dot, underscore and hyphen become hyphens.
func sanitised(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '+':
			return 'p'
		case r == '*':
			return 's'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z', strings.ContainsRune("._-", r):
			return r
		}
		return '-'
	}, name)
}

// runConfig is the resolved config of one job alone: one method, its tricks, its options, its seed, and no memory where the
// method has none. Running it again gives the same run.
func runConfig(c Config, j Job) Config {
	c = c.Resolved()
	c.Methods, c.Seed, c.Runs = []string{j.Method}, j.Seed, 1
	c = c.withoutIdleMemory()
	c.Tricks = []string{tricksText(j.Tricks)}
	if (method.Setup{Tricks: j.Tricks}).Classified() {
		given := c.Classifiers
		c.Classifiers = []string{ClassifierNCM}
		if len(given) > 1 {
			c.Classifiers = append(c.Classifiers, slices.DeleteFunc(given, func(name string) bool { return name == ClassifierNCM })...)
		}
	}
	options := c.Method[j.Method]
	c.Method = nil
	if len(options) > 0 {
		c.Method = map[string]map[string]any{j.Method: options}
	}
	return c
}

// share chooses the goroutines of one run and the runs at once: what is not given (0) so that the last run ends soonest.
// Runs beside each other on one core each have more throughput than one run on all cores, but the longest may leave cores
// idle at the end. costs are those of the runs in the order in which they start; one that costs nothing is done.
func share(cores int, costs []float64, workers, concurrency int) (w, c int) {
	n := len(costs)
	switch {
	case workers > 0 && concurrency > 0:
	case concurrency > 0:
		workers = max(1, cores/concurrency)
	case workers > 0:
		concurrency = max(1, min(n, cores/workers))
	default:
		workers, concurrency = cores, 1
		for c := 2; c <= min(n, cores); c++ { // of two equally fast, the one that needs less memory
			if span(costs, c)/speed(cores/c) < span(costs, concurrency)/speed(workers) {
				workers, concurrency = cores/c, c
			}
		}
	}
	return workers, max(1, min(concurrency, n))
}

// span is when the last run ends, in units of cost, when each of so many places takes the next run as soon as it is free.
func span(costs []float64, places int) float64 {
	free := make([]float64, places)
	for _, cost := range costs {
		first := slices.Index(free, slices.Min(free))
		free[first] += cost
	}
	return slices.Max(free)
}

// speed is how many times as fast a run is on so many workers as on one, by Amdahl's law. Two workers were measured to be
// 1.80 and 1.87 times as fast (docs/benchmarks.md); a ninth of the work that is not shared out makes that 1.8.
func speed(workers int) float64 {
	const alone = 1.0 / 9
	return 1 / (alone + (1-alone)/float64(workers))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
