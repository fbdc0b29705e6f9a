package checkpoint

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ram is a file system in memory that stops for ever before operation number stop, as SIGKILL or a power cut does. A
// write is done in pieces, each an operation. It knows what a disk is bound to keep: bytes that were synced, and names
// whose folder was synced after the change.
type ram struct {
	names   map[string]*inode // what processes see
	durable map[string]*inode // the names that survive a power cut
	ops     int
	stop    int // 0 is never
	failing error
}

type inode struct{ data, synced []byte }

var errStopped = errors.New("stopped")

func newRAM() *ram { return &ram{names: map[string]*inode{}, durable: map[string]*inode{}} }

// op counts an operation and tells whether the process still lives.
func (r *ram) op() error {
	if r.stop > 0 && r.ops >= r.stop {
		return errStopped
	}
	r.ops++
	return nil
}

// kill is the state after SIGKILL: all that was done is there.
func (r *ram) kill() *ram {
	after := newRAM()
	for n, f := range r.names {
		after.names[n] = &inode{slices.Clone(f.data), slices.Clone(f.synced)}
		after.durable[n] = after.names[n]
	}
	return after
}

// cut is the state after a power cut: only what was synced is there. Names that were removed or replaced without a sync
// of the folder are back, with the bytes they were bound to keep.
func (r *ram) cut() *ram {
	after := newRAM()
	for n, f := range r.durable {
		after.names[n] = &inode{slices.Clone(f.synced), slices.Clone(f.synced)}
		after.durable[n] = after.names[n]
	}
	return after
}

func (r *ram) create(p string) (file, error) {
	if err := r.op(); err != nil {
		return nil, err
	}
	f := &inode{}
	r.names[p] = f
	return &handle{r, f}, nil
}

func (r *ram) rename(from, to string) error {
	if err := r.op(); err != nil {
		return err
	}
	f, ok := r.names[from]
	if !ok {
		return iofs.ErrNotExist
	}
	delete(r.names, from)
	r.names[to] = f
	return nil
}

func (r *ram) remove(p string) error {
	if err := r.op(); err != nil {
		return err
	}
	if _, ok := r.names[p]; !ok {
		return iofs.ErrNotExist
	}
	delete(r.names, p)
	return nil
}

func (r *ram) syncFolder(folder string) error {
	if err := r.op(); err != nil {
		return err
	}
	r.durable = map[string]*inode{}
	for n, f := range r.names {
		if filepath.Dir(n) == folder {
			r.durable[n] = f
		}
	}
	return nil
}

func (r *ram) list(string) ([]string, error) {
	var names []string
	for n := range r.names {
		names = append(names, path.Base(n))
	}
	return names, nil
}

func (r *ram) read(p string) ([]byte, error) {
	f, ok := r.names[p]
	if !ok {
		return nil, iofs.ErrNotExist
	}
	return slices.Clone(f.data), nil
}

type handle struct {
	r *ram
	f *inode
}

func (h *handle) Write(b []byte) (int, error) {
	if h.r.failing != nil {
		return 0, h.r.failing
	}
	done := 0
	for len(b) > done {
		if err := h.r.op(); err != nil {
			return done, err
		}
		n := min(50, len(b)-done)
		h.f.data = append(h.f.data, b[done:done+n]...)
		done += n
	}
	return done, nil
}

func (h *handle) Sync() error {
	if err := h.r.op(); err != nil {
		return err
	}
	h.f.synced = slices.Clone(h.f.data)
	return nil
}

func (h *handle) Close() error { return h.r.op() }

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

// TestStoppedAtAnyInstant stops a run that saves five checkpoints before every single operation on the disk, by a kill
// and by a power cut. What a new process loads is the last checkpoint whose Save returned, or the one that was being
// saved; nothing is damaged; and it can go on saving.
func TestStoppedAtAnyInstant(t *testing.T) {
	const last = 5
	for stop := 1; ; stop++ {
		disk := newRAM()
		disk.stop = stop
		d := &Dir{folder: "ck", fs: disk}
		saved := 0
		var err error
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
			d := &Dir{folder: "ck", fs: after}
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
			names, _ := after.list("")
			slices.Sort(names)
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
		names, _ := disk.list("")
		slices.Sort(names)
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
	for _, f := range disk.names {
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
	names, _ := disk.list("")
	slices.Sort(names)
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
	if got, err := d.Load(); err != nil || stepIn(t, got) != 1 || len(disk.names) != 1 {
		t.Errorf("loaded %s (%v) from %d files, want step 1 from 1", got.Path, err, len(disk.names))
	}
}

func TestWriteFailsInTheMiddle(t *testing.T) {
	disk := newRAM()
	write := func(text string, err error) error {
		return writeAtomic(disk, filepath.Join("x", "f"), func(w io.Writer) error {
			_, werr := io.WriteString(w, text)
			return errors.Join(werr, err)
		})
	}
	broken := errors.New("broken")
	if err := errors.Join(write("one", nil)); err != nil {
		t.Fatal(err)
	}
	if err := write("two", broken); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if b, _ := disk.read(filepath.Join("x", "f")); string(b) != "one" || len(disk.names) != 1 {
		t.Errorf("the file holds %q and there are %d files; want \"one\" and 1", b, len(disk.names))
	}
}
