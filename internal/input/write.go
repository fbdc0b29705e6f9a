package input

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// OpenToWrite opens a file that is there, for reading and writing in its place. It never follows a link: whoever may
// write to a folder could otherwise let this process destroy a file elsewhere. All errors are a [fs.PathError].
func OpenToWrite(path string) (*os.File, error) {
	before, err := notFollowed(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK|noFollow, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errors.New("the file is being replaced by another one")
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.Join(err, file.Close())}
	}
	return file, nil
}

// NewLock is the lock of a file, which is not locked yet. Locking makes the file if it is not there. A link or anything
// else in its place is an error, as locking would make a file elsewhere, or lock what is no file.
func NewLock(path string) (*flock.Flock, error) {
	if _, err := notFollowed(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// Network file systems that make flock out of byte ranges want a file opened for writing.
	return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NONBLOCK|noFollow), flock.SetPermissions(0o644)),
		nil
}

// NewReadLock is [NewLock] for those who only read, and call TryRLock: it makes no file, and locks one that cannot be
// written.
func NewReadLock(path string) (*flock.Flock, error) {
	if _, err := notFollowed(path); err != nil {
		return nil, err
	}
	return flock.New(path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK|noFollow)), nil
}

// notFollowed looks at a regular file that is no link.
func notFollowed(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil {
		if err = regular(info); err != nil {
			err = &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	return info, err
}

// Replaceable is an error if a path that a person chose for a file leads to something else. Renaming a new file to that
// path would remove a device of the system, such as /dev/null, or the pipe of another process. Errors are a
// [fs.PathError].
func Replaceable(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = regular(info)
	}
	if errors.Is(err, ErrKind) {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil // what else is wrong is found when it is written
}
