package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"ocl/internal/input"
)

// LockFile is the file in a folder that processes lock, while a run is at work there or while the folder is set up. It
// is empty and never removed: otherwise two processes could lock two files of one name.
const LockFile = ".lock"

// patience is the longest time that a process waits for another one that sets up the same experiment.
const patience = 20 * time.Second

// ErrBusy is wrapped by errors about a run or an experiment that another process or another call of this process runs.
var ErrBusy = errors.New("another ocl is using the folder")

// Lock is a lock on a folder. The system releases it when the process ends, however it ends. nil is no lock.
type Lock struct{ file *flock.Flock }

// LockFolder locks a file of a folder that exists, in the way of how. If it is locked already, the error wraps
// [ErrBusy].
func LockFolder(folder, name string, how func(*flock.Flock) (bool, error)) (*Lock, error) {
	path := filepath.Join(folder, name)
	file, err := input.NewLock(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w. Remove it", err)
	}
	locked, err := how(file)
	if err != nil || !locked {
		_ = file.Close() // nothing was written to it
	}
	switch {
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("experiment: %s cannot be locked: %w. Choose a folder that can be written, on a file system with locks",
			path, err)
	case !locked:
		return nil, fmt.Errorf("experiment: %s: %w. Wait until it has finished, or choose another --out", folder, ErrBusy)
	}
	return &Lock{file}, nil
}

// Alone locks for one process, at once or not at all.
func Alone(f *flock.Flock) (bool, error) { return f.TryLock() }

// Together locks for any number of processes.
func Together(f *flock.Flock) (bool, error) { return f.TryRLock() }

// InTurn locks for one process, and waits some time for another one.
func InTurn(f *flock.Flock) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return f.TryLockContext(ctx, 20*time.Millisecond)
}

// Await waits until no other process has the folder of a run locked, or until it cannot be locked at all. It is false
// if ctx ended before.
func Await(ctx context.Context, folder string) bool {
	for {
		lock, err := LockFolder(folder, LockFile, Together)
		if lock.Unlock(); !errors.Is(err, ErrBusy) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// Unlock unlocks the folder; nil has nothing to unlock.
func (l *Lock) Unlock() {
	if l != nil {
		_ = l.file.Close() // otherwise the end of the process releases it
	}
}
