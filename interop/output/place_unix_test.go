//go:build unix

package output_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ocl/interop/output"
)

// TestNoDeviceIsReplaced: what is no file, or a link to such a thing, stays, as a rename would remove it from the
// system.
func TestNoDeviceIsReplaced(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(os.DevNull, link)); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]string{pipe: "a pipe", link: "a device", dir: "a folder"} {
		before, _ := os.Lstat(path)
		err := output.Write("export", path, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err })
		want := "export: " + path + " cannot be written: it is " + kind + ", not a regular file. Choose another path with -o"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, wanted %s", err, want)
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s was %v and is %v (%v)", path, before.Mode(), after.Mode(), err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("the folder has %v", entries)
	}
}
