package runs

import (
	"context"
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/run/result"
)

// TestTableHasEveryNumber compares the table of a small run with one that was checked by hand.
func TestTableHasEveryNumber(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "er-s7")
	put(t, folder, small(), journal)
	path, err := CSV(t.Context(), folder, "")
	if err != nil || path != filepath.Join(folder, "measurements.csv") {
		t.Fatal(path, err)
	}
	golden(t, "small.csv", read(t, path))
}

// TestTableOfAnExperiment: the runs of an experiment are in one table, by name, and the same runs give the same bytes.
// A run without a result is left out.
func TestTableOfAnExperiment(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "b"), small(), journal)
	put(t, filepath.Join(dir, "a"), small(), "")
	if err := os.MkdirAll(filepath.Join(dir, "begun", "checkpoint"), 0o777); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "new", "all.csv")
	var texts [2]string
	for i := range texts {
		path, err := CSV(t.Context(), dir, out)
		if err != nil || path != out {
			t.Fatal(path, err)
		}
		texts[i] = read(t, out)
	}
	if texts[0] != texts[1] {
		t.Error("the second table differs from the first")
	}
	lines, err := csv.NewReader(strings.NewReader(texts[0])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(lines[0], columns) {
		t.Errorf("columns %v", lines[0])
	}
	var names []string
	for _, l := range lines[1:] {
		names = append(names, l[0])
	}
	if !slices.IsSorted(names) || !slices.Equal(slices.Compact(names), []string{"a", "b"}) {
		t.Errorf("runs %v, want a and b", slices.Compact(names))
	}
}

// TestWhereTablesGo: the default is in the folder of the runs, or beside a file, and a folder may be given.
func TestWhereTablesGo(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "er")
	put(t, run, small(), "")
	alone := filepath.Join(dir, "er-s1.json.gz")
	if err := os.Rename(filepath.Join(run, "result.json"), alone); err != nil { // plain text is read too
		t.Fatal(err)
	}
	put(t, run, small(), "")
	for _, c := range []struct{ path, out, want string }{
		{dir, "", filepath.Join(dir, "measurements.csv")},
		{run, "", filepath.Join(run, "measurements.csv")},
		{filepath.Join(run, "result.json"), "", filepath.Join(run, "measurements.csv")},
		{alone, "", filepath.Join(dir, "er-s1.csv")},
		{run, dir, filepath.Join(dir, "measurements.csv")},
		{run, filepath.Join(dir, "x.CSV"), filepath.Join(dir, "x.CSV")},
	} {
		got, err := CSV(t.Context(), c.path, c.out)
		if err != nil || got != c.want {
			t.Errorf("%s to %q: %s, %v; want %s", c.path, c.out, got, err, c.want)
		}
		if _, err := os.Stat(got); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusedTables: what cannot be exported is named, with what to do, and leaves no file.
func TestRefusedTables(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	other := small()
	other.Key = strings.Repeat("0b", 32)
	put(t, name("good"), small(), journal)
	put(t, name("other"), other, journal)
	put(t, name("time"), small(), strings.Replace(journal, "2026-11-22T10:15:31.000Z", `yesterday\u001b[31m`, 1))
	put(t, name("events"), small(), "{}\n")
	put(t, name("both"), small(), journal)
	if err := os.WriteFile(name("both/result.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx       context.Context
		path, out string
		want      string
	}{
		{t.Context(), "nowhere", "", "Give the folder of an experiment or a run"},
		{t.Context(), "both", "", "not a whole JSON file"},
		{t.Context(), "other", "",
			`line 1: damaged: it is of the run "0a0a0a0a", but the result beside it is of "0b0b0b0b". Move the file away`},
		{t.Context(), "time", "",
			`line 5: damaged: the time is "yesterday\x1b[31m", but must be one such as 2006-01-02T15:04:05.000Z`},
		{t.Context(), "events", "", "line 1: another format or version"},
		{t.Context(), "good", name("good/result.json"),
			"does not end in .csv, and it is no folder. Use -o " + name("good/result.json") + ".csv"},
		{t.Context(), "good", name("good/events.jsonl/x.csv"), "cannot be written"},
		{ended, "good", "", "context canceled"},
	} {
		if _, err := CSV(c.ctx, name(c.path), c.out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %q: error is %v, want %q", c.path, c.out, err, c.want)
		}
	}
	entries, err := filepath.Glob(name("*/*.csv"))
	if err != nil || len(entries) > 0 {
		t.Errorf("files %v are left, %v", entries, err)
	}
}

// TestUnreadableEvents: events that cannot be opened are an error, and are not taken for a run without any.
func TestUnreadableEvents(t *testing.T) {
	folder := t.TempDir()
	put(t, folder, small(), "")
	// A folder of that name cannot be read as a file, whoever the user is.
	if err := os.Mkdir(filepath.Join(folder, "events.jsonl"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(result.Source{Path: filepath.Join(folder, "result.json"), Folder: folder}); err == nil ||
		errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

// CSV is CSVOf for the runs that result.Find finds at a path.
func CSV(ctx context.Context, path, out string) (string, error) {
	found, _, err := result.Find(path)
	if err != nil {
		return "", err
	}
	return CSVOf(ctx, found, path, out)
}
