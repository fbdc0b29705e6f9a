package study

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ocl/checkpoint"
	"ocl/experiment"
)

// keepPatience is how long a process waits for another one that writes a file of the same folder.
const keepPatience = 20 * time.Second

// keep writes a small file of a study that several processes may write at the same time, each with what follows from the
// study, unless the file has those bytes already. What a crash has left of such a write is removed. The folder is locked
// meanwhile, so that no process removes what another one writes. Where the file system has no locks, nothing is removed.
func keep(dir, name string, text []byte) error {
	path := filepath.Join(dir, name)
	unlock, err := experiment.LockRun(dir)
	for end := time.Now().Add(keepPatience); errors.Is(err, experiment.ErrBusy) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		unlock, err = experiment.LockRun(dir)
	}
	if err == nil {
		defer unlock()
		if err := checkpoint.RemoveTemporaries(dir, name); err != nil {
			return err
		}
	}
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return nil
	}
	err = checkpoint.WriteBytesAtomic(path, text)
	if errors.Is(err, fs.ErrNotExist) {
		// Another machine, whose locks do not hold here, took the file that was being written for one that a crash had left.
		err = checkpoint.WriteBytesAtomic(path, text)
	}
	return err
}
