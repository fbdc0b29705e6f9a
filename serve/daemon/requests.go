package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ocl/internal/limit"
	"ocl/internal/nearest"
	"ocl/internal/spelling"
	"ocl/live"
	"ocl/serve/journal"
)

// newID is a name for a sample that has none.
func newID() string { return "s-" + strings.ToLower(rand.Text()) }

func (d *Daemon) checkPixels(pixels []byte) error {
	if c, h, w := d.Shape(); len(pixels) != c*h*w {
		return fmt.Errorf("daemon: there are %d bytes for a picture of %d×%d×%d. Give %d", len(pixels), c, h, w, c*h*w)
	}
	return nil
}

// called is the class that a label means: one that is there and looks like it, or the label in the spelling that names are kept in. The caller holds mu.
func (d *Daemon) called(label string) string {
	return spelling.Find(label, func(name string) bool { return d.known[name] }, func() []string { return slices.Sorted(maps.Keys(d.known)) })
}

// class says whether a label is that of a class, and makes the event of a new one where that is allowed. The caller holds mu.
func (d *Daemon) class(label, who string) ([]journal.Event, error) {
	if d.known[label] {
		return nil, nil
	}
	if err := live.CheckLabel(label); err != nil {
		return nil, err
	}
	if err := d.roomFor(1); err != nil {
		return nil, err
	}
	if !d.o.NewClasses {
		return nil, &UnknownClassError{label, nearest.Word(label, slices.Sorted(maps.Keys(d.known)))}
	}
	return []journal.Event{event(kindClass, "", who, body{Label: label}, nil)}, nil
}

// roomFor refuses new classes that the learner could not add: their events would end each start. The caller holds mu.
func (d *Daemon) roomFor(n int) error {
	most := cmp.Or(d.trainer.Process().MaxClasses, limit.KnownClasses)
	if len(d.known)+n > most {
		return fmt.Errorf("daemon: %w: there are %d classes, and %d may be there. Use one of those", live.ErrBound, len(d.known), most)
	}
	return nil
}

// room refuses images for which the queue has no room. The caller holds mu.
func (d *Daemon) room(n int) error {
	if err := d.ready(); err != nil {
		return err
	}
	if d.halted {
		return ErrStopped
	}
	d.state.mu.Lock()
	waiting := len(d.state.queue)
	d.state.mu.Unlock()
	if waiting+d.coming+n <= d.o.Queue {
		return nil
	}
	rate := max(1, d.learnedPerSecond())
	return &FullError{time.Duration(float64(waiting+d.coming+n-d.o.Queue) / rate * float64(time.Second))}
}

// Learn takes labelled pictures. Without an error all are on the disk; with one, none is taken. A sample that was sent before gets the receipt of its state.
func (d *Daemon) Learn(ctx context.Context, list []Sample, who string) ([]Receipt, error) {
	list = slices.Clone(list)
	digests := make([]string, len(list))
	for i := range list {
		if err := d.checkPixels(list[i].Pixels); err != nil {
			return nil, err
		}
		list[i].ID, digests[i] = cmp.Or(list[i].ID, newID()), Digest(list[i].Pixels)
	}
	receipts, _, err := d.take(ctx, func() ([]Receipt, *commit, chan struct{}, error) { return d.admit(list, digests, who) })
	return receipts, err
}

