package runs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/run/result"
)

// TestDocsHaveTheTable compares the table of columns in the section CSV of docs/interop.md with the columns, in their
// order, and wants each quantity to be named there, or to be a metric or a number of the error analysis.
func TestDocsHaveTheTable(t *testing.T) {
	page := read(t, filepath.Join("..", "..", "docs", "interop.md"))
	_, page, _ = strings.Cut(page, "\n## CSV\n")
	page, _, _ = strings.Cut(page, "\n## ")
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ").FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	if d := cmp.Diff(columns, names); d != "" {
		t.Fatalf("docs/interop.md differs:\n%s", d)
	}
	elsewhere := map[string]bool{}
	for _, m := range result.AllMetrics() {
		elsewhere[m.Key] = true
	}
	for _, e := range result.ErrorNumbers() {
		elsewhere[e.Key] = true
	}
	for _, q := range quantities {
		if !elsewhere[q.Name] && !strings.Contains(page, "`"+q.Name+"`") {
			t.Errorf("docs/interop.md does not name %s", q.Name)
		}
	}
}
