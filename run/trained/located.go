package trained

import (
	"os"
	"path/filepath"
	"strings"
)

// Located finds a file or folder that a run names by a relative path, and returns its path from here. The run does not
// say in which folder it was made. If the path leads nowhere from here, it is looked for in the folders above the run,
// from the nearest on; a folder that contains the run is not taken for a folder of data. A path that is absolute, or
// that is not found, is returned as it is.
func Located(path, run string) string {
	if path == "" || filepath.IsAbs(path) || there(path) {
		return path
	}
	run, err := filepath.Abs(run)
	if err != nil {
		return path
	}
	for above := run; ; {
		parent := filepath.Dir(above)
		if parent == above {
			return path
		}
		above = parent
		if found := filepath.Join(above, path); there(found) &&
			!strings.HasPrefix(run+string(filepath.Separator), found+string(filepath.Separator)) {
			return found
		}
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
