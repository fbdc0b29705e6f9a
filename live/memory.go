package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/cause"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/run/build"
)

// Relabel gives the stored image with a place ([Trainer.Place]) the label y of a class that was added, and says whether
// the image is stored. What was learned of it stays in the weights. A method whose stored images cannot be changed is
// an error that wraps [ErrMethod].
func (t *Trainer) Relabel(place int64, y ocl.Label) (found bool, err error) {
	err = t.change("relabel", func() error {
		if err := t.checkClass(y); err != nil {
			return err
		}
		found, err = t.relabel(place, y)
		return err
	})
	return found, err
}

func (t *Trainer) relabel(place int64, y ocl.Label) (found bool, err error) {
	a, err := t.core.amends()
	if a == nil {
		return false, err
	}
	m := a.memory
	slot, found := m.Find(place)
	if !found || m.Label(slot) == y {
		return found, nil
	}
	if err := t.activate(y); err != nil { // which may be another learner then
		return false, err
	}
	if a, err = t.core.amends(); err != nil {
		return false, err
	}
	if err = a.Relabel(slot, y); errors.Is(err, learner.ErrNoTask) {
		if err = t.core.tell([]ocl.Label{y}); err == nil {
			err = a.Relabel(slot, y)
		}
	}
	if err != nil {
		return false, cause.As(err, ErrMethod)
	}
	t.changed()
	return true, nil
}

// Forget removes the images with these places ([Trainer.Place]) from the memory, and returns how many of them it had.
// No byte of them is in a state that is saved afterwards, nor the image of the last batch by which Publish checks
// weights. What was learned of them stays in the weights, and in the sums of the methods that train nothing (ncm, slda,
// ranpac), which store no images and have [Trainer.Unlearn]. A memory that was full fills up with the next images.
// Predictions by class means use them until the next Publish.
//
// A method that stores images and cannot let go of one is an error that wraps [ErrMethod], and nothing has changed.
func (t *Trainer) Forget(places []int64) (stored int, err error) {
	err = t.change("forget", func() error {
		a, err := t.core.amends()
		if a == nil {
			return err
		}
		var slots []int
		asked := map[int64]bool{}
		for _, place := range places {
			asked[place] = true
		}
		for slot, place := range a.memory.Origins() {
			if asked[place] {
				slots = append(slots, slot)
			}
		}
		t.publisher.forget()
		if len(slots) == 0 {
			return nil
		}
		if err := a.Remove(slots); err != nil {
			return cause.As(err, ErrMethod)
		}
		stored = len(slots)
		t.changed()
		return nil
	})
	return stored, err
}

// Unlearn takes away what Observe has added of these images, uint8 [len(y),C,H,W], with these labels, in any order and
// whatever was observed since: then the learner is one that never observed them, but for the rounding of its sums
// ([learner.Unlearning]). Places and counts of images stay. Predictions change with the next Publish; a class without
// images is predicted no more, and where no image is left there is nothing to predict with.
//
// A method that is no sum over images is an error that wraps [ErrMethod]: [Trainer.Unlearns] tells. More images of a
// class than were observed are one that wraps [learner.ErrNotLearned]; whether it was these, nobody can see. After an
// error that is about the arguments nothing has changed.
func (t *Trainer) Unlearn(pixels []byte, y []ocl.Label) error {
	return t.change("unlearn", func() error {
		u, b, err := t.unlearning(pixels, y)
		if err == nil {
			err = u.Unlearn(b)
		}
		if err != nil {
			return err
		}
		t.publisher.forget()
		t.publisher.stale = true
		return nil
	})
}

// unlearning is the learner as one from which images can be taken away, and the batch of these.
func (t *Trainer) unlearning(pixels []byte, y []ocl.Label) (u learner.Unlearning, b ocl.Batch, err error) {
	if err := t.checkBatch(context.Background(), pixels, y); err != nil {
		return nil, b, err
	}
	if u, err = t.core.unlearns(); err != nil {
		return nil, b, err
	}
	if most := int(slices.Max(y)); most >= t.core.classes {
		return nil, b, fmt.Errorf("%w: of %s no image was observed. Unlearn what was observed, with the label that it had",
			learner.ErrNotLearned, cause.Shown(t.Classes()[most]))
	}
	if b, err = t.batch(pixels, y); err != nil {
		return nil, b, t.ended(err)
	}
	return u, b, nil
}

