package output_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ocl/interop/output"
)

// full runs f on a disk that is full: no file may grow beyond so many bytes.
func full(t *testing.T, bytes uint64, f func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// If the disk becomes full, the error says what to do, both for a small content and for one so large that write itself
// sees the error. No new file is left, and an existing one is unchanged.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{5000, 1 << 20} {
		var err error
		full(t, 4096, func() {
			err = output.Write("export", path, func(w io.Writer) error {
				_, err := w.Write(bytes.Repeat([]byte{7}, size))
				return err
			})
		})
		if !errors.Is(err, syscall.EFBIG) || !strings.HasPrefix(err.Error(), "export: "+path+" cannot be written: ") ||
			!strings.HasSuffix(err.Error(), ". Make room on the disk, or choose another path with -o") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "before" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("there are %v, %v; want one file", entries, err)
	}
}
