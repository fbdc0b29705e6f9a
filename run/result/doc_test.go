package result

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documented lists the keys in the first column of the table below a heading of a page of docs/format, and which of
// them have a "?" behind their type.
func documented(t *testing.T, name, heading string) (keys []string, optional map[string]bool) {
	t.Helper()
	page, err := os.ReadFile("../../docs/format/" + name)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), heading)
	if !ok {
		t.Fatalf("docs/format/%s has no %q", name, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	optional = map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*)\\|").FindAllStringSubmatch(text, -1) {
		keys = append(keys, m[1])
		optional[m[1]] = strings.HasSuffix(strings.TrimSpace(m[2]), "?")
	}
	return keys, optional
}

// jsonKeys lists the keys of a type as the page writes them, and which of them may be absent.
func jsonKeys(t reflect.Type, prefix string, optional map[string]bool) []string {
	var keys []string
	for f := range t.Fields() {
		key, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		key = prefix + key
		keys = append(keys, key)
		optional[key] = rest == "omitempty" || rest == "omitzero"
		switch ft := f.Type; {
		case free(ft):
		case ft.Kind() == reflect.Struct:
			keys = append(keys, jsonKeys(ft, key+".", optional)...)
		case ft.Kind() == reflect.Pointer && ft.Elem().Kind() == reflect.Struct:
			keys = append(keys, jsonKeys(ft.Elem(), key+".", optional)...)
		case ft == reflect.TypeFor[map[string]Classifier]():
			for _, sub := range jsonKeys(ft.Elem(), key+".NAME.", optional) {
				if strings.Contains(strings.TrimPrefix(sub, key+".NAME."), ".") { // those of the run itself
					delete(optional, sub)
					continue
				}
				keys = append(keys, sub)
			}
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			keys = append(keys, jsonKeys(ft.Elem(), key+"[].", optional)...)
		}
	}
	return keys
}

func TestPageHasTheKeys(t *testing.T) {
	optional := map[string]bool{}
	want := jsonKeys(reflect.TypeFor[Result](), "", optional)
	keys, marked := documented(t, "result.md", "\n## Keys")
	if d := cmp.Diff(want, keys); d != "" {
		t.Errorf("docs/format/result.md and the type differ: %s", d)
	}
	if d := cmp.Diff(optional, marked); d != "" {
		t.Errorf("docs/format/result.md and the type differ in what may be absent: %s", d)
	}
}

// docs/format/events.md has the keys of an event, but for those below a key that is as in a result.
func TestEventsPage(t *testing.T) {
	keys, _ := documented(t, "events.md", "\n## Keys")
	want := slices.DeleteFunc(jsonKeys(reflect.TypeFor[Event](), "", map[string]bool{}), func(key string) bool {
		return strings.HasPrefix(key, "stream.") || strings.HasPrefix(key, "registered[].")
	})
	if d := cmp.Diff(want, keys); d != "" {
		t.Errorf("docs/format/events.md and the type differ: %s", d)
	}
}

func TestPageHasWhereAndWhen(t *testing.T) {
	keys, _ := documented(t, "result.md", "\n## The same result")
	if d := cmp.Diff(whereAndWhen, keys); d != "" {
		t.Errorf("docs/format/result.md and whereAndWhen differ: %s", d)
	}
	all, _ := documented(t, "result.md", "\n## Keys")
	for _, k := range keys {
		if !strings.HasPrefix(k, "config.") && !strings.Contains(strings.Join(all, "\n")+"\n", k+"\n") {
			t.Errorf("%s is no key of a result", k)
		}
	}
}

// free says that a value of type t is read by somebody else, or may be anything.
func free(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}
