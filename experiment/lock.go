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

// Files that processes lock. They are empty and stay, as taking one away would let two processes lock two files of that name.
const (
	// LockFile is locked in the folder of a run while the run is at work, and in that of an experiment for the moment in which it
	// is set up.
	LockFile = ".lock"
	// UseFile is locked in the folder of an experiment by all that run it, together: while one does, nothing is removed there.
	UseFile = ".use"
)

// patience is how long a process waits for another one that sets up the same experiment.
const patience = 20 * time.Second

// ErrBusy is wrapped by errors about a run or an experiment that another process, or another call in this one, is at work on.
var ErrBusy = errors.New("another ocl is at work there")

// folderLock is a right in a folder. The system takes it back when the process ends, however it ends. The nil lock is none.
type folderLock struct{ file *flock.Flock }

// lockFolder locks a file of a folder that exists, by a way of locking. One that is locked already is an error that wraps [ErrBusy].
func lockFolder(folder, name string, how func(*flock.Flock) (bool, error)) (*folderLock, error) {
	path := filepath.Join(folder, name)
	// Network file systems that make flock out of byte ranges want a file opened for writing.
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	locked, err := how(file)
	switch {
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("experiment: %s cannot be locked: %w. Use a folder on a file system with locks, where files can be written", path, err)
	case !locked:
		return nil, fmt.Errorf("experiment: %s: %w. Wait until it has ended, or choose another --out", folder, ErrBusy)
	}
	return &folderLock{file}, nil
}

// alone locks for one process, at once or not at all.
func alone(f *flock.Flock) (bool, error) { return f.TryLock() }

// together locks for any number of processes.
func together(f *flock.Flock) (bool, error) { return f.TryRLock() }

// inTurn locks for one process, and waits for another one for a while.
func inTurn(f *flock.Flock) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return f.TryLockContext(ctx, 20*time.Millisecond)
}

func (l *folderLock) unlock() {
	if l != nil {
		_ = l.file.Close() // the end of the process does it if this cannot
	}
}
