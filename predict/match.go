package predict

import (
	"errors"
	"fmt"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/spelling"
	"ocl/run/train"
)

// ErrUnfit is wrapped by errors about data that the learner cannot be measured on: images of another shape, or classes
// that it does not know.
var ErrUnfit = errors.New("the data do not fit the learner")

// unfit is an error that wraps [ErrUnfit].
func unfit(format string, args ...any) error {
	return cause.As(fmt.Errorf("predict: "+format, args...), ErrUnfit)
}

// checkShape refuses samples of another kind or shape than the learner's.
func (i Info) checkShape(set *data.Set) error {
	if set.Embeddings {
		if err := i.matchEmbeddings(set); err != nil {
			return unfit("%w", err)
		}
	} else if i.Embeddings {
		return unfit("%s has images, but the learner knows embeddings of %d numbers, and the run does not name their network. Use embeddings of the same network",
			set.Name, i.C)
	} else if set.C != i.C || set.H != i.H || set.W != i.W {
		return unfit("the images of %s are %d×%d×%d, and the learner takes %d×%d×%d. %s", set.Name, set.C, set.H, set.W, i.C,
			i.H, i.W, set.Remedy(i.C, i.H, i.W))
	}
	return nil
}

// match gives each class of a data set the class of the learner that it is, -1 for none: by name if both have names,
// and otherwise by number. changes were made to the names of the set since. A class that was removed is no class, but
// with unseen another such one is an error, as the learner cannot name it. Notes say what is not as in the run.
func (i Info) match(set *data.Set, changes []train.Change, unseen bool) (to []int, notes []string, err error) {
	to = make([]int, set.Classes)
	if why := i.unnamed(set); why != "" {
		if set.Classes > i.Classes {
			return nil, nil, unfit("%s has %d classes, and the learner knows %d. Use data with the same classes", set.Name,
				set.Classes, i.Classes)
		}
		for k := range to {
			to[k] = k
		}
		notes = append(notes, "classes are matched by their numbers, because "+why)
	} else {
		var unknown []string
		names := slices.Clone(set.ClassNames)
		for k, name := range names {
			names[k] = train.Called(name, "", changes)
		}
		to = spelling.Match(names, i.ClassNames)
		for k, name := range names {
			switch {
			case name == "": // removed
			case to[k] < 0:
				unknown = append(unknown, fmt.Sprintf("%.40q", name))
			case spelling.Of(name) != spelling.Of(i.ClassNames[to[k]]):
				notes = append(notes, fmt.Sprintf("%.40q of %s is the learner's class %.40q, as names are compared without case",
					name, set.Name, i.ClassNames[to[k]]))
			}
		}
		what := fmt.Sprintf("the learner does not know %s of %s: %s", count.Of(len(unknown), "class"), set.Name,
			count.Some(unknown))
		switch n := len(unknown); {
		case n == set.Classes:
			return nil, nil, unfit("%s. Use data with the same classes", what)
		case n > 0 && unseen:
			return nil, nil, unfit("%s, so it cannot name them. Measure without them, or use data with the same classes", what)
		case n > 0:
			notes = append(notes, what)
		}
	}
	var absent []string
	for k := range i.Classes {
		parted := func(c train.Change) bool { return c.Operation == train.Split && c.Into == i.ClassNames[k] }
		if !slices.Contains(to, k) && !slices.Contains(i.gone, ocl.Label(k)) && !slices.ContainsFunc(changes, parted) {
			absent = append(absent, i.className(k))
		}
	}
	if len(absent) > 0 {
		notes = append(notes, fmt.Sprintf("%s has no images of %s that the learner knows: %s", set.Name,
			count.Of(len(absent), "class"), count.Some(absent)))
	}
	return to, notes, nil
}

// matchEmbeddings refuses embeddings of another network than the learner's.
func (i Info) matchEmbeddings(set *data.Set) error {
	digest := i.Config.Data.BackboneDigest
	switch {
	case !i.Embeddings && digest == "":
		return fmt.Errorf("%s has embeddings, and the learner takes images of %d×%d×%d. Use images", set.Name, i.C, i.H, i.W)
	case set.ByDigest != digest && digest == "":
		return fmt.Errorf("%s has embeddings of the network %s, and the run does not say which network made its own. If it is the same one, write the file again without %s",
			set.Name, set.ByDigest, "__metadata__")
	case set.ByDigest != digest && set.ByDigest == "":
		return fmt.Errorf("%s does not say which network made its embeddings, and the learner knows those of the network %s. Write the file with `ocl embed -o FILE.npz`, or use images",
			set.Name, digest)
	case set.ByDigest != digest:
		return fmt.Errorf("%s has embeddings of the network %s, and the learner knows those of %s. Use the network of the run",
			set.Name, set.ByDigest, digest)
	case i.Embeddings && set.C != i.C:
		return fmt.Errorf("%s has embeddings of %d numbers, and the learner takes %d. Use embeddings of the same network",
			set.Name, set.C, i.C)
	}
	return nil
}

// unnamed says why classes cannot be matched by name; "" where they can.
func (i Info) unnamed(set *data.Set) string {
	switch {
	case i.ClassNames == nil:
		return "the run has no names of classes"
	case set.ClassNames == nil:
		return set.Name + " has no names of classes"
	case repeated(i.ClassNames):
		return "several classes of the run have one name"
	case repeated(set.ClassNames):
		return "several classes of " + set.Name + " have one name"
	}
	return ""
}

func repeated(names []string) bool {
	sorted := slices.Sorted(slices.Values(names))
	return len(slices.Compact(sorted)) < len(names)
}

// className is the name of a class, quoted, or its number.
func (i Info) className(k int) string {
	if i.ClassNames == nil {
		return fmt.Sprint(k)
	}
	return fmt.Sprintf("%.40q", i.ClassNames[k])
}
