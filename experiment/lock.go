package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Files that processes lock. They are empty and never removed: otherwise two processes could lock two files of one name.
const (
	// LockFile is locked in the folder of a run while the run is at work, and in the folder of an experiment while the
	// folder is set up.
	LockFile = ".lock"
	// UseFile is locked in the folder of an experiment by all processes that run it. Nothing is removed there meanwhile.
	UseFile = ".use"
)

// patience is how long a process waits for another one that sets up the same experiment.
const patience = 20 * time.Second

// ErrBusy is wrapped by errors about a run or an experiment that another process or another call of this process runs.
var ErrBusy = errors.New("another ocl is using the folder")

// folderLock is a lock on a folder. The system releases it when the process ends, however it ends. nil is no lock.
type folderLock struct{ file *flock.Flock }

// lockFolder locks a file of a folder that exists, in the way of how. If it is locked already, the error wraps [ErrBusy].
func lockFolder(folder, name string, how func(*flock.Flock) (bool, error)) (*folderLock, error) {
	path := filepath.Join(folder, name)
	// Network file systems that make flock out of byte ranges want a file opened for writing.
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	locked, err := how(file)
	if err != nil || !locked {
		_ = file.Close() // nothing was written to it
	}
	switch {
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("experiment: %s cannot be locked: %w. Choose a folder that can be written, on a file system with locks", path, err)
	case !locked:
		return nil, fmt.Errorf("experiment: %s: %w. Wait until it has finished, or choose another --out", folder, ErrBusy)
	}
	return &folderLock{file}, nil
}

// alone locks for one process, at once or not at all.
func alone(f *flock.Flock) (bool, error) { return f.TryLock() }

// together locks for any number of processes.
func together(f *flock.Flock) (bool, error) { return f.TryRLock() }

// inTurn locks for one process, and waits some time for another one.
func inTurn(f *flock.Flock) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return f.TryLockContext(ctx, 20*time.Millisecond)
}

func (l *folderLock) unlock() {
	if l != nil {
		_ = l.file.Close() // otherwise the end of the process releases it
	}
}
