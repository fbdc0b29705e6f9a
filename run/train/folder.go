package train

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/run/build"
	"ocl/run/identity"
	"ocl/run/result"
)

// Names in the folder of a run.
const (
	ConfigFile    = "config.yaml"
	ResultFile    = "result.json"
	EventsFile    = "events.jsonl"
	CheckpointDir = "checkpoint"
)

// WrittenWhole are the files in the folder of a run that appear complete or not at all.
var WrittenWhole = []string{ResultFile, ConfigFile, EventsFile}

// claim makes and locks the folder of the run, removes what crashes left there, and writes the config. If the run has
// ended before, it returns its result.
func (r *run) claim() (kept *result.Result, err error) {
	if err := atomicfile.MakeFolder(r.Folder); err != nil {
		return nil, fmt.Errorf("%w. Use --out to choose a folder that can be written", err)
	}
	if kept, err = keptResult(r.Folder, r.Job); kept != nil || err != nil { // even if another process holds the lock
		return kept, err
	}
	if !r.Locked {
		if r.lock, err = LockFolder(r.Folder, LockFile, Alone); err != nil {
			return nil, err
		}
	}
	if kept, err = keptResult(r.Folder, r.Job); kept != nil || err != nil { // it may have ended meanwhile
		return kept, err
	}
	if err := atomicfile.RemoveTemporaries(r.Folder, WrittenWhole...); err != nil {
		return nil, fmt.Errorf("%w. Use --out to choose a folder that can be written", err)
	}
	return nil, r.writeConfig()
}

// writeConfig writes the config of the run into its folder, because people cannot read the one in a checkpoint.
func (r *run) writeConfig() error {
	path := filepath.Join(r.Folder, ConfigFile)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	text, err := r.Job.Config.YAML()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(path, text); err != nil {
		return fmt.Errorf("%w. Make room on the disk, or choose another --out", err)
	}
	return nil
}

// openJournal opens the events of the run and cuts them to length bytes. whole is false if earlier events are missing.
func (r *run) openJournal(length int64) (whole bool, err error) {
	path := filepath.Join(r.Folder, EventsFile)
	if r.journal, whole, err = openJournal(path, length, r.firstEvent()); errors.Is(err, input.ErrKind) {
		return false, fmt.Errorf("%w. Remove it; the run then continues without its earlier events", err)
	} else if err != nil {
		return false, fmt.Errorf("%s cannot be written: %w. Make room on the disk, or choose another --out", path,
			cause.Of(err))
	}
	if err := atomicfile.SyncFolder(r.Folder); err != nil {
		return false, fmt.Errorf("%w. %s", err, makeRoom)
	}
	return whole, nil
}

// finish writes the result into the folder. It removes the checkpoint of a run that has ended, unless it is to be kept;
// this is the last action, so that a crash loses nothing.
func (r *run) finish(res *result.Result) error {
	if r.Folder == "" {
		return nil
	}
	text, err := result.Encode(res)
	if err != nil {
		return err
	}
	if err := r.journal.flush(); err != nil {
		return err
	}
	if err := r.journal.sync(); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(r.Folder, ResultFile), text); err != nil {
		return fmt.Errorf("%w. %s", err, makeRoom)
	}
	if events := filepath.Join(r.Folder, EventsFile); Vanished(events) != nil {
		r.note(events + " was removed while the run was at work, so the events are lost. The result is complete")
	}
	if r.KeepCheckpoint || res.Outcome.State == result.Interrupted {
		return nil
	}
	if err := r.snapshots.dir.Clear(); err != nil {
		r.note(err.Error()) // only cleaning up failed: the result is complete
	}
	return nil
}

// openFolder claims the folder of the run. It returns the result if the run has ended before; otherwise the run
// continues from its newest checkpoint that is not damaged. Without a checkpoint it saves the state at step 0, so that
// a full disk is noticed before the training begins.
func (r *run) openFolder() (kept *result.Result, err error) {
	if kept, err = r.claim(); kept != nil || err != nil {
		return kept, err
	}
	if r.snapshots, err = openSnapshots(filepath.Join(r.Folder, CheckpointDir), r.SaveEvery); err != nil {
		return nil, fmt.Errorf("%w. Use --out to choose a folder that can be written", err)
	}
	r.snapshots.Saved, r.snapshots.patient = r.Events.Checkpointed, r.SaveSteps > 0
	r.snapshots.Warn = func(err error) { r.note(err.Error()) }
	length, found, err := r.load()
	if err == nil && !found {
		err = r.NoWeights
	}
	if err != nil {
		return nil, err
	}
	whole, err := r.openJournal(length)
	if err != nil {
		return nil, err
	}
	if !whole {
		r.note(fmt.Sprintf("%s: the events of the first %d steps are missing. The results do not depend on them",
			filepath.Join(r.Folder, EventsFile), r.at.Step))
	}
	r.snapshots.taken = time.Now()
	if r.at.Phase == beforeTask && r.at.Step == 0 {
		if err := r.save(); err != nil {
			return nil, err
		}
		return nil, r.snapshots.wait()
	}
	return nil, nil
}

// keptResult returns the result if the run has ended before, and nil if the run must start or continue. A result with
// another key is refused: it was put there by hand.
func keptResult(folder string, j Job) (*result.Result, error) {
	path := filepath.Join(folder, ResultFile)
	r, err := result.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Outcome.State == result.Interrupted:
		return nil, nil
	case r.Key == j.Key:
		return r, nil
	}
	err = Accept(j.Identity, identity.Of(build.Schema(), r))
	if err == nil {
		err = fmt.Errorf("its key is %s, but the key of the run is %s. Remove the file, %s", cause.Shown(r.Key), j.Key,
			startAnew)
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}
