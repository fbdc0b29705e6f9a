package daemon

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/serve/journal"
)

// Parts of a folder that a copy may have of different instants.
var copiedParts = []string{"journal.db", "journal.db-wal", "acknowledged", "snapshots", "versions"}

// instants are copies of the folder of a daemon while it works: what it had acknowledged at each, and forgotten until
// the last.
func instants(t *testing.T, o Options) (dirs []string, acknowledged [][]string, forgotten map[string]bool) {
	t.Helper()
	dir := t.TempDir()
	d := open(t, dir, o)
	forgotten = map[string]bool{}
	var ids []string
	for i := range 8 {
		for range 4 {
			list := samples(len(ids), 20)
			learn(t, d, list)
			for _, m := range list {
				ids = append(ids, m.ID)
			}
		}
		applied(t, d)
		if i%2 == 1 {
			one := ids[len(ids)-7]
			if _, err := d.Forget(t.Context(), Which{IDs: []string{one}}, ""); err != nil {
				t.Fatal(err)
			}
			forgotten[one] = true
		}
		if i == 3 || i == 5 { // what a start does to the log
			d = again(t, d, dir, o)
		}
		done := make(chan error)
		d.between <- func() { done <- d.snapshot() }
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		dirs, acknowledged = append(dirs, crashed(t, dir)), append(acknowledged, slices.Clone(ids))
	}
	return dirs, acknowledged, forgotten
}

// TestMixedCopies: a copy whose files are of different instants is found to be damaged, or it has all that was
// acknowledged at the first of them, and a daemon starts from it. A copy of one instant is good. Verify changes nothing
// in it.
func TestMixedCopies(t *testing.T) {
	for _, retain := range []bool{false, true} {
		t.Run(fmt.Sprintf("retain %v", retain), func(t *testing.T) {
			o := small()
			o.HeldOut, o.Queue, o.Retain, o.VersionEvery = 0, 1000, retain, 30
			dirs, acknowledged, forgotten := instants(t, o)
			draw := rand.New(rand.NewPCG(7, 7))
			good, refused, tries := 0, 0, 150
			if testing.Short() {
				tries = 60
			}
			for n := range tries {
				dir := filepath.Join(t.TempDir(), "d")
				if err := os.CopyFS(dir, os.DirFS(dirs[0])); err != nil {
					t.Fatal(err)
				}
				first, of := draw.IntN(len(dirs)), []int{}
				oldest := first
				for _, name := range copiedParts {
					at := first
					if n >= len(dirs) && draw.IntN(2) == 0 {
						at = min(first+draw.IntN(3), len(dirs)-1)
					}
					if n < len(dirs) {
						at, oldest = n, n
					}
					of = append(of, at)
					from, to := filepath.Join(dirs[at], name), filepath.Join(dir, name)
					if err := os.RemoveAll(to); err != nil {
						t.Fatal(err)
					}
					info, err := os.Stat(from)
					switch {
					case errors.Is(err, os.ErrNotExist):
					case err != nil:
						t.Fatal(err)
					case info.IsDir():
						err = os.CopyFS(to, os.DirFS(from))
					default:
						var text []byte
						if text, err = os.ReadFile(from); err == nil {
							err = os.WriteFile(to, text, 0o600)
						}
					}
					if err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Fatal(err)
					}
				}
				r, err := Verify(t.Context(), dir, Options{})
				if err != nil || r.Compared() && !r.Same() {
					if refused++; err != nil && !errors.Is(err, ErrDamaged) {
						t.Errorf("of the instants %v: %v", of, err)
					}
					if n < len(dirs) {
						t.Errorf("of the instant %d: %+v, %v", n, r, err)
					}
					continue
				}
				good++
				d, err := Open(dir, o)
				if err != nil {
					t.Fatalf("of the instants %v, which Verify lets pass: %v", of, err)
				}
				for _, id := range acknowledged[oldest] {
					if _, there := d.Sample(id); !there && !forgotten[id] {
						t.Errorf("of the instants %v, which Verify lets pass: %s is not there", of, id)
					}
				}
				if err := d.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d copies are good, and %d are refused", good, refused)
			if good <= len(dirs) || refused < tries/4 {
				t.Errorf("%d copies are good, and %d are refused", good, refused)
			}
		})
	}
}

