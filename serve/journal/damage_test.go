package journal

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ocl/checkpoint"
	"ocl/internal/fuzztest"
)

// copied copies the files of a folder as they are now, as a process that is killed now would leave them.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// left is a folder as a process that was killed leaves it: with some events in the file, and others in the log.
func left(t testing.TB, dir string) (last int64) {
	t.Helper()
	j := opened(t, dir, Options{})
	for range 10 {
		appended(t, j, 3)
	}
	if err := errors.Join(j.Trim(6), j.judged(j.checkpoint("TRUNCATE"))); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		appended(t, j, 2)
	}
	return j.Last()
}

// readBack opens a folder and reads it. What is read must be what was appended; the error says how far it came.
func readBack(t testing.TB, dir string) (first, last int64, err error) {
	t.Helper()
	j, err := Open(dir, Options{})
	if err != nil {
		return 0, 0, err
	}
	first = j.First()
	last = first - 1
	err = j.Read(first, func(e Event) error {
		if last++; !same(e, sample(last)) {
			t.Errorf("the event %d was never appended: %s %q with %d bytes", e.Number, e.Kind, e.ID, len(e.Pixels))
		}
		return nil
	})
	return first, last, errors.Join(err, j.Close())
}

// TestTornTail: a log that a power cut tore anywhere opens, with all transactions that it has whole.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	left(t, dir)
	log, err := os.ReadFile(filepath.Join(dir, dbName+walSuffix))
	if err != nil {
		t.Fatal(err)
	}
	before := int64(0)
	for at := 0; at <= len(log); at += 1 + len(log)/60 {
		torn := copied(t, dir)
		identity, err := identityOf(torn)
		if err == nil {
			// what a power cut takes it back to; it would say that these events were on the disk
			err = writeMark(torn, identity, 30)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(torn, dbName+walSuffix), int64(at)); err != nil {
			t.Fatal(err)
		}
		first, last, err := readBack(t, torn)
		if err != nil || first != 6 || last < max(30, before) {
			t.Fatalf("with %d of %d bytes: events %d to %d, %v", at, len(log), first, last, err)
		}
		before = last
	}
	if before < 48 {
		t.Errorf("the whole log has the events to %d", before)
	}
}

// TestDamage: a byte that changes anywhere in the files is found, or changes nothing: no event is ever another one, and
// none is missing.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	last := left(t, dir)
	r := rand.New(rand.NewPCG(11, 3))
	found, harmless := map[string]int{}, 0
	for range 150 {
		name := []string{dbName, dbName + walSuffix}[r.IntN(2)]
		bad := copied(t, dir)
		path := filepath.Join(bad, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at, bit := r.IntN(len(text)), byte(1)<<r.IntN(8)
		text[at] ^= bit
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		first, got, err := readBack(t, bad)
		var damage *DamageError
		switch {
		case errors.As(err, &damage):
			found[filepath.Base(name)]++
			if damage.What == "" || damage.Lost == "" || !strings.Contains(err.Error(), "rename journal.db to") {
				t.Errorf("%s, byte %d: %v", name, at, err)
			}
		case err != nil && !errors.Is(err, ErrNewer):
			t.Errorf("%s, byte %d: %v", name, at, err)
		case err == nil && (first != 6 || got != last):
			t.Errorf("%s, byte %d: events %d to %d of 6 to %d, and no error", name, at, first, got, last)
		case err == nil:
			harmless++
		}
	}
	t.Logf("found in %v, harmless %d", found, harmless)
	if found[dbName] < 20 || found[dbName+walSuffix] < 20 {
		t.Errorf("found only %v", found)
	}
}

