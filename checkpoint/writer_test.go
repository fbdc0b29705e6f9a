package checkpoint

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a disk on which creating a file takes a second.
type slow struct{ *ram }

func (s slow) createNew(p string) (file, error) {
	time.Sleep(time.Second)
	return s.ram.createNew(p)
}

// TestWriterWorksInTheBackground: a snapshot costs the caller nothing while the disk is idle, and no more than the rest
// of the write under way while it is busy. The clock is that of the bubble: it stands still but for the disk and the
// learning.
func TestWriterWorksInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newRAM()
		w := NewWriter(&Dir{folder: "ck", fs: slow{disk}})
		began := time.Now()
		var written atomic.Int32
		at := func(want time.Duration, what string) {
			t.Helper()
			if got := time.Since(began); got != want {
				t.Errorf("%s at %v, want %v", what, got, want)
			}
		}
		save := func(step int) {
			t.Helper()
			if err := w.Save(step, numbered(step), nil, func(string) { written.Add(1) }); err != nil {
				t.Fatal(err)
			}
		}
		save(1)
		at(0, "the first Save returned")
		time.Sleep(400 * time.Millisecond) // learning
		if n := written.Load(); n != 0 {
			t.Errorf("%d checkpoints are said to be written before the disk was done", n)
		}
		save(2)
		at(time.Second, "the second Save returned, which waits for the first write and not for its own,")
		if n := written.Load(); n != 1 {
			t.Errorf("%d checkpoints were written when the second Save returned, want 1", n)
		}
		time.Sleep(5 * time.Second) // learning, longer than the write
		save(3)
		at(6*time.Second, "the third Save returned")
		if err := w.Wait(); err != nil {
			t.Error(err)
		}
		at(7*time.Second, "Wait returned")
		if err := w.Wait(); err != nil {
			t.Error(err)
		}
		at(7*time.Second, "a second Wait returned")
		if names := disk.files(); !slices.Equal(names, []string{"step-2.ckpt", "step-3.ckpt"}) {
			t.Errorf("at the end the folder holds %v", names)
		}
	})
}

// TestWriterHooks: before is called ahead of anything on the disk, after when the file is there, in the order of the saves.
func TestWriterHooks(t *testing.T) {
	disk := newRAM()
	w := NewWriter(&Dir{folder: "ck", fs: disk})
	var told []string
	for step := 1; step <= 3; step++ {
		name := filepath.Join("ck", fmt.Sprintf("step-%d.ckpt", step))
		before := func() error {
			_, there := disk.names[name]
			told = append(told, fmt.Sprintf("before %d %v", step, there))
			return nil
		}
		after := func(path string) {
			_, there := disk.durable[name]
			told = append(told, fmt.Sprintf("after %d %v %v", step, there, path == name))
		}
		if err := w.Save(step, numbered(step), before, after); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Wait(); err != nil {
		t.Fatal(err)
	}
	want := "[before 1 false after 1 true true before 2 false after 2 true true before 3 false after 3 true true]"
	if fmt.Sprint(told) != want {
		t.Errorf("told %v, want %v", told, want)
	}
}

// TestWriterErrors: an error comes out of the next Save or of Wait, once, and the Writer goes on after it.
func TestWriterErrors(t *testing.T) {
	full := errors.New("no space left on device")
	after := func(string) { t.Error("after is called for a write that failed") }
	disk := newRAM()
	w := NewWriter(&Dir{folder: "ck", fs: disk})
	disk.failing = full
	if err := w.Save(1, numbered(1), nil, after); err != nil {
		t.Fatal(err)
	}
	if err := w.Save(2, numbered(2), nil, after); !errors.Is(err, full) || !strings.Contains(err.Error(), "step-1.ckpt") {
		t.Errorf("the next Save: error %v, want that of step 1", err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("Wait: %v; the error was returned and nothing was begun", err)
	}
	if err := w.Save(3, numbered(3), nil, after); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); !errors.Is(err, full) || !strings.Contains(err.Error(), "step-3.ckpt") {
		t.Errorf("Wait: error %v, want that of step 3", err)
	}
	disk.failing = nil
	log := errors.New("the log cannot be synced")
	if err := w.Save(4, numbered(4), func() error { return log }, after); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); !errors.Is(err, log) || len(disk.files()) != 0 {
		t.Errorf("Wait: error %v, want that of before; the folder holds %v", err, disk.files())
	}
	if err := errors.Join(w.Save(5, numbered(5), nil, nil), w.Wait()); err != nil || len(disk.files()) != 1 {
		t.Errorf("after the errors: %v; the folder holds %v", err, disk.files())
	}
}

// TestWriterPanic: a panic of a hook is one of the caller, with the stack of where it happened.
func TestWriterPanic(t *testing.T) {
	w := NewWriter(&Dir{folder: "ck", fs: newRAM()})
	if err := w.Save(1, numbered(1), nil, func(string) { panicsHere() }); err != nil {
		t.Fatal(err)
	}
	defer func() {
		p, ok := recover().(*Panic)
		if !ok || p.Value != "a bug" || !strings.Contains(string(p.Stack), "panicsHere") || !strings.Contains(fmt.Sprint(p), "a bug") {
			t.Errorf("got %v, want the panic and its stack", p)
		}
		if err := w.Wait(); err != nil {
			t.Error(err)
		}
	}()
	_ = w.Wait()
	t.Error("Wait returned after a panic")
}

func panicsHere() { panic("a bug") }

// TestWriterLeavesNoGoroutine: none where nothing was saved, none after Wait.
func TestWriterLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	var writers []*Writer
	for range 50 {
		writers = append(writers, NewWriter(&Dir{folder: "ck", fs: newRAM()}))
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines before, %d with writers that saved nothing", before, n)
	}
	for _, w := range writers {
		if err := errors.Join(w.Save(1, numbered(1), nil, nil), w.Wait()); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond) // the last one has sent what it came to and is about to end
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines before, %d after", before, n)
	}
}

// TestWriterFailed: the error of a write that has ended is told without waiting for one that is under way.
func TestWriterFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		disk := newRAM()
		disk.failing = full
		w := NewWriter(&Dir{folder: "ck", fs: slow{disk}})
		began := time.Now()
		if err := w.Failed(); err != nil {
			t.Error(err)
		}
		if err := w.Save(1, numbered(1), nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Failed(); err != nil || time.Since(began) != 0 {
			t.Errorf("while the disk is busy: %v after %v", err, time.Since(began))
		}
		time.Sleep(2 * time.Second)
		if err := w.Failed(); !errors.Is(err, full) {
			t.Errorf("after the write: %v, want %v", err, full)
		}
		if err := w.Failed(); err != nil {
			t.Errorf("told twice: %v", err)
		}
	})
}
