package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ocl/internal/nearest"
	"ocl/internal/spelling"
	"ocl/live"
)

// Reclassed says what came of a change of classes.
type Reclassed struct {
	Class   string `json:"class"`             // that it is now; "" where it was removed
	Was     string `json:"was"`               // its name before
	Samples int    `json:"samples"`           // that are known and have another label now, or were forgotten
	Carries string `json:"carries,omitempty"` // what the learner still has of what has gone
}

// RenameClass gives a class another name, and returns when predictions use it. Its pictures have that name as their
// label, and the old one is free.
func (d *Daemon) RenameClass(ctx context.Context, name, to, who string) (Reclassed, error) {
	if err := live.CheckLabel(to); err != nil {
		return Reclassed{}, err
	}
	return d.reclass(ctx, kindRename, name, to, who)
}

// MergeClass makes a class a part of another one, and returns when predictions use it. Its pictures have the label
// of that one. Versions of before cannot be gone back to, as they tell the two apart.
func (d *Daemon) MergeClass(ctx context.Context, name, into, who string) (Reclassed, error) {
	return d.reclass(ctx, kindMerge, name, into, who)
}

// RemoveClass forgets the pictures of a class, as [Daemon.Forget] does, and removes the class, of which predictions
// know nothing then. Versions of before cannot be gone back to.
func (d *Daemon) RemoveClass(ctx context.Context, name, who string) (r Reclassed, err error) {
	if d.reclassErr != nil {
		return r, d.reclassErr
	}
	forgotten, note := 0, ""
	for {
		r, err = d.reclass(ctx, kindRemove, name, "", who)
		if r.Samples, r.Carries = r.Samples+forgotten, note; !errors.Is(err, errMoved) {
			return r, err
		}
		d.state.mu.Lock()
		ids := d.state.of(d.state.called(name))
		d.state.mu.Unlock()
		if len(ids) == 0 {
			continue
		}
		w := Which{IDs: ids}
		f, err := d.forget(ctx, w, func(id, digest, of string, at time.Time) bool {
			m, there := d.state.lookup(id) // its label may have changed meanwhile
			return there && m.Label == d.state.called(name) && w.means()(id, digest, of, at)
		}, who, false)
		if err != nil && !errors.Is(err, ErrNobody) && !errors.Is(err, ErrErased) {
			return Reclassed{}, err
		}
		forgotten, note = forgotten+f.Matched, f.Note
	}
}

// SplitClass makes a new class of samples of another one, and returns when predictions use it. What was learned of them
// is corrected as [Daemon.Label] does, and they are learned once more where their pictures are there; with a negative
// Age that is not waited for, as it can take for ever. An id that is of
// another class, or unknown, is an error, and nothing changes.
func (d *Daemon) SplitClass(ctx context.Context, name, into string, ids []string, who string) (r Reclassed, err error) {
	into = spelling.Of(into)
	if err := live.CheckLabel(into); err != nil {
		return r, err
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return r, ErrNoSamples
	}
	err = d.amendAll(ctx, ids, rankOther, []string{StateLearned}, func(p *part, now []sample, pictures [][]byte) error {
		s := d.state
		if len(p.row.parts) > 0 { // what is in the row may be about the class
			return errLater
		}
		p.alone = true
		r = Reclassed{Class: into, Was: s.called(name), Samples: len(ids)}
		if !s.classes[r.Was] {
			return &UnknownClassError{name, nearest.Word(name, slices.Sorted(maps.Keys(s.classes)))}
		}
		if s.classes[s.called(into)] {
			return ErrSameClass
		}
		if d.reclassErr != nil {
			return d.reclassErr
		}
		if err := d.trainer.RoomFor(s.outputs + 1); err != nil {
			return fmt.Errorf("daemon: %w", err)
		}
		p.add(event(kindSplit, "", who, body{Label: r.Was, Into: into}, nil), nil)
		for i := range now {
			if now[i].Label != r.Was {
				return ofMany(ids, ids[i], ErrOtherClass)
			}
			p.relabel(&now[i], pictures[i], into, who)
		}
		if err := d.ready(); err != nil || p.queued == 0 {
			return err
		}
		return p.room()
	})
	if err != nil {
		return Reclassed{}, err
	}
	if !d.sums {
		r.Carries = d.carries
	}
	if err = d.caughtUp(ctx); err == nil && d.o.Age > 0 {
		err = d.Wait(ctx, ids)
	}
	return r, err
}

// of are the ids of the samples of a class that are known, and of those that the learner has or is about to learn. The
// caller holds mu.
func (s *state) of(name string) (ids []string) {
	for _, m := range s.sorted() {
		if m.Label == name {
			ids = append(ids, m.ID)
		}
	}
	add := func(id string) {
		if m, there := s.lookup(id); there && m.Label == name && s.samples[id] == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for id := range s.stored {
		add(id)
	}
	for _, o := range s.ops {
		for _, l := range o.Lessons {
			add(l.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// reclass puts a change of classes on the disk. A removal of a class with samples is errMoved.
func (d *Daemon) reclass(ctx context.Context, kind, name, into, who string) (r Reclassed, err error) {
	o, err := d.ask(context.WithoutCancel(ctx), func(p *part) error {
		s := d.state
		if len(p.row.parts) > 0 { // what is in the row may be about the class
			return errLater
		}
		p.rank, p.alone = rankOther, true
		r = Reclassed{Was: s.called(name)}
		if !s.classes[r.Was] {
			return &UnknownClassError{name, nearest.Word(name, slices.Sorted(maps.Keys(s.classes)))}
		}
		ids := s.of(r.Was)
		switch kind {
		case kindRename:
			r.Class = spelling.Of(into)
			if r.Class == r.Was {
				return nil
			}
			if other := s.called(into); s.classes[other] && other != r.Was {
				return ErrSameClass
			}
		case kindMerge:
			r.Class = s.called(into)
			if !s.classes[r.Class] {
				return &UnknownClassError{into, nearest.Word(into, slices.Sorted(maps.Keys(s.classes)))}
			}
			if r.Class == r.Was {
				return ErrOneClass
			}
		case kindRemove:
			if len(s.classes) == 1 {
				return ErrLastClass
			}
			if len(ids) > 0 {
				return errMoved
			}
		}
		if kind != kindRename {
			if d.reclassErr != nil {
				return d.reclassErr
			}
		}
		r.Samples = len(ids)
		p.add(event(kind, "", who, body{Label: r.Was, Into: r.Class}, nil), nil)
		return d.ready()
	})
	if err != nil || o == nil {
		return r, err
	}
	if kind == kindMerge && !d.sums {
		r.Carries = d.carries
	}
	return r, d.caughtUp(ctx)
}
