package experiment

import (
	"fmt"
	"os"
	"path/filepath"

	"ocl/checkpoint"
	"ocl/experiment/result"
)

// desk is where a run writes: its folder and the files in it. The zero value writes nothing.
type desk struct {
	folder  string // "" writes nothing
	held    bool   // the caller has locked the folder
	permit  func() error
	lock    *folderLock
	journal *journal
	store   *snapshots
}

// claim makes the folder and locks it for the run, removes files that crashes left, and writes the config of the run.
// It returns the result if the run has ended before.
func (d *desk) claim(j Job) (kept *result.Result, err error) {
	if err := checkpoint.MakeFolder(d.folder); err != nil {
		return nil, fmt.Errorf("%w. Use --out to choose a folder that can be written", err)
	}
	if kept, err = keptResult(d.folder, j); kept != nil || err != nil { // whoever holds the lock, it is over
		return kept, err
	}
	if !d.held {
		if d.lock, err = lockFolder(d.folder, LockFile, alone); err != nil {
			return nil, err
		}
	}
	if kept, err = keptResult(d.folder, j); kept != nil || err != nil { // it may have ended meanwhile
		return kept, err
	}
	if err := checkpoint.RemoveTemporaries(d.folder, runFiles...); err != nil {
		return nil, fmt.Errorf("%w. Use --out to choose a folder that can be written", err)
	}
	return nil, d.writeConfig(j)
}

// writeConfig writes the config of the run into its folder, for people: they cannot read it in a checkpoint.
func (d *desk) writeConfig(j Job) error {
	path := filepath.Join(d.folder, RunConfigFile)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	text, err := j.Config.YAML()
	if err != nil {
		return err
	}
	if err := checkpoint.WriteBytesAtomic(path, text); err != nil {
		return fmt.Errorf("%w. Make room on the disk, or choose another --out", err)
	}
	return nil
}

// openJournal opens the events of the run and cuts them to length bytes. whole is false if earlier events are missing.
func (d *desk) openJournal(length int64, j Job) (whole bool, err error) {
	path := filepath.Join(d.folder, EventsFile)
	if d.journal, whole, err = openJournal(path, length, j.id, j.Key); err != nil {
		return false, fmt.Errorf("%s cannot be written: %w. Make room on the disk, or choose another --out", path, err)
	}
	if err := checkpoint.SyncFolder(d.folder); err != nil {
		return false, fmt.Errorf("%w. %s", err, makeRoom)
	}
	return whole, nil
}

// finish writes the result into the folder. It removes the checkpoint of a run that has ended, unless it is to be kept;
// this is the last action, so that a crash loses nothing.
func (d *desk) finish(res *result.Result, keep bool, note func(string)) error {
	if d.folder == "" {
		return nil
	}
	text, err := result.Encode(res)
	if err != nil {
		return err
	}
	if err := d.journal.flush(); err != nil {
		return err
	}
	if err := d.journal.sync(); err != nil {
		return err
	}
	if err := checkpoint.WriteBytesIf(filepath.Join(d.folder, ResultFile), text, d.permit); err != nil {
		return fmt.Errorf("%w. %s", err, makeRoom)
	}
	if keep {
		return nil
	}
	if err := d.store.dir.Clear(); err != nil {
		note(err.Error()) // the result is whole without
	}
	return nil
}

// close ends what is under way. What matters was reported and synced with the last save.
func (d *desk) close() {
	defer d.lock.unlock()
	defer func() { _ = d.journal.close() }()
	if d.store != nil {
		_ = d.store.writer.Wait()
	}
}
