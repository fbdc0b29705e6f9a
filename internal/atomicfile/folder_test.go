package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMakeFolderOnDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "a", "b", "c")
	done := make(chan error)
	for range 8 {
		go func() { done <- MakeFolder(deep + "/") }()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(deep); err != nil || !info.IsDir() {
		t.Errorf("there is no folder: %v", err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if err := MakeFolder(path); !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v, want ENOTDIR with the path", path, err)
		}
	}
}

// TestRefused: a file system that cannot sync a folder is no error, and a fault of the disk is one.
func TestRefused(t *testing.T) {
	for err, want := range map[error]bool{syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.ENOSYS: true, syscall.EPERM: true, syscall.EACCES: true,
		syscall.EIO: false, syscall.ENOSPC: false, syscall.EROFS: false, errors.New("another"): false, nil: false} {
		if got := refused(fmt.Errorf("sync: %w", err)); got != want {
			t.Errorf("%v: refused %v, want %v", err, got, want)
		}
	}
}

// TestNamesOfFolders: a folder whose name would show as another one is not made.
func TestNamesOfFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a\x1b[31m", "\u202etxt", "zero\u200bwidth", "line\nbreak"} {
		for _, path := range []string{name, filepath.Join(name, "below")} {
			if err := MakeFolder(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), ", which does not show") {
				t.Errorf("%q is made: %v", path, err)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := MakeFolder(filepath.Join(dir, "Größe 日本 é")); err != nil {
		t.Error(err)
	}
}
