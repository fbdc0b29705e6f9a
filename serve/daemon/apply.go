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
		if at, due := d.trainer.PublishDue(); due && !time.Now().Before(at) {
			d.ends(d.publish(ctx))
			d.measure()
			continue
		} else if there {
			continue
		} else if due {
			timer.Reset(time.Until(at))
		} else {
			timer.Reset(time.Hour)
		}
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
	case errors.Is(err, ocl.ErrDiverged) && e.Kind == kindCut:
		d.ends(d.setAside(ctx, e))
		return
	case err != nil:
		d.ends(err)
		return
	}
	d.mu.Lock()
	switch e.Kind {
	case kindCut:
		d.ahead--
		d.aside = 0
		d.count(d.state)
		d.nudge()
	case kindForget: // the committer counted them
		d.uncut -= before - len(d.state.queue)
		d.uncut = max(0, d.uncut)
	}
	if e.ID != "" {
		d.arrive(e)
	}
	d.change()
	d.mu.Unlock()
	d.report(e)
	switch {
	case e.Kind == kindForget:
		d.ends(d.finishForgetting())
	case e.Kind == kindRollback:
		if err = d.publish(ctx); err == nil {
			err = d.only() // the versions before may go, so no start may need them
		}
		d.ends(err)
	case d.state.learning > d.o.SnapshotEvery:
		d.ends(d.snapshotBeside())
	}
}

// arrive notes that a sample on its way is in the state. The caller holds mu.
func (d *Daemon) arrive(e journal.Event) {
	delete(d.soon, e.ID)
	if e.Kind != kindSample {
		return
	}
	if b, err := bodyOf(e); err == nil && b.Held {
		d.heldSoon[b.Label]--
	} else {
		d.coming--
	}
}

// ends ends everything but predictions after an error.
func (d *Daemon) ends(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
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
	case errors.Is(err, ocl.ErrDiverged): // the next cut finds it, too
		return nil
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

// setAside goes back to the last snapshot, and learns again what came since then without the cut whose loss was no number. The published version goes on
// to answer meanwhile.
func (d *Daemon) setAside(ctx context.Context, e journal.Event) error {
	d.o.Log.Error("the loss is no number; the batch is set aside", "event", e.Number)
	done := make(chan error, 1)
	d.commits <- &commit{events: []journal.Event{event(kindSkip, "", "", body{Number: e.Number}, nil)}, done: done}
	if err := <-done; err != nil {
		return err
	}
	newest, err := d.files.Newest()
	if err == nil {
		err = d.state.load(newest.Container)
	}
	if err == nil {
		err = d.state.replay(ctx, d.journal, 1<<62)
	}
	if err != nil {
		return fmt.Errorf("daemon: the batch of event %d cannot be set aside: %w", e.Number, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.durable[:0]
	for _, w := range append([]journal.Event{e}, d.durable...) {
		if w.Number > d.state.last {
			kept = append(kept, w)
			continue
		}
		if w.Kind == kindCut {
			d.ahead--
		}
		if w.ID != "" {
			d.arrive(w)
		}
	}
	d.durable = kept
	if d.aside++; d.aside >= mostAside {
		d.halted = true
		d.say("Learning has stopped, as three batches in a row made a loss that is no number. Use a smaller learning rate; predictions go on.")
	}
	d.tell("divergence", fmt.Sprintf("The batch of event %d made a loss that is no number, and was set aside.", e.Number), d.version)
	d.change()
	d.nudge()
	return nil
}
