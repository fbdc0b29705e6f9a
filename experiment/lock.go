package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// LockFile is what a process locks that writes in a folder: in that of a run while the run is at work, in that of an experiment
// for the moment in which it is set up. It is empty and stays, as taking it away would let two processes lock two files of
// that name.
const LockFile = ".lock"

// ErrBusy is wrapped by errors about a run that another process, or another call in this one, is at work on.
var ErrBusy = errors.New("another ocl is at work there")

// folderLock is the right to write in a folder. The system takes it back when the process ends, however it ends.
type folderLock struct{ file *flock.Flock }

// lockFolder locks a folder that exists. One that is locked already is an error that wraps [ErrBusy].
func lockFolder(folder string) (*folderLock, error) {
	path := filepath.Join(folder, LockFile)
	// Network file systems that make flock out of byte ranges want a file opened for writing.
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	locked, err := file.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("experiment: %s cannot be locked: %w. Use a folder on a file system with locks, where files can be written", path, err)
	case !locked:
		return nil, fmt.Errorf("experiment: %s: %w. Wait until it has ended, or choose another --out", folder, ErrBusy)
	}
	return &folderLock{file}, nil
}

func (l *folderLock) unlock() {
	if l != nil {
		_ = l.file.Close() // the end of the process does it if this cannot
	}
}
