package checkpoint

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"syscall"
)

// MakeFolder makes a folder and all missing folders above it, as os.MkdirAll does, with mode 0755 before umask. Without
// an error, the new folders survive a power cut: the folder above each of them was fsynced. Many goroutines and
// processes may call it at the same time.
func MakeFolder(path string) error {
	if err := makeFolder(disk{}, filepath.Clean(path)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

func makeFolder(fs fileSystem, path string) error {
	if fs.isFolder(path) {
		return nil
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeFolder(fs, above); err != nil {
			return err
		}
	}
	if err := fs.makeFolder(path); errors.Is(err, iofs.ErrExist) {
		if !fs.isFolder(path) {
			return &iofs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		}
	} else if err != nil {
		return err
	}
	// Also if another process has just made the folder, as it may not have synced it yet.
	if err := syncFolder(fs, above); err != nil {
		return fmt.Errorf("saving the name of the folder %s on the disk: %w", path, err)
	}
	return nil
}

// SyncFolder makes the names in a folder durable: files that were made or renamed there survive a power cut. It is no
// error if the file system refuses to sync a folder.
func SyncFolder(path string) error {
	if err := syncFolder(disk{}, path); err != nil {
		return fmt.Errorf("checkpoint: %s: saving the names in the folder on the disk: %w", path, err)
	}
	return nil
}

// syncFolder makes the names in a folder durable. It is no error if the file system refuses to sync a folder, as
// nothing more can be done. It refuses because it cannot (EINVAL of SMB, 9p and some FUSE file systems; ENOTSUP,
// ENOSYS) or because this user may not (EPERM, EACCES; a folder that may be written but not read cannot be opened).
// Every other error, such as EIO, says that the names may be lost.
func syncFolder(fs fileSystem, folder string) error {
	err := fs.syncFolder(folder)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, iofs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
