package checkpoint

import (
	"io"
	"os"
	"runtime"
)

// fileSystem is what this package does to a disk; tests replace it by one that stops at any operation.
type fileSystem interface {
	createNew(path string) (file, error) // for writing; fs.ErrExist where the name is taken
	rename(from, to string) error
	remove(path string) error
	makeFolder(path string) error // below a folder that exists; fs.ErrExist where the name is taken
	isFolder(path string) bool
	syncFolder(path string) error
	list(folder string) ([]string, error)
	read(path string) ([]byte, error)
	open(path string) (r io.ReadCloser, size int64, err error)
}

type file interface {
	io.Writer
	Sync() error
	Close() error
}

// disk is the real file system.
type disk struct{}

func (disk) createNew(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (disk) rename(from, to string) error     { return os.Rename(from, to) }
func (disk) remove(path string) error         { return os.Remove(path) }
func (disk) makeFolder(path string) error     { return os.Mkdir(path, 0o755) }
func (disk) read(path string) ([]byte, error) { return os.ReadFile(path) }

func (disk) open(path string) (io.ReadCloser, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (disk) isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (disk) list(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (disk) syncFolder(path string) error {
	if runtime.GOOS == "windows" { // a folder cannot be fsynced there; NTFS journals the rename
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closing := d.Close(); err == nil {
		err = closing
	}
	return err
}
