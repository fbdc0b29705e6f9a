package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"ocl"
	"ocl/live"
	"ocl/serve/journal"
)

// tryAgain is the pause before the daemon repeats work for which the disk had no room, such as to erase forgotten
// samples.
const tryAgain = time.Second

// applyLoop does the ops of the book in their order, publishes, and saves, until ctx ends.
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
		there := d.one(ctx)
		if d.snapshotDue() {
			err := d.publish(ctx)
			if err == nil && d.trainer.Err() == nil { // weights that are no numbers must not be in a snapshot
				err = d.snapshotBeside()
			}
			d.ends(err)
		}
		if d.unfinished && time.Since(d.tried) > tryAgain {
			d.tried = time.Now()
			err := d.finishForgetting(ctx)
			d.state.mu.Lock()
			d.noErase = errors.Is(err, journal.ErrNoRoom)
			d.change()
			d.state.mu.Unlock()
			d.nudge() // the disk may have room again
			d.ends(err)
		}
		at, due := d.trainer.PublishDue(d.more())
		if due && !time.Now().Before(at) {
			d.ends(d.publish(ctx))
			d.measure(ctx, false)
			continue
		}
		if there {
			continue
		}
		if !due && !d.busy() {
			d.measure(ctx, true)
		}
		wait := time.Hour
		if due {
			wait = time.Until(at)
		}
		d.state.mu.Lock()
		lone := d.lone()
		d.state.mu.Unlock()
		if d.unfinished || lone {
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

// more says whether a cut is learned next.
func (d *Daemon) more() bool {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	return d.broken == nil && !d.halted && (d.state.cuts > 0 || len(d.state.queue) >= d.o.Batch)
}

// one does the next op, and what follows from it. It says whether there was one.
func (d *Daemon) one(ctx context.Context) (there bool) {
	d.state.mu.Lock()
	broken := d.broken != nil
	d.state.mu.Unlock()
	o, aside := d.state.next()
	if o == nil || broken {
		return false
	}
	d.o.point(ctx, "op")
	err := d.state.do(ctx, o, aside)
	switch {
	case err != nil && ctx.Err() != nil: // the next start does it
		return false
	case errors.Is(err, ocl.ErrDiverged) && (o.Kind == kindCut || o.Kind == kindBoundary):
		d.ends(d.setAside(ctx, o.Number))
		return true
	case err != nil:
		d.ends(err)
		return true
	}
	d.state.mu.Lock()
	d.state.did()
	o.done = true
	_, d.unused = d.trainer.PublishDue(false)
	if o.Kind == kindCut && !aside {
		d.aside = 0
		d.count(&d.state.learner)
	}
	d.change()
	d.state.mu.Unlock()
	if o.Kind == kindCut {
		d.nudge()
	}
	switch {
	case o.Kind == kindForget:
		d.unfinished, d.tried = true, time.Time{}
	case o.Kind == kindRollback:
		if err = d.publish(ctx); err == nil {
			err = d.only(ctx) // the versions before may go, so no start may need them
		}
		d.tell("rollback", fmt.Sprintf("The weights are those of version %d.", o.Version), o.Number)
		d.ends(err)
	}
	return true
}

// snapshotDue says whether it takes too long to do again what came since the last snapshot, the journal has grown too
// much, or a second one is wanted for a moment: what is forgotten comes one after the other.
func (d *Daemon) snapshotDue() bool {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	return d.broken == nil && !d.writing && (d.state.learning > d.o.SnapshotEvery ||
		d.grown > d.o.SnapshotBytes+d.state.bytes || d.lone() && time.Since(d.alone) >= tryAgain)
}

// ends ends everything but predictions after an error.
func (d *Daemon) ends(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrDraining) { // the next start does it
		return
	}
	if errors.Is(err, journal.ErrNoRoom) {
		d.full()
		return
	}
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	d.breaks(err)
}

// publish lets predictions use the state.
func (d *Daemon) publish(ctx context.Context) error {
	number, images := d.state.learner.last, d.trainer.Stats().Images
	d.o.point(ctx, "publish")
	err := d.trainer.Publish(ctx, number)
	switch {
	case errors.Is(err, live.ErrNothing):
		return nil
	case errors.Is(err, ocl.ErrDiverged): // the last step made weights that are none
		if o := d.state.learner.cut; o != nil {
			return d.setAside(ctx, o.Number)
		}
		return d.setAside(ctx, 0)
	case err != nil:
		return err
	}
	d.state.mu.Lock()
	d.version, d.answering, d.unused = number, images, false
	d.change()
	d.state.mu.Unlock()
	return nil
}

// mostAside is the number of cuts in a row that may be set aside. Then learning stops.
const mostAside = 3

