// Package atomicfile writes files that appear whole or not at all. A reader never sees half a file, and none is lost by
// a kill or a power cut once a write has returned. Start at [Write].
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"ocl/internal/input"
)

// Write writes the whole file at path, or leaves it unchanged: the bytes go to a temporary file in the same folder,
// which is fsynced and renamed to path, and the folder is fsynced. If this last step fails, the error comes with the
// new file at path, and a power cut may bring the old one back. The folder must exist. Two writers of one path, in one
// process or in two, do not disturb each other: path has what one of them wrote. What a process that was killed has
// left of path is removed.
func Write(path string, write func(io.Writer) error) error {
	return Build(path, buffered(write))
}

func buffered(write func(io.Writer) error) func(*os.File) error {
	return func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<16)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	}
}

// WriteBytes is [Write] for bytes at hand.
func WriteBytes(path string, b []byte) error {
	return Build(path, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// Build is [Write] for a file whose parts are written in any order, by several goroutines: fill calls WriteAt, and does
// not close the file.
func Build(path string, fill func(*os.File) error) error { return build(path, shared, fill) }

// WritePrivate is [Write] for a file that nobody but its owner may read, whatever the umask is.
func WritePrivate(path string, write func(io.Writer) error) error {
	return build(path, private, buffered(write))
}

// WritePrivateBytes is WritePrivate for content that is there.
func WritePrivateBytes(path string, content []byte) error {
	return WritePrivate(path, func(w io.Writer) error { _, err := w.Write(content); return err })
}

// Modes of files, before the umask.
const (
	shared  fs.FileMode = 0o644
	private fs.FileMode = 0o600
)

func build(path string, mode fs.FileMode, fill func(*os.File) error) error {
	temp, f, err := createTemporary(path, mode)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	removeLeftOvers(path, f) // first, as they may take the room
	if mode == private {     // also where the umask takes its owner's rights
		err = Tighten(temp, private)
	}
	if err == nil {
		err = fill(f)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("its folder, or what was written in it, was removed meanwhile: %w. Write it again", fs.ErrNotExist)
		}
	}
	if err != nil {
		// The first error is the one that matters; if the temporary file stays, that is no worse than a crash.
		_ = os.Remove(temp)
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("writing %s: saving its name on the disk: %w", path, err)
	}
	return nil
}

// temporaries counts the temporary names of this process, from a number that is drawn: another machine may have this
// one's number by accident.
var temporaries = func() *atomic.Int64 {
	n := new(atomic.Int64)
	n.Store(int64(rand.Uint32()))
	return n
}()

// machine is a number for the machine and its list of processes, as the number of a process says nothing elsewhere: in
// another container, or on a machine that shares the folder.
var machine = func() uint32 {
	host, _ := os.Hostname()
	boot, _ := input.ReadFile("/proc/sys/kernel/random/boot_id", input.Want{Most: 1 << 10}) // Linux alone has these two
	list, _ := os.Readlink("/proc/self/ns/pid")
	return crc32.ChecksumIEEE(fmt.Appendf(boot, "%s %s", list, host))
}()

// createTemporary creates a file that nobody else writes, such as .result.json.4711-812034-12.tmp for result.json. It
// is hidden, and in the same folder, so that the rename stays on one disk. Its name has the process, the machine and a
// counter; a name that exists already is skipped.
func createTemporary(path string, mode fs.FileMode) (string, *os.File, error) {
	folder, name := filepath.Split(path)
	for range 10000 {
		temp := filepath.Join(folder, fmt.Sprintf(".%s.%d-%d-%d%s", name, os.Getpid(), machine, temporaries.Add(1),
			tempSuffix))
		f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return temp, f, err
		}
	}
	return "", nil, fmt.Errorf("there are already 10000 temporary files. Remove the files .%s.*%s", name, tempSuffix)
}

// forgotten is how long a temporary file of another machine stands still before it is removed.
const forgotten = 24 * time.Hour

// removeLeftOvers removes temporary files of path that nobody writes any more: those of processes of this machine that
// have ended, and those that were not written to for a day before ours was made. Both times are of the file system's
// clock. What cannot be listed or removed stays.
func removeLeftOvers(path string, ours *os.File) {
	folder, name := filepath.Split(path)
	entries, err := input.ReadDir(filepath.Clean(folder))
	now, failed := ours.Stat()
	if err != nil || failed != nil {
		return
	}
	for _, e := range entries {
		if !IsTemporary(e.Name(), name) {
			continue
		}
		info, err := e.Info()
		if err == nil && (ended(e.Name(), name) || now.ModTime().Sub(info.ModTime()) > forgotten) {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// ended tells whether the process that made a temporary file of target is known to have ended.
func ended(temp, target string) bool {
	var pid, counter int64
	var of uint32
	n, _ := fmt.Sscanf(strings.TrimPrefix(temp, "."+target+"."), "%d-%d-%d", &pid, &of, &counter)
	if n != 3 || of != machine || pid <= 0 || pid > math.MaxInt32 {
		return false
	}
	p, err := os.FindProcess(int(pid))
	if err != nil { // as on Windows
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// tempSuffix ends the names of files that are being written.
const tempSuffix = ".tmp"

// IsTemporary tells whether name, without its folder, is a temporary name of [Write] while it writes target. A crash
// may leave such a file. A process that has locked the folder may remove it. Names of older programs count too.
func IsTemporary(name, target string) bool {
	middle, ok := strings.CutPrefix(name, "."+target)
	middle, ok2 := strings.CutSuffix(middle, tempSuffix)
	return ok && ok2 && (middle == "" || temporaryMiddle.MatchString(middle))
}

var temporaryMiddle = regexp.MustCompile(`^\.[0-9]+(-[0-9]+){1,2}$`)

// RemoveTemporaries removes what crashes have left of files of these names that were being written. The caller has
// locked the folder.
func RemoveTemporaries(folder string, names ...string) error {
	entries, err := input.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		for _, name := range names {
			if !IsTemporary(e.Name(), name) {
				continue
			}
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// anyTemporary is a temporary name of [Write] for any file.
var anyTemporary = regexp.MustCompile(`^\..+\.[0-9]+(-[0-9]+){1,2}\.tmp$`)

// RemoveAllTemporaries removes what crashes have left of any file of a folder that was being written, and lets that
// survive a power cut. A folder that is missing has nothing. The caller has locked the folder, and writes nothing there
// meanwhile.
func RemoveAllTemporaries(folder string) error {
	entries, err := input.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	removed := false
	for _, e := range entries {
		if !anyTemporary.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		removed = true
	}
	if removed {
		return SyncFolder(folder)
	}
	return nil
}
