package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/internal/atomicfile"
	"ocl/internal/fuzztest"
)

// lost is the error of opening a folder, which must be a DamageError with a way on.
func lost(t *testing.T, dir string) *DamageError {
	t.Helper()
	for _, o := range []Options{{ReadOnly: true}, {}} {
		j, err := Open(dir, o)
		if err == nil {
			closed(t, j)
			t.Fatalf("%+v: events %d to %d were opened", o, j.First(), j.Last())
		}
		var d *DamageError
		if !errors.As(err, &d) || !strings.Contains(err.Error(), "rename journal.db to journal.db.damaged and start again") {
			t.Fatalf("%+v: %v", o, err)
		}
		if !o.ReadOnly {
			return d
		}
	}
	return nil
}

// goesOn does what the error says, and checks which events are left.
func goesOn(t *testing.T, dir string, first, last int64) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, dbName), filepath.Join(dir, damagedName)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		j, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		holds(t, j, first, last)
		appended(t, j, 2)
		last += 2
		closed(t, j)
	}
}

// TestCutLog: a log that was cut, emptied or removed after its events were acknowledged is refused, with what it costs.
// The way on works.
func TestCutLog(t *testing.T) {
	dir := t.TempDir()
	last := left(t, dir) // 30 events in the file, and the others in the log
	info, err := os.Stat(filepath.Join(dir, dbName+walSuffix))
	if err != nil {
		t.Fatal(err)
	}
	cut := func(size int64) func(string) error {
		return func(dir string) error { return os.Truncate(filepath.Join(dir, dbName+walSuffix), size) }
	}
	remove := func(dir string) error { return os.Remove(filepath.Join(dir, dbName+walSuffix)) }
	for _, c := range []struct {
		name     string
		cut      func(string) error
		snapshot int64 // 0 is none
		marked   bool  // the mark is there
		lost     string
		kept     [2]int64 // after going on
		spoiled  bool     // then the snapshot is damaged, and the one before it is 20
	}{
		{"removed", remove, 25, true, "the events 31 to 50", [2]int64{26, 30}, false},
		{"emptied", cut(0), 25, true, "the events 31 to 50", [2]int64{26, 30}, false},
		{"without its last frame", cut(info.Size() - pageSize), 25, true, "the events 49 to 50", [2]int64{26, 48}, false},
		{"removed, and there is no snapshot", remove, 0, true, "all events up to 50, as there is no snapshot", [2]int64{1, 0},
			false},
		{"removed, and a snapshot has a part", remove, 40, true, "the events 41 to 50", [2]int64{41, 40}, false},
		{"removed, and a snapshot has all", remove, 50, true,
			"the record of the events 31 to 50; what was learned of them is in the snapshot 50", [2]int64{51, 50}, false},
		{"removed, and a snapshot has a part, which is damaged then", remove, 40, true, "the events 41 to 50",
			[2]int64{21, 30}, true},
		{"removed with the mark", remove, 40, false, "what was acknowledged after event 40, if anything was",
			[2]int64{41, 40}, false},
		{"removed with the mark, and the snapshot is older", remove, 25, false,
			"what was acknowledged after event 30, if anything was", [2]int64{26, 30}, false},
		{"removed with the mark, and there is no snapshot", remove, 0, false,
			"what was acknowledged after event 30, if anything was", [2]int64{1, 0}, false},
		{"without its last frame, and without the mark", cut(info.Size() - pageSize), 25, false,
			"what was acknowledged after event 48, if anything was", [2]int64{26, 48}, false},
		{"whole, and the mark alone is missing", cut(info.Size()), 25, false,
			"what was acknowledged after event 50, if anything was", [2]int64{26, 50}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := copied(t, dir)
			if c.snapshot > 0 {
				if err := Snapshots(bad).Write(c.snapshot, checkpoint.NewContainer()); err != nil {
					t.Fatal(err)
				}
			}
			err := c.cut(bad)
			if !c.marked {
				err = errors.Join(err, os.Remove(filepath.Join(bad, acknowledgedName)))
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := lost(t, bad); d.Lost != c.lost || !d.Whole {
				t.Errorf("%v: lost %q, want %q", d, d.Lost, c.lost)
			}
			if c.spoiled { // it does not stand in the way for ever
				if err := errors.Join(os.Truncate(Snapshots(bad).Path(c.snapshot), 40),
					Snapshots(bad).Write(20, checkpoint.NewContainer())); err != nil {
					t.Fatal(err)
				}
			}
			goesOn(t, bad, c.kept[0], c.kept[1])
		})
	}
	if _, got, err := readBack(t, copied(t, dir)); got != last || err != nil {
		t.Errorf("undisturbed: %d, %v", got, err)
	}
}