// UnlearnFrom is [Trainer.Unlearn] for weights that this trainer had before, as [Trainer.Version] gave them then. It
// returns them without the images. What the trainer has learned stays as it is.
func (t *Trainer) UnlearnFrom(weights *checkpoint.Container, pixels []byte, y []ocl.Label) (rest *checkpoint.Container,
	err error) {
	err = t.change("unlearn from weights", func() error {
		u, b, err := t.unlearning(pixels, y)
		if err != nil {
			return err
		}
		own, k := checkpoint.NewContainer(), t.core
		if err := k.learner.SaveState(own.Encoder()); err != nil {
			return err
		}
		if err = t.setWeights(weights.Decoder()); err == nil {
			err = u.Unlearn(b)
		}
		if err == nil {
			rest, err = t.weights()
		}
		if err == nil {
			err = k.keptPart().SaveState(rest.Encoder())
		}
		if back := k.learner.LoadState(own.Decoder()); back != nil {
			return t.ended(back)
		}
		return err
	})
	return rest, err
}

// DropKept lets go of all samples by which a method without gradient calibrates itself, as one of them may be of an
// image that nobody can show any more. It goes on with its present calibration until it has others.
func (t *Trainer) DropKept() error {
	return t.change("drop what is kept", func() error {
		if err := t.calibrated(); err != nil { // so that the state does not depend on when it was published
			return err
		}
		return t.core.keptPart().LoadState(checkpoint.NewContainer().Decoder())
	})
}

// How the sections of a state begin that have the samples of [Trainer.DropKept], and the calibration of
// [Trainer.Calibrate], which depends on when it was asked for.
const (
	KeptSections   = "learner/kept/"
	TestedSections = "live/calibration/"
)

// Without is a state without the sections whose names begin with prefix.
func Without(state *checkpoint.Container, prefix string) (*checkpoint.Container, error) {
	rest := checkpoint.NewContainer()
	for _, name := range state.Names() {
		if strings.HasPrefix(name, prefix) {
			continue
		}
		b, err := state.Decoder().Bytes(name)
		if err != nil {
			return nil, fmt.Errorf("live: %w", err)
		}
		rest.Encoder().Bytes(name, b)
	}
	return rest, nil
}

// Unlearns is nil where [Trainer.Unlearn] works, and otherwise an error that wraps [ErrMethod].
func (t *Trainer) Unlearns() error {
	_, err := t.core.unlearns()
	return err
}

// unlearns is the learner as one from which images can be taken away.
func (k *core) unlearns() (learner.Unlearning, error) {
	u, ok := k.learner.(learner.Unlearning)
	if !ok {
		return nil, cause.As(fmt.Errorf("what %s has learned is no sum over images, so nothing can be taken away. Use ncm, slda or ranpac",
			k.config.Methods[0]), ErrMethod)
	}
	if err := u.Unlearn(ocl.Batch{}); err != nil {
		return nil, cause.As(err, ErrMethod)
	}
	return u, nil
}

// Stores says whether the memory has the image with a place ([Trainer.Place]).
func (t *Trainer) Stores(place int64) bool {
	m := t.core.parts().Memory
	if m == nil {
		return false
	}
	_, found := m.Find(place)
	return found
}

// Amendable is an error that wraps [ErrMethod] if the method stores images and cannot let go of one, so that Forget and
// Relabel refuse.
func (t *Trainer) Amendable() error {
	_, err := t.core.amends()
	return err
}

// changed notes that the memory has changed, so that class means are those of another one.
func (t *Trainer) changed() {
	if ncm := t.core.ncm; ncm != nil {
		ncm.Forget()
	}
	t.publisher.stale = t.publisher.stale || t.core.means() != nil && t.core.learned()
	t.count(ocl.StepStats{})
}

// amending is a learner that lets its memory be changed.
type amending struct {
	learner.Amending
	memory *memory.Store
}

// amends is the learner as one that lets its memory be changed; nil where it stores nothing, and an error where it
// stores images and cannot do it.
func (k *core) amends() (*amending, error) {
	m := k.parts().Memory
	if m == nil && !build.Method(k.config.Methods[0]).UsesMemory {
		return nil, nil
	}
	a, ok := k.learner.(learner.Amending)
	if !ok || m == nil {
		return nil, cause.As(fmt.Errorf("%s cannot change an image that it stores. Use a method that can, such as er",
			k.config.Methods[0]), ErrMethod)
	}
	return &amending{a, m}, nil
}
