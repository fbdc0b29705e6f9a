// Package output writes the file of an export in one way for all forms. It knows nothing of runs and forms. Start at
// [Write].
package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
)

// Write writes a file that appears whole or not at all, and makes its folder. An error of write, which is about the
// content, is returned as it is; any other, also one that write has of its writer, says that the path cannot be written
// and what to do, after the name of the command.
func Write(command, path string, write func(io.Writer) error) error {
	var content error
	to := &sink{}
	if err := input.Replaceable(path); err != nil {
		return fmt.Errorf("%s: %s cannot be written: %w. Choose another path with -o", command, path, cause.Of(err))
	}
	err := atomicfile.MakeFolder(filepath.Dir(path))
	if err == nil {
		err = atomicfile.Write(path, func(w io.Writer) error {
			to.w = w
			content = write(to)
			return content
		})
	}
	switch {
	case err == nil:
		return nil
	case content != nil && to.err == nil:
		return content
	}
	return fmt.Errorf("%s: %s cannot be written: %w. %s", command, path, cause.Of(err), Remedy(err))
}

// Remedy says what to do about an error of writing to the path that was chosen with -o.
func Remedy(err error) string {
	for _, closed := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR} {
		if errors.Is(err, closed) {
			return "Choose another path with -o"
		}
	}
	return "Make room on the disk, or choose another path with -o"
}

// sink remembers the error of the writer below it. So Write can tell a full disk from an error in the content, although
// both come back from write.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		s.err = err
	}
	return n, err
}
