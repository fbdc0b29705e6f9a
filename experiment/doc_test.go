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

// jsonKeys lists the keys of a result type as the page writes them.
func jsonKeys(t reflect.Type, prefix string) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		key = prefix + key
		keys = append(keys, key)
		switch ft := f.Type; {
		case ft.Kind() == reflect.Struct:
			keys = append(keys, jsonKeys(ft, key+".")...)
		case ft.Kind() == reflect.Pointer && ft.Elem().Kind() == reflect.Struct:
			keys = append(keys, jsonKeys(ft.Elem(), key+".")...)
		case ft == reflect.TypeFor[map[string]result.Classifier]():
			for _, sub := range jsonKeys(ft.Elem(), key+".NAME.") {
				rest := strings.TrimPrefix(sub, key+".NAME.")
				if !strings.Contains(rest, ".") { // below that those of the run itself
					keys = append(keys, sub)
				}
			}
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			keys = append(keys, jsonKeys(ft.Elem(), key+"[].")...)
		}
	}
	return keys
}

func TestResultPage(t *testing.T) {
	want := jsonKeys(reflect.TypeFor[result.Result](), "")
	if d := cmp.Diff(want, documented(t, "result.md", "\n## Keys")); d != "" {
		t.Errorf("docs/format/result.md and the type differ: %s", d)
	}
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