// TestMark: what is no mark of this folder tells nothing, so the folder is damaged, and the way on writes a new one.
func TestMark(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir, Options{})
	appended(t, j, 7)
	if got := readMark(dir, j.identity); got != 7 {
		t.Errorf("the mark says %d", got)
	}
	closed(t, j)
	path := filepath.Join(dir, acknowledgedName)
	good := (&mark{identity: j.identity}).text(9)
	wrong := bytes.Clone(good)
	wrong[len(wrong)-2] ^= 1 // the last digit of its sum, whatever it is
	for _, text := range [][]byte{nil, []byte("x"), good[1:], wrong, (&mark{identity: newIdentity()}).text(9)} {
		bad := copied(t, dir)
		if err := os.WriteFile(filepath.Join(bad, acknowledgedName), text, 0o644); err != nil {
			t.Fatal(err)
		}
		if d := lost(t, bad); d.Path != filepath.Join(bad, acknowledgedName) ||
			d.Lost != "what was acknowledged after event 7, if anything was" {
			t.Errorf("%q: %v", text, d)
		}
		goesOn(t, bad, 1, 7)
	}
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	if d := lost(t, dir); d.Number != 8 {
		t.Errorf("%v", d)
	}
}

// TestNewFolderCutShort: a process that is killed between the steps of making a folder leaves one that the next makes
// whole.
func TestNewFolderCutShort(t *testing.T) {
	whole := t.TempDir()
	closed(t, opened(t, whole, Options{}))
	identity, err := identityOf(whole)
	if err != nil {
		t.Fatal(err)
	}
	steps := []func(dir string) error{
		func(dir string) error { return writeFormat(dir, false, identity) },
		func(dir string) error { return writeMark(dir, identity, 0) },
		func(dir string) error { return os.WriteFile(filepath.Join(dir, newName), []byte("SQLi"), 0o600) },
		func(dir string) error {
			text, err := os.ReadFile(filepath.Join(whole, dbName))
			return errors.Join(err, os.Remove(filepath.Join(dir, newName)),
				os.WriteFile(filepath.Join(dir, dbName), text, 0o600))
		},
		func(dir string) error { return writeFormat(dir, true, identity) },
	}
	for n := range len(steps) + 1 {
		dir := t.TempDir()
		for _, step := range steps[:n] {
			if err := step(dir); err != nil {
				t.Fatal(err)
			}
		}
		j := opened(t, dir, Options{})
		appended(t, j, 3)
		closed(t, j)
		holds(t, opened(t, dir, Options{}), 1, 3)
	}
}

// TestForeignJournal: the journal of another folder is refused, also one without an identity, and nothing of it is
// taken on the way on.
func TestForeignJournal(t *testing.T) {
	other := t.TempDir()
	left(t, other)
	before := copied(t, other)
	makeOld(t, before)
	dir := t.TempDir()
	j := opened(t, dir, Options{})
	appended(t, j, 12)
	if err := Snapshots(dir).Write(10, checkpoint.NewContainer()); err != nil {
		t.Fatal(err)
	}
	closed(t, j)
	for name, from := range map[string]string{"another": other, "one of before": before} {
		for _, marked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, %v", name, marked), func(t *testing.T) {
				bad, want := copied(t, dir), "the events 11 to 12"
				if !marked {
					want = "all acknowledged events after 10, which the snapshot has"
					if err := os.Remove(filepath.Join(bad, acknowledgedName)); err != nil {
						t.Fatal(err)
					}
				}
				for _, name := range []string{dbName, dbName + walSuffix} {
					text, err := os.ReadFile(filepath.Join(from, name))
					if err == nil {
						err = os.WriteFile(filepath.Join(bad, name), text, 0o600)
					}
					if err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Fatal(err)
					}
				}
				if d := lost(t, bad); d.Lost != want || !strings.Contains(d.What, "it is not the journal of this folder") {
					t.Errorf("%v, want %s", d, want)
				}
				goesOn(t, bad, 11, 10)
			})
		}
	}
}

