package method_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ocl/method"
)

// TestPagesHaveOneShape wants a page for each method and each trick, with the same headings in the same order, and
// wants the source files that it names to exist.
func TestPagesHaveOneShape(t *testing.T) {
	pages := map[string]string{}
	for _, info := range method.Catalogue() {
		pages[info.Name] = info.Page()
	}
	for _, trick := range method.Tricks() {
		pages["trick "+trick.Name] = trick.Page()
	}
	files, err := filepath.Glob("page/*.md")
	if err != nil || len(files) != len(pages) {
		t.Errorf("%d files in page, want one for each of %d methods and tricks (%v)", len(files), len(pages), err)
	}
	always := []string{"What it is for.", "The idea.", "In each step", "Memory and time.", "Options.", "What to expect.", "In the code."}
	inOrder := []string{"What it is for.", "The idea.", "In each step", "At the end of each task", "Before each evaluation", "Memory and time.",
		"Options.", "What to expect.", "Limits.", "In the code."}
	heading := regexp.MustCompile(`\*\*([^*]+)\*\*`)
	source := regexp.MustCompile("`([a-z]+/[a-z_]+\\.go)`")
	for name, page := range pages {
		var found []string
		for _, m := range heading.FindAllStringSubmatch(page, -1) {
			found = append(found, m[1])
		}
		at := -1
		for _, h := range found {
			next := slices.Index(inOrder, h)
			if next <= at {
				t.Errorf("%s: heading %q is unknown or not in its place; want the order %q", name, h, inOrder)
			}
			at = max(at, next)
		}
		for _, h := range always {
			if !slices.Contains(found, h) {
				t.Errorf("%s: heading %q is missing", name, h)
			}
		}
		_, code, _ := strings.Cut(page, "**In the code.**")
		named := source.FindAllStringSubmatch(code, -1)
		if len(named) == 0 {
			t.Errorf("%s: no source file is named", name)
		}
		for _, m := range named {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
