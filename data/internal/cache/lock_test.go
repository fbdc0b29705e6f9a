package cache

import (
	"errors"
	"os"
	"runtime"
	"testing"
)

// A locked file that has lost its name to another builder's lock is no lock, though the system says that it is locked.
func TestLockThatLostItsName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows removes no open file; on other systems this can happen")
	}
	dir, key := t.TempDir(), keyOf("k")
	late, other := newLock(dir, key), newLock(dir, key)
	if err := late.try(); err != nil {
		t.Fatal(err)
	}
	if err := other.try(); !errors.Is(err, errBusy) {
		t.Fatalf("error %v, want errBusy", err)
	}
	if err := os.Remove(late.file.Path()); err != nil {
		t.Fatal(err)
	}
	if err := other.try(); err != nil {
		t.Fatal(err)
	}
	if err := late.try(); !errors.Is(err, errBusy) {
		t.Errorf("error %v, want errBusy", err)
	}
	other.release()
	wantEmpty(t, dir)
	if err := late.try(); err != nil {
		t.Errorf("after the other is done: %v", err)
	}
	late.release()
	wantEmpty(t, dir)
}
