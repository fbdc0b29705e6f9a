package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ocl/checkpoint"
	"ocl/internal/faulttest"
)

// picture is the event under a number that [erasing] appends: random bytes that stand nowhere else.
func picture(number int64) Event {
	r := rand.New(rand.NewPCG(uint64(number), 77))
	e := Event{Number: number, Kind: "sample", Time: time.Unix(0, 1e18+number).UTC(),
		ID: fmt.Sprintf("picture-%d", number), Pixels: make([]byte, 700+r.IntN(6000))}
	for i := range e.Pixels {
		e.Pixels[i] = byte(r.Uint32())
	}
	return e
}

// pictured is a container that has the pictures of some numbers.
func pictured(from, to int64, without func(int64) bool) (*checkpoint.Container, error) {
	var pixels []byte
	for n := from; n <= to; n++ {
		if !without(n) {
			pixels = append(pixels, picture(n).Pixels...)
		}
	}
	c := checkpoint.NewContainer()
	return c, checkpoint.Parts{checkpoint.Bytes("pixels", &pixels)}.SaveState(c.Encoder())
}

// pictures is how many pictures [erasing] appends.
const pictures = 60

// forgotten are the pictures that are erased.
func forgotten(n int64) bool { return n%3 == 0 }

// phases of [erasing], each of which begins when a file of this name is made beside the folder.
var phases = []string{"snapshot", "version", "erase", "again"}

func init() { tasks["erasing"] = erasing }

// erasing does what a daemon does that has pictures and has to forget some.
func erasing(dir string, out io.Writer) error {
	begin := func(phase string) error { return os.WriteFile(filepath.Join(filepath.Dir(dir), phase), nil, 0o600) }
	j, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	add := func(to int64) error {
		for n := j.Last() + 1; n <= to; n = j.Last() + 1 {
			var events []Event
			for ; n <= to && len(events) < 7; n++ {
				events = append(events, picture(n))
			}
			if _, err := j.Append(events); err != nil {
				return err
			}
		}
		return nil
	}
	write := func(f *Files, number int64, without func(int64) bool) error {
		c, err := pictured(1, number, without)
		if err == nil {
			err = f.Write(number, c)
		}
		return err
	}
	all := func(int64) bool { return false }
	snapshots, versions := Snapshots(dir), Versions(dir)
	for _, do := range []func() error{
		func() error { return add(20) },
		func() error { return begin("snapshot") },
		func() error { return write(snapshots, 20, all) },
		func() error { return begin("version") },
		func() error { return write(versions, 20, all) },
		func() error { return add(40) },
		func() error { return begin("erase") },
		func() error { return erased(dir, j, 40) },
		func() error { return add(pictures) },
		func() error { return write(versions, pictures, all) },
		func() error { return write(snapshots, pictures, all) },
		func() error { return j.Trim(30) },
		func() error { return begin("again") },
		func() error { return erased(dir, j, pictures) },
		j.Close,
	} {
		if err := do(); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "done")
	return nil
}

// erased takes the forgotten pictures up to a number out of every file of a folder.
func erased(dir string, j Journal, to int64) error {
	c, err := pictured(1, to, forgotten)
	if err != nil {
		return err
	}
	var ids []string
	for n := int64(1); n <= to; n++ {
		if forgotten(n) {
			ids = append(ids, picture(n).ID)
		}
	}
	files, versions := Snapshots(dir), Versions(dir)
	return errors.Join(files.Write(j.Last(), c), files.RemoveExcept(j.Last()), versions.RemoveExcept(),
		versions.RemoveTemporary(), j.Erase(ids))
}

