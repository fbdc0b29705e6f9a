package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ocl/checkpoint"
	"ocl/internal/atomicfile"
	"ocl/serve/journal"
)

// copied is a copy of the state for a snapshot, and the number of its last event. The goroutine that changes the state calls it, so it holds no lock, for which requests
// would wait.
func (d *Daemon) copied() (*checkpoint.Container, int64, error) {
	c, err := d.state.container()
	d.state.learning = 0
	return c, d.state.last, err
}

// snapshot writes the state.
func (d *Daemon) snapshot() error {
	c, number, err := d.copied()
	if err == nil {
		err = d.save(c, number)
	}
	return err
}

// save writes a snapshot, and lets go of what no start needs any more: the newest two stay, with the events after the older one.
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

// remove removes snapshots. Where all of the journal is retained the first one stays, from which it can be learned again.
func (d *Daemon) remove(goes func(int64) bool) error {
	numbers, err := d.files.Numbers()
	for _, n := range numbers {
		if goes(n) && (n > 0 || !d.o.Retain) {
			if failed := os.Remove(d.files.Path(n)); !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
	}
	return errors.Join(err, atomicfile.SyncFolder(filepath.Dir(d.files.Path(0))))
}

// snapshotBeside copies the state, and writes it while the learner goes on. With it comes a version of the weights.
func (d *Daemon) snapshotBeside() error {
	d.mu.Lock()
	busy := d.writing
	d.writing = true
	d.mu.Unlock()
	if busy {
		return nil
	}
	c, number, err := d.copied()
	if err != nil {
		return err
	}
	d.done.Go(func() {
		err := d.save(c, number)
		d.keepStatistics()
		d.mu.Lock()
		d.writing = false
		d.mu.Unlock()
		d.ends(err)
		select { // the applier does not wait: when the daemon ends, there is no version
		case d.commits <- versionOf(number):
		case <-d.closing:
		}
	})
	return nil
}

// versionOf is what keeps the weights as a version.
func versionOf(number int64) *commit {
	return &commit{events: []journal.Event{event(kindVersion, "", "", body{Number: number}, nil)}, done: make(chan error, 1)}
}

// only writes a snapshot and removes all others.
func (d *Daemon) only() error {
	d.settle()
	c, number, err := d.copied()
	if err == nil {
		err = d.files.Write(number, c)
	}
	if err == nil {
		err = d.remove(func(n int64) bool { return n != number })
	}
	if err == nil {
		err = d.journal.Trim(number + 1)
	}
	return err
}

// settle waits until no snapshot is being written.
func (d *Daemon) settle() {
	for {
		d.mu.Lock()
		writing := d.writing
		d.mu.Unlock()
		if !writing {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// finishForgetting takes what was forgotten out of every file. A start does it again if it was not told that it was done.
func (d *Daemon) finishForgetting() error {
	ids := slices.Clone(d.state.unerased)
	if len(ids) == 0 {
		d.unfinished = false
		return nil
	}
	if err := d.only(); err != nil {
		return err
	}
	if err := d.journal.Erase(ids); err != nil {
		return err
	}
	select {
	case d.commits <- &commit{events: []journal.Event{event(kindErased, "", "", body{IDs: ids}, nil)}, done: make(chan error, 1)}:
		d.unfinished = false
	case <-d.closing:
	}
	return nil
}
