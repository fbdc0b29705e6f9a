package daemon

import (
	"fmt"
	"syscall"
	"testing"
)

// TestFullDiskAtTheEnd: a daemon that is asked to end on a full disk ends without its last snapshot and without an error. The next start learns again what was acknowledged.
func TestFullDiskAtTheEnd(t *testing.T) { // not in parallel: the limit is that of the process
	dir, o := t.TempDir(), small()
	o.HeldOut = 0
	o.Live.Set = append(o.Live.Set, "network.hidden=2000") // the snapshot is longer than all else that is written meanwhile
	d := open(t, dir, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	want := digest(t, d)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	err := d.Close(t.Context())
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
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
