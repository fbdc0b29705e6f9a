package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ocl/checkpoint"
	"ocl/data"
	"ocl/live"
	"ocl/serve/journal"
)

// newID is a name for a sample that has none.
func newID() string { return "s-" + strings.ToLower(rand.Text()) }

// Decode makes of a picture file what the network sees: dst, uint8 [C,H,W].
func (d *Daemon) Decode(ctx context.Context, file, dst []byte) error {
	return d.trainer.Decode(ctx, file, dst)
}

// Size is the width and the height of a picture file as stored. Nothing is decoded.
func (d *Daemon) Size(file []byte) (w, h int, err error) { return data.PictureSize(file) }

func (d *Daemon) checkPixels(pixels []byte) error {
	if c, h, w := d.Shape(); len(pixels) != c*h*w {
		return fmt.Errorf("daemon: there are %d bytes for a picture of %d×%d×%d. Give %d", len(pixels), c, h, w, c*h*w)
	}
	return nil
}

// arrival is a picture that came.
type arrival struct {
	digest string // of its pixels
	// what stands for it in memory and on the disk: its file, where that has at most half as many bytes as its pixels,
	// and else its pixels
	kept   []byte
	pixels []byte // where the file is kept
}

// arrives copies a picture as it is kept. file may be nil.
func (d *Daemon) arrives(pixels, file []byte) (a arrival, err error) {
	if err := d.checkPixels(pixels); err != nil {
		return a, err
	}
	a.digest, a.kept = Digest(pixels), slices.Clone(pixels)
	if len(file) > 0 && 2*len(file) <= len(pixels) {
		a.kept, a.pixels = slices.Clone(file), a.kept
	}
	return a, nil
}

// Learn takes labelled pictures. Without an error all are on the disk; with one, none is taken. A sample that was sent
// before gets the receipt of its state.
func (d *Daemon) Learn(ctx context.Context, list []Sample, who string) ([]Receipt, error) {
	list = slices.Clone(list)
	came := make([]arrival, len(list))
	for i := range list {
		var err error
		if came[i], err = d.arrives(list[i].Pixels, list[i].File); err != nil {
			return nil, err
		}
		list[i].ID = cmp.Or(list[i].ID, newID())
	}
	var receipts []Receipt
	_, err := d.ask(context.WithoutCancel(ctx), func(p *part) error { // a row takes milliseconds
		receipts, p.rank = nil, rankSample
		fresh := map[string]bool{}
		for i, s := range list {
			if err := p.free(s.ID); err != nil {
				return err
			}
			label := d.state.called(s.Label)
			m, there := d.state.lookup(s.ID)
			switch {
			case there && (m.State == StateForgotten || m.State == StateErased):
				return ErrForgotten
			case there && (m.Digest != came[i].digest || m.Label != label), fresh[s.ID]:
				return ErrConflict
			case there:
				receipts = append(receipts, Receipt{ID: s.ID, Label: label, State: d.shown(&m)})
				continue
			}
			fresh[s.ID] = true
			label, err := p.class(s.Label, who, false)
			if err != nil {
				return err
			}
			r := Receipt{ID: s.ID, Label: label, State: StateWaiting, Queued: true}
			held := p.holdsOut(label)
			if held {
				r.State, r.Queued = StateHeldOut, false
			} else {
				p.queued++
			}
			receipts = append(receipts, r)
			p.ids = append(p.ids, s.ID)
			p.add(event(kindSample, s.ID, who, body{Label: label, Held: held, Digest: came[i].digest}, came[i].kept),
				came[i].pixels)
		}
		if len(fresh) == 0 {
			return nil
		}
		return cmp.Or(d.ready(), p.room())
	})
	if err != nil {
		return nil, err
	}
	return receipts, nil
}

