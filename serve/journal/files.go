package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ocl/checkpoint"
	"ocl/internal/atomicfile"
	"ocl/internal/input"
)

// suffix ends the names of numbered files.
const suffix = ".ocl"

// Files are checkpoint containers in a folder, one for each of some numbers: 12.ocl. Each appears whole or not at all,
// and its checksums are checked when it is read. Whoever uses them has the journal of the folder open. What is written
// gets the identity of the folder, and a file of another folder is an error.
type Files struct {
	dir    string // of the daemon
	folder string
	what   string // what a file is, for messages

	writing sync.Mutex
}

// Snapshots are the whole states of the daemon whose folder is dir, by the number of the last event that each has in
// it.
func Snapshots(dir string) *Files {
	return &Files{dir: dir, folder: filepath.Join(dir, snapshotsName), what: "snapshot"}
}

// Versions are the weights to which the daemon whose folder is dir can go back, by the number of the version.
func Versions(dir string) *Files {
	return &Files{dir: dir, folder: filepath.Join(dir, versionsName), what: "version"}
}

// Path returns the path of the file of a number.
func (f *Files) Path(number int64) string {
	return filepath.Join(f.folder, strconv.FormatInt(number, 10)+suffix)
}

// Write writes the file of a number (≥ 0), in place of one that is there. Without an error it is on the disk. An error
// for want of room is [ErrNoRoom], and nothing was changed.
func (f *Files) Write(number int64, c *checkpoint.Container) error {
	if number < 0 {
		panic(fmt.Sprintf("journal: %s %d", f.what, number))
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	identity, err := identityOf(f.dir)
	if err == nil && identity != "" {
		c, err = stamped(c, stamp{identity, number})
	}
	if err == nil {
		err = atomicfile.MakePrivateFolder(f.folder)
	}
	if err == nil {
		err = atomicfile.WritePrivate(f.Path(number), func(w io.Writer) error {
			_, err := c.WriteTo(w)
			return err
		})
	}
	if isFull(err) {
		return fmt.Errorf("journal: %w: %w. Make room; nothing was changed", ErrNoRoom, err)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Read reads the file of a number. The error wraps fs.ErrNotExist where there is none, [checkpoint.ErrCorrupt] where it
// is damaged, and [ErrForeign] where it is of another folder.
func (f *Files) Read(number int64) (*checkpoint.Container, error) {
	got, err := checkpoint.Read(f.Path(number))
	if err == nil {
		err = f.belongs(got.Container, number)
	}
	if err != nil {
		return nil, fmt.Errorf("journal: the %s %d: %w", f.what, number, err)
	}
	return got.Container, nil
}

// belongs checks that what was read is the file of a number of this folder. Files of before there were identities are
// taken.
func (f *Files) belongs(c *checkpoint.Container, number int64) error {
	of, err := stampIn(c)
	if err != nil || of.Folder == "" {
		return err
	}
	identity, err := identityOf(f.dir)
	switch {
	case err != nil:
		return err
	case identity != "" && of.Folder != identity:
		return fmt.Errorf("%s: %w: it has the identity %s, and this one %s", f.Path(number), ErrForeign, shortly(of.Folder),
			shortly(identity))
	case of.Number != number:
		return fmt.Errorf("%w: %s is the %s %d", checkpoint.ErrCorrupt, f.Path(number), f.what, of.Number)
	}
	return nil
}

// Newest is a file that was read: the one of the highest number that is whole. Skipped says, newest first, what is
// wrong with those of higher numbers; a person should see it.
type Newest struct {
	Number int64
	*checkpoint.Container
	Skipped []error
}

// Newest reads the newest file that is whole. The error wraps fs.ErrNotExist where there is none at all. If all are
// damaged, it wraps [checkpoint.ErrCorrupt] and says what is wrong with each.
func (f *Files) Newest() (Newest, error) {
	numbers, err := f.Numbers()
	if err != nil {
		return Newest{}, err
	}
	var skipped []error
	for _, number := range slices.Backward(numbers) {
		c, err := f.Read(number)
		switch {
		case err == nil:
			return Newest{number, c, skipped}, nil
		case !errors.Is(err,
			checkpoint.ErrCorrupt): // a person decides about a file that cannot be read, or is of another version
			return Newest{}, fmt.Errorf("%w. Mend it, or remove it to go on from the %s before it", err, f.what)
		}
		skipped = append(skipped, err)
	}
	if len(skipped) > 0 {
		return Newest{}, fmt.Errorf("journal: %s: every %s is damaged. Put a good copy of the folder in its place; without one, what was learned is lost, so begin with another folder and send the samples again: %w",
			f.folder, f.what, errors.Join(skipped...))
	}
	return Newest{}, fmt.Errorf("journal: %s: there is no %s: %w", f.folder, f.what, fs.ErrNotExist)
}

// Numbers lists the numbers of the files, whole or damaged, the lowest first.
func (f *Files) Numbers() (numbers []int64, err error) {
	entries, err := input.ReadDir(f.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	for _, e := range entries {
		if number, ok := numberOf(e.Name()); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// RemoveExcept removes all files but those of some numbers.
func (f *Files) RemoveExcept(numbers ...int64) error {
	return f.Remove(func(n int64) bool { return !slices.Contains(numbers, n) })
}

// RemoveTemporary removes what was left half written: a crash may have left it, and it may have pictures that are to be
// erased. [Open] does so too. It waits for a [Files.Write] of f that is under way.
func (f *Files) RemoveTemporary() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := atomicfile.RemoveAllTemporaries(f.folder); err != nil {
		return fmt.Errorf("journal: a part of an old %s stays: %w. Remove it by hand", f.what, err)
	}
	return nil
}

// Remove removes the files that goes tells, and what crashes left half written. Without an error, they stay away after
// a power cut.
func (f *Files) Remove(goes func(int64) bool) error {
	faults := []error{f.RemoveTemporary()}
	entries, err := input.ReadDir(f.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, e := range entries {
		number, ok := numberOf(e.Name())
		if !ok || !goes(number) {
			continue
		}
		if err := os.Remove(filepath.Join(f.folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, fmt.Errorf("journal: an old %s stays: %w. Remove it by hand", f.what, err))
		}
	}
	if err := atomicfile.SyncFolder(f.folder); err != nil {
		faults = append(faults, fmt.Errorf("journal: %w", err))
	}
	return errors.Join(faults...)
}

// numberOf reads the number from the name of a file, and says whether it is one.
func numberOf(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, ok && err == nil && number >= 0 && strconv.FormatInt(number, 10) == digits
}
