// Package input opens files that come from outside: those that a user names, and those of folders that somebody else
// may have written to. Only regular files are opened, so that a pipe, a device, a socket or a folder in the place of a
// file is an error at once, and never a read without end. Start at [Open].
package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"ocl/internal/count"
)

// Want says what a file must be.
type Want struct {
	Most    int64  // bytes that it may have
	Magic   string // bytes with which it begins
	Format  string // what such a file is, for the message where Magic is missing, such as "a checkpoint"
	NoLinks bool   // the last part of the path must not be a symbolic link
}

// ErrKind is wrapped by errors about files of another kind than a regular one.
var ErrKind = errors.New("not a regular file")

// ErrSize is wrapped by errors about files that are larger than wanted.
var ErrSize = errors.New("the file is too large")

// ErrMagic is wrapped by errors about files that begin with other bytes than wanted.
var ErrMagic = errors.New("other bytes at the beginning")

// Open opens a file for reading at its beginning and returns its size in bytes. A web page or a pointer of Git LFS in
// its place is an error, see [Instead]. All errors are a [fs.PathError], which says what was found and what was wanted.
// It never waits for another process.
func Open(path string, w Want) (file *os.File, size int64, err error) {
	file, size, err = open(path, w)
	if err != nil {
		var known *fs.PathError
		if !errors.As(err, &known) {
			err = &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return nil, 0, err
	}
	return file, size, nil
}

func open(path string, w Want) (*os.File, int64, error) {
	stat := os.Stat
	if w.NoLinks {
		stat = os.Lstat
	}
	info, err := stat(path) // opening a device may do something
	if err != nil {
		return nil, 0, err
	}
	if err := regular(info); err != nil {
		return nil, 0, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	size, err := fits(file, info, w)
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, size, nil
}

// fits checks an open file, which may be another than the one that was looked at.
func fits(file *os.File, before fs.FileInfo, w Want) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if err := regular(info); err != nil {
		return 0, err
	}
	if w.NoLinks && !os.SameFile(before, info) {
		return 0, errors.New("the file is being replaced by another one")
	}
	if info.Size() > w.Most {
		return 0, fmt.Errorf("%w: it has %s, and %s are the limit", ErrSize, count.Of(info.Size(), "byte"),
			count.Number(w.Most))
	}
	var room [512]byte
	n, err := file.ReadAt(room[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	begin := room[:n]
	if err := Instead(begin); err != nil {
		return 0, err
	}
	if begin = begin[:min(n, len(w.Magic))]; string(begin) != w.Magic {
		return 0, fmt.Errorf("%w: found %q, and %s begins with %q", ErrMagic, begin, w.Format, w.Magic)
	}
	return info.Size(), nil
}

func regular(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("it is %s, %w", Kind(info), ErrKind)
}

// Kind is what something in the file system is, in words: "a pipe".
func Kind(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "of an unknown kind"
}

// ReadFile reads a whole file. Its errors are those of [Open].
func ReadFile(path string, w Want) ([]byte, error) {
	file, size, err := Open(path, w)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := make([]byte, 0, size+1) // a file that has become shorter has fewer bytes; one that grows is read up to the limit
	for {
		n, err := file.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > w.Most:
			return nil, &fs.PathError{Op: "read", Path: path,
				Err: fmt.Errorf("%w: it grows beyond %s", ErrSize, count.Of(w.Most, "byte"))}
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}