// TestErasedAfterKills kills a process at an instant of each phase, opens the folder
// again, erases there what is forgotten, and looks through every byte of every file for it. What is not forgotten is
// there.
func TestErasedAfterKills(t *testing.T) {
	kills := 4 // in each
	if testing.Short() {
		kills = 1
	}
	if os.Getenv("OCL_LONG") != "" {
		kills = 100
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	secrets := map[string][]byte{}
	for n := range int64(pictures + 1) {
		if forgotten(n) {
			secrets[fmt.Sprintf("picture %d", n)] = picture(n).Pixels
		}
	}
	run := func(decide func(phase string, o faulttest.Op) faulttest.Verdict) string {
		t.Helper()
		top := t.TempDir()
		dir, phase := filepath.Join(top, "served"), ""
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childFolder+"="+dir, childTask+"=erasing")
		var text, faults bytes.Buffer
		child.Stdout, child.Stderr = &text, &faults
		killed, err := faulttest.Run(child, "journal.test", top, func(o faulttest.Op) faulttest.Verdict {
			if filepath.Dir(o.Path) == top {
				if name := filepath.Base(o.Path); slices.Contains(phases, name) {
					phase = name
				}
				return faulttest.Verdict{}
			}
			return decide(phase, o)
		})
		if errors.Is(err, faulttest.ErrNoTraps) {
			t.Skipf("NOT RUN: %v", err)
		}
		if !killed && (err != nil || strings.TrimSpace(text.String()) != "done") {
			t.Fatalf("seed %d: %v: %s%s", seed, err, text.String(), faults.String())
		}
		return dir
	}
	check := func(what, dir string) {
		t.Helper()
		j, err := Open(dir, Options{})
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, what, err)
		}
		if err := erased(dir, j, pictures); err != nil {
			t.Fatalf("seed %d, %s: %v", seed, what, err)
		}
		for range 2 { // while it is open, and after it was closed
			found, err := faulttest.Search(dir, secrets)
			if err != nil || len(found) > 0 {
				t.Fatalf("seed %d, %s: %d erased pictures are there: %v: %v", seed, what, len(found), found, err)
			}
			if err := j.Read(1, func(e Event) error {
				want := picture(e.Number)
				if forgotten(e.Number) {
					want.Pixels, want.Erased = nil, true
				}
				if !same(e, want) {
					return fmt.Errorf("event %d is %+v", e.Number, e)
				}
				return nil
			}); err != nil && !errors.Is(err, ErrClosed) {
				t.Fatalf("seed %d, %s: %v", seed, what, err)
			}
			closed(t, j)
		}
	}
	counts := map[string]int{}
	check("undisturbed", run(func(phase string,
		_ faulttest.Op) faulttest.Verdict {
		counts[phase]++
		return faulttest.Verdict{}
	}))
	for _, phase := range phases {
		if counts[phase] < 4 {
			t.Fatalf("%s: %d operations", phase, counts[phase])
		}
		for range kills {
			at, seen := r.IntN(counts[phase]), 0
			how := faulttest.Verdict{Kill: true, Half: r.IntN(3) == 0}
			if r.IntN(3) == 0 {
				how.After = time.Duration(r.IntN(int(3 * time.Millisecond)))
			}
			what := ""
			dir := run(func(now string, o faulttest.Op) faulttest.Verdict {
				if now == phase {
					if seen++; seen == at+1 {
						what = fmt.Sprintf("%s, killed at its operation %d (%s of %s), %+v", phase, at+1, o.Call, filepath.Base(o.Path),
							how)
						return how
					}
				}
				return faulttest.Verdict{}
			})
			check(what, dir)
		}
	}
	t.Logf("seed %d; operations: %v", seed, counts)
}

// TestSearch: a piece of a secret is found wherever it stands, and nothing else is.
func TestSearch(t *testing.T) {
	dir, secrets := t.TempDir(), map[string][]byte{"a": picture(1).Pixels, "b": picture(2).Pixels}
	text := append(picture(3).Pixels, secrets["a"][101:132]...)
	if err := os.WriteFile(filepath.Join(dir, "x"), append(text, picture(4).Pixels...), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := faulttest.Search(dir, secrets); err != nil || len(found) != 1 ||
		!strings.Contains(found[0], " of a ") {
		t.Errorf("%q, %v", found, err)
	}
}

// TestMovedRows: where trims let SQLite move rows between its pages, no bytes of them stay where no erasure finds them.
// secure_delete does not see to that: with it alone, 473 of 20,052 such histories left bytes behind.
func TestMovedRows(t *testing.T) {
	seeds := []uint64{25, 74, 231, 239} // of the first 400, those that do
	if os.Getenv("OCL_LONG") != "" {
		for seed := range uint64(400) {
			seeds = append(seeds, seed)
		}
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := filepath.Join(t.TempDir(), "folder")
		j := opened(t, dir, Options{})
		secrets := map[string][]byte{}
		small, large := 20+r.IntN(200), 300+r.IntN(6000)
		n, first := int64(0), int64(1)
		for range 3 + r.IntN(8) {
			var events []Event
			for range 1 + r.IntN(40) {
				n++
				e := picture(n)
				size := small + r.IntN(small)
				if r.IntN(3) == 0 {
					size = r.IntN(large)
				}
				e.Pixels = make([]byte, size)
				for i := range e.Pixels {
					e.Pixels[i] = byte(r.Uint32())
				}
				if events = append(events, e); forgotten(n) && size > 40 {
					secrets[e.ID] = e.Pixels
				}
			}
			if _, err := j.Append(events); err != nil {
				t.Fatal(err)
			}
			if r.IntN(3) > 0 {
				first += r.Int64N(max(1, n-first))
				if err := j.Trim(first); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := j.Erase(slices.Collect(maps.Keys(secrets))); err != nil {
			t.Fatal(err)
		}
		if found, err := faulttest.Search(dir, secrets); err != nil || len(found) > 0 {
			t.Errorf("history %d: %v: %v", seed, found, err)
		}
		closed(t, j)
	}
}
