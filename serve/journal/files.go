package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"ocl/checkpoint"
	"ocl/internal/atomicfile"
)

// Files are checkpoint containers in a folder, one for each of some numbers: 12.ocl. Whoever uses them has the journal
// of the folder open. What is written gets the identity of the folder, and a file of another folder is an error.
type Files struct {
	dir   string // of the daemon
	files checkpoint.Numbered

	writing sync.Mutex
}

// Snapshots are the whole states of the daemon whose folder is dir, by the number of the last event that each has in
// it.
func Snapshots(dir string) *Files { return filesIn(dir, snapshotsName, "snapshot") }

// Versions are the weights to which the daemon whose folder is dir can go back, by the number of the version.
func Versions(dir string) *Files { return filesIn(dir, versionsName, "version") }

func filesIn(dir, folder, what string) *Files {
	return &Files{dir: dir, files: checkpoint.Numbered{Folder: filepath.Join(dir, folder), Suffix: ".ocl", What: what,
		Private: true, Lost: "Put a good copy of the folder in its place; without one, what was learned is lost, so begin with another folder and send the samples again"}}
}

// Path returns the path of the file of a number.
func (f *Files) Path(number int64) string { return f.files.Path(number) }

// Numbers lists the numbers of the files, whole or damaged, the lowest first.
func (f *Files) Numbers() ([]int64, error) { return f.files.Numbers() }

// Write writes the file of a number, as [checkpoint.Numbered.Write] does. An error for want of room is [ErrNoRoom], and
// nothing was changed.
func (f *Files) Write(number int64, c *checkpoint.Container) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	identity, err := identityOf(f.dir)
	if err == nil && identity != "" {
		c, err = stamped(c, stamp{identity, number})
	}
	if err == nil {
		err = f.files.Write(number, c)
	}
	if isFull(err) {
		return fmt.Errorf("journal: %w: %w. Make room; nothing was changed", ErrNoRoom, err)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Read reads the file of a number, as [checkpoint.Numbered.Read] does. The error wraps [ErrForeign] where it is of
// another folder.
func (f *Files) Read(number int64) (*checkpoint.Container, error) {
	got, err := f.files.Read(number, f.belongs)
	if err != nil {
		return nil, fmt.Errorf("journal: the %s %d: %w", f.files.What, number, err)
	}
	return got.Container, nil
}

// Newest reads the newest file that is whole, as [checkpoint.Numbered.Newest] does.
func (f *Files) Newest() (checkpoint.Loaded, error) { return f.files.Newest(f.belongs) }

// belongs checks that what was read is a file of this folder, under its own number. Files of before there were
// identities are taken.
func (f *Files) belongs(got checkpoint.Loaded) error {
	of, err := stampIn(got.Container)
	if err != nil || of.Folder == "" {
		return err
	}
	identity, err := identityOf(f.dir)
	switch {
	case err != nil:
		return err
	case identity != "" && of.Folder != identity:
		return fmt.Errorf("%w: it has the identity %s, and this one %s", ErrForeign, shortly(of.Folder), shortly(identity))
	case of.Number != got.Number:
		return fmt.Errorf("%w: it is the %s %d", checkpoint.ErrCorrupt, f.files.What, of.Number)
	}
	return nil
}

// RemoveExcept removes all files but those of some numbers.
func (f *Files) RemoveExcept(numbers ...int64) error {
	return f.Remove(func(n int64) bool { return !slices.Contains(numbers, n) })
}

// RemoveTemporary removes what was left half written: a crash may have left it, and it may have pictures that are to be
// erased. [Open] does so too.
func (f *Files) RemoveTemporary() error { return f.Remove(func(int64) bool { return false }) }

// Remove removes the files that goes tells, and what crashes left half written. Without an error, they stay away after
// a power cut. It waits for a [Files.Write] of f that is under way.
func (f *Files) Remove(goes func(int64) bool) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	err := errors.Join(f.files.Remove(goes)...)
	if there, _ := isThere(f.files.Folder); there {
		err = errors.Join(err, atomicfile.SyncFolder(f.files.Folder))
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
