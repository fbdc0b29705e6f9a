package result

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFind: every kind of path that holds results gives them by name, and what has begun is told apart.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"exp/b/result.json", "exp/a/result.json.gz", "exp/c/events.jsonl", "exp/packed.json.gz",
		"exp/other/notes.txt", "alone/events.jsonl"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, c := range []struct {
		path    string
		found   []Source
		pending []string
	}{
		{"exp", []Source{{in("exp/a/result.json.gz"), in("exp/a")}, {in("exp/b/result.json"), in("exp/b")},
			{in("exp/packed.json.gz"), in("exp/packed.json.gz")}}, []string{in("exp/c")}},
		{"exp/b", []Source{{in("exp/b/result.json"), in("exp/b")}}, nil},
		{"exp/packed.json.gz", []Source{{in("exp/packed.json.gz"), in("exp/packed.json.gz")}}, nil},
	} {
		found, pending, err := Find(in(c.path))
		if err != nil || !slices.Equal(found, c.found) || !slices.Equal(pending, c.pending) {
			t.Errorf("%s: %v, %v, %v; want %v, %v", c.path, found, pending, err, c.found, c.pending)
		}
	}
	for path, want := range map[string]string{
		"alone":     "1 run has begun, but none has a result.json yet",
		"exp/other": "there is no result.json in it",
		"nowhere":   "Give the folder of an experiment or a run",
	} {
		if _, _, err := Find(in(path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", path, err, want)
		}
	}
}
