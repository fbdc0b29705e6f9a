package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ocl/data"
	"ocl/method"
)

// outputOf runs a command line that must succeed.
func outputOf(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, faults bytes.Buffer
	if code := execute(context.Background(), args, &out, &faults); code != exitDone || faults.Len() > 0 {
		t.Fatalf("ocl %v: exit code %d, %s", args, code, &faults)
	}
	return out.Bytes()
}

// TestCataloguesAsJSON: --json prints an array of the whole catalogue, and with a name the same object alone;
// docs/cli.md lists its keys, and nothing is null but numbers that a data set's file decides.
func TestCataloguesAsJSON(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		row       string // of docs/cli.md
		list, one []string
		names     []string
	}{
		{"methods", []string{"methods", "--json"}, []string{"methods", "--json"}, methodNames()},
		{"tricks", []string{"methods", "--tricks", "--json"}, []string{"methods", "--tricks", "--json"}, trickNames()[1:]},
		{"data", []string{"data", "list", "--json"}, []string{"data", "info", "--json"}, data.Names()},
	} {
		var all []map[string]any
		if err := json.Unmarshal(outputOf(t, c.list...), &all); err != nil {
			t.Fatal(err)
		}
		_, listed, found := strings.Cut(string(page), "\n    "+c.row+" ")
		for _, next := range []string{"\n    tricks ", "\n    data ", "\n\n"} {
			listed, _, _ = strings.Cut(listed, next)
		}
		if !found {
			t.Fatalf("docs/cli.md has no row %s", c.row)
		}
		var want []string
		for _, m := range regexp.MustCompile(`"([a-z_]+)"`).FindAllStringSubmatch(listed, -1) {
			want = append(want, m[1])
		}
		var names []string
		for _, object := range all {
			name := object["name"].(string)
			names = append(names, name)
			var one map[string]any
			if err := json.Unmarshal(outputOf(t, append(c.one, name)...), &one); err != nil || !reflect.DeepEqual(one, object) {
				t.Errorf("%s: alone it is not what it is in the list (%v)", name, err)
			}
			keys := keysOf(t, name, object, c.row == "data")
			for _, k := range keys {
				if !slices.Contains(want, k) {
					t.Errorf("%s: docs/cli.md does not list the key %s", name, k)
				}
			}
		}
		if !slices.Equal(names, c.names) {
			t.Errorf("%s: names %v, want %v", c.row, names, c.names)
		}
		for _, k := range want {
			if !strings.Contains(string(outputOf(t, c.list...)), `"`+k+`": `) {
				t.Errorf("docs/cli.md lists %s of %s, which no entry has", k, c.row)
			}
		}
	}
}

// keysOf are the keys of an object and of the objects in its lists, but for maps by name of a method or a trick.
func keysOf(t *testing.T, at string, object map[string]any, nulls bool) []string {
	t.Helper()
	var keys []string
	for k, v := range object {
		keys = append(keys, k)
		switch v := v.(type) {
		case nil:
			if !nulls {
				t.Errorf("%s: %s is null", at, k)
			}
		case map[string]any:
			if k == "tuning" {
				keys = append(keys, keysOf(t, at+"."+k, v, nulls)...)
			}
		case []any:
			for _, e := range v {
				if inner, ok := e.(map[string]any); ok {
					keys = append(keys, keysOf(t, at+"."+k, inner, nulls)...)
				}
			}
		}
	}
	return keys
}

// TestOptionsAsJSON: the type of an option is that of its default, and the key is one that --set takes.
func TestOptionsAsJSON(t *testing.T) {
	var options int
	for _, info := range method.Catalogue() {
		for i, o := range newMethodJSON(info).Options {
			options++
			want := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.String: "string", reflect.Int: "integer", reflect.Float64: "number"}
			if o.Type != want[reflect.TypeOf(info.Options[i].Default).Kind()] {
				t.Errorf("%s: type %s of default %v", o.Key, o.Type, o.Default)
			}
			text := "method." + info.Name + "." + info.Options[i].Name
			if o.Key != text {
				t.Errorf("key %s, want %s", o.Key, text)
			}
		}
	}
	if options == 0 {
		t.Error("no method has an option")
	}
}
