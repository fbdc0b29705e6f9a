package journal

import (
	"bytes"
	"errors"
	"fmt"
	"index/suffixarray"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/internal/lifecycle/lifecycletest"
	"time"
)

// sample is the event that tests append under a number: its contents follow from the number, with sizes from nothing to
// some pages.
func sample(number int64) Event {
	r := rand.New(rand.NewPCG(uint64(number), 1))
	filled := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	e := Event{
		Number: number, Kind: []string{"sample", "label", "cut"}[r.IntN(3)], Time: time.Unix(0, 1e18+number).UTC(),
		Who: fmt.Sprintf("token-%d", r.IntN(9)),
		ID:  fmt.Sprintf("id-%d", number), Body: filled(r.IntN(60)),
	}
	if e.Kind == "sample" {
		e.Pixels = filled([]int{0, 3072, 12288}[r.IntN(3)])
	}
	if len(e.Body) == 0 {
		e.Body = nil
	}
	if len(e.Pixels) == 0 {
		e.Pixels = nil
	}
	return e
}

// samples are those of the numbers from first on.
func samples(first int64, n int) (events []Event) {
	for i := range int64(n) {
		events = append(events, sample(first+i))
	}
	return events
}

// same says whether two events have the same fields.
func same(a, b Event) bool {
	return a.Number == b.Number && a.Kind == b.Kind && a.Time.Equal(b.Time) && a.Who == b.Who && a.ID == b.ID &&
		bytes.Equal(a.Body, b.Body) &&
		bytes.Equal(a.Pixels, b.Pixels) && a.Erased == b.Erased
}

func opened(t testing.TB, dir string, o Options) *store {
	t.Helper()
	j, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j.(*store)
}

// appended appends the next n samples.
func appended(t testing.TB, j Journal, n int) {
	t.Helper()
	want := j.Last() + 1
	if first, err := j.Append(samples(want, n)); err != nil || first != want {
		t.Fatalf("appended from %d on (%v), want %d", first, err, want)
	}
}

func closed(t testing.TB, j Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// holds checks that a journal has exactly the samples of some numbers.
func holds(t testing.TB, j Journal, first, last int64) {
	t.Helper()
	next := first
	err := j.Read(0, func(e Event) error {
		if !same(e, sample(next)) {
			return fmt.Errorf("read %d %s %q, want the event %d", e.Number, e.Kind, e.ID, next)
		}
		next++
		return nil
	})
	if err != nil || next != last+1 || j.First() != first || j.Last() != last {
		t.Fatalf("the events %d to %d of %d to %d are read (%v), want %d to %d", first, next-1, j.First(), j.Last(), err,
			first, last)
	}
}

// TestEventsComeBack: what was appended is read, in order, in this process and in the next.
func TestEventsComeBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "d%20?#é") // no name of a folder may end in another file
	j := opened(t, dir, Options{})
	holds(t, j, 1, 0)
	if first, err := j.Append(nil); err != nil || first != 1 {
		t.Errorf("nothing appended: %d, %v", first, err)
	}
	appended(t, j, 1)
	appended(t, j, 200)
	odd := sample(202)
	odd.ID, odd.Who, odd.Body = "\xff\x00é", "\x00", nil
	if _, err := j.Append([]Event{odd}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var last Event
		n := 0
		if err := j.Read(150, func(e Event) error { n, last = n+1, e; return nil }); err != nil || n != 53 ||
			!same(last, odd) {
			t.Errorf("%d events to %q (%v), want 53 to %q", n, last.ID, err, odd.ID)
		}
		enough := errors.New("enough")
		if err := j.Read(150, func(e Event) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("error %v, want that of each", err)
		}
		if size, rows := j.Size(); rows != 202 || size < 202*100 {
			t.Errorf("%d rows in %d bytes", rows, size)
		}
		closed(t, j)
		if _, err := j.Append(nil); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed journal: %v", err)
		}
		j = opened(t, dir, Options{})
	}
	// Others may append while somebody reads.
	seen := 0
	if err := j.Read(202, func(Event) error {
		if seen++; seen < 3 {
			_, err := j.Append(samples(j.Last()+1, 1))
			return err
		}
		return nil
	}); err != nil || seen != 3 {
		t.Errorf("%d events, %v", seen, err)
	}
}

