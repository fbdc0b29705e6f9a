package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderStopsAtTheFirstError: the error names the file once and says what to do, and what comes after it is not
// written.
func TestFolderStopsAtTheFirstError(t *testing.T) {
	f := Folder{Context: t.Context(), Path: filepath.Join(t.TempDir(), "out")}
	f.Make("", "tables", "tables/b.csv") // a folder where a file is to be
	f.Write("tables/a.csv", []byte("a"))
	f.Write("tables/b.csv", []byte("b"))
	f.Write("tables/c.csv", []byte("c"))
	f.Make("figures")
	b := filepath.Join(f.Path, "tables", "b.csv")
	if f.Err == nil || strings.Count(f.Err.Error(), f.Path) != 1 || !strings.Contains(f.Err.Error(), b+": ") ||
		!strings.Contains(f.Err.Error(), "--out DIR") {
		t.Errorf("the error is %v, want one that names %s once", f.Err, b)
	}
	if len(f.Files) != 1 || f.Files[0] != filepath.Join(f.Path, "tables", "a.csv") {
		t.Errorf("%v was written", f.Files)
	}
	for _, name := range []string{"tables/c.csv", "figures"} {
		if _, err := os.Stat(filepath.Join(f.Path, name)); err == nil {
			t.Errorf("%s was made after the error", name)
		}
	}
}
