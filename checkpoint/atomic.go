package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
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

var temporaryMiddle = regexp.MustCompile(`^\.[0-9]+-[0-9]+$`)

// WriteFileAtomic writes the whole file at path, or leaves it unchanged: the bytes go to a temporary file in the same
// folder, which is fsynced and renamed to path, and the folder is fsynced. A reader never sees half a file, even if the
// process or the machine stops. The folder must exist. Two writers of one path, in one process or in two, do not
// disturb each other: path has what one of them wrote.
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

// BuildFileAtomic is [WriteFileAtomic] for a file whose parts are written in any order, by several goroutines: build
// calls WriteAt, and does not close the file.
func BuildFileAtomic(path string, build func(*os.File) error) error {
	return fillAtomic(disk{}, path, func(f file) error { return build(f.(*os.File)) })
}

func writeAtomic(fs fileSystem, path string, write func(io.Writer) error) error {
	return fillAtomic(fs, path, func(f file) error {
		buffered := bufio.NewWriterSize(f, 1<<16)
		if err := write(buffered); err != nil {
			return err
		}
		return buffered.Flush()
	})
}

func fillAtomic(fs fileSystem, path string, fill func(file) error) error {
	temp, f, err := createTemporary(fs, path)
	if err != nil {
		return fmt.Errorf("checkpoint: writing %s: %w", path, err)
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
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

// createTemporary creates a file that nobody else writes, such as .result.json.4711-12.tmp for result.json. It is
// hidden, and in the same folder, so that the rename stays on one disk. Its name has the process and a counter; a name
// that exists already is skipped.
func createTemporary(fs fileSystem, path string) (string, file, error) {
	folder, name := filepath.Split(path)
	for range 10000 {
		temp := filepath.Join(folder, fmt.Sprintf(".%s.%d-%d%s", name, os.Getpid(), temporaries.Add(1), tempSuffix))
		f, err := fs.createNew(temp)
		if !errors.Is(err, iofs.ErrExist) {
			return temp, f, err
		}
	}
	return "", nil, fmt.Errorf("there are already 10000 temporary files. Remove the files .%s.*%s", name, tempSuffix)
}
