package checkpoint

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// numbered is a container of a few hundred bytes that knows its step.
func numbered(step int) *Container {
	c := NewContainer()
	c.Encoder().Int64s("step", int64(step))
	c.Encoder().Bytes("filler", make([]byte, 200))
	return c
}

func stepIn(t *testing.T, l Loaded) int {
	t.Helper()
	var step int64
	if err := l.Decoder().Int64s("step", &step); err != nil {
		t.Fatal(err)
	}
	return int(step)
}

// TestStoppedAtAnyInstant stops a run that makes its folder and saves five checkpoints before every single operation on
// the disk, by a kill and by a power cut. What a new process loads is the last checkpoint whose Save returned, or the
// one that was being saved; nothing is damaged; and it can go on saving.
func TestStoppedAtAnyInstant(t *testing.T) {
	folder := filepath.Join("runs", "er", "ck")
	const last = 5
	for stop := 1; ; stop++ {
		disk := newRAM()
		disk.stop = stop
		d, err := openDir(disk, folder)
		saved := 0
		for step := 1; step <= last && err == nil; step++ {
			if _, err = d.Save(step, numbered(step)); err == nil {
				saved = step
			}
		}
		if err == nil {
			if stop < 30 {
				t.Fatalf("five checkpoints took %d operations; the test stops at too few places", stop)
			}
			return
		}
		for name, after := range map[string]*ram{"kill": disk.kill(), "power cut": disk.cut()} {
			what := fmt.Sprintf("%s before operation %d, %d saved", name, stop+1, saved)
			d, err := openDir(after, folder)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			got, err := d.Load()
			if saved == 0 && errors.Is(err, iofs.ErrNotExist) {
				continue
			}
			if err != nil || len(got.Skipped) != 0 {
				t.Fatalf("%s: %v, skipped %v", what, err, got.Skipped)
			}
			step := stepIn(t, got)
			if step != saved && step != saved+1 {
				t.Fatalf("%s: loaded step %d", what, step)
			}
			if _, err := d.Save(step+1, numbered(step+1)); err != nil {
				t.Fatalf("%s: saving on: %v", what, err)
			}
			names, _ := after.list(folder)
			if want := []string{fmt.Sprintf("step-%d.ckpt", step), fmt.Sprintf("step-%d.ckpt", step+1)}; !slices.Equal(names, want) {
				t.Fatalf("%s: the folder holds %v, want %v", what, names, want)
			}
		}
	}
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
		disk := newRAM()
		d := &Dir{folder: "ck", fs: disk}
		for _, step := range []int{100, 200, 300} {
			if _, err := d.Save(step, numbered(step)); err != nil {
				t.Fatal(err)
			}
		}
		newest := filepath.Join("ck", "step-300.ckpt")
		disk.names[newest].data = damage(disk.names[newest].data)
		d = &Dir{folder: "ck", fs: disk}
		got, err := d.Load()
		if err != nil || stepIn(t, got) != 200 || len(got.Skipped) != 1 || !errors.Is(got.Skipped[0], ErrCorrupt) ||
			!strings.Contains(got.Skipped[0].Error(), "step-300.ckpt") {
			t.Fatalf("%s: loaded %s: %v, skipped %v", name, got.Path, err, got.Skipped)
		}
		if _, err := d.Save(250, numbered(250)); err != nil {
			t.Fatal(err)
		}
		names := disk.files()
		if !slices.Equal(names, []string{"step-200.ckpt", "step-250.ckpt"}) {
			t.Errorf("%s: after going on, the folder holds %v", name, names)
		}
	}
}

func TestAllDamaged(t *testing.T) {
	disk := newRAM()
	d := &Dir{folder: "ck", fs: disk}
	for _, step := range []int{1, 2} {
		if _, err := d.Save(step, numbered(step)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range disk.files() {
		f := disk.names[filepath.Join("ck", n)]
		f.data[20] ^= 1
	}
	_, err := (&Dir{folder: "ck", fs: disk}).Load()
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "step-1.ckpt") || !strings.Contains(err.Error(), "step-2.ckpt") {
		t.Errorf("error %v, want one that tells what is wrong with both", err)
	}
}

// TestAnotherVersionIsNotSkipped: falling back would hide that the program is the wrong one.
func TestAnotherVersionIsNotSkipped(t *testing.T) {
	disk := newRAM()
	d := &Dir{folder: "ck", fs: disk}
	for _, step := range []int{1, 2} {
		if _, err := d.Save(step, numbered(step)); err != nil {
			t.Fatal(err)
		}
	}
	disk.names[filepath.Join("ck", "step-2.ckpt")].data[len(magic)] = Version + 1
	if got, err := d.Load(); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("loaded %s with error %v, want one about the version", got.Path, err)
	}
}

// TestSaveTwiceAtOneStep keeps the one before.
func TestSaveTwiceAtOneStep(t *testing.T) {
	disk := newRAM()
	d := &Dir{folder: "ck", fs: disk}
	for _, step := range []int{1, 2, 2} {
		if _, err := d.Save(step, numbered(step)); err != nil {
			t.Fatal(err)
		}
	}
	names := disk.files()
	if !slices.Equal(names, []string{"step-1.ckpt", "step-2.ckpt"}) {
		t.Errorf("the folder holds %v", names)
	}
}

// TestFullDisk: a write that fails leaves the folder as it was.
func TestFullDisk(t *testing.T) {
	disk := newRAM()
	d := &Dir{folder: "ck", fs: disk}
	if _, err := d.Save(1, numbered(1)); err != nil {
		t.Fatal(err)
	}
	disk.failing = errors.New("no space left on device")
	if _, err := d.Save(2, numbered(2)); !errors.Is(err, disk.failing) || !strings.Contains(err.Error(), "step-2.ckpt") {
		t.Errorf("error %v, want the disk's with the file's name", err)
	}
	if got, err := d.Load(); err != nil || stepIn(t, got) != 1 || len(disk.files()) != 1 {
		t.Errorf("loaded %s (%v) from %v, want step 1 from one file", got.Path, err, disk.files())
	}
}

func TestWriteFailsInTheMiddle(t *testing.T) {
	disk := newRAM()
	write := func(text string, err error) error {
		return writeAtomic(disk, filepath.Join("ck", "f"), func(w io.Writer) error {
			_, werr := io.WriteString(w, text)
			return errors.Join(werr, err)
		}, nil)
	}
	broken := errors.New("broken")
	if err := errors.Join(write("one", nil)); err != nil {
		t.Fatal(err)
	}
	if err := write("two", broken); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if b, _ := disk.read(filepath.Join("ck", "f")); string(b) != "one" || len(disk.files()) != 1 {
		t.Errorf("the file holds %q and the folder %v; want \"one\" in one file", b, disk.files())
	}
}