// take puts what admit makes on the disk. Where another request brings one of the samples, it waits for that one and asks again.
func (d *Daemon) take(ctx context.Context, admit func() ([]Receipt, *commit, chan struct{}, error)) ([]Receipt, *commit, error) {
	for {
		receipts, c, wait, err := admit()
		switch {
		case err != nil:
			return nil, nil, err
		case wait != nil:
			select {
			case <-wait:
				continue
			case <-d.closing:
				return nil, nil, ErrDraining
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		case len(c.events) == 0:
			return receipts, c, nil
		}
		err = d.commit(context.WithoutCancel(ctx), c) // a row takes milliseconds, and its place is taken already
		d.mu.Lock()
		for id, signal := range c.signals {
			if err != nil {
				d.withdraw(id, c)
			}
			close(signal)
		}
		d.mu.Unlock()
		if err != nil {
			return nil, nil, err
		}
		return receipts, c, nil
	}
}

// admit makes the events of samples, and notes that they are on their way. wait is a channel to wait for where another request brings the same sample.
func (d *Daemon) admit(list []Sample, digests []string, who string) (receipts []Receipt, c *commit, wait chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c = &commit{signals: map[string]chan struct{}{}}
	fresh := map[string]bool{}
	for i := range list {
		list[i].Label = d.called(list[i].Label)
		s := list[i]
		state, label, digest, there := d.look(s.ID)
		if w := d.soon[s.ID]; w != nil {
			select {
			case <-w.done:
			default:
				return nil, nil, w.done, nil
			}
		}
		switch {
		case there && (state == StateForgotten || state == StateErased):
			return nil, nil, nil, ErrForgotten
		case there && (digest != digests[i] || label != s.Label), fresh[s.ID]:
			return nil, nil, nil, ErrConflict
		case there:
			receipts = append(receipts, Receipt{s.ID, label, state})
			continue
		}
		fresh[s.ID] = true
		classes, err := d.class(s.Label, who)
		if err != nil {
			return nil, nil, nil, err
		}
		if len(classes) > 0 && !slices.Contains(c.classes, s.Label) {
			if err := d.roomFor(len(c.classes) + 1); err != nil {
				return nil, nil, nil, err
			}
			c.events, c.classes = append(c.events, classes...), append(c.classes, s.Label)
		}
		held := d.holdsOut(s.Label)
		receipts = append(receipts, Receipt{s.ID, s.Label, map[bool]string{true: StateHeldOut, false: StateWaiting}[held]})
		c.events = append(c.events, event(kindSample, s.ID, who, body{Label: s.Label, Held: held}, s.Pixels))
		if held {
			c.held = append(c.held, s.Label)
		} else {
			c.queued++
		}
	}
	if len(fresh) > 0 {
		if err := d.room(c.queued); err != nil {
			return nil, nil, nil, err
		}
	}
	for _, name := range c.classes {
		d.known[name] = true
	}
	for _, label := range c.held {
		d.heldSoon[label]++
	}
	d.coming += c.queued
	for i, s := range list {
		if fresh[s.ID] {
			c.signals[s.ID] = make(chan struct{})
			d.soon[s.ID] = &soon{digest: digests[i], label: s.Label, done: c.signals[s.ID]}
		}
	}
	return receipts, c, nil, nil
}

// withdraw forgets that samples are on their way, as they did not come to the disk. The caller holds mu.
func (d *Daemon) withdraw(id string, c *commit) {
	delete(d.soon, id)
	d.coming -= c.queued
	for _, label := range c.held {
		d.heldSoon[label]--
	}
	for _, name := range c.classes {
		delete(d.known, name)
	}
	c.queued, c.held, c.classes = 0, nil, nil
}

// look is what is known of an id, on its way or in the state. The caller holds mu.
func (d *Daemon) look(id string) (state, label, digest string, there bool) {
	if w := d.soon[id]; w != nil {
		return StateWaiting, w.label, w.digest, true
	}
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	if m := d.state.samples[id]; m != nil {
		return m.State, m.Label, m.Digest, true
	}
	return "", "", "", false
}

// Remember keeps pictures for their labels. A picture of a known id stays as it is.
func (d *Daemon) Remember(ctx context.Context, list []Remembered, who string) ([]Receipt, error) {
	list = slices.Clone(list)
	digests := make([]string, len(list))
	for i := range list {
		if err := d.checkPixels(list[i].Pixels); err != nil {
			return nil, err
		}
		list[i].ID, digests[i] = cmp.Or(list[i].ID, newID()), Digest(list[i].Pixels)
	}
	receipts, c, err := d.take(ctx, func() ([]Receipt, *commit, chan struct{}, error) { return d.admitRemembered(list, digests, who) })
	if err != nil {
		return nil, err
	}
	for _, e := range c.events { // so that a label that follows at once finds it
		if err := d.until(ctx, func() bool { return d.soon[e.ID] == nil }); err != nil {
			return nil, err
		}
	}
	return receipts, nil
}

// admitRemembered makes the events of pictures to be remembered, and notes that they are on their way. wait is as in admit.
func (d *Daemon) admitRemembered(list []Remembered, digests []string, who string) (receipts []Receipt, c *commit, wait chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil {
		return nil, nil, nil, err
	}
	c = &commit{signals: map[string]chan struct{}{}}
	mine := map[string]string{} // digests by id
	for i, r := range list {
		if w := d.soon[r.ID]; w != nil {
			select {
			case <-w.done:
			default:
				return nil, nil, w.done, nil
			}
		}
		state, label, digest, there := d.look(r.ID)
		if own, twice := mine[r.ID]; twice {
			state, digest, there = StateRemembered, own, true
		}
		if there {
			if digest != digests[i] {
				return nil, nil, nil, ErrConflict
			}
			receipts = append(receipts, Receipt{r.ID, label, state})
			continue
		}
		mine[r.ID] = digests[i]
		receipts = append(receipts, Receipt{r.ID, "", StateRemembered})
		c.events = append(c.events, event(kindRemember, r.ID, who, body{Guesses: Guesses(r.Guesses, d.Measure()), Version: r.Version}, r.Pixels))
	}
	for id, digest := range mine {
		c.signals[id] = make(chan struct{})
		d.soon[id] = &soon{digest: digest, done: c.signals[id]}
	}
	return receipts, c, nil, nil
}

// Label gives a remembered picture its label, or corrects that of a sample: in the queue, and in the memory of the learner, which learns it once more where
// its pixels are still there.
func (d *Daemon) Label(ctx context.Context, id, label, who string) (Receipt, error) {
	for {
		if err := d.until(ctx, func() bool { return d.soon[id] == nil }); err != nil {
			return Receipt{}, err
		}
		if r, again, err := d.relabel(ctx, id, label, who); !again {
			return r, err
		}
	}
}

// relabel is one try of Label. again says that another request has come in between.
func (d *Daemon) relabel(ctx context.Context, id, label, who string) (r Receipt, again bool, err error) {
	d.mu.Lock()
	if d.soon[id] != nil {
		d.mu.Unlock()
		return r, true, nil
	}
	state, old, digest, there := d.look(id)
	if !there {
		d.mu.Unlock()
		return r, false, ErrNotFound
	}
	label = d.called(label)
	classes, err := d.class(label, who)
	var pixels []byte
	n := 0
	switch {
	case err != nil:
	case state == StateForgotten, state == StateErased:
		err = ErrForgotten
	case state == StateExpired:
		err = ErrExpired
	case old == label:
		d.mu.Unlock()
		return Receipt{id, label, state}, false, nil
	case state == StateRemembered:
		n, state = 1, StateWaiting
	case state == StateLearned:
		if pixels = d.pixelsOf(id); pixels != nil {
			n, state = 1, StateWaiting
		}
	}
	if err == nil && n > 0 {
		err = d.room(n)
	}
	if err == nil {
		err = d.ready()
	}
	mark := d.mark(id, label, digest)
	d.mu.Unlock()
	if err != nil {
		d.unmark(mark, id)
		return r, false, err
	}
	c := &commit{events: append(classes, event(kindLabel, id, who, body{Label: label}, pixels)), queued: n}
	if err := d.commit(context.WithoutCancel(ctx), c); err != nil { // it may come to the disk after ctx has ended, and must not come after what forgets it
		d.unmark(mark, id)
		return r, false, err
	}
	d.mu.Lock()
	d.known[label] = true
	d.mu.Unlock()
	return Receipt{id, label, state}, false, nil
}

// mark notes that an event about samples is on its way, so that no other one about them comes in between. The applier takes it away. The caller holds mu.
func (d *Daemon) mark(id, label, digest string) *soon {
	m := &soon{digest: digest, label: label, done: make(chan struct{}), marked: true}
	d.soon[id] = m
	return m
}

// unmark takes a mark away, as its event did not come.
func (d *Daemon) unmark(m *soon, ids ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if d.soon[id] == m {
			delete(d.soon, id)
		}
	}
	close(m.done)
	d.change()
}

