package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
)

// tempSuffix ends the names of files that are being written.
const tempSuffix = ".tmp"

// IsTemporary tells whether name, without its folder, is a temporary name of [WriteFileAtomic] while it writes target.
// A crash may leave such a file. A process that has locked the folder may remove it. Names of older programs count too.
func IsTemporary(name, target string) bool {
	middle, ok := strings.CutPrefix(name, "."+target)
	middle, ok2 := strings.CutSuffix(middle, tempSuffix)
	return ok && ok2 && (middle == "" || temporaryMiddle.MatchString(middle))
}

var temporaryMiddle = regexp.MustCompile(`^\.[0-9]+(-[0-9]+){1,2}$`)

// RemoveTemporaries removes what crashes have left of files of these names that were being written. The caller has locked
// the folder.
func RemoveTemporaries(folder string, names ...string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		for _, name := range names {
			if !IsTemporary(e.Name(), name) {
				continue
			}
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, iofs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// WriteFileAtomic writes the whole file at path, or leaves it unchanged: the bytes go to a temporary file in the same
// folder, which is fsynced and renamed to path, and the folder is fsynced. A reader never sees half a file, even if the
// process or the machine stops. The folder must exist. Two writers of one path, in one process or in two, do not
// disturb each other: path has what one of them wrote.
func WriteFileAtomic(path string, write func(io.Writer) error) error {
	return writeAtomic(disk{}, path, write, nil)
}

// WriteBytesAtomic is [WriteFileAtomic] for bytes at hand.
func WriteBytesAtomic(path string, b []byte) error { return WriteBytesIf(path, b, nil) }

// WriteBytesIf is [WriteBytesAtomic] if permit, which is called when the bytes are safe on the disk and before they get
// the name path, returns no error. Its error is that of the write, and path stays as it was. A nil permit allows it.
func WriteBytesIf(path string, b []byte, permit func() error) error {
	return writeAtomic(disk{}, path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}, permit)
}

// BuildFileAtomic is [WriteFileAtomic] for a file whose parts are written in any order, by several goroutines: build
// calls WriteAt, and does not close the file.
func BuildFileAtomic(path string, build func(*os.File) error) error {
	return fillAtomic(disk{}, path, func(f file) error { return build(f.(*os.File)) }, nil)
}

func writeAtomic(fs fileSystem, path string, write func(io.Writer) error, permit func() error) error {
	return fillAtomic(fs, path, func(f file) error {
		buffered := bufio.NewWriterSize(f, 1<<16)
		if err := write(buffered); err != nil {
			return err
		}
		return buffered.Flush()
	}, permit)
}

func fillAtomic(fs fileSystem, path string, fill func(file) error, permit func() error) error {
	temp, f, err := createTemporary(fs, path)
	if err != nil {
		return fmt.Errorf("checkpoint: writing %s: %w", path, err)
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && permit != nil {
		err = permit()
	}
	if err == nil {
		err = fs.rename(temp, path)
	}
	if err != nil {
		// The first error is the one that matters; if the temporary file stays, that is no worse than a crash.
		_ = fs.remove(temp)
		return fmt.Errorf("checkpoint: writing %s: %w", path, err)
	}
	if err := syncFolder(fs, filepath.Dir(path)); err != nil {
		return fmt.Errorf("checkpoint: writing %s: saving its name on the disk: %w", path, err)
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
func createTemporary(fs fileSystem, path string) (string, file, error) {
	folder, name := filepath.Split(path)
	for range 10000 {
		temp := filepath.Join(folder, fmt.Sprintf(".%s.%d-%d-%d%s", name, os.Getpid(), drawn, temporaries.Add(1), tempSuffix))
		f, err := fs.createNew(temp)
		if !errors.Is(err, iofs.ErrExist) {
			return temp, f, err
		}
	}
	return "", nil, fmt.Errorf("there are already 10000 temporary files. Remove the files .%s.*%s", name, tempSuffix)
}