// Remember keeps pictures for their labels. A picture of a known id stays as it is. Beyond a bound, the oldest pictures
// of the sender who has most are dropped.
func (d *Daemon) Remember(ctx context.Context, list []Remembered, who string) ([]Receipt, error) {
	list = slices.Clone(list)
	came := make([]arrival, len(list))
	for i := range list {
		var err error
		if came[i], err = d.arrives(list[i].Pixels, list[i].File); err != nil {
			return nil, err
		}
		list[i].ID = cmp.Or(list[i].ID, newID())
	}
	var receipts []Receipt
	_, err := d.ask(context.WithoutCancel(ctx), func(p *part) error {
		receipts, p.rank = nil, rankRemember
		mine := map[string]string{} // digests by id
		for i, r := range list {
			if err := p.free(r.ID); err != nil {
				return err
			}
			m, there := d.state.lookup(r.ID)
			if own, twice := mine[r.ID]; twice {
				m, there = sample{State: StateRemembered, Digest: own}, true
			}
			if there && m.Digest != came[i].digest {
				return ErrConflict
			}
			if there {
				receipts = append(receipts, Receipt{ID: r.ID, Label: m.Label, State: d.shown(&m)})
				continue
			}
			mine[r.ID] = came[i].digest
			receipts = append(receipts, Receipt{ID: r.ID, State: StateRemembered})
			p.ids = append(p.ids, r.ID)
			p.add(event(kindRemember, r.ID, who, body{Guesses: Guesses(r.Guesses, d.Measure()), Unknown: r.Unknown,
				Version: r.Version, Digest: came[i].digest}, came[i].kept), nil)
		}
		return d.ready()
	})
	if err != nil {
		return nil, err
	}
	return receipts, nil
}

// errMoved says that the pixels of a sample are those of another event than those that were read.
var errMoved = errors.New("moved")

