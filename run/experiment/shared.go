package experiment

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/run/train"
)

// WriteShared writes a small file that several processes may write at the same time, each of them the same bytes,
// unless the file has those already. What a crash has left of such a write is removed. The folder, which must exist, is
// locked meanwhile, so that no process removes what another one writes; a process waits for the others for 20 seconds
// at most. Where the file system has no locks, nothing is removed.
func WriteShared(dir, name string, text []byte) error {
	path := filepath.Join(dir, name)
	lock, err := train.LockFolder(dir, LockFile, train.InTurn)
	switch {
	case errors.Is(err, input.ErrKind):
		return err
	case err == nil:
		defer lock.Unlock()
		if err := atomicfile.RemoveTemporaries(dir, name); err != nil {
			return err
		}
	}
	if there, err := input.ReadFile(path, input.Want{Most: int64(len(text))}); err == nil && bytes.Equal(there, text) {
		return nil
	}
	err = atomicfile.WriteBytes(path, text)
	if errors.Is(err, fs.ErrNotExist) {
		// Another machine, whose locks do not hold here, took the file that was being written for one that a crash had left.
		err = atomicfile.WriteBytes(path, text)
	}
	return err
}