// TestDamagedCopies: what a copy can lack, and files that are damaged, are found, and those that a daemon does not need
// are not missed.
func TestDamagedCopies(t *testing.T) {
	was, o := t.TempDir(), small()
	o.HeldOut = 0
	d := open(t, was, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	if _, err := d.Keep(t.Context(), "one", ""); err != nil {
		t.Fatal(err)
	}
	applied(t, d)
	d = again(t, d, was, o)
	learn(t, d, samples(20, 20))
	applied(t, d)
	d = again(t, d, was, o)
	learn(t, d, samples(40, 20))
	applied(t, d)
	was = crashed(t, was)
	snapshots, err := journal.Snapshots(was).Numbers()
	if err != nil || len(snapshots) != 2 {
		t.Fatalf("snapshots %v, %v", snapshots, err)
	}
	versions, err := journal.Versions(was).Numbers()
	if err != nil || len(versions) != 1 {
		t.Fatalf("versions %v, %v", versions, err)
	}
	older, newer, version := fmt.Sprintf("snapshots/%d.ocl", snapshots[0]), fmt.Sprintf("snapshots/%d.ocl", snapshots[1]),
		fmt.Sprintf("versions/%d.ocl", versions[0])
	remove := func(names ...string) func(string) error {
		return func(dir string) (err error) {
			for _, name := range names {
				err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
			}
			return err
		}
	}
	cut := func(name string) func(string) error {
		return func(dir string) error { return os.Truncate(filepath.Join(dir, name), 700) }
	}
	for _, c := range []struct {
		name  string
		spoil func(string) error
		words string // of the error; "" is none
	}{
		{"nothing", remove(), ""},
		{"no lock", remove(".lock"), ""},
		{"no statistics", remove("statistics.json"), ""},
		{"no ocl-serve.json", remove("ocl-serve.json"), ""}, // the other files say what it did
		{"no journal", remove("journal.db"), "journal.db: it is missing"},
		{"no log", remove("journal.db-wal"), "journal.db-wal, is damaged or gone"},
		{"no mark", remove("acknowledged"), "acknowledged: it is missing or damaged"},
		{"neither log nor mark", remove("journal.db-wal", "acknowledged"), "acknowledged: it is missing or damaged"},
		{"a cut mark", func(dir string) error { return os.Truncate(filepath.Join(dir, "acknowledged"), 40) },
			"acknowledged: it is missing or damaged"},
		{"no older snapshot", remove(older), ""}, // nothing is lost, and there is nothing to compare with
		{"no newer snapshot", remove(newer), ""},
		{"no snapshot", remove(older, newer), ErrNothing.Error()},
		{"a cut older snapshot", cut(older), "start ocl serve, which goes on from another snapshot"},
		{"a cut newer snapshot", cut(newer), fmt.Sprintf("the snapshot %d", snapshots[1])},
		{"a cut version", cut(version), "remove the file: nobody can go back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := crashed(t, was)
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			r, err := Verify(t.Context(), dir, Options{})
			if c.words == "" && (err != nil || r.Compared() && !r.Same() || r.Last < r.To) {
				t.Errorf("%+v, %v", r, err)
			}
			if c.words != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("error %v, want one with %q", err, c.words)
			}
		})
	}
	for name, spoil := range map[string]func(string) error{
		"no folder":        os.RemoveAll,
		"none of a daemon": remove("ocl-serve.json", "acknowledged"),
	} {
		dir := crashed(t, was)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), dir, Options{}); err == nil || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Verify(t.Context(), d.dir, Options{}); !errors.Is(err, journal.ErrBusy) || errors.Is(err, ErrDamaged) {
		t.Errorf("of a daemon that runs: %v", err)
	}
}

// TestVerifyAfterTheNewestSnapshot: what comes after the newest snapshot is applied too, with a rollback to a version
// that is older than all snapshots.
func TestVerifyAfterTheNewestSnapshot(t *testing.T) {
	dir, o := t.TempDir(), small()
	o.HeldOut = 0
	d := open(t, dir, o)
	learn(t, d, samples(0, 20))
	applied(t, d)
	v, err := d.Keep(t.Context(), "one", "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		learn(t, d, samples(20*(i+1), 20))
		d = again(t, d, dir, o)
	}
	end(t, d)
	write := func(e journal.Event) string {
		bad := crashed(t, dir)
		j, err := journal.Open(bad, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e.Time = d.state.time
		if _, err := j.Append([]journal.Event{e}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		return bad
	}
	if r, err := Verify(t.Context(), write(event(kindRollback, "", "", body{Number: v.Number}, nil)),
		Options{}); err != nil || !r.Same() || r.Last != r.To+1 {
		t.Errorf("a rollback that no snapshot has: %+v, %v", r, err)
	}
	if r, err := Verify(t.Context(), write(event(kindSample, "id-1", "", body{Label: "class 1"}, nil)),
		Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("an event that cannot be applied: %+v, %v", r, err)
	}
}
