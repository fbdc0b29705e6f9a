package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"ocl"
	"ocl/serve/journal"
)

// Report has the findings of Verify.
type Report struct {
	From, To int64  // the state at event From was taken from a snapshot, and that at event To was made anew
	Last     int64  // up to which events were applied after that
	Digest   string // of the state that was made; "" where its loss is no number
	Want     string // of the snapshot at event To; "" where there is none to compare with
}

// Compared says whether there was a snapshot to compare with.
func (r Report) Compared() bool { return r.Want != "" }

// Same says whether the state that was made is that of the snapshot. It is false where nothing was compared.
func (r Report) Same() bool { return r.Compared() && r.Digest == r.Want }

// Text says it for people.
func (r Report) Text() string {
	if !r.Compared() {
		return fmt.Sprintf("The events after %d, up to %d, are whole and were applied again. There is no second snapshot yet with which the state could be compared.",
			r.From, r.To)
	}
	if r.Same() {
		text := fmt.Sprintf("The events %d to %d were applied again, and made the same state, %.16s.", r.From+1, r.To,
			r.Digest)
		if r.Last > r.To {
			text += fmt.Sprintf(" Those up to %d were applied too.", r.Last)
		}
		return text
	}
	return fmt.Sprintf("The events %d to %d were applied again, and made another state: %.16s instead of %.16s. Put a good copy of the folder in its place.",
		r.From+1, r.To, r.Digest, r.Want)
}

// Errors of Verify.
var (
	// ErrDamaged says that a folder is not as a daemon leaves it. The text of the error is about what was found.
	ErrDamaged = errors.New("the folder is damaged")

	// ErrNothing says that there is nothing from which the journal could be applied.
	ErrNothing = errors.New("the folder has no whole snapshot after which its journal goes on. Put a good copy of the folder in its place")
)

// damaged is an error that is [ErrDamaged].
type damaged struct{ error }

func (d damaged) Is(target error) bool { return target == ErrDamaged }
func (d damaged) Unwrap() error        { return d.error }

// Verify applies the events between the oldest and the newest snapshot of a folder again, and compares the states; then
// it applies those after the newest one. Where there is one snapshot, it applies the events after that. It reads every
// file, and changes nothing. The error is [ErrDamaged] where the folder is not as a daemon leaves it.
func Verify(ctx context.Context, dir string, o Options) (r Report, err error) {
	j, err := journal.Open(dir, journal.Options{ReadOnly: true})
	if err == nil {
		r, err = verify(ctx, j, dir, o.complete().in(dir))
		err = errors.Join(err, j.Close())
	}
	if err == nil || ctx.Err() != nil {
		return r, err
	}
	for _, world := range []error{journal.ErrBusy, journal.ErrNewer, journal.ErrOther, journal.ErrBroken} {
		if errors.Is(err, world) {
			return r, err
		}
	}
	var path *fs.PathError
	var code syscall.Errno
	// the system does not let it be read
	if of := errors.As(err, &path) || errors.As(err, &code); of && (j == nil || !errors.Is(err, fs.ErrNotExist)) {
		return r, err
	}
	return r, damaged{err}
}

