package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"ocl/checkpoint"
)

// save writes a checkpoint: identity, progress, the length of steps.csv and the learner. Without a folder it does
// nothing.
func (r *run) save() error {
	if r.checkpoints == nil {
		return nil
	}
	if err := r.log.sync(); err != nil {
		return err
	}
	r.peak = max(r.peak, peakResident())
	c := checkpoint.NewContainer()
	e := c.Encoder()
	r.id.save(e.Sub("identity"))
	if err := r.progress.save(e.Sub("progress")); err != nil {
		return err
	}
	e.Int64s("steps-length", r.log.length)
	if err := r.learner.SaveState(e.Sub("learner")); err != nil {
		return err
	}
	path, err := r.checkpoints.Save(r.step, c)
	if err != nil {
		return fmt.Errorf("%w; want a folder with room; make room, then run the same again", err)
	}
	r.saved = time.Now()
	if r.ev.Checkpointed != nil {
		r.ev.Checkpointed(path)
	}
	return nil
}

// load continues from the newest whole checkpoint of the folder and returns the length of steps.csv at it; without any
// checkpoint the run starts at step 0. Damaged files that it passes over are told as notes. One of another run, or of
// other data, numbers, kernels or convolutions, is refused.
func (r *run) load() (stepsLength int64, err error) {
	got, err := r.checkpoints.Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case errors.Is(err, checkpoint.ErrCorrupt):
		r.note(err.Error())
		return 0, r.checkpoints.Clear()
	case err != nil:
		return 0, err
	}
	for _, skipped := range got.Skipped {
		r.note(fmt.Sprintf("%v; going on from %s, the one before", skipped, filepath.Base(got.Path)))
	}
	d := got.Decoder()
	made, err := loadIdentity(d.Sub("identity"))
	if err == nil {
		err = r.id.accept(made)
	}
	if err == nil {
		err = r.progress.load(d.Sub("progress"))
	}
	if err == nil {
		err = d.Int64s("steps-length", &stepsLength)
	}
	if err == nil {
		err = r.learner.LoadState(d.Sub("learner"))
	}
	if err == nil {
		err = r.stream.Seek(r.task, r.batch)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", got.Path, err)
	}
	return stepsLength, nil
}

// stateBytes is the size of what a checkpoint holds of the learner.
func (r *run) stateBytes() (int64, error) {
	c := checkpoint.NewContainer()
	err := r.learner.SaveState(c.Encoder())
	return c.Size(), err
}
