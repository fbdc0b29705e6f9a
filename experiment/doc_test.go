package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/format/config.md has the keys as `ocl config keys --markdown` prints them.
func TestConfigPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "format", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	if table := Schema().Markdown(); !strings.Contains(string(page), table) {
		t.Errorf("docs/format/config.md is not current; put the output of `ocl config keys --markdown` into it:\n%s", table)
	}
}
