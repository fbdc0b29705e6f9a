package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExportsOfACommittedResult: both exports write where they are told to, and say where.
func TestExportsOfACommittedResult(t *testing.T) {
	t.Parallel()
	result := filepath.Join("..", "survey", "results", "ns-mini-blur", "methods", "finetune-m0-s1.json.gz")
	dir := t.TempDir()
	path, err := exportCSV(t.Context(), result, dir, exportSource{})
	if want := filepath.Join(dir, "measurements.csv"); err != nil || path != want {
		t.Errorf("the table is %s, %v; want %s", path, err, want)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	path, err = exportTensorboard(t.Context(), result, dir, exportSource{})
	if err != nil || path != dir {
		t.Errorf("the event files are in %s, %v; want %s", path, err, dir)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "finetune-m0-s1", "*tfevents*")); err != nil || len(files) != 1 {
		t.Errorf("event files %v, %v; want one", files, err)
	}
}
