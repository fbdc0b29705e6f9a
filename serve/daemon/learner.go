package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/live"
	"ocl/serve/journal"
)

// op is a change of the learner that an event asks for.
type op struct {
	Number  int64     `json:"n"` // of the event
	Kind    string    `json:"kind"`
	Lessons []*lesson `json:"lessons,omitempty"` // of a cut, or of another one to be undone
	Cut     int64     `json:"cut,omitempty"`     // by which those to be undone were learned
	Label   string    `json:"label,omitempty"`   // of a class that is new or changes, or of a correction
	Into    string    `json:"into,omitempty"`    // the name or the class that this one gets
	IDs     []string  `json:"ids,omitempty"`     // to be corrected, withdrawn or forgotten
	Version int64     `json:"version,omitempty"` // to be kept or gone back to
	Keep    []int64   `json:"keep,omitempty"`    // versions that stay
	// Sweep: what was forgotten cannot be found in what calibrates the learner, so all of that goes
	Sweep bool `json:"sweep,omitempty"`

	done    bool
	removed int // samples that it took out of the memory of the learner
}

// lesson is a picture of a cut, with the label under which it is learned.
type lesson struct {
	ID     string    `json:"id"`
	Label  string    `json:"label"`
	Digest string    `json:"digest"`
	Who    string    `json:"who,omitempty"`
	Time   time.Time `json:"time"`
	Event  int64     `json:"event"`
	Again  bool      `json:"again,omitempty"` // it was learned before
	Said   string    `json:"said,omitempty"`  // the class that was answered for it
	Size   int       `json:"size"`

	picture []byte // as it is kept
	pixels  []byte // of it, where they need not be made of its file
}

// stored is a picture that the memory of the learner may have.
type stored struct {
	Places []int64   `json:"places"` // one for each time that it was learned
	Label  string    `json:"label"`
	Digest string    `json:"digest"`
	Who    string    `json:"who,omitempty"`
	Time   time.Time `json:"time"`
	Event  int64     `json:"event"`
}

// learner is the trainer of a daemon, and what is known of what it has learned: a function of the ops that were done.
// One goroutine does them; it holds mu while it changes a field, so that others may hold mu and read.
type learner struct {
	mu      *sync.Mutex
	trainer *live.Trainer
	o       Options
	files   *journal.Files // of versions

	last    int64              // event of the last op that was done
	stored  map[string]*stored // by id
	learned map[string]int64   // pictures by class

	undone []*op // undos that files of versions do not have yet

	learning time.Duration // time of learning since the last snapshot
	step     ocl.StepStats // of the last cut
	cut      *op           // that cut; nil where none was learned since the snapshot
}

