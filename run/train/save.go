package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"ocl/checkpoint"
	"ocl/run/identity"
	"ocl/run/result"
)

// snapshots are the checkpoints of a run. The goroutine of the run takes them, and another goroutine writes them. The
// nil snapshots saves nothing.
type snapshots struct {
	*checkpoint.Writer
	dir     *checkpoint.Dir
	every   time.Duration // least time between those in the middle of a task; 0 is never
	pause   time.Duration // least time after the last one, by its size
	taken   time.Time
	patient bool // for tests: each is waited for
}

func openSnapshots(folder string, every time.Duration) (*snapshots, error) {
	dir, err := checkpoint.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	return &snapshots{Writer: checkpoint.NewWriter(dir), dir: dir, every: every, taken: time.Now()}, nil
}

// A state of more than smallState bytes is saved again after a second for each writtenPerSecond bytes at the earliest,
// except at the end of a run. On a disk that writes 150 MB a second, its checkpoints then take less than 2 % of the
// time.
const (
	smallState       = 4 << 20
	writtenPerSecond = 3 << 20
)

// pauseAfter is the least time between a checkpoint of so many bytes and the next one.
func pauseAfter(bytes int64) time.Duration {
	return time.Duration(max(0, bytes-smallState)) * (time.Second / writtenPerSecond)
}

// save begins to write a snapshot. It waits only for the snapshot before, if that is still being written. The writing
// goroutine calls before.
func (s *snapshots) save(step int, c *checkpoint.Container, before func() error) error {
	err := s.Save(step, c, before)
	if err == nil && s.patient {
		err = s.Wait()
	}
	s.taken, s.pause = time.Now(), pauseAfter(c.Size())
	return saveError(err)
}

// wait returns when everything is on the disk.
func (s *snapshots) wait() error {
	if s == nil {
		return nil
	}
	return saveError(s.Wait())
}

// watch returns the error of a write that has failed meanwhile.
func (s *snapshots) watch() error {
	if s == nil {
		return nil
	}
	return saveError(s.Failed())
}

// until is a context that ends when ctx does or when the next checkpoint is due.
func (s *snapshots) until(ctx context.Context) (context.Context, context.CancelFunc) {
	if s == nil || s.every == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, s.taken.Add(max(s.every, s.pause)))
}

func saveError(err error) error {
	if err != nil {
		return fmt.Errorf("%w. %s", err, makeRoom)
	}
	return nil
}

// due tells whether it is time for a checkpoint in the middle of a task.
func (s *snapshots) due(now time.Time) bool {
	return s != nil && s.every > 0 && now.Sub(s.taken) >= max(s.every, s.pause)
}

// saveBetween is save where the run goes on: it saves nothing if a large state was saved a moment ago.
func (r *run) saveBetween() error {
	if r.snapshots != nil && time.Since(r.snapshots.taken) < r.snapshots.pause {
		return nil
	}
	return r.save()
}

// save takes a snapshot of the run.
func (r *run) save() error {
	if r.snapshots == nil {
		return nil
	}
	if err := r.journal.flush(); err != nil {
		return err
	}
	r.found.Peak = max(r.found.Peak, peakResident())
	r.countConcurrent()
	c := checkpoint.NewContainer()
	if err := r.encode(c.Encoder()); err != nil {
		return err
	}
	return r.snapshots.save(r.at.Step, c, r.journal.sync)
}

// parts is everything that the run continues from. made is the identity in the checkpoint, length the length of
// events.jsonl.
func (r *run) parts(made *identity.Identity, length *int64) checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Sub("identity", identityParts(made)),
		checkpoint.Then(func() error { return Accept(r.Job.Identity, *made) }),
		checkpoint.Inline(r.at.parts()),
		checkpoint.Sub("record", r.found.parts()),
		checkpoint.Values("events-length", length),
		checkpoint.Sub("learner", r.learner),
	}
}

func (r *run) encode(e *checkpoint.Encoder) error {
	made, length := r.Job.Identity, r.journal.length
	known := r.known()
	return append(r.parts(&made, &length), checkpoint.JSON(knownSection, &known)).SaveState(e)
}

// known describes what the learner knows now: that of its parent, and what it has learned since.
func (r *run) known() Known {
	info := r.Stream.Info()
	s := r.before()
	s.Shape, s.Classes, s.ClassNames = [3]int{info.Channels, info.Height, info.Width}, info.Classes, r.ClassNames
	s.Embeddings, s.Of, s.Pictures = info.Embeddings, info.Of, r.Pictures
	s.Learned, s.Steps = slices.Clone(s.Learned), s.Steps+r.at.Step
	over := r.at.ended()
	if over <= r.Stream.Start() { // nothing was learned of the tasks before the start
		over = 0
	}
	for _, t := range classesOf(info)[:over] {
		s.learn(t...)
		s.Tasks++
	}
	return s
}

// load continues from the newest checkpoint of the folder that is not damaged, and returns the length of events.jsonl
// at that step. Without a checkpoint, found is false and the run starts at step 0, with the learner of its parent if it
// has one. Damaged files are skipped, with a note. A checkpoint of
// another run, or of other data, numbers, kernels or convolutions, is refused.
func (r *run) load() (eventsLength int64, found bool, err error) {
	got, err := r.snapshots.dir.Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, r.inherit()
	case errors.Is(err, checkpoint.ErrCorrupt):
		r.note(err.Error())
		return 0, false, errors.Join(r.snapshots.dir.Clear(), r.inherit())
	case err != nil:
		return 0, false, err
	}
	for _, skipped := range got.Skipped {
		r.note(fmt.Sprintf("%v. Continuing from the checkpoint before it, %s", skipped, filepath.Base(got.Path)))
	}
	if err := r.decode(got.Decoder(), &eventsLength); err != nil {
		return 0, false, fmt.Errorf("%s: %w", got.Path, err)
	}
	return eventsLength, true, nil
}

func (r *run) decode(d *checkpoint.Decoder, eventsLength *int64) error {
	if err := r.parts(new(identity.Identity), eventsLength).LoadState(d); err != nil {
		return err
	}
	if err := r.Stream.Seek(r.at.Task, r.at.Batch); err != nil {
		return err
	}
	return r.checkFound()
}

// checkFound checks that what was loaded can be written into a result. Otherwise the run would end in one that cannot
// be read.
func (r *run) checkFound() error {
	res, err := r.result(result.Outcome{State: result.Interrupted, Step: r.at.Step})
	if err == nil {
		err = result.Check(res)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: its measurements do not fit this run: %w. Another version of ocl made it; use that one, %s",
			err, startAnew)
	}
	return nil
}
