package input

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReadDir: a folder is listed by name, and whatever is none, or has too many entries, is an error of its path.
func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"c", "a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path  string
		most  int
		fault string // "" is none
	}{
		{dir, 3, ""},
		{dir, 2, "it has more than 2 entries"},
		{place(t, "a file"), 3, "it is a file, not a folder"},
		{place(t, "a pipe"), 3, "it is a pipe, not a folder"},
		{place(t, "nothing"), 3, "no such file"},
	} {
		entries, err := readDir(c.path, c.most)
		var p *fs.PathError
		if c.fault == "" && (err != nil || len(entries) != 3 || entries[0].Name() != "a" || entries[2].Name() != "c") ||
			c.fault != "" && (!errors.As(err, &p) || p.Path != c.path || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: %v, %v, wanted the error %q", c.path, entries, err, c.fault)
		}
	}
}

// TestWalk: Walk does what filepath.WalkDir does, also where visit leaves folders out or ends the walk.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/x", "a/y/z", "b/x", "c"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(dir, "a", "loop")); err != nil {
		t.Skip(err)
	}
	ended := errors.New("ended")
	for name, by := range map[string]func(string) error{
		"all":             func(string) error { return nil },
		"without a":       func(name string) error { return map[string]error{"a": fs.SkipDir}[name] },
		"without b after": func(name string) error { return map[string]error{"x": fs.SkipDir}[name] },
		"to y":            func(name string) error { return map[string]error{"y": fs.SkipAll}[name] },
		"to an error":     func(name string) error { return map[string]error{"z": ended}[name] },
	} {
		var got [2][]string
		var faults [2]error
		for i, walk := range []func(string, fs.WalkDirFunc) error{filepath.WalkDir, Walk} {
			faults[i] = walk(dir, func(path string, e fs.DirEntry, err error) error {
				got[i] = append(got[i], fmt.Sprint(path, e.Type(), err))
				return by(filepath.Base(path))
			})
		}
		if !slices.Equal(got[0], got[1]) || !errors.Is(faults[1], faults[0]) {
			t.Errorf("%s: got %v, %v, wanted %v, %v", name, got[1], faults[1], got[0], faults[0])
		}
	}
	if err := walk(dir, 9, func(string, fs.DirEntry, error) error { return nil }); err != nil {
		t.Errorf("9 entries are allowed, and there are as many: %v", err)
	}
	if err := walk(dir, 8, func(string, fs.DirEntry, error) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), "more than 8") {
		t.Errorf("8 entries are allowed, and there are 9: %v", err)
	}
	visited := 0
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Symlink(dir, link),
		Walk(link, func(string, fs.DirEntry, error) error { visited++; return nil })); err != nil || visited != 9 {
		t.Errorf("from a link to the folder, %d entries are visited, wanted 9 (%v)", visited, err)
	}
}

// TestFiles: a folder as a file system has only regular files.
func TestFiles(t *testing.T) {
	path := place(t, "a pipe")
	dir := filepath.Dir(path)
	if err := os.WriteFile(filepath.Join(dir, "g"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := Files{dir, 4}
	if text, err := fs.ReadFile(files, "g"); err != nil || string(text) != "text" {
		t.Errorf("read %q, %v", text, err)
	}
	for name, want := range map[string]error{"f": ErrKind, "h": fs.ErrNotExist, "../f": fs.ErrInvalid} {
		if _, err := files.Open(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, wanted %v", name, err, want)
		}
	}
	if _, err := (Files{dir, 3}).Open("g"); !errors.Is(err, ErrSize) {
		t.Errorf("a file that is too large: %v", err)
	}
}

// TestWriting: neither a file that is written in its place nor a lock is anything but a regular file, and no link is
// followed.
func TestWriting(t *testing.T) {
	for _, kind := range []string{"a file", "an empty file", "a folder", "a pipe", "a socket", "a symbolic link",
		"nothing"} {
		t.Run(kind, func(t *testing.T) {
			path := place(t, kind)
			file, err := OpenToWrite(path)
			if good := strings.HasSuffix(kind, "file"); good != (err == nil) {
				t.Errorf("OpenToWrite: %v", err)
			}
			if err == nil {
				file.Close()
			}
			lock, err := NewLock(path)
			if err == nil {
				_, err = lock.TryLock()
				lock.Close()
			}
			if good := strings.HasSuffix(kind, "file") || kind == "nothing"; good != (err == nil) {
				t.Errorf("NewLock: %v", err)
			} else if err != nil && !strings.Contains(err.Error(), path+": it is "+kind+", not a regular file") {
				t.Errorf("NewLock: %v, wanted the path and the kind", err)
			}
		})
	}
	t.Run("a link that appears later", func(t *testing.T) {
		target, path := filepath.Join(t.TempDir(), "target"), filepath.Join(t.TempDir(), "f")
		lock, err := NewLock(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Skip(err)
		}
		if _, err := lock.TryLock(); err == nil && noFollow != 0 {
			t.Error("the link is followed")
		}
	})
}
