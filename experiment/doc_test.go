package experiment

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documented lists the keys in the first column of the first table below a heading of a page.
func documented(t *testing.T, page, heading string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", "format", page))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), heading)
	if !ok {
		t.Fatalf("%s has no %q", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var keys []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		keys = append(keys, m[1])
	}
	return keys
}

func TestStepsPage(t *testing.T) {
	columns := strings.Split(strings.TrimSpace(stepsHeader), ",")
	if d := cmp.Diff(columns, documented(t, "result.md", "\n## steps.csv")); d != "" {
		t.Errorf("docs/format/result.md and the columns of steps.csv differ: %s", d)
	}
}

func TestConfigPage(t *testing.T) {
	if d := cmp.Diff(fieldKeys(), documented(t, "config.md", "# Config")); d != "" {
		t.Errorf("docs/format/config.md and the keys differ: %s", d)
	}
}