// restore makes the state of an event from a snapshot and the journal: from the newest that has not learned what was
// set aside since. Those that have are removed. Where an older one cannot make the state, as its events are gone, the
// newest one does: then the weights make numbers that are none, which the next publication finds.
func (d *Daemon) restore(ctx context.Context, s *state, last int64) error {
	newest, err := d.files.Newest()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("daemon: %s: %w", d.dir, ErrNothing)
	}
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	for _, fault := range newest.Skipped {
		d.o.Log.Warn("a snapshot is damaged and goes; an older one is used", "fault", fault)
	}
	numbers, err := d.files.Numbers()
	if err != nil {
		return err
	}
	var spoiled []int64 // and damaged ones, which would stand in the place of a whole one
	numbers = slices.DeleteFunc(numbers, func(n int64) bool {
		damaged := n > newest.Number
		if damaged {
			spoiled = append(spoiled, n)
		}
		return damaged
	})
	for i, number := range slices.Backward(numbers) {
		c := newest.Container
		if number < newest.Number {
			if c, err = d.files.Read(number); err != nil {
				return err
			}
		}
		if err := s.load(c); err != nil {
			return fmt.Errorf("daemon: %s: %w", d.files.Path(number), err)
		}
		bad, err := s.spoiled(d.journal)
		if err != nil {
			return err
		}
		if bad && i > 0 {
			erased, err := lastErased(d.journal)
			if err != nil {
				return err
			}
			if numbers[i-1] >= max(erased, d.journal.First()-1) {
				spoiled = append(spoiled, number)
				continue
			}
		}
		if err = d.replay(ctx, s, last); err == nil || errors.Is(err, ocl.ErrDiverged) {
			err = errors.Join(err, d.remove(func(n int64) bool { return slices.Contains(spoiled, n) }))
		}
		return err
	}
	return nil
}

// replay applies the events after the snapshot that a state was loaded from, up to a number. The log has what that was,
// and every ten seconds how far it is.
func (d *Daemon) replay(ctx context.Context, s *state, last int64) error {
	from, images, began := s.book.last, s.trainer.Stats().Images, time.Now()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	stop := d.tellReplay(s, tick.C)
	err := s.replay(ctx, d.journal, last)
	stop()
	if err == nil {
		d.o.Log.Info("the state was made again", "snapshot", from, "events", s.book.last-from, "pictures",
			s.trainer.Stats().Images-images, "seconds", time.Since(began).Round(time.Millisecond).Seconds())
	}
	return err
}

// tellReplay logs how far a replay is at each tick, until stop is called.
func (d *Daemon) tellReplay(s *state, tick <-chan time.Time) (stop func()) {
	ended := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-tick:
				s.mu.Lock()
				at := s.book.last
				s.mu.Unlock()
				d.o.Log.Info("the state is being made again", "event", at, "of", d.journal.Last())
			case <-ended:
				return
			}
		}
	})
	return func() { close(ended); telling.Wait() }
}

// skipped notes in the journal that the event by which the loss became no number is set aside, and goes back to the
// last snapshot. What came since then is learned again without that event; others in it may follow the first. It
// returns a state of the event that last gives, and how many were set aside.
func (d *Daemon) skipped(ctx context.Context, number int64, last func() int64) (s *state, n int, err error) {
	for {
		n++
		d.o.Log.Error("the loss is no number; the batch is set aside", "event", number)
		if err := d.notes(ctx, event(kindSkip, "", "", body{Number: number}, nil)); err != nil {
			return nil, n, err
		}
		s = newState(nil, d.o, d.state.files)
		s.trainer = d.state.trainer
		err := d.restore(ctx, s, last())
		if !errors.Is(err, ocl.ErrDiverged) {
			return s, n, err
		}
		o, _ := s.next()
		if o == nil || o.Number == number { // one that is set aside does not learn
			return s, n, err
		}
		number = o.Number
	}
}

// setAside goes on without an event by which the loss became no number. 0 is none that could be set aside. The
// published version goes on to answer meanwhile.
func (d *Daemon) setAside(ctx context.Context, number int64) error {
	n := mostAside
	if number > 0 {
		s, more, err := d.skipped(ctx, number, func() int64 {
			d.state.mu.Lock()
			defer d.state.mu.Unlock()
			return d.state.book.last
		})
		if err != nil {
			return fmt.Errorf("the batch of event %d cannot be set aside: %w", number, err)
		}
		n = more
		d.state.mu.Lock()
		for len(d.state.ops) > 0 && d.state.ops[0].Number <= s.book.last { // the learner has done them
			d.state.ops[0].done = true
			d.state.did()
		}
		d.state.learner = s.learner
		d.state.learner.mu = &d.state.mu
		d.state.mu.Unlock()
	}
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	_, d.unused = d.trainer.PublishDue(false)
	d.unfinished = len(d.state.unerased) > 0
	if d.aside += n; d.aside >= mostAside {
		d.halted = true
		d.say("Learning has stopped, as three batches in a row made a loss that is no number. Use a smaller learning rate; predictions go on.")
	}
	d.tell("divergence", fmt.Sprintf("The batch of event %d made a loss that is no number, and was set aside.", number),
		d.version)
	d.change()
	d.nudge()
	return nil
}

// forgettable are the ids that were forgotten and are still in a file, once the learner has forgotten them too. The
// applier calls it.
func (d *Daemon) forgettable() []string {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	later := map[string]bool{}
	for _, o := range d.state.ops {
		if o.Kind == kindForget {
			for _, id := range o.IDs {
				later[id] = true
			}
		}
	}
	ids := map[string]bool{}
	for _, id := range d.state.unerased {
		if !later[id] {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
