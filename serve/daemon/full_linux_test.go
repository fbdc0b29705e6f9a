package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk is a file system of its own with some bytes, and a function that fills it.
func smallDisk(t *testing.T, bytes int) (dir string, fill func() (free func())) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("NOT RUN: a full file system, as none can be mounted (%v)", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, func() func() {
		f, err := os.Create(filepath.Join(dir, "fill"))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = io.CopyN(f, zeros{}, 4096)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		return func() {
			if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestStartOnAFullDisk: a daemon that was killed on a full disk starts on it, with other bounds too, predicts what it
// predicted, and tells that the disk is full. When there is room it goes on by itself. The log has a line when the disk
// was full, and one with the number of those that were refused.
func TestStartOnAFullDisk(t *testing.T) {
	was := filepath.Join(t.TempDir(), "d")
	o := small()
	o.HeldOut = 0
	d := open(t, was, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	want := digest(t, d)
	disk, fill := smallDisk(t, 4<<20)
	dir := filepath.Join(disk, "d")
	if err := os.CopyFS(dir, os.DirFS(was)); err != nil {
		t.Fatal(err)
	}
	free := fill()
	var log logText
	o.Log, o.Remember.Count = log.logger(), 3
	d = open(t, dir, o)
	if got := digest(t, d); got != want {
		t.Errorf("the start makes the state %s instead of %s", got, want)
	}
	if _, err := d.Predict(t.Context(), [][]byte{picture(0, 1)}, 1); err != nil {
		t.Error(err)
	}
	if d.Problem() != noRoom || d.Status().Problem != noRoom || d.Ready() != nil {
		t.Errorf("the problem is %q, and %v", d.Problem(), d.Ready())
	}
	for i := range 3 {
		if _, err := d.Learn(t.Context(), samples(20+i, 1), ""); !errors.Is(err, ErrNoRoom) {
			t.Errorf("a sample on a full disk: %v", err)
		}
	}
	free()
	if err := d.until(t.Context(), func() bool { return d.problem == "" && d.state.bounds.Count == 3 }); err != nil {
		t.Fatal(err)
	}
	learn(t, d, samples(20, 5))
	applied(t, d)
	if n := d.Status().Samples.Learned; n != 25 {
		t.Errorf("%d were learned", n)
	}
	end(t, d)
	text := log.String()
	if strings.Count(text, noRoom) != 1 || strings.Count(text, `msg="the disk has room again" refused=3`) != 1 {
		t.Error(text)
	}
	if r, err := Verify(t.Context(), dir, Options{}); err != nil || !r.Same() {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestFullDiskAtTheEnd: a daemon that is asked to end on a full disk ends without its last snapshot and without an
// error. The next start learns again what was acknowledged.
func TestFullDiskAtTheEnd(t *testing.T) {
	disk, fill := smallDisk(t, 4<<20)
	dir, o := filepath.Join(disk, "d"), small()
	o.HeldOut = 0
	d := open(t, dir, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	want := digest(t, d)
	free := fill()
	err := d.Close(t.Context())
	free()
	if err != nil {
		t.Fatal(err)
	}
	if numbers, err := d.files.Numbers(); err != nil || fmt.Sprint(numbers) != "[0]" {
		t.Fatalf("snapshots %v, %v", numbers, err)
	}
	if got := digest(t, open(t, dir, o)); got != want {
		t.Errorf("the next start makes the state %s instead of %s", got, want)
	}
}

// TestEndWithSamplesOnAFullDisk: a daemon whose disk is full is not learning what waits, and does not wait for it when
// it is asked to end.
func TestEndWithSamplesOnAFullDisk(t *testing.T) {
	disk, fill := smallDisk(t, 4<<20)
	dir, o := filepath.Join(disk, "d"), small()
	o.HeldOut = 0
	d := open(t, dir, o)
	learn(t, d, samples(0, 3)) // less than a batch
	applied(t, d)              // its classes
	free := fill()
	if _, err := d.Learn(t.Context(), samples(3, 4), ""); !errors.Is(err, ErrNoRoom) {
		t.Fatal(err)
	}
	if s := d.Status(); s.State != "stopped" || s.Problem != noRoom || s.Samples.Waiting != 3 {
		t.Errorf("%+v", s)
	}
	err := d.Close(t.Context()) // it has no end of its own
	free()
	if err != nil {
		t.Fatal(err)
	}
	d = open(t, dir, o)
	learn(t, d, samples(3, 2))
	applied(t, d)
	if n := d.Status().Samples.Learned; n != 5 {
		t.Errorf("%d were learned", n)
	}
}
