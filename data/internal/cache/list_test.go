package cache

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// List says of each cache what its header says, or what is wrong with it. Clean removes what is not kept and what
// killed builds left, and touches no file of others.
func TestListAndClean(t *testing.T) {
	s, calls := small(t, 20)
	dir := folder()
	if all, err := List(); len(all) != 0 || err != nil {
		t.Errorf("a folder that does not exist lists %v (%v)", all, err)
	}
	for _, key := range []string{"kept", "unwanted", "damaged", "moved"} {
		s.Key = key
		mustOpen(t, s)
	}
	change(t, filepath.Join(dir, fileOf("damaged")), func(b []byte) []byte { return b[:len(b)-5] })
	if err := os.Rename(filepath.Join(dir, fileOf("moved")), filepath.Join(dir, fileOf("elsewhere"))); err != nil {
		t.Fatal(err)
	}
	others := []string{"notes.images", "x" + fileOf("kept"), "." + fileOf("kept") + ".tmp2", "." + fileOf("kept")}
	for _, n := range slices.Concat(others, []string{"." + fileOf("kept") + ".12-3.tmp",
		"." + fileOf("gone") + ".4-1.tmp"}) {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all, err := List()
	if err != nil || len(all) != 4 {
		t.Fatalf("listed %+v (%v), want 4 caches", all, err)
	}
	for _, e := range all {
		good, fault := e.Name == "small" && e.Source == "a test" && e.Images == 20 && e.Faults == 0 && e.Shape == s.Shape, ""
		switch filepath.Base(e.Path) {
		case fileOf("damaged"):
			good, fault = e.Name == "", "the file is damaged: "
		case fileOf("elsewhere"):
			good, fault = e.Name == "", "its name is not that of its key"
		}
		if !good || !strings.HasPrefix(e.Fault, fault) || (fault == "") != (e.Fault == "") || e.Bytes < 20*62 ||
			time.Since(e.Made).Abs() > time.Hour {
			t.Errorf("listed as %+v", e)
		}
	}
	removed, err := Clean(func(e Entry) bool { return filepath.Base(e.Path) != fileOf("kept") })
	if err != nil || len(removed) != 5 {
		t.Errorf("removed %+v (%v), want 3 caches and 2 leftovers", removed, err)
	}
	wantFiles(t, dir, append(others, fileOf("kept"))...)
	s.Key = "kept"
	m := mustOpen(t, s)
	if removed, err = Clean(func(Entry) bool { return true }); err != nil || len(removed) != 1 ||
		removed[0].Name != "small" {
		t.Errorf("removed %+v (%v), want the last", removed, err) // Windows removes no open file
	}
	wantImages(t, m) // images that are open stay
	wantFiles(t, dir, others...)
	if mustOpen(t, s); calls.Load() != 100 {
		t.Errorf("%d calls of Decode: what was removed is built again", calls.Load())
	}
}

// TestBuildRemovesLeftOvers: what killed builds have left goes with the next build, whichever cache they were for.
func TestBuildRemovesLeftOvers(t *testing.T) {
	s, _ := small(t, 20)
	if err := os.MkdirAll(folder(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"." + fileOf(s.Key) + ".12-3-1.tmp", "." + fileOf("another") + ".4-1-2.tmp",
		".another.4-1-2.tmp"} {
		if err := os.WriteFile(filepath.Join(folder(), name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustOpen(t, s)
	wantFiles(t, folder(), fileOf(s.Key), ".another.4-1-2.tmp")
}
