package trained

import (
	"fmt"
	"iter"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/count"
	"ocl/internal/spelling"
	"ocl/run/build"
	"ocl/run/train"
)

// Union are the classes that a learner knows and those of new data, together.
type Union struct {
	classes int
	Names   []string    // nil where neither has any
	label   []ocl.Label // of each class of the data
	Note    string      // what a person should know; "" is nothing
}

// Unite finds the classes of the data among those that are known, by their names. The others get the next indices, in
// their order. Where neither has names, class k of the data is class k. It is an error if only one of them has names,
// or if a name is there twice.
func Unite(known train.Known, set *data.Set) (u Union, err error) {
	u = Union{classes: known.Classes, Names: slices.Clone(known.ClassNames), label: make([]ocl.Label, set.Classes)}
	switch {
	case known.ClassNames == nil && set.ClassNames == nil:
		u.classes = max(u.classes, set.Classes)
		for k := range u.label {
			u.label[k] = ocl.Label(k)
		}
		u.Note = fmt.Sprintf("neither the parent nor %s names its classes, so class k is the parent's class k. The parent knows %d classes, the data have %d",
			set.Name, known.Classes, set.Classes)
		return u, nil
	case set.ClassNames == nil:
		return u, fmt.Errorf("parent.run: the parent names its classes, but %s does not, so nobody can say which are new. "+
			"Give the images as --data folder or --data csv, whose folders or labels name the classes", set.Name)
	case known.ClassNames == nil:
		return u, fmt.Errorf("parent.run: %s names its classes, but the parent does not, so nobody can say which are new. "+
			"Learn the parent from --data folder or --data csv, whose folders or labels name the classes", set.Name)
	}
	for k, name := range known.ClassNames {
		if slices.Contains(known.ClassNames[:k], name) {
			return u, fmt.Errorf("parent.run: two classes of the parent are called %.40q, so nobody can say which is meant. Use a parent whose names differ",
				name)
		}
	}
	for k, name := range set.ClassNames {
		if slices.Contains(set.ClassNames[:k], name) {
			return u, fmt.Errorf("parent.run: two classes of %s are called %.40q, so nobody can say which is meant. Rename one of them",
				set.Name, name)
		}
	}
	var inCase []string // that differ in case
	for k, at := range spelling.Match(set.ClassNames, known.ClassNames) {
		name := set.ClassNames[k]
		switch {
		case at < 0:
			at = len(u.Names)
			u.Names = append(u.Names, spelling.Of(name))
		case spelling.Of(name) != spelling.Of(known.ClassNames[at]):
			inCase = append(inCase, fmt.Sprintf("%.40q is its class %.40q", name, known.ClassNames[at]))
		}
		u.label[k] = ocl.Label(at)
	}
	u.classes = len(u.Names)
	if n := u.classes - known.Classes; n < set.Classes {
		u.Note = fmt.Sprintf("%d of %s of %s known to the parent by name", set.Classes-n, count.Of(set.Classes, "class"),
			set.Name)
	}
	if inCase != nil {
		u.Note += ". Names are compared without case: " + count.Some(inCase)
	}
	return u, nil
}

// joined is a stream whose labels are those of a union.
type joined struct {
	build.Stream
	classes Union
	info    ocl.StreamInfo
}

// Join gives a stream of the data the labels of the union.
func (u Union) Join(v build.Stream) build.Stream {
	j := &joined{Stream: v, classes: u, info: v.Info()}
	j.info.Classes = u.classes
	j.info.Tasks = slices.Clone(j.info.Tasks)
	for i, t := range j.info.Tasks {
		j.info.Tasks[i].Classes = u.of(t.Classes)
	}
	return j
}

// of are the labels of some classes of the data.
func (u Union) of(classes []ocl.Label) []ocl.Label {
	labels := make([]ocl.Label, len(classes))
	for i, k := range classes {
		labels[i] = u.label[k]
	}
	return labels
}

func (j *joined) Info() ocl.StreamInfo { return j.info }

// Observed is that of the stream, by the labels of the union.
func (j *joined) Observed(task, batches int) (seen []bool) {
	for k, is := range j.Stream.Observed(task, batches) {
		if seen == nil {
			seen = make([]bool, j.info.Classes)
		}
		seen[j.classes.label[k]] = seen[j.classes.label[k]] || is
	}
	return seen
}

// Came is that of the stream, by the labels of the union.
func (j *joined) Came(task int) (came []int) {
	for k, n := range j.Stream.Came(task) {
		if came == nil {
			came = make([]int, j.info.Classes)
		}
		came[j.classes.label[k]] += n
	}
	return came
}

// Peek is that of the stream, with the labels of the union.
func (j *joined) Peek(task, batch int) (ocl.Batch, error) {
	b, err := j.Stream.Peek(task, batch)
	b.Y = j.classes.of(b.Y)
	return b, err
}

func (j *joined) Train(task int) iter.Seq2[ocl.Batch, error] {
	return j.relabelled(j.Stream.Train(task))
}
func (j *joined) Test(set int) iter.Seq2[ocl.Batch, error] { return j.relabelled(j.Stream.Test(set)) }

// relabelled are batches with the labels of the union.
func (j *joined) relabelled(batches iter.Seq2[ocl.Batch, error]) iter.Seq2[ocl.Batch, error] {
	return func(yield func(ocl.Batch, error) bool) {
		for b, err := range batches {
			b.Y = j.classes.of(b.Y)
			if !yield(b, err) {
				return
			}
		}
	}
}