// Label gives a remembered picture its label, or corrects that of a sample: in the queue, and in the memory of the
// learner, which learns it once more where its pixels are still there. What a method that is a sum has learned of the
// old label is taken away first, where its pixels are still there.
func (d *Daemon) Label(ctx context.Context, id, label, who string) (r Receipt, err error) {
	err = d.amend(ctx, id, rankLabel, []string{StateLearned}, func(p *part, now *sample, picture []byte) error {
		if now.State == StateRemembered && d.state.aged(now, p.row.now) {
			return ErrExpired
		}
		name, err := p.class(label, who, false)
		if err != nil {
			return err
		}
		if now.Label == name {
			r = Receipt{ID: id, Label: name, State: d.shown(now), Was: name}
			p.added, p.classes = nil, nil
			return nil
		}
		r = p.relabel(now, picture, name, who)
		if err := d.ready(); err != nil || p.queued == 0 {
			return err
		}
		return p.room()
	})
	if err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// relabel adds the event that gives a sample another label. picture is that of one that is learned, or nil. The caller
// holds mu.
func (p *part) relabel(now *sample, picture []byte, name, who string) Receipt {
	r := Receipt{ID: now.ID, Label: name, State: p.d.shown(now), Was: now.Label}
	if now.State == StateLearned {
		r.Undoes = p.d.undoing(now, picture)
	}
	e := event(kindLabel, now.ID, who, body{Label: name, Digest: now.Digest, Undoes: r.Undoes}, nil)
	switch {
	case now.State == StateRemembered && now.Event <= p.d.saved: // the journal may soon let go of its picture
		e.Pixels = now.picture
	case now.State == StateLearned:
		e.Pixels = picture
	}
	if now.State == StateRemembered || e.Pixels != nil {
		p.queued++
		r.State, r.Queued = StateWaiting, true
	}
	p.ids = append(p.ids, now.ID)
	p.add(e, nil)
	return r
}

// amend asks for a change of a sample that the daemon knows and has not let go of. admit gets the facts about it, and
// the picture that the journal has of a sample in one of the states; nil where that is gone. If the sample gets another
// picture meanwhile, it is asked again.
func (d *Daemon) amend(ctx context.Context, id string, rank int, states []string,
	admit func(p *part, now *sample, picture []byte) error) error {
	return d.amendAll(ctx, []string{id}, rank, states, func(p *part, now []sample, pictures [][]byte) error {
		return admit(p, &now[0], pictures[0])
	})
}

// amendAll is amend of several samples, in one change.
func (d *Daemon) amendAll(ctx context.Context, ids []string, rank int, states []string,
	admit func(p *part, now []sample, pictures [][]byte) error) error {
	for {
		before, pictures := make([]sample, len(ids)), make([][]byte, len(ids))
		d.state.mu.Lock()
		for i, id := range ids {
			before[i], _ = d.state.lookup(id)
		}
		d.state.mu.Unlock()
		for i, m := range before {
			if slices.Contains(states, m.State) {
				pictures[i] = d.pictureOf(ids[i], m.Event)
			}
		}
		// it may come to the disk after ctx has ended, and must not come after what forgets it
		_, err := d.ask(context.WithoutCancel(ctx), func(p *part) error {
			p.rank = rank
			if err := p.free(ids...); err != nil {
				return err
			}
			all := make([]sample, len(ids))
			for i, id := range ids {
				now, there := d.state.lookup(id)
				var err error
				switch {
				case !there:
					err = ErrNotFound
				case now.State == StateForgotten, now.State == StateErased:
					err = ErrForgotten
				case now.State == StateExpired:
					err = ErrExpired
				case slices.Contains(states, now.State) && (before[i].State != now.State || before[i].Event != now.Event):
					err = errMoved
				}
				if err != nil {
					return ofMany(ids, id, err)
				}
				all[i] = now
			}
			return admit(p, all, pictures)
		})
		if !errors.Is(err, errMoved) {
			return err
		}
	}
}

// ofMany is an error about a sample, which says which of several it is.
func ofMany(ids []string, id string, err error) error {
	if len(ids) > 1 {
		return fmt.Errorf("daemon: %.80q: %w", id, err)
	}
	return err
}

// Unlabel takes the label of a sample away: it waits for another one, as if it had just been remembered. What was
// learned of it is undone as far as a correction undoes it. One whose picture is not there any more keeps its label.
func (d *Daemon) Unlabel(ctx context.Context, id, who string) (r Receipt, err error) {
	cut := []string{StateLearned, StateSetAside}
	err = d.amend(ctx, id, rankUnlabel, cut, func(p *part, now *sample, picture []byte) error {
		r = Receipt{ID: id, State: StateRemembered, Was: now.Label}
		switch {
		case now.State == StateRemembered:
			return nil
		case slices.Contains(cut, now.State) && picture == nil:
			return ErrNoPicture
		case now.State == StateWaiting:
			p.queued--
		case now.State == StateLearned:
			r.Undoes = d.undoing(now, picture)
		}
		p.ids = append(p.ids, id)
		p.add(event(kindUnlabel, id, who, body{Label: now.Label, Digest: now.Digest, Undoes: r.Undoes}, picture), nil)
		return d.ready()
	})
	if err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// Mark marks a picture that waits for its label as skipped or deleted; "" takes the mark away.
func (d *Daemon) Mark(ctx context.Context, id, mark, who string) (r Receipt, err error) {
	err = d.amend(ctx, id, rankLabel, nil, func(p *part, now *sample, _ []byte) error {
		r = Receipt{ID: id, State: StateRemembered, Was: now.Mark}
		switch {
		case now.State == StateRemembered && d.state.aged(now, p.row.now):
			return ErrExpired
		case now.State != StateRemembered:
			return ErrLabelled
		case now.Mark == mark:
			return nil
		}
		p.ids = append(p.ids, id)
		p.add(event(kindMark, id, who, body{Label: mark}, nil), nil)
		return d.ready()
	})
	if err != nil {
		return Receipt{}, err
	}
	return r, nil
}

// undoing says how far a correction of a learned sample can undo what was learned of it. The caller holds mu.
func (d *Daemon) undoing(m *sample, picture []byte) string {
	switch {
	case d.sums && picture != nil && d.inSums(m):
		return UndoesAll
	case !d.sums && d.amendErr == nil && d.trainer.Stats().Stored > 0:
		return UndoesMemory
	}
	return UndoesNothing
}

// inSums says whether what was learned of a sample can be undone, with its pixels. The caller holds mu.
func (d *Daemon) inSums(m *sample) bool {
	return d.sums && m.State == StateLearned && !m.Out && d.state.samples[m.ID] != nil
}

// errFound ends the reading of the journal.
var errFound = errors.New("found")

// pictureOf is the picture that an event brought of a sample, as it is kept, where the journal still has it.
func (d *Daemon) pictureOf(id string, number int64) (picture []byte) {
	if number < d.journal.First() {
		return nil
	}
	_ = d.journal.Read(number, func(e journal.Event) error { // without it the label is corrected alone
		if e.Number == number && e.ID == id && len(e.Pixels) > 0 {
			picture = e.Pixels
		}
		return errFound
	})
	return picture
}

// shown is the state of a sample as people see it: what was learned is learned once predictions use it. The caller
// holds mu.
func (d *Daemon) shown(m *sample) string {
	if m.State == StateLearned && m.Learned > d.version {
		return StateWaiting
	}
	return m.State
}

// until waits until something holds. holds is called with mu held.
func (d *Daemon) until(ctx context.Context, holds func() bool) error {
	for {
		d.state.mu.Lock()
		yes, moved, broken := holds(), d.moved, d.broken
		d.state.mu.Unlock()
		switch {
		case yes:
			return nil
		case broken != nil:
			return broken
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

// Wait waits until predictions use what was learned of samples. One that is held out, was set aside or is gone is not
// waited for. Where learning has stopped before one it returns ErrStopped.
func (d *Daemon) Wait(ctx context.Context, ids []string) error {
	for _, id := range ids {
		stopped := false
		if err := d.until(ctx, func() bool {
			m := d.state.samples[id]
			waits := m != nil && d.shown(m) == StateWaiting
			stopped = waits && d.halted && (m.State == StateWaiting || len(d.state.ops) == 0 && d.trainer.Err() != nil)
			return !waits || stopped
		}); err != nil {
			return err
		}
		if stopped {
			return ErrStopped
		}
	}
	return nil
}

// AddClass adds a class, which gets the next output of the network, and returns when predictions can use it.
func (d *Daemon) AddClass(ctx context.Context, name, who string) error {
	if err := live.CheckLabel(name); err != nil {
		return err
	}
	_, err := d.ask(context.WithoutCancel(ctx), func(p *part) error {
		p.rank = rankSample
		if _, err := p.class(name, who, true); err != nil {
			return err
		}
		return d.ready()
	})
	if err != nil {
		return err
	}
	return d.caughtUp(ctx)
}

// caughtUp waits until the learner has done what is in the book now, and predictions use it. Where learning has stopped
// nothing is published any more.
func (d *Daemon) caughtUp(ctx context.Context) error {
	d.state.mu.Lock()
	last := d.state.book.last
	d.state.mu.Unlock()
	return d.until(ctx, func() bool {
		return (len(d.state.ops) == 0 || d.state.ops[0].Number > last) && (d.version >= last || !d.unused || d.halted)
	})
}

// Boundary ends a task, for methods that use tasks. What waits is learned before.
func (d *Daemon) Boundary(ctx context.Context, who string) error {
	_, err := d.ask(ctx, func(p *part) error {
		p.rank = rankBoundary
		p.add(event(kindBoundary, "", who, body{}, nil), nil)
		return d.ready()
	})
	return err
}

// Versions returns the versions to which Rollback can go back, the oldest first.
func (d *Daemon) Versions() []VersionInfo {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	files, err := d.state.files.Numbers()
	if err != nil {
		d.o.Log.Warn("the versions of the weights cannot be listed", "error", err)
	}
	return slices.DeleteFunc(slices.Clone(d.state.versions), func(v VersionInfo) bool {
		return d.spoilt[v.Number] || !slices.Contains(files, v.Number) && !d.keeping(v.Number)
	})
}

// keeping says whether the file of a version is about to be written. The caller holds mu.
func (d *Daemon) keeping(version int64) bool {
	return slices.ContainsFunc(d.state.ops, func(o *op) bool { return o.Kind == kindVersion && o.Version == version })
}

// Keep keeps the weights as they are now, once what is on its way is learned, as a version with a name, 1 to 256 bytes,
// that stays until the folder goes.
func (d *Daemon) Keep(ctx context.Context, name, who string) (v VersionInfo, err error) {
	if err := live.CheckLabel(name); err != nil {
		return v, fmt.Errorf("daemon: the name of a version: %w", err)
	}
	o, err := d.ask(context.WithoutCancel(ctx), func(p *part) error {
		if err := p.free(versionsKey); err != nil {
			return err
		}
		named := 0
		for _, v := range d.state.versions {
			if v.Name == name {
				return ErrSameName
			}
			if v.Name != "" {
				named++
			}
		}
		switch {
		case named >= mostNamed:
			return fmt.Errorf("daemon: %w: %d versions have names. Use the model of one of them, by GET /v1/model, and another folder",
				live.ErrBound, named)
		case d.trainer.Stats().Images == 0 && d.state.lessons == 0:
			return live.ErrNothing
		}
		p.rank, p.ids = rankOther, []string{versionsKey}
		p.add(event(kindVersion, "", who, body{Label: name}, nil), nil)
		return d.ready()
	})
	if err != nil {
		return v, err
	}
	err = d.until(ctx, func() bool {
		if i := slices.IndexFunc(d.state.versions, func(v VersionInfo) bool { return v.Number == o.Version }); i >= 0 {
			v = d.state.versions[i]
		}
		return o.done
	})
	return v, err
}

// Rollback goes back to the weights of a version, and returns when predictions use them. The memory stays.
func (d *Daemon) Rollback(ctx context.Context, number int64, who string) error {
	if err := d.until(ctx, func() bool { return !d.keeping(number) }); err != nil {
		return err
	}
	// an event that cannot be applied would end each start
	if _, err := d.readVersion(number); err != nil {
		return err
	}
	o, err := d.ask(context.WithoutCancel(ctx), func(p *part) error {
		if err := p.free(versionsKey); err != nil {
			return err
		}
		if !slices.ContainsFunc(d.state.versions, func(v VersionInfo) bool { return v.Number == number }) {
			return fmt.Errorf("daemon: version %d: %w", number, ErrNoVersion)
		}
		p.rank, p.ids = rankOther, []string{versionsKey}
		p.add(event(kindRollback, "", who, body{Number: number}, nil), nil)
		return d.ready()
	})
	if err != nil {
		return err
	}
	return d.until(ctx, func() bool { return o.done && (d.version >= o.Number || d.halted) })
}

// readVersion reads the file of a version. One that is damaged leaves the list of those that are kept.
func (d *Daemon) readVersion(number int64) (*checkpoint.Container, error) {
	c, err := d.state.files.Read(number)
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("daemon: version %d: %w", number, ErrNoVersion)
	case !errors.Is(err, checkpoint.ErrCorrupt) && !errors.Is(err, journal.ErrForeign):
		return nil, fmt.Errorf("daemon: version %d: %w (%w)", number, ErrNoVersion, err)
	}
	d.state.mu.Lock()
	d.spoilt[number] = true
	d.state.mu.Unlock()
	d.o.Log.Warn("a version of the weights cannot be read, so nobody can go back to it", "version", number, "error", err)
	return nil, fmt.Errorf("daemon: version %d: %w", number, ErrSpoilt)
}
