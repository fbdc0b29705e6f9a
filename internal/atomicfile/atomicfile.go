// Package atomicfile writes files that appear whole or not at all. A reader never sees half a file, and none is lost by a
// kill or a power cut once a write has returned. Start at [Write].
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"

	"ocl/internal/input"
)

// Write writes the whole file at path, or leaves it unchanged: the bytes go to a temporary file in the same folder, which
// is fsynced and renamed to path, and the folder is fsynced. The folder must exist. Two writers of one path, in one process
// or in two, do not disturb each other: path has what one of them wrote.
func Write(path string, write func(io.Writer) error) error { return WriteIf(path, nil, write) }

// WriteIf is [Write] if permit, which is called when the bytes are safe on the disk and before they get the name path,
// returns no error. Its error is that of the write, and path stays as it was. A nil permit allows it.
func WriteIf(path string, permit func() error, write func(io.Writer) error) error {
	return build(path, permit, func(f *os.File) error {
		buffered := bufio.NewWriterSize(f, 1<<16)
		if err := write(buffered); err != nil {
			return err
		}
		return buffered.Flush()
	})
}

// WriteBytes is [Write] for bytes at hand.
func WriteBytes(path string, b []byte) error { return WriteBytesIf(path, b, nil) }

// WriteBytesIf is [WriteIf] for bytes at hand.
func WriteBytesIf(path string, b []byte, permit func() error) error {
	return build(path, permit, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// Build is [Write] for a file whose parts are written in any order, by several goroutines: fill calls WriteAt, and does not
// close the file.
func Build(path string, fill func(*os.File) error) error { return build(path, nil, fill) }

func build(path string, permit func() error, fill func(*os.File) error) error {
	temp, f, err := createTemporary(path)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && permit != nil {
		err = permit()
	}
	if err == nil {
		err = os.Rename(temp, path)
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

// temporaries counts the temporary names of this process.
var temporaries atomic.Int64

// drawn tells this process from others with its number: those of other machines that share the folder. Without it, the
// file of a process that was removed as a left-over could be followed by one of the same name, which the first process
// would then take for its own. No number of a run depends on it.
var drawn = rand.Uint32()

// createTemporary creates a file that nobody else writes, such as .result.json.4711-812034-12.tmp for result.json. It is
// hidden, and in the same folder, so that the rename stays on one disk. Its name has the process, what it has drawn and a
// counter; a name that exists already is skipped.
func createTemporary(path string) (string, *os.File, error) {
	folder, name := filepath.Split(path)
	for range 10000 {
		temp := filepath.Join(folder, fmt.Sprintf(".%s.%d-%d-%d%s", name, os.Getpid(), drawn, temporaries.Add(1), tempSuffix))
		f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return temp, f, err
		}
	}
	return "", nil, fmt.Errorf("there are already 10000 temporary files. Remove the files .%s.*%s", name, tempSuffix)
}

// tempSuffix ends the names of files that are being written.
const tempSuffix = ".tmp"

// IsTemporary tells whether name, without its folder, is a temporary name of [Write] while it writes target. A crash may
// leave such a file. A process that has locked the folder may remove it. Names of older programs count too.
func IsTemporary(name, target string) bool {
	middle, ok := strings.CutPrefix(name, "."+target)
	middle, ok2 := strings.CutSuffix(middle, tempSuffix)
	return ok && ok2 && (middle == "" || temporaryMiddle.MatchString(middle))
}

var temporaryMiddle = regexp.MustCompile(`^\.[0-9]+(-[0-9]+){1,2}$`)

// RemoveTemporaries removes what crashes have left of files of these names that were being written. The caller has locked
// the folder.
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
