package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// numbered is a container of a few hundred bytes that knows its step.
func numbered(step int) *Container {
	c := NewContainer()
	if err := (Parts{Values("step", &step)}).SaveState(c.Encoder()); err != nil {
		panic(err)
	}
	c.Encoder().Bytes("filler", make([]byte, 200))
	return c
}

func stepIn(t *testing.T, l Loaded) int {
	t.Helper()
	var step int
	if err := (Parts{Values("step", &step)}).LoadState(l.Decoder()); err != nil {
		t.Fatal(err)
	}
	return step
}

// saved is a Dir in which the checkpoints of these steps were saved.
func savedDir(t *testing.T, steps ...int) *Dir {
	t.Helper()
	d, err := OpenDir(filepath.Join(t.TempDir(), "runs", "ck"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		path, err := d.Save(step, numbered(step))
		if err != nil || path != d.path(step) {
			t.Fatalf("saved %s: %v", path, err)
		}
	}
	return d
}

func (d *Dir) path(step int) string { return d.files.Path(int64(step)) }

// holds checks the names in the folder.
func (d *Dir) holds(t *testing.T, what string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(d.files.Folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("%s: the folder holds %v, want %v", what, names, want)
	}
}

// TestDir: the newest checkpoint is loaded, the one before it is kept, and what a killed process left goes away with
// the next one; files of other kinds stay.
func TestDir(t *testing.T) {
	d := savedDir(t)
	if _, err := d.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: error %v, want fs.ErrNotExist", err)
	}
	d = savedDir(t, 0, 1, 2, 3, 3)
	d.holds(t, "a step saved twice", "step-2.ckpt", "step-3.ckpt")
	for _, name := range []string{".step-9.ckpt.tmp", ".step-9.ckpt.77-3.tmp", ".step-x.ckpt.12-3.tmp", "note.txt"} {
		if err := os.WriteFile(filepath.Join(d.files.Folder, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d = &Dir{files: d.files}
	got, err := d.Load()
	if err != nil || got.Path != d.path(3) || stepIn(t, got) != 3 {
		t.Fatalf("loaded %s: %v", got.Path, err)
	}
	if _, err := d.Save(10, got.Container); err != nil {
		t.Fatal(err)
	}
	d.holds(t, "going on", ".step-x.ckpt.12-3.tmp", "note.txt", "step-10.ckpt", "step-3.ckpt")
	if err := d.Clear(); err != nil {
		t.Fatal(err)
	}
	d.holds(t, "cleared", ".step-x.ckpt.12-3.tmp", "note.txt")
}

// TestDamagedNewest: whatever happens to the newest file, the one before it is loaded and the damage is told; going on
// removes the damaged file, also when it has a later step.
func TestDamagedNewest(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"empty":   func(b []byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"text":    func([]byte) []byte { return []byte(strings.Repeat("not a checkpoint\n", 9)) },
	} {
		d := savedDir(t, 100, 200, 300)
		change(t, d.path(300), damage)
		d = &Dir{files: d.files}
		got, err := d.Load()
		if err != nil || stepIn(t, got) != 200 || len(got.Skipped) != 1 || !errors.Is(got.Skipped[0], ErrCorrupt) ||
			!strings.Contains(got.Skipped[0].Error(), "step-300.ckpt") {
			t.Fatalf("%s: loaded %s: %v, skipped %v", name, got.Path, err, got.Skipped)
		}
		for _, step := range []int{250, 310} {
			if _, err := d.Save(step, numbered(step)); err != nil {
				t.Fatal(err)
			}
			d.holds(t, name, fmt.Sprintf("step-%d.ckpt", map[int]int{250: 200, 310: 250}[step]),
				fmt.Sprintf("step-%d.ckpt", step))
		}
	}
}

// change replaces what a file holds.
func change(t *testing.T, path string, to func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, to(b), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAllDamaged(t *testing.T) {
	d := savedDir(t, 1, 2)
	for step := 1; step <= 2; step++ {
		change(t, d.path(step), func(b []byte) []byte { b[20] ^= 1; return b })
	}
	_, err := d.Load()
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "step-1.ckpt") ||
		!strings.Contains(err.Error(), "step-2.ckpt") {
		t.Errorf("error %v, want one that tells what is wrong with both", err)
	}
}

// TestAnotherVersionIsNotSkipped: falling back would hide that the program is the wrong one.
func TestAnotherVersionIsNotSkipped(t *testing.T) {
	d := savedDir(t, 1, 2)
	change(t, d.path(2), func(b []byte) []byte { b[len(magic)] = Version + 1; return b })
	if got, err := d.Load(); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("loaded %s with error %v, want one about the version", got.Path, err)
	}
}

// TestSaveFails: a write that fails leaves the folder as it was. Here a folder that is not empty has the name of the
// file.
func TestSaveFails(t *testing.T) {
	d := savedDir(t, 1)
	if err := os.MkdirAll(filepath.Join(d.path(2), "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Save(2, numbered(2)); err == nil || !strings.Contains(err.Error(), "step-2.ckpt") {
		t.Errorf("error %v, want one with the file's name", err)
	}
	d.holds(t, "after a failure", "step-1.ckpt", "step-2.ckpt")
}

// TestOldCheckpointStays: one that cannot be removed is told once and stops nothing. Here it is a folder that is not
// empty.
func TestOldCheckpointStays(t *testing.T) {
	d := savedDir(t)
	if err := os.MkdirAll(filepath.Join(d.path(1), "kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	var warned []string
	d.Warn = func(err error) { warned = append(warned, err.Error()) }
	for step := 2; step <= 6; step++ {
		if _, err := d.Save(step, numbered(step)); err != nil {
			t.Fatal(err)
		}
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "step-1.ckpt") {
		t.Errorf("warned of %q, want step 1 once", warned)
	}
	d.holds(t, "at the end", "step-1.ckpt", "step-5.ckpt", "step-6.ckpt")
	if got, err := d.Load(); err != nil || stepIn(t, got) != 6 {
		t.Errorf("loaded %s: %v", got.Path, err)
	}
	if err := d.Clear(); err == nil || !strings.Contains(err.Error(), "step-1.ckpt") {
		t.Errorf("Clear: error %v", err)
	}
}

// TestFolderRemoved: a folder that is removed while it is in use is made again, with a warning, unless the one above it
// is gone too.
func TestFolderRemoved(t *testing.T) {
	d := savedDir(t, 1, 2)
	var warned []string
	d.Warn = func(err error) { warned = append(warned, err.Error()) }
	if err := os.RemoveAll(d.files.Folder); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Save(3, numbered(3)); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Load(); err != nil || stepIn(t, got) != 3 {
		t.Error(got, err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "was removed while it was in use") {
		t.Errorf("warned %q", warned)
	}
	if err := os.RemoveAll(filepath.Dir(d.files.Folder)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Save(4, numbered(4)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
