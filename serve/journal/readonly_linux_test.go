package journal

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ocl/checkpoint"
)

// contents are the names, the sizes, the times and the bytes of all that is in a folder.
func contents(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := []byte(nil)
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		all += fmt.Sprintf("%s %v %d %v %x\n", path, info.Mode(), len(text), info.ModTime(), sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReadOnlyChangesNothing: a journal that is opened for reading is read with what its log has, and not one byte of
// the folder changes, be it a folder as a kill leaves it, one that was closed, a copy without the lock, or one on a
// disk that cannot be written. Two may read it at once.
func TestReadOnlyChangesNothing(t *testing.T) {
	dir := t.TempDir()
	last := left(t, dir)
	if err := Snapshots(dir).Write(20, checkpoint.NewContainer()); err != nil {
		t.Fatal(err)
	}
	killed := copied(t, dir)
	ended := copied(t, dir)
	closed(t, opened(t, ended, Options{}))
	if there, err := isThere(filepath.Join(ended, dbName+walSuffix)); there || err != nil {
		t.Fatalf("a journal that was closed has a log: %v, %v", there, err)
	}
	bare := copied(t, killed)
	if err := os.Remove(filepath.Join(bare, lockName)); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"killed": killed, "ended": ended, "without the lock": bare} {
		for _, mounted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, mounted %v", name, mounted), func(t *testing.T) {
				at := dir
				if mounted {
					at = filepath.Join(t.TempDir(), "at")
					if err := os.Mkdir(at, 0o700); err != nil {
						t.Fatal(err)
					}
					if err := unix.Mount(dir, at, "", unix.MS_BIND, ""); err != nil {
						t.Skipf("NOT RUN: a disk that cannot be written, as none can be mounted (%v)", err)
					}
					t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
					if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
						t.Fatal(err)
					}
				}
				before := contents(t, at)
				one, two := opened(t, at, Options{ReadOnly: true}), opened(t, at, Options{ReadOnly: true})
				holds(t, one, 6, last)
				holds(t, two, 6, last)
				if one.Full() {
					t.Error("it tells that the disk is full")
				}
				closed(t, one)
				closed(t, two)
				if after := contents(t, at); after != before {
					t.Errorf("before\n%safter\n%s", before, after)
				}
			})
		}
	}
}
