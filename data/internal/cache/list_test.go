package cache

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// wantNames wants these files in a folder, hidden ones too.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the folder holds %v\nwant %v", names, want)
	}
}

// List tells of each cache what its header says, or what is wrong with it. Clean removes what is not kept and what killed
// builds left, and touches no file of others.
func TestListAndClean(t *testing.T) {
	s, _ := small(t, 20)
	dir := s.Dir
	if all, err := List(dir); len(all) != 0 || err != nil {
		t.Errorf("a folder that does not exist lists %v (%v)", all, err)
	}
	name := func(key string) string { return keyOf(key) + fileSuffix }
	for _, key := range []string{"kept", "unwanted", "damaged", "moved"} {
		s.Key = key
		mustOpen(t, s).Close()
	}
	change(t, filepath.Join(dir, name("damaged")), func(b []byte) []byte { return b[:len(b)-5] })
	if err := os.Rename(filepath.Join(dir, name("moved")), filepath.Join(dir, name("elsewhere"))); err != nil {
		t.Fatal(err)
	}
	others := []string{"notes.images", "x" + name("kept"), "." + name("kept") + ".tmp2", "." + keyOf("kept") + ".locked", "." + keyOf("kept")}
	leftovers := []string{"." + name("kept") + ".12-3.tmp", "." + name("gone") + ".4-1.tmp", "." + keyOf("gone") + lockSuffix, "." + keyOf("alone") + lockSuffix}
	for _, n := range slices.Concat(others, leftovers) {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	all, err := List(dir)
	if err != nil || len(all) != 4 {
		t.Fatalf("listed %+v (%v), want 4 caches", all, err)
	}
	for _, e := range all {
		switch filepath.Base(e.Path) {
		case name("kept"), name("unwanted"):
			if e.Name != "small" || e.Source != "a test" || e.Images != 20 || e.Faults != 0 || e.Shape != s.Shape || e.Fault != "" || e.Bytes < pixelsAt+20*62 || time.Since(e.Made).Abs() > time.Hour {
				t.Errorf("listed as %+v", e)
			}
		case name("damaged"):
			if !strings.HasPrefix(e.Fault, "the file is damaged: ") || e.Name != "" || e.Bytes < pixelsAt+20*62 {
				t.Errorf("the damaged file is listed as %+v", e)
			}
		case name("elsewhere"):
			if e.Fault != "its name is not that of its key" || e.Name != "" {
				t.Errorf("the file of another key is listed as %+v", e)
			}
		default:
			t.Errorf("listed %+v", e)
		}
	}

	removed, err := Clean(dir, func(e Entry) bool { return filepath.Base(e.Path) == name("kept") })
	if err != nil || len(removed) != 5 {
		t.Errorf("removed %+v (%v), want 3 caches and 2 leftovers", removed, err)
	}
	wantNames(t, dir, append(others, name("kept"))...)
	if removed, err = Clean(dir, nil); err != nil || len(removed) != 1 || removed[0].Name != "small" {
		t.Errorf("removed %+v (%v), want the last", removed, err)
	}
	wantNames(t, dir, others...)
}

// Images that are open stay usable when their file is removed, except on Windows, which then does not remove it.
func TestCleanBesideOpenImages(t *testing.T) {
	s, _ := small(t, 20)
	m := mustOpen(t, s)
	if _, err := Clean(s.Dir, nil); err != nil {
		t.Log(err)
	}
	wantImages(t, m)
}

// Of two openings of one key, one may be of a file that was removed meanwhile: it is built again.
func TestOpenAfterClean(t *testing.T) {
	s, calls := small(t, 20)
	mustOpen(t, s).Close()
	if removed, err := Clean(s.Dir, nil); err != nil || len(removed) != 1 {
		t.Fatal(removed, err)
	}
	if m := mustOpen(t, s); m.Note() != "" || calls.Load() != 40 {
		t.Errorf("note %q after %d calls", m.Note(), calls.Load())
	}
}
