package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	for err, want := range map[error]bool{syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.ENOSYS: true,
		syscall.EPERM: true, syscall.EACCES: true,
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
			if err := MakeFolder(filepath.Join(dir, path)); err == nil ||
				!strings.Contains(err.Error(), ", which does not show") {
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

// TestPrivate: nobody but the owner has a right to what is private, also where it had others before, and the special
// bits of a folder stay.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN: files of Windows have no such rights")
	}
	top := t.TempDir()
	mode := func(path string, want fs.FileMode) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil || info.Mode()&^fs.ModeDir != want {
			t.Errorf("%s: %v, want %v: %v", path, info.Mode(), want, err)
		}
	}
	dir := filepath.Join(top, "a", "b")
	file := filepath.Join(dir, "x")
	text := func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }
	if err := errors.Join(MakePrivateFolder(dir), Write(file, text), Write(file+"2", text),
		WritePrivate(file, text)); err != nil {
		t.Fatal(err)
	}
	mode(filepath.Dir(dir), allowed(t, 0o755))
	mode(dir, 0o700)
	mode(file, 0o600)
	mode(file+"2", allowed(t, 0o644))
	if err := errors.Join(os.Chmod(dir, 0o775|fs.ModeSetgid), MakePrivateFolder(dir), Tighten(file+"2", 0o600),
		os.Chmod(file, 0o200), Tighten(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	mode(dir, 0o700|fs.ModeSetgid)
	mode(file, 0o600)
	mode(file+"2", 0o600)
	if err := Tighten(filepath.Join(dir, "none"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

// allowed is what the umask leaves of the rights of a new file.
func allowed(t *testing.T, rights fs.FileMode) fs.FileMode {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, rights); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// TestRemoveAllTemporaries: all temporaries of a folder go, and nothing else.
func TestRemoveAllTemporaries(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".d.1-2-3.tmp"), 0o755),
		RemoveAllTemporaries(filepath.Join(dir, "none"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".a.json.1-2-3.tmp", ".b.4711-3.tmp", ".a.tmp", "a.1-2-3.tmp", "..1-2-3.tmp",
		".c.1-2-3.tmpx"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveAllTemporaries(dir); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"..1-2-3.tmp", ".a.tmp", ".c.1-2-3.tmpx", ".d.1-2-3.tmp", "a.1-2-3.tmp"}; err != nil ||
		!slices.Equal(left, want) {
		t.Errorf("%q are left, want %q: %v", left, want, err)
	}
}