// TestForeignFiles: a snapshot or version of another folder, or under another number, is refused.
func TestForeignFiles(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		j := opened(t, dir, Options{})
		appended(t, j, 9)
		for _, f := range []*Files{Snapshots(dir), Versions(dir)} {
			for _, n := range []int64{3, 5} {
				if err := f.Write(n, container(t, n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		closed(t, j)
	}
	for _, of := range []func(string) *Files{Snapshots, Versions} {
		bad := copied(t, dirs[0])
		if err := os.Rename(of(copied(t, dirs[1])).Path(5), of(bad).Path(5)); err != nil {
			t.Fatal(err)
		}
		_, err := Open(bad, Options{})
		if is := of(bad).files.What == "snapshot"; is == (err == nil) || is &&
			!strings.Contains(err.Error(), "is of another folder (") {
			t.Errorf("a foreign %s: %v", of(bad).files.What, err)
		}
		if _, err := of(bad).Read(5); !errors.Is(err, ErrForeign) && of(bad).files.What != "snapshot" {
			t.Errorf("a foreign %s is read: %v", of(bad).files.What, err)
		}
		if err := os.Rename(of(bad).Path(3), of(bad).Path(4)); err != nil {
			t.Fatal(err)
		}
		if _, err := of(bad).Read(4); !errors.Is(err, checkpoint.ErrCorrupt) {
			t.Errorf("the %s 3 is read as 4: %v", of(bad).files.What, err)
		}
	}
	// A container that was read is written again with the stamp of its new place.
	c, err := Snapshots(dirs[0]).Read(5)
	if err == nil {
		err = Snapshots(dirs[1]).Write(9, c)
	}
	if err == nil {
		c, err = Snapshots(dirs[1]).Read(9)
	}
	if err != nil || numberIn(t, c) != 5 {
		t.Errorf("written again: %v", err)
	}
}

// makeOld makes a folder one of before there were identities, marks and rights.
func makeOld(t *testing.T, dir string) {
	t.Helper()
	err := spoilt("DROP TABLE folder; PRAGMA user_version = 1")(dir)
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, formatName),
		[]byte(`{"format":"ocl serve","version":1,"complete":true}`+"\n"), 0o644))
	err = errors.Join(err, os.Remove(filepath.Join(dir, acknowledgedName)))
	for _, f := range []*Files{Snapshots(dir), Versions(dir)} {
		numbers, failed := f.Numbers()
		err = errors.Join(err, failed)
		for _, n := range numbers {
			err = errors.Join(err, atomicfile.Write(f.Path(n), func(w io.Writer) error {
				_, err := container(t, n).WriteTo(w)
				return err
			}))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFolderOfBefore: a folder without an identity opens, and gets one.
func TestFolderOfBefore(t *testing.T) {
	dir := t.TempDir()
	last := left(t, dir)
	for _, f := range []*Files{Snapshots(dir), Versions(dir)} {
		if err := f.Write(8, container(t, 8)); err != nil {
			t.Fatal(err)
		}
	}
	old := copied(t, dir)
	makeOld(t, old)
	only := opened(t, old, Options{ReadOnly: true})
	holds(t, only, 6, last)
	closed(t, only)
	for n := range 3 {
		j := opened(t, old, Options{})
		holds(t, j, 6, last)
		for _, f := range []*Files{Snapshots(old), Versions(old)} {
			if c, err := f.Read(8); err != nil || numberIn(t, c) != 8 {
				t.Errorf("a %s of before: %v", f.files.What, err)
			}
			if err := f.Write(int64(10+n), container(t, 1)); err != nil {
				t.Error(err)
			}
			if of, err := stampAt(f.Path(int64(10 + n))); err != nil || of.Folder != j.identity || !isIdentity(of.Folder) ||
				of.Number != int64(10+n) {
				t.Errorf("the stamp is %+v: %v", of, err)
			}
		}
		if text, err := identityOf(old); err != nil || text != j.identity {
			t.Errorf("%s has %q, want %q: %v", formatName, text, j.identity, err)
		}
		closed(t, j)
	}
	// A process that ended between the two files, and an ocl-serve.json that was made anew.
	half := copied(t, old)
	if err := errors.Join(os.Remove(filepath.Join(half, acknowledgedName)),
		os.RemoveAll(filepath.Join(half, snapshotsName)),
		spoilt("DROP TABLE folder; PRAGMA user_version = 1")(half)); err != nil {
		t.Fatal(err)
	}
	halfway := copied(t, half)
	closed(t, opened(t, half, Options{}))
	// One that ended after the mark, and before the journal had its identity.
	if err := writeMark(halfway, newIdentity(), 5); err != nil {
		t.Fatal(err)
	}
	closed(t, opened(t, halfway, Options{}))
	if err := writeFormat(old, true, newIdentity()); err != nil {
		t.Fatal(err)
	}
	j := opened(t, old, Options{})
	if got, err := identityOf(old); err != nil || got != j.identity {
		t.Errorf("identity %q, want %q: %v", got, j.identity, err)
	}
}

// TestDamagedJournalGoes: a damaged journal that was put aside has pictures in which nothing can be erased, so erasing
// removes it.
func TestDamagedJournalGoes(t *testing.T) {
	dir := t.TempDir()
	last := left(t, dir)
	bad := copied(t, dir)
	if err := Snapshots(bad).Write(10, checkpoint.NewContainer()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(bad, dbName), filepath.Join(bad, damagedName)); err != nil {
		t.Fatal(err)
	}
	j := opened(t, bad, Options{})
	holds(t, j, 11, last)
	if there, err := isThere(filepath.Join(bad, damagedName)); !there || err != nil {
		t.Errorf("the damaged journal went before anything was erased: %v", err)
	}
	var ids []string
	for n := range last {
		ids = append(ids, sample(n+1).ID)
	}
	if err := j.Erase(ids); err != nil {
		t.Fatal(err)
	}
	absent(t, bad, samples(1, int(last)))
}

// FuzzStamp reads the stamp of files of any bytes: alone, and with all of the file. What is read alone is what the
// whole file says.
func FuzzStamp(f *testing.F) {
	c, err := stamped(checkpoint.NewContainer(), stamp{newIdentity(), 7})
	if err != nil {
		f.Fatal(err)
	}
	var good bytes.Buffer
	if _, err := c.WriteTo(&good); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}, false)
	f.Add([]byte{0, 20, 0, 1, 3}, true)
	f.Add(good.Bytes(), false)
	path := filepath.Join(f.TempDir(), "x")
	f.Fuzz(func(t *testing.T, b []byte, change bool) {
		if change {
			changes, text := fuzztest.Of(b), good.Bytes()
			for n := 0; n < 4 && changes.More(); n++ {
				text = fuzztest.Bytes(text, changes)
			}
			b = text
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		alone, err := stampAt(path)
		if err != nil || alone.Folder != "" && !isIdentity(alone.Folder) {
			t.Errorf("%+v, %v", alone, err)
		}
		c, err := checkpoint.Parse(b)
		if err != nil {
			return
		}
		whole, err := stampIn(c)
		if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) || err == nil && alone.Folder != "" && alone != whole {
			t.Errorf("%+v alone, and %+v: %v", alone, whole, err)
		}
	})
}

// FuzzMark reads marks of any bytes.
func FuzzMark(f *testing.F) {
	dir, identity := f.TempDir(), newIdentity()
	good := (&mark{identity: identity}).text(12)
	f.Add([]byte{})
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, acknowledgedName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if last := readMark(dir, identity); last != -1 && !bytes.Equal(b, (&mark{identity: identity}).text(last)) {
			t.Errorf("%q says %d", b, last)
		}
	})
}
