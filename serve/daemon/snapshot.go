package daemon

import (
	"context"
	"errors"
	"time"

	"ocl/checkpoint"
	"ocl/serve/journal"
)

// copied is a copy of the state for a snapshot, and the number of its last event. The applier calls it.
func (d *Daemon) copied() (*checkpoint.Container, int64, error) {
	d.state.mu.Lock()
	d.grown, d.state.learning, d.saved = 0, 0, d.state.book.last
	d.state.mu.Unlock()
	if err := d.state.cleanVersions(context.Background()); err != nil {
		return nil, 0, err
	}
	return d.state.container()
}

// snapshot writes the state.
func (d *Daemon) snapshot() error {
	c, number, err := d.copied()
	if err == nil {
		err = d.save(c, number)
	}
	return err
}

// save writes a snapshot, and lets go of what no start needs any more: the newest two stay, with the events after the
// older one.
func (d *Daemon) save(c *checkpoint.Container, number int64) error {
	if err := d.files.Write(number, c); err != nil {
		return err
	}
	numbers, err := d.files.Numbers()
	if err != nil || len(numbers) < 2 {
		return err
	}
	older := numbers[len(numbers)-2]
	return errors.Join(d.remove(func(n int64) bool { return n < older }), d.journal.Trim(older+1))
}

// remove removes snapshots. Where all of the journal is retained the first one stays, from which it can be learned
// again.
func (d *Daemon) remove(goes func(int64) bool) error {
	return d.files.Remove(func(n int64) bool { return goes(n) && (n > 0 || !d.o.Retain) })
}

// lone says whether a second snapshot is wanted, as all but one were removed, so that damage of that one does not keep
// the daemon from starting. It wants an event after the first, as one of the same number would take its place. The
// applier calls it with mu held.
func (d *Daemon) lone() bool {
	return d.single > 0 && d.state.book.last > d.single && !d.unfinished && !d.halted
}

// snapshotBeside copies the state, and writes it while the learner goes on.
func (d *Daemon) snapshotBeside() error {
	d.state.mu.Lock()
	busy := d.writing
	d.writing = true
	d.state.mu.Unlock()
	if busy {
		return nil
	}
	d.single = 0
	c, number, err := d.copied()
	if err != nil {
		d.written()
		return err
	}
	d.done.Go(func() {
		d.o.point(context.Background(), "save")
		err := d.save(c, number)
		d.keepStatistics()
		d.written()
		d.ends(err)
	})
	return nil
}

// written notes that no snapshot is being written any more.
func (d *Daemon) written() {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	d.writing = false
	d.change()
}

// leave asks the committer for an event, and does not wait for it: when the daemon ends, it does not come. The channel
// tells what came of it.
func (d *Daemon) leave(e journal.Event) <-chan error {
	c := &request{admit: note(e), done: make(chan error, 1)}
	select {
	case d.requests <- c:
	case <-d.closing:
	}
	return c.done
}

// only writes a snapshot and removes all others. What is in it was published, and so checked.
func (d *Daemon) only(ctx context.Context) error {
	d.settle()
	if err := d.publish(ctx); err != nil {
		return err
	}
	c, number, err := d.copied()
	if err == nil {
		err = d.files.Write(number, c)
	}
	if err == nil {
		err = errors.Join(d.remove(func(n int64) bool { return n != number }), d.state.files.RemoveTemporary())
	}
	if err == nil {
		d.single, d.alone = number, time.Now()
		err = d.journal.Trim(number + 1)
	}
	return err
}

// settle waits until no snapshot is being written.
func (d *Daemon) settle() {
	for {
		d.state.mu.Lock()
		writing, moved := d.writing, d.moved
		d.state.mu.Unlock()
		if !writing {
			return
		}
		<-moved
	}
}

// finishForgetting takes what was forgotten out of every file. A start does it again if it was not told that it was
// done.
func (d *Daemon) finishForgetting(ctx context.Context) error {
	if d.erased != nil {
		select {
		case err := <-d.erased: // where there was no room to note it, it is done again
			if d.erased = nil; err != nil {
				d.o.Log.Warn("what was erased is not noted yet", "error", err)
			}
		default:
			return nil
		}
	}
	ids := d.forgettable()
	if len(ids) == 0 {
		d.unfinished = false
		return nil
	}
	err := d.only(ctx)
	if err == nil {
		err = d.journal.Erase(ids)
	}
	if err == nil {
		d.erased = d.leave(event(kindErased, "", "", body{IDs: ids}, nil))
	}
	return err
}
