package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ocl"
	"ocl/live"
	"ocl/serve/journal"
)

// tryAgain is how long the daemon waits before it tries again to erase what was forgotten, such as where the disk was full.
const tryAgain = time.Second

// applyLoop applies events in their order, publishes, and saves, until ctx ends.
func (d *Daemon) applyLoop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if ctx.Err() != nil {
			return
		}
		select {
		case f := <-d.between:
			f()
		default:
		}
		e, there := d.next()
		if there {
			d.one(ctx, e)
		}
		if d.unfinished && time.Since(d.tried) > tryAgain {
			d.tried = time.Now()
			d.ends(d.finishForgetting())
		}
		at, due := d.trainer.PublishDue(d.busy())
		if due && !time.Now().Before(at) {
			d.ends(d.publish(ctx))
			d.measure(false)
			continue
		}
		if there {
			continue
		}
		if !due && !d.busy() {
			d.measure(true)
		}
		wait := time.Hour
		if due {
			wait = time.Until(at)
		}
		if d.unfinished {
			wait = min(wait, tryAgain)
		}
		timer.Reset(wait)
		select {
		case <-d.arrived:
		case f := <-d.between:
			f()
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// next takes the next event.
func (d *Daemon) next() (e journal.Event, there bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.durable) == 0 || d.broken != nil {
		return e, false
	}
	e = d.durable[0]
	d.durable = d.durable[1:]
	return e, true
}

// one applies an event, and does what follows from it.
func (d *Daemon) one(ctx context.Context, e journal.Event) {
	before := len(d.state.queue)
	err := d.state.apply(ctx, e)
	switch {
	case err != nil && ctx.Err() != nil: // the next start applies it
		return
	case errors.Is(err, ocl.ErrDiverged) && (e.Kind == kindCut || e.Kind == kindBoundary):
		d.ends(d.setAside(ctx, e.Number, e))
		return
	case err != nil:
		d.ends(err)
		return
	}
	d.mu.Lock()
	switch e.Kind {
	case kindCut:
		d.ahead--
		if d.state.lastCut() == e.Number {
			d.aside = 0
			d.count(d.state)
		}
		d.nudge()
	case kindForget: // the committer counted them
		d.uncut -= before - len(d.state.queue)
		d.uncut = max(0, d.uncut)
	}
	d.arrive(e)
	d.change()
	d.mu.Unlock()
	d.report(e)
	switch {
	case e.Kind == kindForget:
		d.unfinished, d.tried = true, time.Time{}
	case e.Kind == kindRollback:
		if err = d.publish(ctx); err == nil {
			err = d.only() // the versions before may go, so no start may need them
		}
		d.ends(err)
	case d.state.learning > d.o.SnapshotEvery:
		if err = d.publish(ctx); err == nil && d.trainer.Err() == nil { // weights that are no numbers must not be in a snapshot
			err = d.snapshotBeside()
		}
		d.ends(err)
	}
}

// settled notes that what was on its way about a sample was applied. The caller holds mu.
func (d *Daemon) settled(ids ...string) {
	var mark *soon
	for _, id := range ids {
		if m := d.soon[id]; m != nil && m.marked {
			mark = m
		}
		delete(d.soon, id)
	}
	if mark != nil {
		mark.applied = true
		close(mark.done)
	}
}

// arrive notes that an event about samples was applied. The caller holds mu.
func (d *Daemon) arrive(e journal.Event) {
	b, _ := bodyOf(e) // it was applied, so it is whole
	if e.Kind == kindForget {
		for _, id := range b.IDs {
			if m := d.soon[id]; m != nil && m.marked {
				m.stored = d.state.removed
			}
		}
	}
	d.settled(append(b.IDs, e.ID)...)
	switch {
	case e.Kind != kindSample:
	case b.Held:
		d.heldSoon[b.Label]--
	default:
		d.coming--
	}
}

// ends ends everything but predictions after an error.
func (d *Daemon) ends(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrDraining) { // the next start does it
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, journal.ErrNoRoom) {
		d.say(noRoom)
		return
	}
	d.breaks(err)
}

// publish lets predictions use the state.
func (d *Daemon) publish(ctx context.Context) error {
	err := d.trainer.Publish(ctx, d.state.last)
	switch {
	case errors.Is(err, live.ErrNothing):
		return nil
	case errors.Is(err, ocl.ErrDiverged): // the last step made weights that are none
		return d.setAside(ctx, d.state.lastCut())
	case err != nil:
		return err
	}
	d.mu.Lock()
	d.version = d.state.last
	d.change()
	d.mu.Unlock()
	return nil
}

// mostAside is how many cuts in a row are set aside before learning stops.
const mostAside = 3

// skipped notes in the journal that the event by which the loss became no number is set aside, and goes back to the last snapshot.
// What came since then is learned again without that event; others in it may follow the first. It returns how many were set aside.
func (d *Daemon) skipped(ctx context.Context, number int64) (n int, err error) {
	for {
		n++
		d.o.Log.Error("the loss is no number; the batch is set aside", "event", number)
		if err := d.notes(ctx, event(kindSkip, "", "", body{Number: number}, nil)); err != nil {
			return n, err
		}
		newest, err := d.files.Newest()
		if err == nil {
			err = d.state.load(newest.Container)
		}
		if err == nil {
			err = d.replay(ctx)
		}
		if !errors.Is(err, ocl.ErrDiverged) {
			return n, err
		}
		if number == d.state.last+1 { // an event that is set aside does not learn
			return n, err
		}
		number = d.state.last + 1
	}
}

// setAside goes on without an event by which the loss became no number; failed is that event, where it was not applied. 0 is none that could be set aside. The
// published version goes on to answer meanwhile.
func (d *Daemon) setAside(ctx context.Context, number int64, failed ...journal.Event) (err error) {
	n := mostAside
	if number > 0 {
		if n, err = d.skipped(ctx, number); err != nil {
			return fmt.Errorf("the batch of event %d cannot be set aside: %w", number, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.durable[:0]
	for _, w := range append(failed, d.durable...) {
		if w.Number > d.state.last {
			kept = append(kept, w)
			continue
		}
		if w.Kind == kindCut {
			d.ahead--
		}
		d.arrive(w)
	}
	d.durable, d.unfinished = kept, len(d.state.unerased) > 0
	if d.aside += n; d.aside >= mostAside {
		d.halted = true
		d.say("Learning has stopped, as three batches in a row made a loss that is no number. Use a smaller learning rate; predictions go on.")
	}
	d.tell("divergence", fmt.Sprintf("The batch of event %d made a loss that is no number, and was set aside.", number), d.version)
	d.change()
	d.nudge()
	return nil
}
