package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unicode"
)

// MakeFolder makes a folder and all missing folders above it, as os.MkdirAll does, with mode 0755 before umask. Without
// an error, the new folders survive a power cut: the folder above each of them was fsynced. Many goroutines and
// processes may call it at the same time. A new folder's name has no character that does not show, such as a control
// character or a bidirectional mark: lists and logs would show another name.
func MakeFolder(path string) error {
	path = filepath.Clean(path)
	if isFolder(path) {
		return nil
	}
	for _, r := range filepath.Base(path) {
		if !unicode.IsGraphic(r) {
			return &fs.PathError{Op: "mkdir", Path: path,
				Err: fmt.Errorf("its name has the character %U, which does not show; choose another name", r)}
		}
	}
	above := filepath.Dir(path)
	if above != path {
		if err := MakeFolder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); errors.Is(err, fs.ErrExist) {
		if !isFolder(path) {
			return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		}
	} else if err != nil {
		return err
	}
	// Also if another process has just made the folder, as it may not have synced it yet.
	if err := syncFolder(above); err != nil {
		return fmt.Errorf("saving the name of the folder %s on the disk: %w", path, err)
	}
	return nil
}

// MakePrivateFolder is [MakeFolder] for a folder that nobody but its owner may enter, whatever the umask is, and also
// where it is there already. Folders above it are made as MakeFolder makes them.
func MakePrivateFolder(path string) error {
	if err := MakeFolder(path); err != nil {
		return err
	}
	return Tighten(path, 0o700)
}

// Tighten gives a file or a folder the rights mode, if others than its owner have any or its owner lacks one of these.
// It is no error where the file system has no rights, or where the file belongs to somebody else, such as a volume that
// a container was given: then it stays as it is.
func Tighten(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 && info.Mode()&mode == mode {
		return nil
	}
	err = os.Chmod(path, info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)|mode)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EROFS) ||
		errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// SyncFolder makes the names in a folder durable: files that were made or renamed there survive a power cut. It is no
// error if the file system refuses to sync a folder.
func SyncFolder(path string) error {
	if err := syncFolder(path); err != nil {
		return fmt.Errorf("%s: saving the names in the folder on the disk: %w", path, err)
	}
	return nil
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // a folder cannot be fsynced there; NTFS journals the rename
		return nil
	}
	d, err := os.Open(path)
	if err == nil {
		err = d.Sync()
		if closing := d.Close(); err == nil {
			err = closing
		}
	}
	if refused(err) {
		return nil
	}
	return err
}

// refused says that a folder cannot be synced, so that nothing more can be done: the file system cannot (EINVAL of SMB,
// 9p and some FUSE file systems; ENOTSUP, ENOSYS) or this user may not (EPERM, EACCES; a folder that may be written but
// not read cannot be opened). Every other error, such as EIO, says that the names may be lost.
func refused(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL)
}
