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

// IsTemporary tells whether name, without its folder, is one that [WriteFileAtomic] gives a file while it writes target. A
// crash may leave such a file. Whoever holds the folder alone may remove it. The name that older programs used counts too.
func IsTemporary(name, target string) bool {
	middle, ok := strings.CutPrefix(name, "."+target)
	middle, ok2 := strings.CutSuffix(middle, tempSuffix)
	return ok && ok2 && (middle == "" || temporaryMiddle.MatchString(middle))
}

var temporaryMiddle = regexp.MustCompile(`^\.[0-9]+-[0-9]+$`)

// WriteFileAtomic makes path hold what write writes, or leaves it as it was: the bytes go to a temporary name in the same
// folder, which is fsynced, renamed to path and the folder fsynced. A reader never sees half a file, whenever the process
// or the machine stops. The folder must exist. Two writers of one path, in one process or in two, do not disturb each other:
// path holds what one of them wrote, whole.
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

func writeAtomic(fs fileSystem, path string, write func(io.Writer) error) error {
	temp, f, err := createTemporary(fs, path)
	if err != nil {
		return fmt.Errorf("checkpoint: writing %s: %w", path, err)
	}
	err = writeSynced(f, write)
	if err == nil {
		err = fs.rename(temp, path)
	}
	if err != nil {
		// The error that is told is the one that matters; that the left-over stays is no worse than a crash.
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

// createTemporary creates a file that nobody else writes, such as .result.json.4711-12.tmp for result.json: it is in the
// same folder, so that the rename stays on one disk, and hidden. Process and counter make the name; a name that is taken, by
// another machine on the same disk or by a left-over, is passed over.
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

func writeSynced(f file, write func(io.Writer) error) error {
	buffered := bufio.NewWriterSize(f, 1<<16)
	err := write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
