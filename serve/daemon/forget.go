package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ocl/internal/count"
	"ocl/serve/journal"
)

// Forget takes samples away: from the queue, what is remembered and held out, the memory of the learner, the journal
// and the snapshots, and from the sums of a method that is one, where the journal has their pixels. It returns when no
// file has them any more. Weights, and sums of which no pixels are there, still carry what was learned of them.
func (d *Daemon) Forget(ctx context.Context, w Which, who string) (f Forgotten, err error) {
	if len(w.IDs) == 0 && w.Digest == "" && w.Who == "" && w.From.IsZero() && w.To.IsZero() {
		return f, errors.New("daemon: it is not said what to forget. Give ids, a digest, a name or times")
	}
	return d.forget(ctx, w, w.means(), who, d.o.Retain)
}

// forget is Forget of the samples that w, and means with mu held, tell. all says to look for them in a journal that is
// retained too.
func (d *Daemon) forget(ctx context.Context, w Which, means func(id, digest, who string, at time.Time) bool, who string,
	all bool) (f Forgotten, err error) {
	var retained []string // in the journal
	if all {
		if retained, err = d.retained(w.Digest != "", means); err != nil {
			return f, err
		}
	}
	var ids []string
	var o *op
	tried, left, lost := map[int64]bool{}, 0, 0 // lost are those of left without a picture
	admit := func(p *part) error {
		p.rank, left, lost = rankOther, 0, 0
		var learned bool
		ids, learned = d.matching(means, retained)
		if d.amendErr != nil && learned {
			return d.amendErr
		}
		if len(ids) == 0 {
			if len(w.IDs) > 0 {
				if err := p.free(w.IDs...); err != nil {
					return err
				}
				switch m, _ := d.state.lookup(w.IDs[0]); {
				case m.State == StateForgotten: // another request has asked for it, and it is not erased yet
					ids = w.IDs[:1]
					return nil
				case m.State == StateErased:
					return ErrErased
				}
			}
			return ErrNobody
		}
		if err := p.free(append(ids, w.IDs...)...); err != nil {
			return err
		}
		for _, id := range ids {
			m := d.state.samples[id]
			switch {
			case m != nil && d.inSums(m) && !tried[m.Event]:
				return errMoved
			case m == nil || m.Left || d.inSums(m): // one whose id was let go of was learned
				left++
				if m == nil || !m.Left {
					lost++
				}
			}
			if m != nil && m.State == StateWaiting {
				p.queued--
			}
		}
		p.ids = ids
		b := body{IDs: ids}
		if d.sums {
			b.N = left // those that cannot be found in what calibrates the learner
		}
		p.add(event(kindForget, "", who, b, nil), nil)
		return nil
	}
	for err = errMoved; errors.Is(err, errMoved); {
		var n int
		if n, err = d.undo(ctx, means, who, tried); err != nil {
			return f, err
		}
		f.Undone += n
		o, err = d.ask(context.WithoutCancel(ctx), admit)
	}
	if errors.Is(err, ErrNobody) {
		if aside := journal.PutAside(d.dir); len(aside) > 0 {
			err = fmt.Errorf("daemon: %w. Remove %s in the folder of the daemon, and send this again", ErrPutAside,
				count.And(aside))
		}
	}
	if err != nil {
		return f, err
	}
	switch f.Matched, f.Note = len(ids), "The weights still carry what was learned of them."; {
	case d.sums && left == 0:
		f.Note = "What was learned of them is taken out of the sums of the method, as if they had never come, and out of the versions of the weights."
	case d.sums:
		f.Note = fmt.Sprintf("The sums of the method still carry what was learned of %d of them. Their calibration stays until enough is learned for another one.",
			left)
		if lost > 0 {
			f.Note += fmt.Sprintf(" Of %d the journal does not have the pictures any more.", lost)
			if !d.o.Retain {
				f.Note += " Without --retain it keeps those since the last but one snapshot, and each deletion makes new ones."
			}
		}
		if lost < left {
			f.Note += fmt.Sprintf(" Of %d a rollback, or a label that could not be undone, came before.", left-lost)
		}
	}
	if (!d.sums || left > 0) && d.journal.First() == 1 && d.o.Retain {
		f.Note += " `ocl serve rebuild` learns again without them."
	}
	full := false
	err = d.until(ctx, func() bool {
		if o != nil {
			f.Stored = o.removed
		}
		if (o == nil || o.done) && !slices.ContainsFunc(ids,
			func(id string) bool { return slices.Contains(d.state.unerased, id) }) {
			return true
		}
		full = d.noErase
		return full
	})
	if err == nil && full {
		err = ErrUnerased
	}
	return f, err
}

