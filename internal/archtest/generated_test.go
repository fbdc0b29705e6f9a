package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreUpToDate runs the generator of internal/kernel with a temporary folder for its output and
// compares. The generator is a module of its own, so that the first run on a machine fetches it.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generator; without -short it runs")
	}
	kernel, dir := filepath.Join(root, "internal", "kernel"), t.TempDir()
	cmd := exec.Command("go", "run", "-C", "_asm", ".", "-out", dir)
	cmd.Dir = kernel
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("the generator wrote %d files (%v)", len(files), err)
	}
	for _, f := range files {
		got, _ := os.ReadFile(filepath.Join(dir, f.Name()))
		want, err := os.ReadFile(filepath.Join(kernel, f.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("internal/kernel/%s is not what its generator writes (%v); run `make generate`", f.Name(), err)
		}
	}
}
