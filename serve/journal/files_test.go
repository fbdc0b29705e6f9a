package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/checkpoint"
)

// container is one whose contents tell its number.
func container(t *testing.T, number int64) *checkpoint.Container {
	t.Helper()
	c := checkpoint.NewContainer()
	if err := (checkpoint.Parts{checkpoint.Values("number", &number)}).SaveState(c.Encoder()); err != nil {
		t.Fatal(err)
	}
	return c
}

func numberIn(t *testing.T, c *checkpoint.Container) (number int64) {
	t.Helper()
	if err := (checkpoint.Parts{checkpoint.Values("number", &number)}).LoadState(c.Decoder()); err != nil {
		t.Fatal(err)
	}
	return number
}

// TestFiles: the newest snapshot that is whole is read, whatever became of those after it, and only what is asked for
// goes.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	files := Snapshots(dir)
	if numbers, err := files.Numbers(); len(numbers) > 0 || err != nil {
		t.Errorf("%v, %v in no folder", numbers, err)
	}
	if _, err := files.Newest(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("newest of none: %v", err)
	}
	if err := errors.Join(files.Remove(func(n int64) bool { return n < 3 }), files.RemoveExcept(1)); err != nil {
		t.Error(err)
	}
	for _, n := range []int64{0, 9, 10, 200, 1000} {
		if err := files.Write(n, container(t, n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"07.ocl", "-3.ocl", "x.ocl", "5", ".5.ocl.1-2-3.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, snapshotsName, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want int64, skipped int) {
		t.Helper()
		got, err := files.Newest()
		if err != nil || got.Number != want || numberIn(t, got.Container) != want || len(got.Skipped) != skipped {
			t.Fatalf("newest %d with %v skipped: %v; want %d with %d", got.Number, got.Skipped, err, want, skipped)
		}
	}
	check(1000, 0)
	if err := os.Truncate(files.Path(1000), 30); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(files.Path(200))
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 4
	if err := os.WriteFile(files.Path(200), text, 0o644); err != nil {
		t.Fatal(err)
	}
	check(10, 2)
	if c, err := files.Read(9); err != nil || numberIn(t, c) != 9 {
		t.Error(err)
	}
	if _, err := files.Read(200); !errors.Is(err, checkpoint.ErrCorrupt) ||
		!strings.Contains(err.Error(), "snapshot 200") {
		t.Errorf("a damaged one: %v", err)
	}
	if _, err := files.Read(8); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	if err := files.Remove(func(n int64) bool { return n < 10 }); err != nil {
		t.Error(err)
	}
	if numbers, err := files.Numbers(); err != nil || !slices.Equal(numbers, []int64{10, 200, 1000}) {
		t.Errorf("%v, %v", numbers, err)
	}
	if err := files.RemoveExcept(200); err != nil {
		t.Error(err)
	}
	if _, err := files.Newest(); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("all damaged: %v", err)
	}
	var left []string
	entries, _ := os.ReadDir(filepath.Join(dir, snapshotsName))
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"-3.ocl", "07.ocl", "200.ocl", "5", "x.ocl"}; !slices.Equal(left, want) {
		t.Errorf("%v are left, want %v", left, want)
	}
}

// TestNothingHalfWritten: what a killed process was writing goes at the next start, in the folder and in those of
// snapshots and versions, and when pictures are erased. Files of others stay.
func TestNothingHalfWritten(t *testing.T) {
	dir := t.TempDir()
	closed(t, opened(t, dir, Options{}))
	files := Versions(dir)
	if err := errors.Join(files.Write(3, container(t, 3)), Snapshots(dir).Write(0, container(t, 0))); err != nil {
		t.Fatal(err)
	}
	leave := func() {
		t.Helper()
		for _, name := range []string{
			"versions/.5.ocl.1-2-3.tmp", "versions/.3.ocl.4711-812034.tmp", "snapshots/.0.ocl.1-2-3.tmp",
			".statistics.json.1-2-3.tmp", ".ocl-serve.json.1-2-3.tmp",
			"snapshots/.DS_Store", "versions/note.tmp",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("picture"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func(folders ...string) (all []string) {
		t.Helper()
		for _, folder := range folders {
			entries, err := os.ReadDir(filepath.Join(dir, folder))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if strings.HasSuffix(e.Name(), ".tmp") || strings.HasPrefix(e.Name(), ".D") {
					all = append(all, e.Name())
				}
			}
		}
		return all
	}
	leave()
	reader := opened(t, dir, Options{ReadOnly: true})
	if all := left(".", snapshotsName, versionsName); len(all) != 7 {
		t.Errorf("a reader has left %q", all)
	}
	closed(t, reader)
	opened(t, dir, Options{})
	if all := left(".", snapshotsName, versionsName); !slices.Equal(all, []string{".DS_Store", "note.tmp"}) {
		t.Errorf("a start has left %q", all)
	}
	for _, remove := range []func() error{files.RemoveTemporary,
		func() error { return files.Remove(func(n int64) bool { return n < 0 }) },
		func() error { return files.RemoveExcept(3) }} {
		leave()
		if err := remove(); err != nil {
			t.Error(err)
		}
		if all := left(versionsName); !slices.Equal(all, []string{"note.tmp"}) {
			t.Errorf("removing has left %q", all)
		}
	}
	if numbers, err := files.Numbers(); err != nil || !slices.Equal(numbers, []int64{3}) {
		t.Errorf("%v, %v", numbers, err)
	}
}
