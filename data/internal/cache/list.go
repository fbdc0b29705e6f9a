package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ocl/checkpoint"
)

// Entry is a file in the folder of the caches.
type Entry struct {
	Path   string
	Name   string // data set; this and what follows is empty if Fault is set
	Source string
	Images int    // with those that were left out
	Faults int    // images that were left out
	Shape  [3]int // C, H, W
	Bytes  int64
	Made   time.Time
	Fault  string // what is wrong with the header or the index, "" if they are sound; pixels are not read
}

// List describes the caches in a folder ("" is Dir()), by file name. It reads headers and indexes. A folder that does not
// exist has no caches.
func List(dir string) ([]Entry, error) {
	dir, err := orDir(dir)
	if err != nil {
		return nil, err
	}
	var all []Entry
	err = eachName(dir, func(name string) error {
		if key, kind := kindOf(name); key != "" && kind == complete {
			if e, err := entryOf(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) { // removed meanwhile
				all = append(all, e)
			}
		}
		return nil
	})
	return all, err
}

// Clean removes the caches of a folder ("" is Dir()) that keep does not want, and what killed builds have left. keep may be
// nil and then wants none. A cache that is being built is left alone. It returns what was removed; what a build has left
// is among it, with a Fault. The error joins those of files that could not be removed.
func Clean(dir string, keep func(Entry) bool) (removed []Entry, err error) {
	if dir, err = orDir(dir); err != nil {
		return nil, err
	}
	err = eachName(dir, func(name string) error {
		key, kind := kindOf(name)
		if key == "" {
			return nil
		}
		path := filepath.Join(dir, name)
		e, err := entryOf(path)
		if kind == temporary {
			e.Fault = "a build ended before it was complete"
		}
		if err != nil || kind == complete && keep != nil && keep(e) {
			return ignoreGone(err)
		}
		lock := newLock(dir, key)
		if err := lock.try(); err != nil {
			if errors.Is(err, errBusy) {
				return nil
			}
			return fmt.Errorf("data: cache: %s: %w", path, err)
		}
		defer lock.release()
		if kind == locked {
			return nil // release removes it
		}
		if err := os.Remove(path); err != nil {
			return ignoreGone(err)
		}
		removed = append(removed, e)
		return nil
	})
	return removed, err
}

// eachName calls do with the name of each file in the folder and joins the errors.
func eachName(dir string, do func(name string) error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var faults []error
	if err != nil {
		faults = append(faults, fmt.Errorf("data: cache: %w", err))
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			faults = append(faults, do(e.Name()))
		}
	}
	return errors.Join(faults...)
}

// ignoreGone is err, or nil if another process has removed the file.
func ignoreGone(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("data: cache: %w", err)
}

// kind is what a file in the folder is.
type kind int

const (
	complete  kind = iota // a cache
	temporary             // a cache that is being built
	locked                // the lock of a key
)

// kindOf is the key and the kind of a file, by its name; the key is "" for files of others.
func kindOf(name string) (string, kind) {
	if key, is := strings.CutSuffix(name, fileSuffix); is && keyPattern.MatchString(key) {
		return key, complete
	}
	key, hidden := strings.CutPrefix(name, ".")
	if len(key) < 64 || !hidden || !keyPattern.MatchString(key[:64]) {
		return "", complete
	}
	switch key = key[:64]; {
	case name == "."+key+lockSuffix:
		return key, locked
	case checkpoint.IsTemporary(name, key+fileSuffix):
		return key, temporary
	}
	return "", complete
}

// entryOf describes a file. The error is that of finding it; whatever else is wrong stands in its Fault.
func entryOf(path string) (Entry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Path: path, Bytes: info.Size(), Made: info.ModTime()}
	f, err := os.Open(path)
	if err != nil {
		e.Fault = err.Error()
		return e, nil
	}
	defer func() { _ = f.Close() }() // it was only read
	h, _, err := read(f, info.Size())
	switch {
	case err != nil:
		e.Fault = err.Error()
	case filepath.Base(path) != h.Key+fileSuffix:
		e.Fault = "its name is not that of its key"
	default:
		e.Name, e.Source, e.Images, e.Faults, e.Shape = h.Name, h.Source, h.Images, len(h.Faults), h.Shape
	}
	return e, nil
}
