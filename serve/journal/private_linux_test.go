package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// onlyOwner checks that nobody but the owner has a right to anything below a folder, and that the owner has what ocl
// needs.
func onlyOwner(t *testing.T, what, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if n++; err == nil && info.Mode().Perm() != want {
			t.Errorf("%s: %s has the rights %v, want %v", what, path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil || n < 6 {
		t.Fatalf("%s: %d files: %v", what, n, err)
	}
}

// TestPrivate: whatever the umask is, folders are 0700 and files 0600, also those that SQLite makes, and those of an
// older version after the next start. This test runs beside no other, as the umask is that of the process.
func TestPrivate(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root may read what nobody may, so an umask of 0777 shows less here")
	}
	for _, umask := range []int{0, 0o022, 0o077, 0o777} {
		top := t.TempDir()
		before := syscall.Umask(umask)
		err := func() error {
			defer syscall.Umask(before)
			dir := filepath.Join(top, "served")
			if umask == 0o777 { // the folder above it cannot be made with it
				if err := os.Mkdir(dir, 0o700); err != nil {
					return err
				}
				if err := os.Chmod(dir, 0o700); err != nil {
					return err
				}
			}
			j, err := Open(dir, Options{})
			if err != nil {
				return err
			}
			for _, f := range []*Files{Snapshots(dir), Versions(dir)} {
				err = errors.Join(err, f.Write(0, container(t, 0)))
			}
			_, failed := j.Append(samples(1, 20))
			err = errors.Join(err, failed)
			onlyOwner(t, "at work", dir)
			err = errors.Join(err, j.Trim(5), j.Erase([]string{sample(9).ID}))
			onlyOwner(t, "after erasing", dir)
			err = errors.Join(err, j.Close(), os.Rename(filepath.Join(dir, dbName), filepath.Join(dir, damagedName)))
			if j, failed = Open(dir, Options{}); failed != nil {
				return errors.Join(err, failed)
			}
			onlyOwner(t, "mended", dir)
			return errors.Join(err, j.Close())
		}()
		if err != nil {
			t.Errorf("umask %03o: %v", umask, err)
		}
	}
	dir := t.TempDir()
	left(t, dir)
	if err := errors.Join(Snapshots(dir).Write(7, container(t, 7)), Versions(dir).Write(7, container(t, 7))); err != nil {
		t.Fatal(err)
	}
	old := copied(t, dir)
	if err := filepath.WalkDir(old, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return errors.Join(err, os.Chmod(path, 0o644))
	}); err != nil {
		t.Fatal(err)
	}
	j := opened(t, old, Options{})
	appended(t, j, 1)
	onlyOwner(t, "of before", old)
}
