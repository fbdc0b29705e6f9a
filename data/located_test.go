package data

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMissingFilesAreNamedWhole: where the files of a data set are not, the message says the whole path that was looked
// for, whichever data set it is.
func TestMissingFilesAreNamedWhole(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	t.Setenv("OCL_CACHE", t.TempDir())
	want, err := filepath.Abs(filepath.Join("some", "where")) // a temporary folder may be a link
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range Catalogue() {
		if !info.NeedsDir {
			continue
		}
		spec := Spec{Name: info.Name, Dir: "some/where"}
		if _, err := Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s in it", err, want)
		}
		r, err := Verify(t.Context(), spec)
		if err != nil || len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Error(), want) {
			t.Errorf("verify %s: %v, %v, want %s in it", info.Name, r.Faults, err, want)
		}
	}
}