// TestMissing: a journal that is gone, that is something else, or that lacks rows is damaged.
func TestMissing(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"gone":           func(dir string) error { return os.Remove(filepath.Join(dir, dbName)) },
		"another file":   func(dir string) error { return os.WriteFile(filepath.Join(dir, dbName), []byte("text"), 0o644) },
		"first rows":     spoilt("DELETE FROM event WHERE number < 8"),
		"last rows":      spoilt("DELETE FROM event WHERE number > 40"),
		"a row":          spoilt("DELETE FROM event WHERE number = 20"),
		"a number":       spoilt("UPDATE event SET number = 100 WHERE number = 50"),
		"the head":       spoilt("DELETE FROM head"),
		"another head":   spoilt("UPDATE head SET last = 49"),
		"another table":  spoilt("CREATE TABLE more (x)"),
		"a wrong type":   spoilt("UPDATE event SET kind = NULL WHERE number = 20"),
		"another column": spoilt("UPDATE event SET who = id, id = who WHERE number = 20"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			left(t, dir)
			bad := copied(t, dir)
			if err := spoil(bad); err != nil {
				t.Fatal(err)
			}
			var damage *DamageError
			if _, _, err := readBack(t, bad); !errors.As(err, &damage) {
				t.Fatalf("error %v, want one about damage", err)
			}
			if _, _, err := readBack(t, bad); !errors.As(err, &damage) {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

// spoilt changes the tables behind the back of the journal.
func spoilt(do string) func(dir string) error {
	return func(dir string) error {
		s := &store{dir: dir, path: filepath.Join(dir, dbName)}
		return errors.Join(s.connect(), s.run(do), s.shut())
	}
}

// TestMend: the way out that an error about damage names. What was whole after the newest snapshot is kept up to the
// damage, and the numbers go on from there.
func TestMend(t *testing.T) {
	for _, c := range []struct {
		name        string
		snapshot    int64
		spoil       func(dir string) error
		first, last int64
		log         string
	}{
		{"a row", 10, spoilt("UPDATE event SET id = NULL WHERE number = 40"), 11, 39,
			`snapshot=10 kept=29 last=39 left_out=10 file=F lost="40 to 50" fault="event 40: its checksum`},
		{"a row and another", 10, spoilt("UPDATE event SET id = NULL WHERE number = 40; DELETE FROM event WHERE number = 42; UPDATE event SET kind = NULL WHERE number = 45"),
			11, 39, `snapshot=10 kept=29 last=39 left_out=8 file=F lost="40 to 50" fault="event 40: its checksum`},
		{"a row below the snapshot", 10, spoilt("UPDATE event SET id = NULL WHERE number = 8"), 11, 50,
			"snapshot=10 kept=40 last=50 left_out=0 file=F\n"},
		{"the head", 10, spoilt("DELETE FROM head"), 11, 50, "snapshot=10 kept=40 last=50 left_out=0 file=F\n"},
		{"no file at all", 10, func(dir string) error { return os.WriteFile(filepath.Join(dir, dbName), nil, 0o644) }, 11, 10,
			`snapshot=10 kept=0 last=10 left_out=0 file=F lost="11 to 50" fault="`},
		{"rows between", 10, spoilt("DELETE FROM event WHERE number < 20"), 11, 10,
			`snapshot=10 kept=0 last=10 left_out=31 file=F lost="11 to 50" fault="event 11: it is missing"`},
		// its first rows were trimmed, so nothing can go before the others
		{"no snapshot", 0, spoilt("DELETE FROM head"), 1, 0,
			`snapshot=0 kept=0 last=0 left_out=45 file=F lost="1 to 50" fault="event 1: it is missing"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			left(t, dir)
			bad := copied(t, dir)
			if c.snapshot > 0 {
				if err := Snapshots(bad).Write(c.snapshot, checkpoint.NewContainer()); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.spoil(bad); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(bad, dbName), filepath.Join(bad, damagedName)); err != nil {
				t.Fatal(err)
			}
			var put, log strings.Builder
			for _, of := range []string{damagedName, dbName + walSuffix} {
				text, _ := os.ReadFile(filepath.Join(bad, of))
				put.Write(text)
			}
			for range 2 {
				j, err := Open(bad, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				holds(t, j, c.first, c.last)
				closed(t, j)
			}
			want := strings.ReplaceAll(c.log, "F", filepath.Join(bad, damagedName))
			if text := log.String(); strings.Count(text, "\n") != 1 ||
				!strings.Contains(text, `level=WARN msg="the journal was made anew from what is whole in the damaged one" `+want) {
				t.Errorf("the log has\n%swant\n%s", text, want)
			}
			var stays strings.Builder
			for _, of := range []string{damagedName, damagedName + walSuffix} {
				text, _ := os.ReadFile(filepath.Join(bad, of))
				stays.Write(text)
			}
			if stays.String() != put.String() {
				t.Error("the damaged journal was changed")
			}
			j := opened(t, bad, Options{})
			appended(t, j, 2)
			holds(t, j, c.first, c.last+2)
		})
	}
}

// TestWayOn: what an error tells to do is possible, and helps: where the journal is missing, where it was put aside and
// is only read, and where the log has a damaged frame, whose error has the numbers. What the log says then is true.
func TestWayOn(t *testing.T) {
	dir := t.TempDir()
	left(t, dir)
	if err := Snapshots(dir).Write(10, checkpoint.NewContainer()); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	fails := func(dir, words string) {
		t.Helper()
		var d *DamageError
		if j, err := Open(dir, Options{ReadOnly: true}); err == nil {
			closed(t, j)
			t.Fatal("it is opened")
		} else if !errors.As(err, &d) || !strings.Contains(err.Error(), words) {
			t.Fatalf("%v, want %q", err, words)
		}
	}
	goes := func(dir string, last int64, words string) {
		t.Helper()
		log.Reset()
		j, err := Open(dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		holds(t, j, 11, last)
		closed(t, j)
		if !strings.Contains(log.String(), words) {
			t.Errorf("the log has %s, want %q", log.String(), words)
		}
	}

	missing := copied(t, dir)
	if err := errors.Join(os.Remove(filepath.Join(missing, dbName)),
		os.Remove(filepath.Join(missing, dbName+walSuffix))); err != nil {
		t.Fatal(err)
	}
	fails(missing, "journal.db: it is missing. Put a good copy of the folder in its place. To go on without what is lost (all samples acknowledged since the newest snapshot), make an empty file journal.db.damaged and start again")
	if err := os.WriteFile(filepath.Join(missing, damagedName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(missing, "it was put aside as journal.db.damaged, and a new one was not made yet. Put a good copy of the folder in its place. To go on without what is lost (what cannot be read in that), start ocl serve with the folder")
	goes(missing, 10, `lost="11 to 50" fault="it is empty"`)

	flipped := copied(t, dir)
	path := filepath.Join(flipped, dbName+walSuffix)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	found := lost(t, flipped).Lost
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) { // as another copy may be read right
		t.Errorf("the log of a journal that was refused has changed (%v)", err)
	}
	var from, to int64
	if n, err := fmt.Sscanf(found, "the events %d to %d", &from, &to); n != 2 || err != nil || from < 32 || to != 50 {
		t.Fatalf("lost %q", found)
	}
	if err := os.Rename(filepath.Join(flipped, dbName), filepath.Join(flipped, damagedName)); err != nil {
		t.Fatal(err)
	}
	goes(flipped, from-1, fmt.Sprintf(`lost="%d to 50"`, from))
}

// TestFormatMadeAnew: where ocl-serve.json alone is missing, the other files say what it did, and a start makes it anew
// and says so. A new folder has nothing of that in its log.
func TestFormatMadeAnew(t *testing.T) {
	dir := t.TempDir()
	last := left(t, dir)
	if err := Snapshots(dir).Write(8, container(t, 8)); err != nil {
		t.Fatal(err)
	}
	bare := copied(t, dir)
	if err := os.Remove(filepath.Join(bare, formatName)); err != nil {
		t.Fatal(err)
	}
	if unused, err := Unused(bare); unused || err != nil {
		t.Errorf("unused: %v, %v", unused, err)
	}
	only := opened(t, bare, Options{ReadOnly: true})
	holds(t, only, 6, last)
	closed(t, only)
	for _, c := range []struct {
		dir, says string
	}{{bare, "made anew"}, {bare, ""}, {t.TempDir(), ""}} {
		var log strings.Builder
		j, err := Open(c.dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		closed(t, j)
		if text := log.String(); (text == "") != (c.says == "") || !strings.Contains(text, c.says) {
			t.Errorf("the log has %q, want %q", text, c.says)
		}
	}
	for _, name := range []string{formatName, acknowledgedName} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		got, fault := os.ReadFile(filepath.Join(bare, name))
		if err != nil || fault != nil || string(got) != string(want) {
			t.Errorf("%s: %s and %s, %v, %v", name, got, want, err, fault)
		}
	}
}

// FuzzDamage damages the files of a journal in several places. Opening and reading them never gives an event that was
// not appended.
func FuzzDamage(f *testing.F) {
	dir := f.TempDir()
	left(f, dir)
	var files [2][]byte
	for i, name := range []string{dbName, dbName + walSuffix} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	identity, err := identityOf(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{0, 100, 0, 5, 1})
	f.Add([]byte{1, 100, 0, 3, 1, 0, 17, 0, 5, 9})
	f.Fuzz(func(t *testing.T, changes []byte) {
		bad := t.TempDir()
		texts, c := files, fuzztest.Of(changes)
		for n := 0; n < 8 && c.More(); n++ {
			i := int(c.Byte() % 2)
			texts[i] = fuzztest.Bytes(texts[i], c)
		}
		for i, name := range []string{dbName, dbName + walSuffix} {
			if err := os.WriteFile(filepath.Join(bad, name), texts[i], 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(writeFormat(bad, true, identity), writeMark(bad, identity, 30)); err != nil {
			t.Fatal(err)
		}
		_, _, _ = readBack(t, bad)
	})
}

// FuzzFormat reads ocl-serve.json of any bytes.
func FuzzFormat(f *testing.F) {
	f.Add([]byte(`{"format":"ocl serve","version":1,"complete":true}`))
	f.Add([]byte(`{"format":"ocl serve","version":99999999999999999999}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseFormat(text)
		if err == nil && (got.Format != formatWord || got.Version != formatVersion) || err != nil &&
			!errors.Is(err, ErrOther) && !errors.Is(err, ErrNewer) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
