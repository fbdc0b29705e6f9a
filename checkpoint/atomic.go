package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// tempSuffix ends the names of files that are being written. After a crash one may be left; the next write of the same
// file overwrites it.
const tempSuffix = ".tmp"

// WriteFileAtomic makes path hold what write writes, or leaves it as it was: the bytes go to a temporary name in the same
// folder, which is fsynced, renamed to path and the folder fsynced. A reader never sees half a file, whenever the process
// or the machine stops. The folder must exist. Only one writer of the same path at a time.
func WriteFileAtomic(path string, write func(io.Writer) error) error {
	return writeAtomic(disk{}, path, write)
}

// WriteBytesAtomic is [WriteFileAtomic] for bytes at hand.
func WriteBytesAtomic(path string, b []byte) error {
	return WriteFileAtomic(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// fileSystem is what this package does to a disk; tests replace it by one that stops at any operation.
type fileSystem interface {
	create(path string) (file, error) // for writing, emptied if it exists
	rename(from, to string) error
	remove(path string) error
	syncFolder(path string) error
	list(folder string) ([]string, error)
	read(path string) ([]byte, error)
}

type file interface {
	io.Writer
	Sync() error
	Close() error
}

func writeAtomic(fs fileSystem, path string, write func(io.Writer) error) error {
	temp := tempName(path)
	err := writeSynced(fs, temp, write)
	if err == nil {
		err = fs.rename(temp, path)
	}
	if err != nil {
		// The error that is told is the one that matters; that the left-over stays is no worse than a crash.
		_ = fs.remove(temp)
		return fmt.Errorf("checkpoint: writing %s: %w", path, err)
	}
	if err := fs.syncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("checkpoint: writing %s: making its folder durable: %w", path, err)
	}
	return nil
}

func writeSynced(fs fileSystem, path string, write func(io.Writer) error) error {
	f, err := fs.create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<16)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// tempName is in the same folder, so that the rename stays on one disk, and hidden.
func tempName(path string) string {
	folder, name := filepath.Split(path)
	return filepath.Join(folder, "."+name+tempSuffix)
}

// disk is the real file system.
type disk struct{}

func (disk) create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
}

func (disk) rename(from, to string) error     { return os.Rename(from, to) }
func (disk) remove(path string) error         { return os.Remove(path) }
func (disk) read(path string) ([]byte, error) { return os.ReadFile(path) }

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
	return errors.Join(d.Sync(), d.Close())
}
