package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ocl/internal/escape"
)

// allFields is the value of --json that prints everything.
const allFields = "all"

// jsonFlag is the value of --json: the fields of the output that a program wants, or all of them.
type jsonFlag struct {
	given  bool
	fields []string // such as metrics.average_accuracy; nil is all
	// examples are values such as are printed: structs, or lists of them
	examples []any
}

// addJSON adds the flag --json to a command that prints values like the examples, structs or lists of them.
func addJSON(cmd *cobra.Command, j *jsonFlag, examples ...any) {
	j.examples = examples
	cmd.Flags().Var(j, "json", "FIELD,...\tprint JSON with these fields, or with all; --json alone lists the fields")
	completeFlag(cmd, "json", func() []string { return append([]string{allFields}, j.known()...) })
}

// known are the names of the outermost fields that there are.
func (j *jsonFlag) known() (names []string) {
	for _, v := range j.examples {
		for _, name := range fieldsOf(v) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// fieldsOf are the names of the outermost fields in the JSON of a value, or of the items of a list.
func fieldsOf(v any) (names []string) {
	if m, is := v.(json.Marshaler); is {
		var fields map[string]any
		text, err := m.MarshalJSON()
		if err = errors.Join(err, json.Unmarshal(text, &fields)); err != nil {
			panic(err)
		}
		return slices.Sorted(maps.Keys(fields))
	}
	for _, f := range reflect.VisibleFields(outermost(reflect.TypeOf(v))) {
		if name := nameInJSON(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// outermost is the type of a value, or of the items of a list.
func outermost(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// nameInJSON is the name of a field; "" is one that is not there.
func nameInJSON(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" && f.IsExported() {
		return name
	}
	return ""
}

// leads says whether a value of type t can have a field of a field, such as metrics.average_accuracy. A field of the
// items of a list is none, as each item has its own. What writes its own JSON, and a map, may have any.
func leads(t reflect.Type, path []string) bool {
	for ; len(path) > 0; path = path[1:] {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t.Implements(reflect.TypeFor[json.Marshaler]()), t.Kind() == reflect.Map, t.Kind() == reflect.Interface:
			return true
		case t.Kind() != reflect.Struct:
			return false
		}
		fields := reflect.VisibleFields(t)
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return nameInJSON(f) == path[0] })
		if i < 0 {
			return false
		}
		t = fields[i].Type
	}
	return true
}

func (j *jsonFlag) String() string { return "" }

// Type describes the values of the flag in words.
func (j *jsonFlag) Type() string {
	return "all, or some of the fields " + strings.Join(j.known(), ",") + " (a field of a field stands behind a point)"
}

func (j *jsonFlag) Set(text string) error {
	j.given, j.fields = true, nil
	if text == allFields {
		return nil
	}
	j.fields = strings.Split(text, ",")
	for _, name := range j.fields {
		path := strings.Split(name, ".")
		if !slices.Contains(j.known(), path[0]) || !slices.ContainsFunc(j.examples,
			func(v any) bool { return leads(outermost(reflect.TypeOf(v)), path) }) {
			return errors.New(j.Type())
		}
	}
	return nil
}

// print writes the fields of v, or of each item of v, as indented JSON.
func (j *jsonFlag) print(w io.Writer, v any) error {
	picked, err := j.pick(v)
	if err != nil {
		return err
	}
	return printJSON(w, picked)
}

// printOr writes v as JSON if that is wanted, and else a text.
func (j *jsonFlag) printOr(w io.Writer, v any, text string) error {
	if j.given {
		return j.print(w, v)
	}
	_, err := io.WriteString(w, text)
	return err
}

// pick is v with the fields that are wanted. One that this v does not have is null.
func (j *jsonFlag) pick(v any) (any, error) {
	if j.fields == nil {
		return v, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // which keeps every digit
	var whole any
	if err := d.Decode(&whole); err != nil {
		return nil, err
	}
	list, many := whole.([]any)
	if !many {
		list = []any{whole}
	}
	out := make([]map[string]any, len(list))
	for i, item := range list {
		out[i] = map[string]any{}
		for _, name := range j.fields {
			value := item
			for part := range strings.SplitSeq(name, ".") {
				object, _ := value.(map[string]any)
				value = object[part]
			}
			out[i][name] = value
		}
	}
	if many {
		return out, nil
	}
	return out[0], nil
}

// printJSON writes v as indented JSON and a newline. Characters that do not show are escaped, which changes no value.
func printJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

func encodeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escape.JSON(b.Bytes()))
	return err
}
