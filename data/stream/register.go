package stream

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/internal/count"
	"ocl/internal/origin"
)

// Register adds a kind of stream to the catalogue, for the whole program. Call it from an init function or at the start
// of main, before anything reads the catalogue. Results of runs record the module that calls Register, with its
// version.
//
// A kind without a name or without Divide, with a name that is taken or has other characters than letters, digits and
// single hyphens, or without a scenario, is a bug and panics.
func Register(k Kind) { kinds.Register("stream", k) }

// fault is what is wrong with an entry.
func (k *Kind) fault() error {
	if err := origin.CheckName(k.Name); err != nil {
		return err
	}
	switch {
	case k.Divide == nil:
		return fmt.Errorf("%s: there is no Divide. Set it to the function that makes the tasks", k.Name)
	case k.Scenario != ocl.ClassIncremental && k.Scenario != ocl.DomainIncremental:
		return fmt.Errorf("%s: the scenario is %q. Set Scenario to ocl.ClassIncremental or ocl.DomainIncremental", k.Name,
			k.Scenario)
	}
	return nil
}

// Origin is the module that registered the kind, and its version; both are "" for those of this module.
func (k Kind) Origin() (module, version string) { return k.origin.Module, k.origin.Version }

// shares are the images of each task. Those of a registered kind are checked.
func (k Kind) shares(d input) ([]taskImages, error) {
	if k.Divide == nil {
		return k.divide(d), nil
	}
	if d.o.Tasks < 1 {
		return nil, fmt.Errorf("stream.tasks (--tasks): %d is too small. Use at least 1", d.o.Tasks)
	}
	given, err := k.Divide(d.set, d.o, slices.Clone(d.train))
	if err != nil {
		return nil, err
	}
	if len(given) != d.o.Tasks {
		return nil, fmt.Errorf("its Divide made %s, but %d are asked for. Make as many, or refuse stream.tasks (--tasks)",
			count.Of(len(given), "task"), d.o.Tasks)
	}
	shares, taskOf := make([]taskImages, len(given)), make([]int, len(d.train))
	for t, s := range given {
		if len(s.Train) == 0 && !d.set.Incomplete {
			return nil, fmt.Errorf("its Divide gave task %d no training image. Give each task some, or use fewer --tasks", t+1)
		}
		for _, i := range s.Train {
			at, ours := slices.BinarySearch(d.train, i)
			switch {
			case !ours:
				return nil, fmt.Errorf("its Divide gave task %d the training image %d, which the stream does not use. Share the given images",
					t+1, i)
			case taskOf[at] > 0:
				return nil, fmt.Errorf("its Divide gave the training image %d to task %d and to task %d. Give each image once", i,
					taskOf[at], t+1)
			}
			taskOf[at] = t + 1
		}
		for _, i := range s.Test {
			if i < 0 || int(i) >= d.set.Test.Len() {
				return nil, fmt.Errorf("its Divide gave task %d the test image %d of %d. Share those that there are", t+1, i,
					d.set.Test.Len())
			}
		}
		shares[t] = taskImages{train: slices.Clone(s.Train), test: slices.Clone(s.Test)}
	}
	nameClasses(shares, d.set)
	return shares, nil
}
