package report

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// filesOf reads all files below a folder but the lock.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == LockFile {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestTwoWriters: whoever writes last into a folder, all files are of one report.
func TestTwoWriters(t *testing.T) {
	var dirs []string
	var alone []map[string]string
	for _, level := range []float64{0.4, 0.8} { // the same figures, other numbers
		dir, out := t.TempDir(), t.TempDir()
		save(t, dir, []fake{{method: "er", title: "ER", memory: 500, seed: 1, tasks: 3, perTask: 2, level: level,
			decay: 0.8}})
		writePage(t, []string{dir}, out)
		dirs, alone = append(dirs, dir), append(alone, filesOf(t, out))
	}
	out := t.TempDir()
	var writers sync.WaitGroup
	for _, dir := range dirs {
		writers.Go(func() {
			if _, err := Write(t.Context(), []string{dir}, out, Options{Known: methods}); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if got := filesOf(t, out); !maps.Equal(got, alone[0]) && !maps.Equal(got, alone[1]) {
		t.Error("the files are not of one of the two reports")
	}
}

func TestLockIsHeld(t *testing.T) {
	out := t.TempDir()
	unlock, waited, err := lock(t.Context(), out, time.Second)
	if err != nil || waited {
		t.Fatalf("waited %v, %v", waited, err)
	}
	if _, _, err := lock(t.Context(), out, 50*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "another process has been writing a report there") {
		t.Errorf("a locked folder: %v", err)
	}
	freed := time.AfterFunc(100*time.Millisecond, unlock)
	defer freed.Stop()
	again, waited, err := lock(t.Context(), out, 10*time.Second)
	if err != nil || !waited {
		t.Fatalf("waited %v, %v", waited, err)
	}
	again()
	taken := t.TempDir()
	if err := os.Mkdir(filepath.Join(taken, LockFile), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, err := lock(t.Context(), taken, time.Second); err == nil ||
		!strings.Contains(err.Error(), "it is a folder, not a regular file. Remove it") {
		t.Errorf("no file to lock: %v", err)
	}
}
