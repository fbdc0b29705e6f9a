package experiment

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"ocl/method"
)

// Jobs lists the runs of an experiment in the order in which they start: seed by seed, and for each seed the methods in
// the order of the config, so that an experiment that is stopped early leaves comparable runs.
func Jobs(c Config) []Job {
	var jobs []Job
	for i := range c.Runs {
		for _, name := range c.Methods {
			seed := c.Seed + uint64(i)
			jobs = append(jobs, Job{
				Index: len(jobs), Total: c.Runs * len(c.Methods),
				Method: name, Seed: seed, Folder: folderName(c, name, seed),
			})
		}
	}
	return jobs
}

// folderName is <method>-m<capacity>-s<seed>, without -m where the method has no memory.
func folderName(c Config, name string, seed uint64) string {
	capacity := ""
	if info, err := method.Lookup(name); err == nil && info.UsesMemory {
		capacity = fmt.Sprintf("-m%d", c.Memory)
	}
	return fmt.Sprintf("%s%s-s%d", sanitised(name), capacity, seed)
}

// sanitised makes a method's name fit for a folder on every system: a plus sign becomes p (ewc++ is ewcpp), other
// characters than letters, digits, dot, underscore and hyphen become hyphens.
func sanitised(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '+':
			return 'p'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z', strings.ContainsRune("._-", r):
			return r
		}
		return '-'
	}, name)
}

// runConfig is the resolved config of one job alone: one method, its options, its seed, and no memory where the method
// has none. Running it again gives the same run.
func runConfig(c Config, j Job) Config {
	c = c.Resolved()
	c.Methods, c.Seed, c.Runs = []string{j.Method}, j.Seed, 1
	options := map[string]any{}
	if info, err := method.Lookup(j.Method); err == nil {
		if !info.UsesMemory {
			c.Memory = 0
		}
		for _, o := range info.Options {
			options[o.Name] = o.Default
		}
	}
	maps.Copy(options, c.Method[j.Method])
	c.Method = nil
	if len(options) > 0 {
		c.Method = map[string]map[string]any{j.Method: options}
	}
	return c
}

// share chooses the goroutines of one run and the runs at once for n runs. Runs beside each other on one core each have
// more throughput than one run on all cores, so that is the choice where there are several.
func share(n, workers, concurrency int) (w, c int) {
	cores := runtime.GOMAXPROCS(0)
	switch {
	case workers > 0 && concurrency > 0:
	case concurrency > 0:
		workers = max(1, cores/concurrency)
	case workers > 0:
		concurrency = max(1, min(n, cores/workers))
	case n >= 2:
		concurrency = min(n, cores)
		workers = max(1, cores/concurrency)
	default:
		workers, concurrency = cores, 1
	}
	return workers, max(1, min(concurrency, n))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
