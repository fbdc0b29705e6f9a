package experiment

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"ocl/config"
)

// A checkpoint is read once: what the learner is and its digest are of the same bytes, also where the file is replaced
// meanwhile. A run cannot begin to work while its checkpoint is read to learn on from, and two may learn on at once.
func TestCheckpointIsReadOnce(t *testing.T) {
	t.Parallel()
	folder, _ := trainedRun(t, one("er"))
	got, err := newest(folder)
	if err != nil {
		t.Fatal(err)
	}
	// read calls a reader of the checkpoint, and while it is reading. Then the file is another one.
	read := func(reader func() (digest string, err error), while func() error) {
		t.Helper()
		if err := errors.Join(os.Remove(got.Path), syscall.Mkfifo(got.Path, 0o644)); err != nil {
			t.Fatal(err)
		}
		wrote := make(chan error, 1)
		go func() {
			pipe, err := os.OpenFile(got.Path, os.O_WRONLY, 0) // returns when it is opened for reading
			if err == nil {
				err = errors.Join(while(), os.Remove(got.Path), os.WriteFile(got.Path, []byte("another"), 0o644))
				_, failed := pipe.Write(got.File)
				err = errors.Join(err, failed, pipe.Close())
			}
			wrote <- err
		}()
		digest, err := reader()
		if err := errors.Join(err, <-wrote); err != nil {
			t.Fatal(err)
		}
		if want := digestOf(got.File); digest != want {
			t.Errorf("the digest is %s, and that of what was read is %s", digest, want)
		}
	}
	read(func() (string, error) {
		trained, err := OpenTrained(t.Context(), folder, 1)
		if err != nil {
			return "", err
		}
		trained.Close()
		return trained.Digest, nil
	}, func() error { return nil })
	read(func() (string, error) {
		p, err := openParent(config.Parent{Run: folder})
		if err != nil {
			return "", err
		}
		return p.Checkpoint, nil
	}, func() error {
		run, err := lockFolder(folder, LockFile, alone)
		run.unlock()
		if !errors.Is(err, ErrBusy) {
			t.Errorf("while the checkpoint is read, a run can lock its folder: %v", err)
		}
		other, err := lockFolder(folder, LockFile, together)
		other.unlock()
		return err
	})
	lock, err := lockFolder(folder, LockFile, alone)
	if err != nil {
		t.Errorf("the folder stays locked: %v", err)
	}
	lock.unlock()
}
