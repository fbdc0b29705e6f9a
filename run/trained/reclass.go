package trained

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ocl"
	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/nearest"
	"ocl/internal/spelling"
	"ocl/learn/learner"
	"ocl/run/result"
	"ocl/run/train"
)

// Class is a class of a run's learner.
type Class struct {
	Number   int      `json:"number"`
	Name     string   `json:"name"`
	Samples  *int64   `json:"samples,omitempty"`  // that it was learned of, of a learner of sums
	Stored   *int64   `json:"stored,omitempty"`   // in the memory of another one
	Accuracy *float64 `json:"accuracy,omitempty"` // in the last evaluation of the run
}

// Classes lists the classes that the learner of a run knows.
func (t *Model) Classes() (all []Class, err error) {
	if err := t.named(); err != nil {
		return nil, err
	}
	accuracy := make([]*float64, len(t.ClassNames))
	if r, err := result.Read(filepath.Join(t.Folder, train.ResultFile)); err == nil && len(r.PerClass) > 0 {
		copy(accuracy, r.PerClass[len(r.PerClass)-1])
	}
	r, counts := t.Learner.(learner.Reclassing)
	_, sums := t.Learner.(learner.Sums)
	for k, name := range t.ClassNames {
		if slices.Contains(t.known.Gone, k) {
			continue
		}
		c := Class{Number: k, Name: name, Accuracy: accuracy[k]}
		if counts {
			switch n := r.Samples(ocl.Label(k)); {
			case sums:
				c.Samples = &n
			case learner.MemoryOf(t.Learner) != nil:
				c.Stored = &n
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// Changes are what was done to classes since they were learned first, in that order.
func (t *Model) Changes() []train.Change { return slices.Clone(t.known.Changes) }

// Gone are the classes, rising, that were removed or merged into others.
func (t *Model) Gone() (gone []ocl.Label) {
	for _, k := range t.known.Gone {
		gone = append(gone, ocl.Label(k))
	}
	return gone
}

// named is an error where the classes have no names.
func (t *Model) named() error {
	if t.ClassNames == nil {
		return fmt.Errorf("experiment: %s: its data have no names of classes, so no class can be named. Learn from --data folder or --data csv, whose folders or labels name the classes",
			t.Folder)
	}
	return nil
}

// ErrClasses is wrapped by errors about classes that cannot be changed as asked.
var ErrClasses = errors.New("the classes stay as they are")

// refused is such an error.
func refused(format string, args ...any) error {
	return cause.As(fmt.Errorf(format, args...), ErrClasses)
}

// find is the class that a name means.
func (t *Model) find(name string) (int, error) {
	var names []string
	for k, known := range t.ClassNames {
		if !slices.Contains(t.known.Gone, k) {
			names = append(names, known)
		}
	}
	is := func(name string) bool { return slices.Contains(names, name) }
	found := spelling.Find(name, is, func() []string { return names })
	if !is(found) {
		return 0, refused("there is no class %s. %s", cause.Shown(name), nearest.Hint(name, names))
	}
	for k, known := range t.ClassNames {
		if known == found && !slices.Contains(t.known.Gone, k) {
			return k, nil
		}
	}
	panic("trained: a class that is known is not found")
}

// Change changes the classes of the learner, one after the other. After an error it is not used any more. carried says
// what the learner still has of what has gone; "" is nothing.
func (t *Model) Change(ctx context.Context, list ...train.Change) (carried string, err error) {
	if err = t.named(); err != nil {
		return "", err
	}
	t.ClassNames, t.known.Gone = slices.Clone(t.ClassNames), slices.Clone(t.known.Gone)
	t.known.Pictures = slices.Clone(t.known.Pictures)
	for _, c := range list {
		what, err := t.change(c)
		if err != nil {
			return "", fmt.Errorf("experiment: %s: %w", t.Folder, err)
		}
		if what != "" {
			carried = what
		}
	}
	t.known.ClassNames, t.tested = t.ClassNames, nil
	return carried, t.prepare(ctx)
}

// change changes one class, and notes that.
func (t *Model) change(c train.Change) (carried string, err error) {
	k, err := t.find(c.Class)
	if err != nil {
		return "", err
	}
	c.Class = t.ClassNames[k]
	if c.Operation == train.Rename {
		if c.Into = spelling.Of(c.Into); c.Into == c.Class {
			return "", refused("%s is the name of this class already. Give another name", cause.Shown(c.Class))
		}
		if err := t.free(c.Into, k); err != nil {
			return "", err
		}
		t.ClassNames[k] = c.Into
		t.known.Changes = append(slices.Clip(t.known.Changes), c)
		return "", nil
	}
	r, can := t.Learner.(learner.Reclassing)
	if !can {
		return "", refused("a learner of %s cannot make one class of two or let go of one. Train again with other folders; rename is possible",
			t.Config.Methods[0])
	}
	suffix := " (removed)"
	if c.Operation == train.Merge {
		into, err := t.find(c.Into)
		if err != nil {
			return "", err
		}
		if c.Into = t.ClassNames[into]; into == k {
			return "", refused("%s is given twice, and merge makes one class of two. Give another one", cause.Shown(c.Class))
		}
		if err := r.Merge(ocl.Label(k), ocl.Label(into)); err != nil {
			return "", err
		}
		if _, sums := t.Learner.(learner.Sums); !sums {
			carried = r.Carries()
		}
		if pictures := t.known.Pictures; pictures != nil {
			pictures[into] = pictures[into].Union(pictures[k])
		}
		suffix = " (in " + c.Into + ")"
	} else {
		if len(t.ClassNames)-len(t.known.Gone) == 1 {
			return "", refused("%s is the only class. A learner has at least one", cause.Shown(c.Class))
		}
		if err := r.RemoveClass(ocl.Label(k)); err != nil {
			return "", err
		}
		carried = r.Carries()
	}
	if t.known.Pictures != nil {
		t.known.Pictures[k] = nil
	}
	t.ClassNames[k] = t.vacant(c.Class + suffix)
	at, _ := slices.BinarySearch(t.known.Gone, k)
	t.known.Gone = slices.Insert(t.known.Gone, at, k)
	t.known.Learned = slices.DeleteFunc(slices.Clone(t.known.Learned), func(l int) bool { return l == k })
	t.known.Changes = append(slices.Clip(t.known.Changes), c)
	return carried, nil
}

// free refuses a name that cannot be that of the class k, or of a new one, which is split off it.
func (t *Model) free(name string, k int) error {
	if why := spelling.Fault(name); why != "" {
		return refused("%s cannot name a class: %s", cause.Shown(name), why)
	}
	if spelling.Key(name) == spelling.Key("unknown") {
		return refused("%s cannot name a class: `ocl predict --unknown-below` calls images so that are of no class. Give another name",
			cause.Shown(name))
	}
	for other, known := range t.ClassNames {
		if other != k && spelling.Key(known) == spelling.Key(name) {
			return refused("%s is the name of another class; names are compared without case. Give another name, or make both one class with merge %s %s",
				cause.Shown(name), cause.Shown(t.ClassNames[k]), cause.Shown(known))
		}
	}
	return nil
}

// vacant is a name that no class has, made of another one.
func (t *Model) vacant(name string) string {
	for slices.Contains(t.ClassNames, name) {
		name += "'"
	}
	return name
}

// Reclassed is a run whose classes have changed.
type Reclassed struct {
	Folder  string // new
	Changes []train.Change
	Carried string   // what the learner still has of what has gone; "" is nothing
	Notes   []string // what a person should know
}

// Changed opens the run in a folder, changes its classes, and writes the learner as a new run, whose parent is the old
// one. The old one stays as it is. out is the new folder; "" is one beside the folder of the old run.
func Changed(ctx context.Context, folder, out string, older bool, list ...train.Change) (Reclassed, error) {
	return changed(ctx, folder, out, older, func(t *Model, _ *Parent) (r Reclassed, err error) {
		r.Carried, err = t.Change(ctx, list...)
		return r, err
	})
}

// changed is Changed by any change, which says of what it does only Carried and Notes.
func changed(ctx context.Context, folder, out string, older bool, change func(*Model, *Parent) (Reclassed, error)) (
	r Reclassed, err error) {
	run, err := runFolder(folder)
	if err != nil {
		return r, fmt.Errorf("experiment: %w", err)
	}
	lock, err := idle(run)
	if err != nil {
		return r, fmt.Errorf("experiment: %w", err)
	}
	defer lock.Unlock()
	t, err := Open(ctx, run, Options{Older: older})
	if err != nil {
		return r, err
	}
	defer t.Close()
	from, err := choose(run, "", older)
	if err != nil {
		return r, fmt.Errorf("experiment: %w", err)
	}
	p := &Parent{}
	p.Checkpoint = digestOf(from.File)
	if p.Folder, err = filepath.Abs(t.Folder); err == nil {
		err = p.read(from.saved)
	}
	if err != nil {
		return r, fmt.Errorf("experiment: %s: %w", t.Folder, err)
	}
	if out == "" {
		out = beside(folder)
	} else if _, err := os.Lstat(out); err == nil {
		return r, refused("experiment: %s is there already, and a changed learner gets a folder of its own. Give another --out", out)
	}
	before := len(t.known.Changes)
	if r, err = change(t, p); err != nil {
		return Reclassed{}, err
	}
	r.Folder, r.Changes = out, t.known.Changes[before:]
	s := from.saved
	s.Identity.Config = s.Identity.Config.Clone()
	s.Identity.Config.Parent = config.Parent{Run: p.Folder, Checkpoint: p.Checkpoint}
	s.Known = t.known
	same := !slices.ContainsFunc(r.Changes, func(c train.Change) bool { return c.Operation != train.Rename })
	if err := train.WriteChanged(out, s, from.Loaded, t.Learner, same); err != nil {
		return Reclassed{}, fmt.Errorf("experiment: %w", err)
	}
	return r, nil
}

// beside is a folder that is not there, beside another one.
func beside(folder string) string {
	base := strings.TrimRight(filepath.Clean(folder), string(filepath.Separator)) + "-classes"
	name := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}
