package daemon

import (
	"errors"
	"os"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/serve/journal"
)

// twoSnapshots waits until a folder has two snapshots of its own, and returns the newer one.
func twoSnapshots(t *testing.T, d *Daemon) (newer int64) {
	t.Helper()
	if err := d.until(t.Context(), func() bool {
		numbers, err := d.files.Numbers()
		if err != nil {
			t.Fatal(err)
		}
		if numbers[0] == 0 { // that of a new folder, which --retain keeps
			numbers = numbers[1:]
		}
		newer = numbers[len(numbers)-1]
		return len(numbers) == 2 && !d.writing
	}); err != nil {
		t.Fatal(err)
	}
	return newer
}

// TestSecondSnapshot: after a deletion, which leaves one snapshot, a second one comes soon, without another request and
// also in the next start, and the daemon starts where the newer one is damaged. The damaged one goes, so that it does
// not stand in the place of a whole one.
func TestSecondSnapshot(t *testing.T) {
	for _, retain := range []bool{false, true} {
		dir, o := t.TempDir(), small()
		o.HeldOut, o.Retain = 0, retain
		d := open(t, dir, o)
		learn(t, d, samples(0, 20))
		applied(t, d)
		if _, err := d.Forget(t.Context(), Which{IDs: []string{"id-3"}}, ""); err != nil {
			t.Fatal(err)
		}
		soon := crashed(t, dir) // perhaps before the second one
		for _, d := range []*Daemon{d, open(t, soon, o)} {
			newer := twoSnapshots(t, d)
			learn(t, d, samples(20, 10))
			applied(t, d)
			want := digest(t, d)
			bad := crashed(t, d.dir)
			if err := os.Truncate(journal.Snapshots(bad).Path(newer), 700); err != nil {
				t.Fatal(err)
			}
			again := open(t, bad, o)
			if got := digest(t, again); got != want {
				t.Errorf("the start makes the state %s instead of %s", got, want)
			}
			if has(t, bad, samples(3, 1)[0].Pixels) {
				t.Error("a file has what was forgotten")
			}
			end(t, again)
			if r, err := Verify(t.Context(), bad, Options{}); err != nil || !r.Same() {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
}

// TestEverySnapshotIsDamaged: the error of a start says what to do.
func TestEverySnapshotIsDamaged(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small())
	learn(t, d, samples(0, 20))
	end(t, d)
	numbers, err := d.files.Numbers()
	for _, n := range numbers {
		err = errors.Join(err, os.Truncate(d.files.Path(n), 700))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small()); !errors.Is(err, checkpoint.ErrCorrupt) ||
		!strings.Contains(err.Error(),
			"Put a good copy of the folder in its place; without one, what was learned is lost, so begin with another folder") {
		t.Error(err)
	}
}