// TestBadEvents: an event that cannot be kept is refused, and none of those beside it is kept.
func TestBadEvents(t *testing.T) {
	j := opened(t, t.TempDir(), Options{})
	good := sample(1)
	for _, change := range []func(*Event){
		func(e *Event) { e.Kind = "" }, func(e *Event) { e.Kind = strings.Repeat("k", 65) },
		func(e *Event) { e.Time = time.Time{} },
		func(e *Event) { e.Pixels = make([]byte, 65<<20) },
	} {
		bad := good
		change(&bad)
		if _, err := j.Append([]Event{good, bad}); err == nil {
			t.Errorf("appended %q of %v", bad.Kind, bad.Time)
		}
	}
	holds(t, j, 1, 0)
}

// TestTrim: rows below a number go, numbers go on, and the files do not grow with what was removed.
func TestTrim(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir, Options{})
	var largest int64
	for range 30 {
		appended(t, j, 100)
		if err := j.Trim(j.Last() - 99); err != nil {
			t.Fatal(err)
		}
		size, _ := j.Size()
		largest = max(largest, size)
	}
	holds(t, j, 2901, 3000)
	if err := j.Trim(5000); err != nil {
		t.Fatal(err)
	}
	holds(t, j, 3001, 3000)
	closed(t, j)
	j = opened(t, dir, Options{})
	appended(t, j, 3)
	holds(t, j, 3001, 3003)
	if largest > 12<<20 {
		t.Errorf("the files had %d bytes for 200 events of 3 kB on average", largest)
	}
	kept := opened(t, t.TempDir(), Options{Retain: true})
	appended(t, kept, 5)
	if err := kept.Trim(4); err != nil {
		t.Fatal(err)
	}
	holds(t, kept, 1, 5)
}

// TestErase: the bytes of erased events are in no file of the folder, and the other events are as they were. Before
// that the journal was used as a daemon uses it, so that SQLite has moved rows about.
func TestErase(t *testing.T) {
	for _, retain := range []bool{false, true} {
		t.Run(fmt.Sprintf("retain=%v", retain), func(t *testing.T) {
			dir := t.TempDir()
			j := opened(t, dir, Options{Retain: retain})
			r := rand.New(rand.NewPCG(7, 7))
			for range 12 {
				for range 5 {
					appended(t, j, 1+r.IntN(20))
				}
				if err := j.Trim(j.Last() - int64(r.IntN(40))); err != nil {
					t.Fatal(err)
				}
			}
			gone := map[int64]bool{}
			for range 6 {
				var ids []string
				for range 3 {
					n := j.First() + r.Int64N(j.Last()-j.First()+1)
					gone[n], ids = true, append(ids, sample(n).ID)
				}
				if err := j.Erase(append(ids, "unknown", "")); err != nil {
					t.Fatal(err)
				}
				var events []Event
				for n := range gone {
					events = append(events, sample(n))
				}
				absent(t, dir, events)
				appended(t, j, 7)
			}
			for range 2 {
				next := j.First()
				err := j.Read(0, func(e Event) error {
					want := sample(next)
					if gone[next] {
						want.Body, want.Pixels, want.Erased = nil, nil, true
					}
					if !same(e, want) {
						return fmt.Errorf("event %d is %+v", next, e)
					}
					next++
					return nil
				})
				if err != nil || next != j.Last()+1 {
					t.Fatalf("read to %d of %d: %v", next-1, j.Last(), err)
				}
				closed(t, j)
				j = opened(t, dir, Options{Retain: retain})
			}
			// Nothing is left of any event when all are erased, also of those that were trimmed.
			var ids []string
			for n := j.First(); n <= j.Last(); n++ {
				ids = append(ids, sample(n).ID)
			}
			if err := j.Erase(ids); err != nil {
				t.Fatal(err)
			}
			absent(t, dir, samples(1, int(j.Last())))
		})
	}
}

