package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ocl/data"
	"ocl/learn/method"
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

// TestCataloguesAsJSON: --json prints an array of the whole catalogue, and with a name the same object alone; only
// numbers that a data set's file decides are null.
func TestCataloguesAsJSON(t *testing.T) {
	for _, c := range []struct {
		list, one []string
		names     []string
	}{
		{[]string{"methods", "--json=all"}, []string{"methods", "--json=all"}, methodNames()},
		{[]string{"methods", "--tricks", "--json=all"}, []string{"methods", "--tricks", "--json=all"}, trickNames()[1:]},
		{[]string{"data", "list", "--json=all"}, []string{"data", "info", "--json=all"}, data.Names()},
	} {
		var all []map[string]any
		text := outputOf(t, c.list...)
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		if c.one[0] != "data" && bytes.Contains(text, []byte("null")) {
			t.Errorf("ocl %v prints a null", c.list)
		}
		var names []string
		for _, object := range all {
			name := object["name"].(string)
			names = append(names, name)
			var one map[string]any
			if err := json.Unmarshal(outputOf(t, append(c.one, name)...), &one); err != nil || !reflect.DeepEqual(one, object) {
				t.Errorf("%s: alone it is not what it is in the list (%v)", name, err)
			}
		}
		if !slices.Equal(names, c.names) {
			t.Errorf("ocl %v: names %v, want %v", c.list, names, c.names)
		}
	}
}

// TestFieldsOfJSON: --json with names prints these fields, of each item, and fields of fields; without names it lists
// them.
func TestFieldsOfJSON(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"methods er --json name,uses_memory", `{"name":"er","uses_memory":true}`},
		{"methods --tricks --json name",
			`[{"name":"ema"},{"name":"kdc"},{"name":"kdc*"},{"name":"las"},{"name":"lb"},{"name":"lode"},{"name":"mi"},{"name":"mkd"},{"name":"ncm"},{"name":"rar"},{"name":"rv"},{"name":"ss"}]`},
		{"config show --json optimizer.lr,memory,data.nothing seed=18446744073709551615",
			`{"data.nothing":null,"memory":500,"optimizer.lr":0.1}`},
		{"config show --json seed seed=18446744073709551615", `{"seed":18446744073709551615}`},
		{"--version --json version", `{"version":"` + release + `"}`},
	} {
		var b bytes.Buffer
		if err := json.Compact(&b, outputOf(t, strings.Fields(c.args)...)); err != nil || b.String() != c.want {
			t.Errorf("ocl %s: %s (%v), want %s", c.args, &b, err, c.want)
		}
	}
	for args, want := range map[string]string{
		"config check x --json":           "--json has no value. Use all, or some of the fields file,valid,runs,faults",
		"config check x --json faults,ok": `--json cannot be "faults,ok". Use all, or some of the fields file,valid`,
		"methods --json name.x":           `--json cannot be "name.x".`,
		"run --json method.nam":           `--json cannot be "method.nam".`,
		"predict --json guesses.name":     `--json cannot be "guesses.name".`,
	} {
		if code, _, stderr := called(t.Context(), strings.Fields(args)...); code != exitUsage ||
			!strings.Contains(stderr, want) {
			t.Errorf("ocl %s: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestOptionsAsJSON: the type of an option is that of its default, and the key is one that takes.
func TestOptionsAsJSON(t *testing.T) {
	var options int
	for _, info := range method.Catalogue() {
		for i, o := range newMethodJSON(info).Options {
			options++
			want := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.String: "string", reflect.Int: "integer",
				reflect.Float64: "number"}
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
