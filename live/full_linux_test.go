package live

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk: Save on a disk that is full is an error that says so. The file of before stays, nothing else is left,
// and the learner goes on.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "saved.ocl")
	o := small("er")
	// the file is longer than all that package testing writes meanwhile, which has the limit too
	o.Set = append(o.Set, "network.hidden=2000")
	l := made(t, o)
	learn(t, l, 0, 20, 2)
	flush(t, l)
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	learn(t, l, 20, 40, 2)
	flush(t, l)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	full := l.Save(path)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(full, syscall.EFBIG) || !strings.Contains(full.Error(), path) ||
		!strings.Contains(full.Error(), "Nothing there was changed") {
		t.Errorf("full: %v", full)
	}
	if after, err := os.ReadFile(path); err != nil || !slices.Equal(after, before) {
		t.Errorf("the file has changed, or %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are left", err, entries)
	}
	if err := l.Save(path); err != nil {
		t.Error(err)
	}
	if again, err := Open(path); err != nil || again.Stats().Images != 40 {
		t.Error(err)
	} else {
		closed(t, again)
	}
}