// mostUndone bounds the pixels, in bytes, of the samples that one write takes out of the sums.
const mostUndone = 8 << 20

// undo takes what was learned of the samples that are meant out of the sums of the learner, where the journal has their
// pixels, and says of how many. tried are the events of those that it has looked at.
func (d *Daemon) undo(ctx context.Context, means func(id, digest, who string, at time.Time) bool, who string,
	tried map[int64]bool) (n int, err error) {
	if !d.sums {
		return 0, nil
	}
	var list []sample
	d.state.mu.Lock()
	for _, m := range d.state.sorted() {
		if d.inSums(m) && !tried[m.Event] && means(m.ID, m.Digest, m.Who, m.Time) {
			list = append(list, *m)
		}
	}
	most := max(1, mostUndone/d.state.image)
	d.state.mu.Unlock()
	for some := range slices.Chunk(list, most) {
		var events []journal.Event
		for _, m := range some {
			tried[m.Event] = true
			if picture := d.pictureOf(m.ID, m.Event); picture != nil {
				events = append(events, event(kindUndo, m.ID, who, body{}, picture))
			}
		}
		if err := ctx.Err(); err != nil {
			return n, err
		}
		came := 0
		if _, err := d.ask(context.WithoutCancel(ctx), func(p *part) error {
			p.rank, came = rankOther, 0
			for _, e := range events {
				if err := p.free(e.ID); err != nil {
					return err
				}
				if m := d.state.samples[e.ID]; m != nil && d.inSums(m) && tried[m.Event] { // it may have been corrected since
					p.ids = append(p.ids, e.ID)
					p.add(e, nil)
					came++
				}
			}
			return nil
		}); err != nil {
			return n, err
		}
		n += came
	}
	return n, nil
}

// retained are the samples in the journal that are meant.
func (d *Daemon) retained(byDigest bool, means func(id, digest, who string, at time.Time) bool) (ids []string,
	err error) {
	err = d.journal.Read(d.journal.First(), func(e journal.Event) error {
		if e.Erased || len(e.Pixels) == 0 {
			return nil
		}
		digest := ""
		if byDigest { // it takes long for a whole journal
			b, err := bodyOf(e)
			if err != nil {
				return err
			}
			if digest = b.Digest; digest == "" {
				digest = Digest(e.Pixels)
			}
		}
		if means(e.ID, digest, e.Who, e.Time) {
			ids = append(ids, e.ID)
		}
		return nil
	})
	return ids, err
}

// means says whether a sample is meant.
func (w Which) means() func(id, digest, who string, at time.Time) bool {
	ids := map[string]bool{}
	for _, id := range w.IDs {
		ids[id] = true
	}
	return func(id, digest, who string, at time.Time) bool {
		return (len(ids) == 0 || ids[id]) && (w.Digest == "" || w.Digest == digest) && (w.Who == "" || w.Who == who) &&
			(w.From.IsZero() || !at.Before(w.From)) && (w.To.IsZero() || !at.After(w.To))
	}
}

// matching are the samples that are to be forgotten, and whether some of them were learned: those of the book, those
// that only the learner has, and those that only the journal has. The caller holds mu.
func (d *Daemon) matching(means func(id, digest, who string, at time.Time) bool, retained []string) (ids []string,
	learned bool) {
	seen := map[string]bool{}
	for _, m := range d.state.sorted() {
		if m.State != StateForgotten && m.State != StateErased && means(m.ID, m.Digest, m.Who, m.Time) {
			ids, seen[m.ID] = append(ids, m.ID), true
			learned = learned || m.Learned > 0
		}
	}
	others := slices.Sorted(maps.Keys(d.state.stored))
	for _, o := range d.state.ops {
		if o.Kind == kindCut {
			for _, l := range o.Lessons {
				others = append(others, l.ID)
			}
		}
	}
	for _, id := range others {
		if m, _ := d.state.lookup(id); d.state.samples[id] == nil && !seen[id] && means(id, m.Digest, m.Who, m.Time) {
			ids, seen[id], learned = append(ids, id), true, true
		}
	}
	for _, id := range retained {
		if d.state.samples[id] == nil && !seen[id] {
			ids, seen[id] = append(ids, id), true
		}
	}
	return ids, learned
}
