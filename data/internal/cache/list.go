package cache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// Entry is a file in the folder of the caches. A damaged one has only Path, Bytes, Made and Fault.
type Entry struct {
	Path   string    `json:"path"`
	Name   string    `json:"name"`     // data set
	Source string    `json:"source"`   // where the images came from
	Images int       `json:"images"`   // with those that were left out
	Faults int       `json:"left_out"` // images that were left out
	Shape  [3]int    `json:"shape"`    // C, H, W
	Bytes  int64     `json:"bytes"`
	Made   time.Time `json:"made"` // UTC
	// what is wrong with the header or the index, "" if they are sound; pixels are not read
	Fault string `json:"fault"`
}

// cacheName are the names of caches.
var cacheName = regexp.MustCompile(`^[0-9a-f]{64}\` + fileSuffix + `$`)

// isLeftover says whether a file has the name of a cache that is being built.
func isLeftover(name string) bool {
	end := 1 + 2*sha256.Size + len(fileSuffix)
	return len(name) > end && cacheName.MatchString(name[1:end]) && atomicfile.IsTemporary(name, name[1:end])
}

// List describes the caches in [Dir], by file name. It reads headers and indexes. A folder that does not exist has no
// caches.
func List() ([]Entry, error) {
	var all []Entry
	err := eachFile(func(dir, name string) error {
		if cacheName.MatchString(name) {
			if e, err := entryOf(filepath.Join(dir, name)); err == nil { // otherwise it was removed meanwhile
				all = append(all, e)
			}
		}
		return nil
	})
	return all, err
}

// Clean removes the caches in [Dir] that remove wants, and what killed builds have left. What is being built is left
// alone. It returns what was removed; what a build has left is among it, with a Fault. The error joins those of files
// that could not be removed.
func Clean(remove func(Entry) bool) (removed []Entry, err error) {
	err = eachFile(func(dir, name string) error {
		leftover := isLeftover(name)
		if !leftover && !cacheName.MatchString(name) {
			return nil
		}
		e, err := entryOf(filepath.Join(dir, name))
		switch {
		case err != nil:
			return nil // it was removed meanwhile
		case leftover:
			lock, err := lockOf(dir)
			if err != nil {
				return fmt.Errorf("data: cache: %w", err)
			}
			if locked, err := lock.TryLock(); err != nil || !locked {
				return err
			}
			defer func() { _ = lock.Unlock() }()
			e.Fault = "a build ended before it was complete"
		case !remove(e):
			return nil
		}
		if err := os.Remove(e.Path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return fmt.Errorf("data: cache: %w", err)
		}
		removed = append(removed, e)
		return nil
	})
	return removed, err
}

// removeLeftOvers removes what killed builds have left, of this cache and of others. The lock is held. What cannot be
// removed stays.
func removeLeftOvers() {
	_ = eachFile(func(dir, name string) error {
		if isLeftover(name) {
			return os.Remove(filepath.Join(dir, name))
		}
		return nil
	})
}

// eachFile calls do with [Dir] and the name of each file in it, and joins the errors.
func eachFile(do func(dir, name string) error) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	entries, err := input.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	faults := []error{err}
	for _, e := range entries {
		if e.Type().IsRegular() {
			faults = append(faults, do(dir, e.Name()))
		}
	}
	return errors.Join(faults...)
}

// entryOf describes a file. The error is that of finding it; whatever else is wrong stands in its Fault.
func entryOf(path string) (Entry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Path: path, Bytes: info.Size(), Made: info.ModTime().UTC()}
	f, size, err := input.Open(path, input.Want{Most: limit.Cache})
	if err != nil {
		e.Fault = err.Error()
		return e, nil
	}
	defer f.Close()
	h, _, _, err := read(f, size)
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
