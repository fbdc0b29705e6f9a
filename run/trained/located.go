package trained

import (
	"os"
	"path/filepath"
	"strings"
)

// Located is where a file or folder lies that a run names by a relative path. The run was made in a folder that nobody has written down. If the
// path leads nowhere from here, it is looked for in the folders above the run, from the nearest on; a folder that has the run in it is none of data.
// Without success, or if it is absolute, it stays as it is.
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
		if found := filepath.Join(above, path); there(found) && !strings.HasPrefix(run+string(filepath.Separator), found+string(filepath.Separator)) {
			return found
		}
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
