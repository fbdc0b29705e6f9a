package cache

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() {
	childWork["full"] = func(dir string) error { // no file may grow beyond 1 MiB, as on a full disk
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
			return err
		}
		s := shared(dir)
		s.Shape = [3]int{3, 64, 64}
		s.Decode = func(int, []uint8) error { return nil }
		_, err := Open(context.Background(), s)
		return err
	}
}

// A disk that is full in the middle ends the build with an error that says what to do, and leaves nothing.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "caches")
	out, err := child(dir, "full").CombinedOutput()
	for _, part := range []string{"file too large", "building shared in " + dir, "takes 4 MB", "set $OCL_CACHE"} {
		if err == nil || !strings.Contains(string(out), part) {
			t.Errorf("%v: %s\nwant it to say %q", err, out, part)
		}
	}
	wantFiles(t, dir)
}
