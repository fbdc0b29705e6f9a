package checkpoint

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"syscall"
)

// MakeFolder makes a folder and all above it that are missing, as os.MkdirAll does, with mode 0755 before umask. When it
// returns without an error the folders that it made survive a power cut: the folder above each of them was fsynced. It may
// be called from many goroutines and processes at once.
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
	// Also where another process has just made it: it may not have come to its own sync yet.
	if err := syncFolder(fs, above); err != nil {
		return fmt.Errorf("saving the name of the folder %s on the disk: %w", path, err)
	}
	return nil
}

// SyncFolder makes the names in a folder durable: files that were made or renamed there are found after a power cut. A file system
// that refuses to sync a folder is no error.
func SyncFolder(path string) error {
	if err := syncFolder(disk{}, path); err != nil {
		return fmt.Errorf("checkpoint: %s: saving the names in the folder on the disk: %w", path, err)
	}
	return nil
}

// syncFolder makes the names in a folder durable. A file system that refuses to sync a folder is no error: nothing more can be
// done there than was done. It refuses by saying that it does not do such a thing (EINVAL of SMB, 9p and some FUSE file
// systems; ENOTSUP, ENOSYS) or that this user may not (EPERM, EACCES; a folder that may be written and not read cannot even be
// opened for it). Every other error, EIO above all, says that the names may be lost, and is one.
func syncFolder(fs fileSystem, folder string) error {
	err := fs.syncFolder(folder)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, iofs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
