package output_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ocl/interop/output"
)

// Write makes the folder. It returns an error of the content unchanged, and adds to an error of the path what to do.
// Both leave no file.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file, bad := filepath.Join(dir, "new", "file"), errors.New("the content is bad")
	hello := func(w io.Writer) error {
		_, err := io.WriteString(w, "hello")
		return err
	}
	if err := output.Write("export", file, hello); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	if err := output.Write("export", file, func(io.Writer) error { return bad }); !errors.Is(err, bad) {
		t.Errorf("got %v, want the error of the content alone", err)
	}
	below := filepath.Join(file, "other")
	want := "export: " + below + " cannot be written: "
	if err := output.Write("export", below, hello); err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), ". Choose another path with -o") {
		t.Errorf("got %v, want %s", err, want)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("there are %v, %v; want one file", entries, err)
	}
}

// The advice to make room is given only if a full disk is the cause.
func TestRemedy(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "Make room on the disk, or choose another path with -o",
		syscall.EDQUOT: "Make room on the disk, or choose another path with -o",
		syscall.EACCES: "Choose another path with -o",
		syscall.EROFS:  "Choose another path with -o",
		syscall.ENOENT: "Choose another path with -o",
	} {
		if got := output.Remedy(&fs.PathError{Op: "write", Path: "x", Err: err}); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}
