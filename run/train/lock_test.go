package train

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/internal/input"
)

// TestLockIsAFile: what is no regular file is not locked, and a link is not followed, which would make a file
// elsewhere.
func TestLockIsAFile(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "made")
	for name, put := range map[string]func(path string) error{
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"a symbolic link": func(path string) error { return os.Symlink(elsewhere, path) },
		"a device":        func(path string) error { return os.Symlink(os.DevNull, path) },
	} {
		folder := t.TempDir()
		if err := put(filepath.Join(folder, LockFile)); err != nil {
			t.Skip(err)
		}
		lock, err := LockFolder(folder, LockFile, InTurn)
		if !errors.Is(err, input.ErrKind) || !strings.Contains(err.Error(), filepath.Join(folder, LockFile)) {
			t.Errorf("%s: error %v, wanted one of the lock's path", name, err)
		}
		lock.Unlock()
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("locking made the target of a link")
	}
}
