package paper

import (
	"os"
	"path/filepath"
	"testing"

	"ocl/internal/browsertest"
)

// TestBrowser: Chromium shows the page of a study in which every cell is filled, beside the published values, as it
// should be on a phone and on a screen.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out the large page")
	}
	b := browsertest.Start(t)
	path := filepath.Join(t.TempDir(), "paper.html")
	if err := os.WriteFile(path, everyCell().page(), 0o666); err != nil {
		t.Fatal(err)
	}
	b.Check(t, path)
}
