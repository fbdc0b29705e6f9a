package experiment

import (
	"fmt"
	"iter"
	"slices"

	"ocl"
	"ocl/data"
	"ocl/internal/count"
)

// union are the classes that a learner knows and those of new data, together.
type union struct {
	classes int
	names   []string    // nil where neither has any
	label   []ocl.Label // of each class of the data
	note    string      // what a person should know; "" is nothing
}

// unite finds the classes of the data among those that are known, by their names. The others get the next indices, in
// their order. Where neither has names, class k of the data is class k. It is an error if only one of them has names, or
// if a name is there twice.
func unite(known shown, set *data.Set) (u union, err error) {
	u = union{classes: known.Classes, names: slices.Clone(known.ClassNames), label: make([]ocl.Label, set.Classes)}
	switch {
	case known.ClassNames == nil && set.ClassNames == nil:
		u.classes = max(u.classes, set.Classes)
		for k := range u.label {
			u.label[k] = ocl.Label(k)
		}
		u.note = fmt.Sprintf("neither the parent nor %s names its classes, so class k is the parent's class k. The parent knows %d classes, the data have %d",
			set.Name, known.Classes, set.Classes)
		return u, nil
	case set.ClassNames == nil:
		return u, fmt.Errorf("parent.run: the parent names its classes, but %s does not, so nobody can say which are new. "+
			"Give the images as --data folder or --data csv, whose folders or labels name the classes", set.Name)
	case known.ClassNames == nil:
		return u, fmt.Errorf("parent.run: %s names its classes, but the parent does not, so nobody can say which are new. "+
			"Learn the parent from --data folder or --data csv, whose folders or labels name the classes", set.Name)
	}
	index := map[string]ocl.Label{}
	for k, name := range known.ClassNames {
		if _, twice := index[name]; twice {
			return u, fmt.Errorf("parent.run: two classes of the parent are called %.40q, so nobody can say which is meant. Use a parent whose names differ", name)
		}
		index[name] = ocl.Label(k)
	}
	for k, name := range set.ClassNames {
		if slices.Contains(set.ClassNames[:k], name) {
			return u, fmt.Errorf("parent.run: two classes of %s are called %.40q, so nobody can say which is meant. Rename one of them", set.Name, name)
		}
		y, there := index[name]
		if !there {
			y = ocl.Label(len(u.names))
			u.names = append(u.names, name)
		}
		u.label[k] = y
	}
	u.classes = len(u.names)
	if n := u.classes - known.Classes; n < set.Classes {
		u.note = fmt.Sprintf("%d of %s of %s known to the parent by name", set.Classes-n, count.Of(set.Classes, "class"), set.Name)
	}
	return u, nil
}

// joined is a stream whose labels are those of a union.
type joined struct {
	view
	classes union
	info    ocl.StreamInfo
}

func (u union) join(v view) view {
	j := &joined{view: v, classes: u, info: v.Info()}
	j.info.Classes = u.classes
	j.info.Tasks = slices.Clone(j.info.Tasks)
	for i, t := range j.info.Tasks {
		j.info.Tasks[i].Classes = u.of(t.Classes)
	}
	return j
}

// of are the labels of some classes of the data.
func (u union) of(classes []ocl.Label) []ocl.Label {
	labels := make([]ocl.Label, len(classes))
	for i, k := range classes {
		labels[i] = u.label[k]
	}
	return labels
}

func (j *joined) Info() ocl.StreamInfo { return j.info }

func (j *joined) Train(task int) iter.Seq2[ocl.Batch, error] { return j.relabelled(j.view.Train(task)) }
func (j *joined) Test(set int) iter.Seq2[ocl.Batch, error]   { return j.relabelled(j.view.Test(set)) }

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