// errFound ends the reading of the journal.
var errFound = errors.New("found")

// pixelsOf are the pixels of a learned sample, where the journal still has them.
func (d *Daemon) pixelsOf(id string) (pixels []byte) {
	d.state.mu.Lock()
	number := d.state.samples[id].Event
	d.state.mu.Unlock()
	if number < d.journal.First() {
		return nil
	}
	_ = d.journal.Read(number, func(e journal.Event) error { // without them the label is corrected alone
		if e.Number == number && e.ID == id {
			pixels = e.Pixels
		}
		return errFound
	})
	return pixels
}

// until waits until something holds. holds is called with mu held.
func (d *Daemon) until(ctx context.Context, holds func() bool) error {
	for {
		d.mu.Lock()
		yes, moved, broken := holds(), d.moved, d.broken
		d.mu.Unlock()
		switch {
		case yes:
			return nil
		case broken != nil:
			return ErrBroken
		}
		select {
		case <-moved:
		case <-d.closing:
			return ErrDraining
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Wait waits until predictions use what was learned of samples. One that is held out, was set aside or is gone is not waited for.
func (d *Daemon) Wait(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := d.until(ctx, func() bool {
			if d.soon[id] != nil {
				return false
			}
			d.state.mu.Lock()
			defer d.state.mu.Unlock()
			m := d.state.samples[id]
			return m == nil || m.State != StateWaiting && (m.State != StateLearned || m.Learned <= d.version)
		}); err != nil {
			return err
		}
	}
	return nil
}

// AddClass adds a class, which gets the next output of the network.
func (d *Daemon) AddClass(ctx context.Context, name, who string) error {
	if err := live.CheckLabel(name); err != nil {
		return err
	}
	d.mu.Lock()
	name = d.called(name)
	known, err := d.known[name], d.ready()
	if !known && err == nil {
		if err = d.roomFor(1); err == nil {
			d.known[name] = true // so that nobody takes its place
		}
	}
	d.mu.Unlock()
	if known || err != nil {
		return err
	}
	err = d.commit(context.WithoutCancel(ctx), &commit{events: []journal.Event{event(kindClass, "", who, body{Label: name}, nil)}})
	if err != nil {
		d.mu.Lock()
		delete(d.known, name)
		d.mu.Unlock()
	}
	return err
}

// Boundary ends a task, for methods that use tasks. What waits is learned before.
func (d *Daemon) Boundary(ctx context.Context, who string) error {
	if err := d.Ready(); err != nil {
		return err
	}
	return d.commit(ctx, &commit{events: []journal.Event{event(kindBoundary, "", who, body{}, nil)}, boundary: true})
}

// Versions are those to which Rollback can go back, the oldest first.
func (d *Daemon) Versions() []VersionInfo {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	return slices.Clone(d.state.versions)
}

// Rollback goes back to the weights of a version. The memory stays.
func (d *Daemon) Rollback(ctx context.Context, number int64, who string) error {
	if !slices.ContainsFunc(d.Versions(), func(v VersionInfo) bool { return v.Number == number }) {
		return fmt.Errorf("daemon: version %d: %w", number, ErrNoVersion)
	}
	if _, err := d.state.files.Read(number); err != nil { // an event that cannot be applied would end each start
		return fmt.Errorf("daemon: version %d: %w (%w)", number, ErrNoVersion, err)
	}
	if err := d.Ready(); err != nil {
		return err
	}
	return d.commit(ctx, &commit{events: []journal.Event{event(kindRollback, "", who, body{Number: number}, nil)}})
}

// Forget takes samples away: from the queue, what is remembered and held out, the memory of the learner, the journal and the snapshots. It returns when no
// file has them any more. Weights still carry what was learned of them.
func (d *Daemon) Forget(ctx context.Context, w Which, who string) (f Forgotten, err error) {
	if len(w.IDs) == 0 && w.Digest == "" && w.Who == "" && w.From.IsZero() && w.To.IsZero() {
		return f, errors.New("daemon: it is not said what to forget. Give ids, a digest, a name or times")
	}
	var before []string // on their way now; what comes later is not meant
	d.mu.Lock()
	for id := range d.soon {
		if len(w.IDs) == 0 || slices.Contains(w.IDs, id) {
			before = append(before, id)
		}
	}
	d.mu.Unlock()
	if err := d.until(ctx, func() bool { return !slices.ContainsFunc(before, func(id string) bool { return d.soon[id] != nil }) }); err != nil {
		return f, err
	}
	mark, ids, learned := d.matching(w)
	if err := d.fixed; err != nil && learned {
		d.unmark(mark, ids...)
		return f, err
	}
	if d.o.Retain {
		older, err := d.retained(w, mark)
		ids = append(ids, older...)
		if err != nil {
			d.unmark(mark, ids...)
			return f, err
		}
	}
	f.Matched, f.Note = len(ids), "The weights still carry what was learned of them. `ocl serve rebuild` learns again without them where the journal is retained."
	if len(ids) == 0 {
		if len(w.IDs) > 0 && d.forgotten(w.IDs[0]) {
			return f, ErrForgotten
		}
		return f, ErrNotFound
	}
	if err := d.commit(context.WithoutCancel(ctx), &commit{events: []journal.Event{event(kindForget, "", who, body{IDs: ids}, nil)}}); err != nil {
		d.unmark(mark, ids...)
		return f, err
	}
	err = d.until(ctx, func() bool {
		d.state.mu.Lock()
		defer d.state.mu.Unlock()
		f.Stored = mark.stored
		return mark.applied && !slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(d.state.unerased, id) })
	})
	return f, err
}