func verify(ctx context.Context, j journal.Journal, dir string, o Options) (r Report, err error) {
	files := journal.Snapshots(dir)
	for _, f := range []struct {
		*journal.Files
		way string // without the file
	}{
		{files, "start ocl serve, which goes on from another snapshot where one is whole"},
		{journal.Versions(dir), "remove the file: nobody can go back to that version then"},
	} {
		numbers, err := f.Numbers()
		for _, n := range numbers {
			if _, fault := f.Read(n); fault != nil {
				err = errors.Join(err, fmt.Errorf("%w. Put a good copy of the folder in its place; without one, %s", fault, f.way))
			}
		}
		if err != nil {
			return r, err
		}
	}
	numbers, err := files.Numbers()
	if err != nil {
		return r, err
	}
	erased, err := lastErased(j)
	if err != nil {
		return r, err
	}
	numbers = slices.DeleteFunc(numbers, func(n int64) bool { return n < max(erased, j.First()-1) })
	r.Last = j.Last()
	switch len(numbers) {
	case 0:
		return r, ErrNothing
	case 1:
		r.From, r.To = numbers[0], r.Last
	default:
		r.From, r.To = numbers[0], numbers[len(numbers)-1]
	}
	scratch, err := os.MkdirTemp("", "ocl-verify-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(scratch)
	versions := journal.Versions(scratch)
	if len(numbers) > 1 {
		if r.Want, err = digestOf(ctx, files, r.To, versions, o); err != nil {
			return r, err
		}
	}
	if err := copyVersions(j, r.From, journal.Versions(dir), versions); err != nil {
		return r, err
	}
	s := newState(nil, o, versions)
	if err := s.from(files, r.From); err != nil {
		return r, err
	}
	defer s.trainer.Close()
	err = s.replay(ctx, j, r.To)
	if err == nil {
		r.Digest, err = s.digest()
	}
	if err == nil {
		err = s.replay(ctx, j, r.Last)
	}
	if errors.Is(err, ocl.ErrDiverged) { // the process ended before it could set the event aside, as the next start does
		r.Last, err = s.learner.last, nil
		r.To = min(r.To, r.Last)
	}
	return r, err
}

// copyVersions copies the versions to which the events after a number go back.
func copyVersions(j journal.Journal, after int64, from, to *journal.Files) error {
	return j.Read(max(after+1, j.First()), func(e journal.Event) error {
		if e.Kind != kindRollback || e.Erased {
			return nil
		}
		b, err := bodyOf(e)
		if err != nil {
			return err
		}
		c, err := from.Read(b.Number)
		if err != nil {
			return err
		}
		return to.Write(b.Number, c)
	})
}

// lastErased is the last event whose pixels are gone, 0 where none is: nobody makes the state again from before it.
func lastErased(j journal.Journal) (erased int64, err error) {
	err = j.Read(j.First(), func(e journal.Event) error {
		if e.Erased {
			erased = e.Number
		}
		return nil
	})
	return erased, err
}

// digestOf is the digest of the state in a snapshot.
func digestOf(ctx context.Context, files *journal.Files, number int64, versions *journal.Files, o Options) (string,
	error) {
	s := newState(nil, o, versions)
	if err := s.from(files, number); err != nil {
		return "", err
	}
	defer s.trainer.Close()
	if err := s.drain(ctx); err != nil {
		return "", err
	}
	return s.digest()
}

// Rebuild learns again from the whole journal of a folder that retains it, without what was forgotten since. The folder
// then has that learner.
func Rebuild(ctx context.Context, dir string, o Options) error {
	unused, err := journal.Unused(dir)
	if err == nil && unused {
		err = fmt.Errorf("daemon: %s: %w: it is missing or empty. Name the folder of a daemon", dir, journal.ErrOther)
	}
	if err != nil {
		return err
	}
	o.Retain = true
	o = o.complete().in(dir)
	j, err := journal.Open(dir, journal.Options{Retain: true, Log: o.Log})
	if err != nil {
		return err
	}
	defer j.Close()
	files := journal.Snapshots(dir)
	if j.First() != 1 {
		return fmt.Errorf("daemon: the journal of %s begins at event %d. Only a folder that was served with --retain from its start can be learned again",
			dir, j.First())
	}
	s := newState(nil, o, journal.Versions(dir))
	if err := s.from(files, 0); err != nil {
		return err
	}
	defer s.trainer.Close()
	if err := s.replay(ctx, j, 1<<62); err != nil {
		return err
	}
	if err := s.cleanVersions(ctx); err != nil {
		return err
	}
	c, number, err := s.container()
	if err != nil {
		return err
	}
	if err := files.Write(number, c); err != nil {
		return err
	}
	// of the other learner
	if err := os.Remove(filepath.Join(dir, statisticsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	numbers, err := files.Numbers()
	for _, n := range numbers { // those between are of the learner that has seen what was forgotten
		if n != 0 && n != number {
			err = errors.Join(err, os.Remove(files.Path(n)))
		}
	}
	return err
}
