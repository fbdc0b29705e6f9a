package live

import (
	"fmt"
	"maps"
	"slices"

	"ocl"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/spelling"
)

// naming is what a state says of the names of classes.
type naming struct {
	Classes []string    `json:"classes"`
	Born    []string    `json:"born,omitempty"` // the names that they had first, where these are others
	Gone    []ocl.Label `json:"gone,omitempty"` // that are none any more, rising; their names stand for nothing
}

// first are the names that the classes had first.
func (n naming) first() []string {
	if n.Born != nil {
		return n.Born
	}
	return n.Classes
}

// call gives the classes their names.
func (t *Trainer) call(n naming) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names, t.class, t.room = n.Classes, map[string]ocl.Label{}, t.core.stream.Classes
	t.born, t.gone = n.Born, n.Gone
	for y, name := range t.names {
		if _, gone := slices.BinarySearch(t.gone, ocl.Label(y)); !gone {
			t.class[name] = ocl.Label(y)
		}
	}
	for len(t.names) > t.room {
		t.room *= 2
	}
}

// Classes are the names of the classes, by label. Those of [Trainer.Gone] stand for nothing.
func (t *Trainer) Classes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.names)
}

// AddClass adds a class, whose name is taken letter by letter (a [Learner] and the daemon compare names in one spelling
// of Unicode), which gets the next output of the head, and returns its label; of a name that it has, that one's. From
// then on the loss and the next published predictions see the output, with or without images. [Learner] adds a class
// when its first image is learned.
//
// A name has 1 to 256 bytes of UTF-8 without control characters or space at its ends; others are an error that wraps
// [ErrLabel]. A class beyond a bound of the options is one that wraps [ErrBound]. A full head doubles, which takes the
// time of a Save.
func (t *Trainer) AddClass(name string) (y ocl.Label, err error) {
	err = t.change("add class", func() error {
		if err := CheckLabel(name); err != nil {
			return err
		}
		if y, err = t.labelOf(name); err != nil {
			return err
		}
		return t.activate(y)
	})
	return y, err
}

// called is the class that a label means: one that is there and has its name, in any case and spelling of Unicode, or
// the label in the spelling that names are kept in.
func (t *Trainer) called(label string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return spelling.Find(label, func(name string) bool { _, is := t.class[name]; return is },
		func() []string { return slices.Collect(maps.Keys(t.class)) })
}

// labelOf is the label of the class called name, which it adds if it is new and the bounds allow it. Any goroutine
// calls it.
func (t *Trainer) labelOf(name string) (ocl.Label, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if y, known := t.class[name]; known {
		return y, nil
	}
	n := len(t.names)
	room, err := t.roomFor(n + 1)
	if err != nil {
		return 0, fmt.Errorf("%s is a new class: %w", cause.Shown(name), err)
	}
	t.room = room
	t.names = append(t.names, name)
	if t.born != nil {
		t.born = append(t.born, name)
	}
	t.class[name] = ocl.Label(n)
	return ocl.Label(n), nil
}

// RoomFor is an error that wraps [ErrBound] if the learner may not have so many classes: whoever adds classes later,
// such as after they were written down, asks before. Any goroutine may call it.
func (t *Trainer) RoomFor(classes int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.roomFor(classes)
	return err
}

// roomFor returns the number of outputs of a head for so many classes. An error wraps ErrBound if there cannot be so
// many. The caller holds mu.
func (t *Trainer) roomFor(classes int) (room int, err error) {
	if most := t.process.MaxClasses; most > 0 && classes > most {
		return 0, fmt.Errorf("%w: it would be class %s, and MaxClasses is %s. Use one of the classes that are there, or a larger bound",
			ErrBound, count.Number(classes), count.Number(most))
	}
	room = t.room
	for room < classes {
		room *= 2
		err := checkCapacity(room)
		if err == nil {
			err = t.process.checkBounds(t.config, t.inputs, room)
		}
		if err != nil {
			return 0, fmt.Errorf("all outputs of the network are taken: %w", err)
		}
	}
	return room, nil
}

// activate lets the loss and predictions see the output of a class, and of those before it.
func (t *Trainer) activate(y ocl.Label) error {
	most := int(y) + 1
	if most > t.core.stream.Classes {
		k, err := t.core.grown(most)
		if err != nil {
			return t.ended(err)
		}
		if err := t.exchange(k); err != nil {
			return t.ended(err)
		}
	}
	if most > t.core.classes {
		t.core.activate(most)
		t.count(ocl.StepStats{})
	}
	return nil
}

// exchange takes another core.
func (t *Trainer) exchange(k *core) error {
	t.core = k
	bytes, parameters, err := held(t.config, t.process, t.inputs, k.stream.Classes)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.stats.Bytes, t.stats.Parameters = bytes, parameters
	t.mu.Unlock()
	t.count(ocl.StepStats{})
	return nil
}