// absent fails if a piece of the pixels or of the body of events is in a file below a folder. Pieces are short, so that
// hardly a remainder escapes.
func absent(t *testing.T, dir string, events []Event) {
	t.Helper()
	const piece = 16
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		index := suffixarray.New(text)
		for _, e := range events {
			for _, b := range [][]byte{e.Body, e.Pixels} {
				for at := 0; at+piece <= len(b); at += piece {
					if len(index.Lookup(b[at:at+piece], 1)) > 0 {
						t.Errorf("%s has %d bytes of the event %d from %d on", filepath.Base(path), len(b), e.Number, at)
						break
					}
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadOnly: a journal for reading changes no event, and makes no folder.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	for _, missing := range []string{filepath.Join(dir, "none"), dir} {
		if _, err := Open(missing, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrOther) {
			t.Errorf("%s: %v", missing, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("the folder has %v", entries)
	}
	j := opened(t, dir, Options{})
	appended(t, j, 3)
	closed(t, j)
	only := opened(t, dir, Options{ReadOnly: true})
	_, appending := only.Append(samples(4, 1))
	for _, err := range []error{appending, only.Trim(3), only.Erase([]string{"id-1"})} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("error %v", err)
		}
	}
	holds(t, only, 1, 3)
}

// TestFolders: a folder that is open, of a newer ocl, of something else, or damaged is refused with what to do, and not
// changed.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	closed(t, opened(t, dir, Options{}))
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	with := func(names ...string) string {
		dir := t.TempDir()
		for _, n := range names {
			write(dir, n, "{}")
		}
		return dir
	}
	newer, foreign := t.TempDir(), t.TempDir()
	write(newer, formatName, `{"format":"ocl serve","version":2,"more":[1]}`)
	write(foreign, formatName, `{"format":"x\u001b","version":1}`)
	newerTables := t.TempDir()
	j := opened(t, newerTables, Options{})
	if err := j.run("PRAGMA user_version = 9"); err != nil {
		t.Fatal(err)
	}
	closed(t, j)
	busy := t.TempDir()
	opened(t, busy, Options{})
	file := filepath.Join(t.TempDir(), "file")
	write(filepath.Dir(file), "file", "")
	for _, c := range []struct {
		dir  string
		want error
		says string
	}{
		{busy, ErrBusy, "Stop that process"},
		{newer, ErrNewer, "version 2"},
		{newerTables, ErrNewer, "version 9"},
		{foreign, ErrOther, `"x\x1b"`},
		{with(formatName), ErrOther, "Choose another folder"},
		{with("holiday.jpg", "other"), ErrOther, "holiday.jpg"},
		{with("result.json"), ErrOther, "--init"},
		{with("journal.db"), ErrOther, "journal.db"},
		{file, nil, "not a directory"},
	} {
		before, _ := os.ReadDir(c.dir)
		j, err := Open(c.dir, Options{})
		if err == nil {
			j.Close()
		}
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %v with %q", c.dir, err, c.want, c.says)
		}
		after, _ := os.ReadDir(c.dir)
		names := func(entries []fs.DirEntry) (all []string) {
			for _, e := range entries {
				if e.Name() != lockName {
					all = append(all, e.Name())
				}
			}
			return all
		}
		if !slices.Equal(names(before), names(after)) {
			t.Errorf("%s had %v and has %v", c.dir, names(before), names(after))
		}
	}
	// A disk of its own has a folder lost+found, and an earlier process may have been killed while it set the folder up.
	for _, names := range [][]string{{"lost+found", ".DS_Store"}, {newName}} {
		dir := with(names...)
		if names[0] == newName {
			write(dir, formatName, `{"format":"ocl serve","version":1,"complete":false}`)
		}
		appended(t, opened(t, dir, Options{}), 1)
	}
}

// TestLifecycle: Close may be called at any time, and every other call fails after it.
func TestLifecycle(t *testing.T) {
	lifecycletest.Test(t, func(t *testing.T) lifecycletest.Subject {
		j := opened(t, t.TempDir(), Options{})
		appended(t, j, 5)
		return lifecycletest.Subject{Close: j.Close, Closed: ErrClosed,
			Calls: map[string]func() error{
				"Append": func() error { _, err := j.Append(samples(6, 1)); return err },
				"Read":   func() error { return j.Read(1, func(Event) error { return nil }) },
				"Trim":   func() error { return j.Trim(2) },
				"Erase":  func() error { return j.Erase([]string{"x"}) },
			},
			Hold: func() func() { j.mu.Lock(); return j.mu.Unlock },
		}
	})
}
