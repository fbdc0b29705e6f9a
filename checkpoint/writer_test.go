package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWriterWorksInTheBackground: Save returns before the file is written, and waits for the write before it. before is
// called ahead of anything on the disk, and Saved once the file is there, by the goroutine that waits.
func TestWriterWorksInTheBackground(t *testing.T) {
	d := savedDir(t)
	w := NewWriter(d)
	goOn := make(chan struct{})
	var calls []string
	there := func(step int) bool {
		_, err := os.Stat(d.path(step))
		return err == nil
	}
	save := func(step int) {
		t.Helper()
		before := func() error {
			<-goOn
			calls = append(calls, fmt.Sprint("before ", step, there(step)))
			return nil
		}
		if err := w.Save(step, numbered(step), before); err != nil {
			t.Fatal(err)
		}
	}
	w.Saved = func(path string) { calls = append(calls, fmt.Sprint("saved ", path == d.path(1), path == d.path(2))) }
	save(1)
	if there(1) || w.Failed() != nil {
		t.Error("Save did not return before its write")
	}
	goOn <- struct{}{}
	save(2)
	if !there(1) || there(2) {
		t.Error("the second Save did not wait for the first write alone")
	}
	close(goOn)
	if err := errors.Join(w.Wait(), w.Wait()); err != nil {
		t.Fatal(err)
	}
	want := "[before 1 false saved true false before 2 false saved false true]"
	if fmt.Sprint(calls) != want {
		t.Errorf("calls %v, want %v", calls, want)
	}
}

// TestWriterErrors: an error comes out of the next Save, of Wait or of Failed, once, and the Writer goes on after it.
func TestWriterErrors(t *testing.T) {
	d := savedDir(t)
	for _, step := range []int{1, 3} { // a folder that is not empty has the name of the file
		if err := os.MkdirAll(filepath.Join(d.path(step), "full"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := NewWriter(d)
	w.Saved = func(string) { t.Error("Saved is called for a write that failed") }
	if err := w.Save(1, numbered(1), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Save(2, numbered(2), nil); err == nil || !strings.Contains(err.Error(), "step-1.ckpt") {
		t.Errorf("the next Save: error %v, want that of step 1", err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("Wait: %v; the error was returned and nothing was begun", err)
	}
	if err := w.Save(3, numbered(3), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err == nil || !strings.Contains(err.Error(), "step-3.ckpt") {
		t.Errorf("Wait: error %v, want that of step 3", err)
	}
	if err := errors.Join(os.RemoveAll(d.path(1)), os.RemoveAll(d.path(3))); err != nil {
		t.Fatal(err)
	}
	log := errors.New("the log cannot be synced")
	if err := w.Save(4, numbered(4), func() error { return log }); err != nil {
		t.Fatal(err)
	}
	var err error
	for err == nil {
		err = w.Failed()
	}
	if !errors.Is(err, log) || w.Failed() != nil {
		t.Errorf("Failed: error %v, want that of before, once", err)
	}
	d.holds(t, "after errors")
	w.Saved = nil
	if err := errors.Join(w.Save(5, numbered(5), nil), w.Wait()); err != nil {
		t.Errorf("after the errors: %v", err)
	}
	d.holds(t, "at the end", "step-5.ckpt")
}

// TestWriterPanic: a panic of a hook is one of the caller, with the stack of where it happened.
func TestWriterPanic(t *testing.T) {
	w := NewWriter(savedDir(t))
	if err := w.Save(1, numbered(1), panicsHere); err != nil {
		t.Fatal(err)
	}
	defer func() {
		p, ok := recover().(*Panic)
		if !ok || p.Value != "a bug" || !strings.Contains(string(p.Stack), "panicsHere") ||
			!strings.Contains(fmt.Sprint(p), "a bug") {
			t.Errorf("got %v, want the panic and its stack", p)
		}
		if err := w.Wait(); err != nil {
			t.Error(err)
		}
	}()
	_ = w.Wait()
	t.Error("Wait returned after a panic")
}

func panicsHere() error { panic("a bug") }
