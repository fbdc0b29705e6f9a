package experiment

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/experiment/result"
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

// docs/format/events.md has the keys of an event.
func TestEventsPage(t *testing.T) {
	var want []string
	for f := range reflect.TypeFor[result.Event]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want = append(want, key)
	}
	if d := cmp.Diff(want, documented(t, "events.md", "\n## Keys")); d != "" {
		t.Errorf("docs/format/events.md and the type differ: %s", d)
	}
}
