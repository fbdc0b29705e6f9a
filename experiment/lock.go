package experiment

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// LockFile in an experiment folder is what a process that writes there locks. It is empty and stays, as taking it away
// would let two processes lock two files of that name.
const LockFile = ".lock"

// folderLock is the right to write in an experiment folder. The system takes it back when the process ends, however it
// ends. The nil lock holds nothing.
type folderLock struct {
	file    *flock.Flock
	missing error // why there is no lock on a folder that may be used all the same; nil when it is locked
}

// lockFolder locks a folder that exists, and refuses one that another process, or another call in this one, has locked.
// Where there can be no lock (some network file systems keep none, and a folder may be read-only) it goes on without:
// that nothing else writes there is then for a person to know, and what cannot be written is told by who writes it.
func lockFolder(out string) (*folderLock, error) {
	path := filepath.Join(out, LockFile)
	// Network file systems that make flock out of byte ranges want a file opened for writing.
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	locked, err := file.TryLock()
	switch {
	case err != nil:
		return &folderLock{missing: fmt.Errorf("%s cannot be locked (%w); want one ocl run in the folder at a time; "+
			"make sure that no other one writes there", path, err)}, nil
	case !locked:
		return nil, fmt.Errorf("experiment: %s: another ocl run is writing there (it holds %s); want the folder for this one alone; "+
			"wait until the other has ended, or choose another --out", out, LockFile)
	}
	return &folderLock{file: file}, nil
}

// warning says why there is no lock, "" when there is one.
func (l *folderLock) warning() string {
	if l == nil || l.missing == nil {
		return ""
	}
	return l.missing.Error()
}

func (l *folderLock) unlock() {
	if l != nil && l.file != nil {
		_ = l.file.Close() // the end of the process does it if this cannot
	}
}