// forgotten says whether a sample was forgotten.
func (d *Daemon) forgotten(id string) bool {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	m := d.state.samples[id]
	return m != nil && (m.State == StateForgotten || m.State == StateErased)
}

// retained are samples in the journal that are to be forgotten, and that nothing else knows any more: their ids were let go of. They are marked.
func (d *Daemon) retained(w Which, mark *soon) (ids []string, err error) {
	var meant []string
	if err := d.journal.Read(d.journal.First(), func(e journal.Event) error {
		digest := ""
		if w.Digest != "" { // it takes long for a whole journal
			digest = Digest(e.Pixels)
		}
		if !e.Erased && len(e.Pixels) > 0 && w.means(e.ID, digest, e.Who, e.Time) {
			meant = append(meant, e.ID)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	for _, id := range meant {
		if d.state.samples[id] == nil && d.soon[id] == nil {
			d.soon[id] = mark
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// means says whether a sample is meant.
func (w Which) means(id, digest, who string, at time.Time) bool {
	return (len(w.IDs) == 0 || slices.Contains(w.IDs, id)) && (w.Digest == "" || w.Digest == digest) && (w.Who == "" || w.Who == who) &&
		(w.From.IsZero() || !at.Before(w.From)) && (w.To.IsZero() || !at.After(w.To))
}

// matching are the samples that are to be forgotten, and whether some of them were learned. They are marked, so that no label comes after they are erased and brings their pixels again.
func (d *Daemon) matching(w Which) (mark *soon, ids []string, learned bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	for _, id := range d.state.ids {
		m := d.state.samples[id]
		if m.State != StateForgotten && m.State != StateErased && d.soon[id] == nil && w.means(id, m.Digest, m.Who, m.Time) {
			ids = append(ids, id)
			learned = learned || len(m.Places) > 0
		}
	}
	mark = &soon{done: make(chan struct{}), marked: true}
	for _, id := range ids {
		d.soon[id] = mark
	}
	return mark, ids, learned
}