// do does an op; one that is set aside changes nothing. An error that wraps ocl.ErrDiverged is about a cut or the end
// of a task; any other one ends the daemon.
func (l *learner) do(ctx context.Context, o *op, aside bool) (err error) {
	switch {
	case aside:
	case o.Kind == kindClass:
		_, err = l.trainer.AddClass(o.Label)
	case o.Kind == kindRename, o.Kind == kindMerge, o.Kind == kindRemove:
		err = l.reclass(ctx, o)
	case o.Kind == kindSplit:
		err = l.trainer.SplitClass(o.Label, o.Into)
	case o.Kind == kindCut:
		err = l.observe(ctx, o)
	case o.Kind == kindBoundary:
		began := time.Now()
		err = l.trainer.Boundary(ctx)
		l.learning += time.Since(began)
	case o.Kind == kindLabel:
		err = l.correct(ctx, o)
	case o.Kind == kindUnlabel:
		err = l.withdraw(ctx, o)
	case o.Kind == kindUndo:
		if err = l.undo(ctx, o); err == nil {
			l.undone = append(l.undone, o)
		}
	case o.Kind == kindForget:
		if err = l.forget(o); err == nil && o.Sweep {
			l.undone = append(l.undone, o)
			err = l.trainer.DropKept()
		}
	case o.Kind == kindVersion:
		err = l.keep(o)
	case o.Kind == kindRollback:
		var c *checkpoint.Container
		if err = l.cleanVersions(ctx); err == nil {
			c, err = l.files.Read(o.Version)
		}
		if err == nil {
			err = l.trainer.SetWeights(c.Decoder())
		}
	default:
		err = fmt.Errorf("daemon: an op of the kind %.40q, which this ocl does not know. Use the ocl that wrote it", o.Kind)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = o.Number
	return nil
}

// reclass renames, merges or removes a class. What was undone goes out of versions before, by the names of before; and
// versions of before other classes go, as the book has it.
func (l *learner) reclass(ctx context.Context, o *op) (err error) {
	if err = l.cleanVersions(ctx); err != nil {
		return err
	}
	switch o.Kind {
	case kindRename:
		err = l.trainer.Rename(o.Label, o.Into)
	case kindMerge:
		err = l.trainer.MergeClasses(o.Label, o.Into)
	default:
		err = l.trainer.RemoveClass(o.Label)
	}
	if err != nil {
		return err
	}
	if o.Kind != kindRename {
		if err := l.files.RemoveExcept(); err != nil {
			l.o.Log.Error("versions of the weights of before classes have changed are not removed", "error", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, s := range l.stored {
		switch {
		case s.Label != o.Label:
		case o.Kind == kindRemove:
			delete(l.stored, id)
		default:
			s.Label = o.Into
		}
	}
	if n := l.learned[o.Label]; n != 0 && o.Kind != kindRemove {
		l.learned[o.Into] += n
	}
	delete(l.learned, o.Label)
	return nil
}

// observe learns a cut.
func (l *learner) observe(ctx context.Context, o *op) error {
	var all []byte
	var lessons []*lesson
	var y []ocl.Label
	for _, m := range o.Lessons {
		label, err := l.trainer.AddClass(m.Label)
		if err != nil {
			return err
		}
		pixels := m.pixels
		if pixels == nil {
			pixels, err = drawn(ctx, l.trainer, m.picture)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // another program read it when it came
			l.o.Log.Error("a picture cannot be read any more, and is not learned", "id", m.ID, "error", err)
			continue
		}
		all, lessons, y = append(all, pixels...), append(lessons, m), append(y, label)
	}
	if len(lessons) == 0 {
		return nil
	}
	place, began := l.trainer.Place(), time.Now()
	step, err := l.trainer.Observe(ctx, all, y)
	if err != nil {
		return err
	}
	l.learning += time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.step, l.cut = step, o
	have := l.trainer.Stats().Stored
	for i, m := range lessons {
		l.learned[m.Label]++
		if have == 0 {
			continue
		}
		s := l.stored[m.ID]
		if s == nil {
			s = new(stored)
			l.stored[m.ID] = s
		}
		*s = stored{append(s.Places, place+int64(i)), m.Label, m.Digest, m.Who, m.Time, m.Event}
	}
	if len(l.stored) > 2*have+len(lessons) {
		for id, s := range l.stored {
			if s.Places = slices.DeleteFunc(s.Places, func(p int64) bool { return !l.trainer.Stores(p) }); len(s.Places) == 0 {
				delete(l.stored, id)
			}
		}
	}
	return nil
}

// drawn are the pixels of a picture as it is kept, uint8 [C,H,W].
func drawn(ctx context.Context, t *live.Trainer, picture []byte) ([]byte, error) {
	c, h, w := t.Shape()
	if len(picture) == c*h*w {
		return picture, nil
	}
	pixels := make([]byte, c*h*w)
	return pixels, t.Decode(ctx, picture, pixels)
}

// correct changes the labels of pictures in the memory. A method that cannot do that goes on with the old ones.
func (l *learner) correct(ctx context.Context, o *op) error {
	if err := l.undo(ctx, o); err != nil {
		return err
	}
	y, err := l.trainer.AddClass(o.Label)
	for _, id := range o.IDs {
		s := l.stored[id]
		if s == nil {
			continue
		}
		for _, place := range s.Places {
			if err == nil {
				_, err = l.trainer.Relabel(place, y)
			}
		}
		if err == nil {
			l.mu.Lock()
			s.Label = o.Label
			l.mu.Unlock()
		}
	}
	if errors.Is(err, live.ErrMethod) {
		return nil
	}
	return err
}

// withdraw takes pictures whose label was wrong out of the sums and the memory. A method that cannot do that goes on
// with them.
func (l *learner) withdraw(ctx context.Context, o *op) error {
	err := l.undo(ctx, o)
	if err == nil {
		err = l.forget(o)
	}
	if errors.Is(err, live.ErrMethod) {
		return nil
	}
	return err
}

// undo takes what was learned of pictures out of the sums. A method that is none goes on with it, and so do sums that
// do not have the picture, which an event cannot bring.
func (l *learner) undo(ctx context.Context, o *op) error {
	for _, m := range o.Lessons {
		y, err := l.trainer.AddClass(m.Label)
		var pixels []byte
		if err == nil {
			pixels, err = drawn(ctx, l.trainer, m.picture)
		}
		if err == nil {
			err = l.trainer.Unlearn(pixels, []ocl.Label{y})
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil && l.trainer.Err() != nil:
			return err
		case err != nil:
			l.o.Log.Error("what was learned of a picture is not undone", "id", m.ID, "error", err)
			continue
		}
		l.mu.Lock()
		l.learned[m.Label]--
		l.mu.Unlock()
	}
	return nil
}

// forget takes pictures out of the memory.
func (l *learner) forget(o *op) error {
	var places []int64
	for _, id := range o.IDs {
		if s := l.stored[id]; s != nil {
			places = append(places, s.Places...)
		}
	}
	removed, err := 0, error(nil)
	if len(places) > 0 {
		removed, err = l.trainer.Forget(places)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o.removed = removed
	for _, id := range o.IDs {
		delete(l.stored, id)
	}
	return nil
}

// keep writes the weights into a file, for going back to them. The state must not depend on the disk: a version whose
// file could not be written is in the book, and not in the list of those to which one can go back.
func (l *learner) keep(o *op) error {
	c, err := l.trainer.Version()
	if errors.Is(err, live.ErrNothing) || errors.Is(err, live.ErrMethod) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(l.files.Write(o.Version, c), l.files.RemoveExcept(o.Keep...)); err != nil {
		l.o.Log.Error("a version of the weights is not kept", "version", o.Version, "error", err)
	}
	return nil
}

// undoneSection of a version has the event of the last undo that was done in it, so that it is done once.
const undoneSection = "daemon/undone"

// cleanVersions takes what was undone out of the files of versions that were kept before, as far as they have it. It is
// done before a snapshot, after which no start does an undo again. A version out of which it cannot be taken is
// removed.
func (l *learner) cleanVersions(ctx context.Context) error {
	if len(l.undone) == 0 {
		return nil
	}
	numbers, err := l.files.Numbers()
	if err != nil {
		return err
	}
	var bad []int64
	for _, number := range numbers {
		err := l.cleanVersion(ctx, number)
		switch {
		case err != nil && (ctx.Err() != nil || l.trainer.Err() != nil || errors.Is(err, journal.ErrNoRoom)):
			return err
		case err != nil:
			l.o.Log.Error("a version of the weights is removed, as what was erased cannot be taken out of it", "version", number,
				"error", err)
			bad = append(bad, number)
		}
	}
	if len(bad) > 0 {
		if err := l.files.Remove(func(n int64) bool { return slices.Contains(bad, n) }); err != nil {
			return err
		}
	}
	l.undone = nil
	return nil
}

// cleanVersion takes what was undone out of one version.
func (l *learner) cleanVersion(ctx context.Context, number int64) error {
	c, err := l.files.Read(number)
	if err != nil {
		return err
	}
	last := number // what was undone before was not in it
	if d := c.Decoder(); d.Len(undoneSection) >= 0 {
		if err := (checkpoint.Parts{checkpoint.JSON(undoneSection, &last)}).LoadState(d); err != nil {
			return err
		}
	}
	var lessons []*lesson
	sweep := false
	for _, o := range l.undone {
		if o.Number > last && o.Cut < number {
			lessons, sweep = append(lessons, o.Lessons...), sweep || o.Sweep
		}
	}
	if len(lessons) == 0 && !sweep {
		return nil
	}
	if sweep {
		if c, err = live.Without(c, live.KeptSections); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(lessons, live.MaxPictures) {
		var pixels []byte
		var y []ocl.Label
		for _, m := range some {
			label, err := l.trainer.AddClass(m.Label)
			if err != nil {
				return err
			}
			p, err := drawn(ctx, l.trainer, m.picture)
			if err != nil {
				return err
			}
			pixels, y = append(pixels, p...), append(y, label)
		}
		if c, err = l.trainer.UnlearnFrom(c, pixels, y); err != nil {
			return err
		}
	}
	last = l.undone[len(l.undone)-1].Number
	if c, err = live.Without(c, undoneSection); err != nil { // that of a sweep before
		return err
	}
	if err := (checkpoint.Parts{checkpoint.JSON(undoneSection, &last)}).SaveState(c.Encoder()); err != nil {
		return err
	}
	return l.files.Write(number, c)
}
