package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTwoWritersAtOnce: eight writers of one path, and a reader that never sees anything but one whole content.
func TestTwoWritersAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	whole := func(b []byte) bool { return len(b) == 200000 && bytes.Count(b, b[:1]) == len(b) }
	var writers sync.WaitGroup
	for k := range 8 {
		writers.Go(func() {
			for range 5 {
				if err := WriteBytes(path, bytes.Repeat([]byte{byte('a' + k)}, 200000)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { writers.Wait(); close(ended) }()
	for reading := true; reading; {
		select {
		case <-ended:
			reading = false
		default:
		}
		if b, err := os.ReadFile(path); err == nil && !whole(b) || err != nil && (!os.IsNotExist(err) || !reading) {
			t.Fatalf("read %d bytes (%v), want what one writer wrote", len(b), err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder holds %v, want one file", entries)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o644 != 0o644&^umask(t) {
		t.Errorf("mode %v (%v), want 0644 but for the umask", info.Mode(), err)
	}
}

// umask is what a file made with all permissions lacks.
func umask(t *testing.T) os.FileMode {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o777); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return 0o777 &^ info.Mode().Perm()
}

// TestTemporaryNameTaken: a file of another writer is passed over, not emptied and not removed.
func TestTemporaryNameTaken(t *testing.T) {
	dir := t.TempDir()
	var others []string
	for i := range int64(3) {
		others = append(others, filepath.Join(dir, fmt.Sprintf(".f.%d-%d-%d.tmp", os.Getpid(), machine,
			temporaries.Load()+1+i)))
	}
	for _, o := range others {
		if err := os.WriteFile(o, []byte("of another"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteBytes(filepath.Join(dir, "f"), []byte("mine")); err != nil {
		t.Fatal(err)
	}
	for _, o := range others {
		if b, err := os.ReadFile(o); err != nil || string(b) != "of another" {
			t.Errorf("%s holds %q (%v)", filepath.Base(o), b, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(b) != "mine" {
		t.Errorf("f holds %q (%v)", b, err)
	}
}

func TestIsTemporary(t *testing.T) {
	for name, want := range map[string]bool{
		".f.12-3.tmp": true, ".f.12-812034-3.tmp": true, ".f.12-1-2-3.tmp": false, ".f.tmp": true, "f": false, ".f": false,
		"f.12-3.tmp": false, ".f.12-.tmp": false,
		".f.x.tmp": false, ".g.12-3.tmp": false, ".f.12-3.tmp2": false, ".f.old.12-3.tmp": false,
	} {
		if got := IsTemporary(name, "f"); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	broken := errors.New("broken")
	for text, want := range map[string]error{"a longer text": nil, "half": broken} {
		err := Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, want)
		})
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", text, err, want)
		}
	}
	if err := WriteBytes(path, []byte("short")); err != nil {
		t.Fatal(err)
	}
	// Parts written out of order become one file, and a build that fails leaves the file of before.
	for i, end := range []error{broken, nil} {
		err := Build(path, func(f *os.File) error {
			_, last := f.WriteAt([]byte("two"), 3)
			_, first := f.WriteAt([]byte("one"), 0)
			return errors.Join(last, first, end)
		})
		if b, _ := os.ReadFile(path); !errors.Is(err, end) || string(b) != []string{"short", "onetwo"}[i] {
			t.Errorf("error %v, want %v; the file holds %q", err, end, b)
		}
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
	if err := WriteBytes(filepath.Join(t.TempDir(), "none", "f"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: error %v, want fs.ErrNotExist", err)
	}
}

// TestLeftOvers: what a killed process has left of a file goes with the next write of this file. What another process
// writes, here or elsewhere, stays, and so do temporary files of other targets.
func TestLeftOvers(t *testing.T) {
	folder := t.TempDir()
	dead := exec.Command(os.Args[0], "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	gone, here := dead.Process.Pid, os.Getpid()
	names := map[string]bool{ // whether it stays
		fmt.Sprintf(".f.%d-%d-1.tmp", gone, machine):   false,
		fmt.Sprintf(".f.%d-%d-2.tmp", here, machine):   true,
		fmt.Sprintf(".f.%d-%d-1.tmp", gone, machine+1): true,
		".f.12-1-1.tmp": false, // of another machine, and old
		".f.tmp":        true,
		fmt.Sprintf(".g.%d-%d-1.tmp", gone, machine): true,
		fmt.Sprintf("f.%d-%d-1.tmp", gone, machine):  true,
	}
	for name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * forgotten)
	if err := os.Chtimes(filepath.Join(folder, ".f.12-1-1.tmp"), long, long); err != nil {
		t.Fatal(err)
	}
	if err := WriteBytes(filepath.Join(folder, "f"), []byte("whole")); err != nil {
		t.Fatal(err)
	}
	for name, stays := range names {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != stays {
			t.Errorf("%s: %v; want it to stay: %v", name, err, stays)
		}
	}
}

// TestVanished: a folder that is removed while a file in it is written is told of.
func TestVanished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	err := Build(filepath.Join(dir, "a"), func(f *os.File) error {
		return os.RemoveAll(dir)
	})
	if runtime.GOOS == "windows" && err != nil {
		t.Skip("an open file keeps its folder: ", err)
	}
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "was removed meanwhile") ||
		strings.Contains(err.Error(), "rename") {
		t.Errorf("error %v", err)
	}
}
