package paper

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ocl/config"
	"ocl/internal/browsertest"
)

// TestBrowser: Chromium shows the page of a study in which every cell is filled, beside the published values, as it should be on a phone
// and on a screen.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out the large page")
	}
	b := browsertest.Start(t)
	dir := t.TempDir()
	for i, spec := range specs(t) {
		write(t, dir, fmt.Sprintf("%d.json.gz", i), fake(spec, 1, config.EvalAll))
	}
	p, err := build(mustRead(t, dir), Options{Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	page, err := p.page()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "paper.html")
	if err := os.WriteFile(path, page, 0o666); err != nil {
		t.Fatal(err)
	}
	b.Check(t, path)
}
