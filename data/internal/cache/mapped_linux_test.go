package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// resident is the memory of the process in bytes: its own, and that of mapped files.
func resident(t *testing.T) (own, mapped int64) {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) int64 {
		m := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+) kB$`).FindSubmatch(status)
		if m == nil {
			t.Fatalf("/proc/self/status has no %s", name)
		}
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n << 10
	}
	return read("RssAnon"), read("RssFile") + read("RssShmem") // Shmem if the folder is in memory
}

// Images that are used are memory of the file, which the system can take back, and not of the process.
func TestMappedImagesAreNoMemoryOfTheProcess(t *testing.T) {
	const n = 64
	s, _ := small(t, n)
	s.Shape = [3]int{1, 1024, 1024}
	m := mustOpen(t, s)
	own, mapped := resident(t)
	for i := range n {
		if _, err := m.Image(i, nil); err != nil {
			t.Fatal(err)
		}
	}
	ownAfter, mappedAfter := resident(t)
	if grown := ownAfter - own; grown > 4<<20 {
		t.Errorf("the process has %d KiB more, want at most 4 MiB", grown>>10)
	}
	if grown := mappedAfter - mapped; grown < 60<<20 {
		t.Errorf("%d KiB of the file were mapped, want 64 MiB: nothing was touched", grown>>10)
	}
}

// A file that is cut while it is mapped is an error of the images that are gone, and not the end of the process.
func TestCutWhileMapped(t *testing.T) {
	s, _ := small(t, 5000)
	m := mustOpen(t, s)
	if err := os.Truncate(m.path, pixelsAt+30*1000); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Image(4999, nil); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "image 4999: it cannot be read") {
		t.Errorf("error %v, want ErrDamaged", err)
	}
	if _, err := m.Image(999, nil); err != nil {
		t.Error(err)
	}
	if errs := m.Verify(context.Background(), nil); len(errs) < 3000 || !errors.Is(errs[0], ErrDamaged) {
		t.Errorf("Verify found %d damaged images", len(errs))
	}
}

func init() {
	childWork["full"] = func(dir string) error { // no file may grow beyond 1 MiB, as on a full disk
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
			return err
		}
		s := shared(dir)
		s.N, s.Shape = 300, [3]int{3, 64, 64}
		s.Decode = func(i int, dst []uint8) error { return nil }
		_, err := Open(context.Background(), s)
		return err
	}
}

// A disk that is full in the middle ends the build with an error that says what to do, and leaves nothing.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "caches")
	out, err := child(dir, "full").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "file too large") {
		t.Fatalf("%v: %s", err, out)
	}
	wantMessage(t, errors.New(string(out)), dir, "takes 4 MB")
	wantEmpty(t, dir)
}
