// Package output writes the file of an export in one way for all forms. It knows nothing of runs and forms. Start at [Write].
package output

import (
	"fmt"
	"io"
	"path/filepath"

	"ocl/checkpoint"
)

// Write writes a file that appears whole or not at all, and makes its folder. An error of write, which is about the
// content, is returned as it is; any other says that the path cannot be written.
func Write(path string, write func(io.Writer) error) error {
	var content error
	err := checkpoint.MakeFolder(filepath.Dir(path))
	if err == nil {
		err = checkpoint.WriteFileAtomic(path, func(w io.Writer) error {
			content = write(w)
			return content
		})
	}
	switch {
	case content != nil:
		return content
	case err != nil:
		return fmt.Errorf("export: %s cannot be written: %w. Make room on the disk, or choose another path with -o", path, err)
	}
	return nil
}
