package checkpoint_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ocl/checkpoint"
)

func TestDirOnDisk(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "checkpoint")
	d, err := checkpoint.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: error %v, want fs.ErrNotExist", err)
	}
	for step := range 4 {
		c := checkpoint.NewContainer()
		c.Encoder().Int64s("step", int64(step))
		path, err := d.Save(step, c)
		if err != nil || path != filepath.Join(folder, fmt.Sprintf("step-%d.ckpt", step)) {
			t.Fatalf("saved %s: %v", path, err)
		}
	}
	// What a killed process leaves goes away with the next checkpoint; files of other kinds stay.
	for _, name := range []string{".step-9.ckpt.tmp", ".step-9.ckpt.77-3.tmp", "note.txt"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, _ = checkpoint.OpenDir(folder)
	got, err := d.Load()
	if err != nil || got.Path != filepath.Join(folder, "step-3.ckpt") {
		t.Fatalf("loaded %s: %v", got.Path, err)
	}
	if _, err := d.Save(10, got.Container); err != nil {
		t.Fatal(err)
	}
	if names := list(t, folder); !slices.Equal(names, []string{"note.txt", "step-10.ckpt", "step-3.ckpt"}) {
		t.Errorf("the folder holds %v", names)
	}
	if err := d.Clear(); err != nil {
		t.Fatal(err)
	}
	if names := list(t, folder); !slices.Equal(names, []string{"note.txt"}) {
		t.Errorf("after Clear the folder holds %v", names)
	}
}

func list(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteBytesAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"a longer text", "short"} {
		if err := checkpoint.WriteBytesAtomic(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, []byte(text)) {
			t.Errorf("read %q (%v), want %q", b, err, text)
		}
	}
	if names := list(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
	missing := filepath.Join(t.TempDir(), "none", "f")
	if err := checkpoint.WriteBytesAtomic(missing, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: error %v, want fs.ErrNotExist", err)
	}
}

// ExampleEncoder saves the state of two parts that do not know each other, and loads one.
// A counter is saved and loaded by one list of its parts.
func ExampleParts() {
	seen, weights := 120, []float32{0.5, 0.25}
	parts := checkpoint.Parts{
		checkpoint.Values("seen", &seen),
		checkpoint.Sub("network", checkpoint.Parts{checkpoint.Float32s("weights", weights)}),
	}
	saved := checkpoint.NewContainer()
	if err := parts.SaveState(saved.Encoder()); err != nil {
		panic(err)
	}

	var file bytes.Buffer
	if _, err := saved.WriteTo(&file); err != nil {
		panic(err)
	}
	loaded, err := checkpoint.Parse(file.Bytes())
	if err != nil {
		panic(err)
	}
	seen, weights[0] = 0, 0
	err = parts.LoadState(loaded.Decoder())
	fmt.Println(seen, weights, err)
	// Output: 120 [0.5 0.25] <nil>
}

// TestBuildFileAtomic: parts written out of order become one file, and a build that fails leaves the file of before.
func TestBuildFileAtomic(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	broken := errors.New("broken")
	for _, end := range []error{nil, broken} {
		err := checkpoint.BuildFileAtomic(path, func(f *os.File) error {
			_, last := f.WriteAt([]byte("two"), 3)
			_, first := f.WriteAt([]byte("one"), 0)
			if end != nil {
				_, first = f.WriteAt([]byte("three"), 0)
			}
			return errors.Join(last, first, end)
		})
		if !errors.Is(err, end) {
			t.Errorf("error %v, want %v", err, end)
		}
		if b, err := os.ReadFile(path); string(b) != "onetwo" || len(list(t, folder)) != 1 {
			t.Errorf("the file holds %q (%v) and the folder %v; want onetwo in one file", b, err, list(t, folder))
		}
	}
}
