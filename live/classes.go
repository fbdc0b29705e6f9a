package live

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/internal/cause"
	"ocl/learn/learner"
)

// Rename gives a class another name, letter by letter. A name that a class has is an error. Predictions use it from the
// next Publish on, and weights of before still fit ([Trainer.SetWeights]).
func (t *Trainer) Rename(from, to string) error {
	return t.change("rename", func() error {
		if err := CheckLabel(to); err != nil {
			return err
		}
		y, err := t.known(from)
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if _, taken := t.class[to]; taken {
			return fmt.Errorf("%s is the name of a class. Give another one", cause.Shown(to))
		}
		t.renames(y, to)
		delete(t.class, from)
		t.class[to] = y
		t.publisher.stale = t.core.learned()
		return nil
	})
}

// MergeClasses makes the class from a part of the class into: what was learned of it and what is stored
// ([learner.Reclassing]). From then on there is no class from, and one of that name that is added later is a new one. A
// method that cannot do it is an error that wraps [ErrMethod]: [Trainer.Reclasses] tells.
func (t *Trainer) MergeClasses(from, into string) error {
	return t.reclass("merge classes", from, into, func(r learner.Reclassing, y, to ocl.Label) error {
		return r.Merge(y, to)
	})
}

// SplitClass adds a class, whose name is taken letter by letter, that begins as a copy of the class from
// ([learner.Reclassing]): Unlearn or Relabel, and Observe, say then which images of from are of it. A name that a class
// has is an error. A method that cannot do it is an error that wraps [ErrMethod].
func (t *Trainer) SplitClass(from, to string) error {
	return t.change("split class", func() error {
		if err := CheckLabel(to); err != nil {
			return err
		}
		if _, err := t.core.reclasses(); err != nil {
			return err
		}
		y, err := t.known(from)
		if err != nil {
			return err
		}
		if _, err := t.known(to); err == nil {
			return fmt.Errorf("%s is the name of a class. Give another one", cause.Shown(to))
		}
		n, err := t.labelOf(to)
		if err == nil {
			err = t.activate(n)
		}
		if err != nil {
			return err
		}
		r, err := t.core.reclasses() // of a learner that may be another one now
		if err == nil {
			err = r.Split(y, n)
		}
		if err == nil {
			t.reclassed()
		}
		return err
	})
}

// reclassed drops what was computed of the classes of before.
func (t *Trainer) reclassed() {
	if ncm := t.core.ncm; ncm != nil {
		ncm.Forget()
	}
	t.core.tested = nil // it was another network's
	t.publisher.forget()
	t.publisher.stale = t.core.learned()
	t.count(ocl.StepStats{})
}

// RemoveClass removes a class and its stored images, as MergeClasses removes one. [learner.Reclassing] says what stays
// of its images: Unlearn and Forget them before, and nothing does.
func (t *Trainer) RemoveClass(name string) error {
	return t.reclass("remove class", name, name, func(r learner.Reclassing, y, _ ocl.Label) error {
		return r.RemoveClass(y)
	})
}

// Reclasses is nil where [Trainer.MergeClasses], [Trainer.SplitClass] and [Trainer.RemoveClass] work, and otherwise an
// error that wraps [ErrMethod].
func (t *Trainer) Reclasses() error {
	_, err := t.core.reclasses()
	return err
}

// Gone says which classes, by label, are none any more, as they were merged into others or removed.
func (t *Trainer) Gone() []ocl.Label {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.gone)
}

// Named are the names of the classes that are there, in the order in which they came.
func (t *Trainer) Named() (names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for y, name := range t.names {
		if _, gone := slices.BinarySearch(t.gone, ocl.Label(y)); !gone {
			names = append(names, name)
		}
	}
	return names
}

// Carries is a sentence on what stays of images of classes that were merged or removed; "" is nothing. Only the
// goroutine that changes the trainer may call it.
func (t *Trainer) Carries() string {
	if r, ok := t.core.learner.(learner.Reclassing); ok {
		return r.Carries()
	}
	return ""
}

// reclasses is the learner as one whose classes change.
func (k *core) reclasses() (learner.Reclassing, error) {
	r, ok := k.learner.(learner.Reclassing)
	if !ok {
		return nil, cause.As(fmt.Errorf("%s cannot make one class of two, or two of one, or let go of one. Use a method that can, such as er or slda",
			k.config.Methods[0]), ErrMethod)
	}
	if err := r.Reclasses(); err != nil {
		return nil, cause.As(err, ErrMethod)
	}
	return r, nil
}

// known is the label of a class that is there.
func (t *Trainer) known(name string) (ocl.Label, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	y, known := t.class[name]
	if !known {
		return 0, fmt.Errorf("%w: there is no class %s. Use one of those that were added", ErrLabel, cause.Shown(name))
	}
	return y, nil
}

// renames gives a class another name. The caller holds mu; the published copy has the old names.
func (t *Trainer) renames(y ocl.Label, name string) {
	if t.born == nil {
		t.born = t.names
	}
	t.names = slices.Clone(t.names)
	t.names[y] = name
}

// reclass lets f take the class name out of the learner, perhaps into another one, and takes its name out of those that
// are known.
func (t *Trainer) reclass(what, name, into string, f func(r learner.Reclassing, y, to ocl.Label) error) error {
	return t.change(what, func() error {
		if _, err := t.core.reclasses(); err != nil {
			return err
		}
		y, err := t.known(name)
		if err != nil {
			return err
		}
		to, err := t.known(into)
		if err == nil {
			err = t.activate(max(y, to)) // which may make another learner
		}
		if err != nil {
			return err
		}
		r, err := t.core.reclasses()
		if err == nil {
			err = f(r, y, to)
		}
		if err != nil {
			return err
		}
		t.mu.Lock()
		nobody := name + " (gone)"
		for slices.Contains(t.names, nobody) {
			nobody += "'"
		}
		t.renames(y, nobody)
		delete(t.class, name)
		at, _ := slices.BinarySearch(t.gone, y)
		t.gone = slices.Insert(slices.Clone(t.gone), at, y)
		t.mu.Unlock()
		t.reclassed()
		return nil
	})
}
