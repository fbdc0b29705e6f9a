package runs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocsHaveTheTable compares the tables of the section CSV in docs/interop.md with the columns and the quantities:
// all of them, in their order, and quantities in the same words.
func TestDocsHaveTheTable(t *testing.T) {
	page := read(t, filepath.Join("..", "..", "docs", "interop.md"))
	_, page, _ = strings.Cut(page, "\n## CSV\n")
	page, _, _ = strings.Cut(page, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (.*) \\|\r?$").FindAllStringSubmatch(page, -1)
	var names, helps []string
	for _, m := range rows {
		names, helps = append(names, m[1]), append(helps, m[2])
	}
	want := slices.Clone(columns)
	for _, q := range quantities {
		want = append(want, q.Name)
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Fatalf("docs/interop.md differs:\n%s", d)
	}
	for i, q := range quantities {
		if got := helps[len(columns)+i]; got != q.Help {
			t.Errorf("docs/interop.md says %q of %s, want %q", got, q.Name, q.Help)
		}
	}
}
