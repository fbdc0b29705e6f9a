package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// Names in the folder of a daemon.
const (
	formatName    = "ocl-serve.json" // what the folder is, and of which version
	lockName      = ".lock"          // locked by the process that has the folder open; empty and never removed
	dbName        = "journal.db"
	newName       = "journal.db.new"     // a journal that is being made
	damagedName   = "journal.db.damaged" // a person's word that the journal may be made anew from what is whole in it
	walSuffix     = "-wal"
	snapshotsName = "snapshots"
	versionsName  = "versions"
	roomName      = ".room" // written to find out whether there is room

	acknowledgedName = "acknowledged" // see mark
)

const (
	formatWord    = "ocl serve"
	formatVersion = 1
)

// format is the content of ocl-serve.json.
type format struct {
	Format   string `json:"format"`
	Version  int    `json:"version"`
	Complete bool   `json:"complete"` // false while the folder is set up: nothing was acknowledged yet
	Identity string `json:"identity,omitempty"`
}

// parseFormat reads ocl-serve.json. Fields of newer versions are ignored, as the version says more.
func parseFormat(text []byte) (format, error) {
	var f format
	if err := json.Unmarshal(text, &f); err != nil {
		return format{}, fmt.Errorf("%w: %s cannot be read (%w). Restore it, or choose another folder", ErrOther, formatName,
			err)
	}
	if f.Format != formatWord || f.Version < 1 {
		return format{}, fmt.Errorf("%w: %s has the format %s of version %d. Choose another folder", ErrOther, formatName,
			cause.Shown(f.Format), f.Version)
	}
	if f.Version > formatVersion {
		return format{}, fmt.Errorf("%w: it has version %d, and this ocl knows %d. Use that ocl, or choose another folder",
			ErrNewer, f.Version, formatVersion)
	}
	if f.Identity != "" && !isIdentity(f.Identity) {
		return format{}, fmt.Errorf("%w: %s has the identity %s, which is none. Restore it, or choose another folder",
			ErrOther, formatName, cause.Shown(f.Identity))
	}
	return f, nil
}

// lockFolder locks a folder for this process. Those who only read it share the lock with each other; a copy that has no
// file for it is read without one.
func lockFolder(dir string, readOnly bool) (*flock.Flock, error) {
	path := filepath.Join(dir, lockName)
	newLock, try := input.NewLock, (*flock.Flock).TryLock
	if readOnly {
		if there, err := isThere(path); err == nil && !there {
			return nil, nil
		}
		newLock, try = input.NewReadLock, (*flock.Flock).TryRLock
	}
	lock, err := newLock(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w. Remove it, or choose another folder", err)
	}
	got, err := try(lock)
	if err != nil || !got {
		_ = lock.Close() // nothing was written to it
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %s cannot be locked (%w). Choose a folder that can be written, on a disk that has locks",
			path, cause.Of(err))
	}
	if !got {
		return nil, fmt.Errorf("journal: %s: %w. Stop that process, or choose another folder", dir, ErrBusy)
	}
	return lock, nil
}

// Unused says whether a folder is missing or empty, so that Open would set it up. It writes nothing. A folder of
// something else is ErrOther, unless a process has it, or had it, open: then Open judges.
func Unused(dir string) (bool, error) {
	if there, err := isThere(dir); err != nil || !there {
		return err == nil, err
	}
	f, err := known(dir)
	if locked, _ := isThere(filepath.Join(dir, lockName)); err != nil && locked {
		return false, nil
	}
	return err == nil && !f.Complete, err
}

// known reads what a folder is. It is the zero format for a folder in which nothing is yet, and a complete one without
// a word where ocl-serve.json is missing beside files that say what it did.
func known(dir string) (format, error) {
	text, err := input.ReadFile(filepath.Join(dir, formatName), input.Want{Most: limit.ServeFormat, NoLinks: true})
	if err == nil {
		f, err := parseFormat(text)
		if err != nil {
			return format{}, fmt.Errorf("journal: %s: %w", dir, err)
		}
		return f, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return format{}, fmt.Errorf("journal: %w", err)
	}
	entries, err := input.ReadDir(dir)
	if err != nil {
		return format{}, fmt.Errorf("journal: %w", err)
	}
	var others []string
	for _, e := range entries {
		// A new disk has lost+found, and other programs leave hidden files everywhere.
		if name := e.Name(); name != "lost+found" && !strings.HasPrefix(name, ".") {
			others = append(others, cause.Shown(name))
		}
	}
	switch {
	case len(others) == 0:
		return format{}, nil
	case slices.Contains(others, dbName) && slices.Contains(others, snapshotsName) &&
		slices.Contains(others, acknowledgedName): // those have all that it says
		return format{Complete: true}, nil
	case slices.Contains(others, dbName):
		return format{}, fmt.Errorf("journal: %s: %w: it has %s and no %s. If it is the folder of a daemon, put a good copy of it in its place",
			dir, ErrOther, count.Some(others), formatName)
	case slices.Contains(others, "result.json") || slices.Contains(others, "checkpoints"):
		return format{}, fmt.Errorf("journal: %s: %w: it is that of a run. Choose a new folder, and give this one to --init",
			dir, ErrOther)
	}
	return format{}, fmt.Errorf("journal: %s: %w: it has %s and no %s. Give the folder of a daemon, or an empty one for a new daemon",
		dir, ErrOther, count.Some(others), formatName)
}

// writeFormat writes ocl-serve.json.
func writeFormat(dir string, complete bool, identity string) error {
	text, err := json.Marshal(format{formatWord, formatVersion, complete, identity})
	if err == nil {
		err = atomicfile.WritePrivate(filepath.Join(dir, formatName), func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// folders are the folder of a daemon and those of them in it that are there. Something else in the place of one is
// found by who writes there.
func folders(dir string) []string {
	there := []string{dir}
	for _, name := range []string{snapshotsName, versionsName} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			there = append(there, filepath.Join(dir, name))
		}
	}
	return there
}

// clean removes what a process that was killed has left half made: it may have pictures that were forgotten since. The
// caller has locked the folder.
func clean(dir string) error {
	var err error
	for _, folder := range folders(dir) {
		err = errors.Join(err, atomicfile.RemoveAllTemporaries(folder))
	}
	for _, name := range []string{newName, newName + walSuffix, newName + "-journal", roomName} {
		if failed := os.Remove(filepath.Join(dir, name)); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		return fmt.Errorf("journal: what an earlier process has left: %w", err)
	}
	return nil
}

// tighten takes the rights of others from the folder and from all that ocl keeps in it: older versions gave them.
func tighten(dir string) error {
	for _, folder := range folders(dir) {
		entries, err := input.ReadDir(folder)
		if err == nil {
			err = atomicfile.Tighten(folder, 0o700)
		}
		for _, e := range entries {
			// those are of others
			if hidden := strings.HasPrefix(e.Name(), ".") && e.Name() != lockName; err == nil && e.Type().IsRegular() &&
				!hidden {
				err = atomicfile.Tighten(filepath.Join(folder, e.Name()), 0o600)
			}
		}
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	return nil
}

// isThere says whether something has this path, be it a link that leads nowhere.
func isThere(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
