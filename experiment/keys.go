package experiment

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"ocl/internal/nearest"
	"ocl/method"
)

// classOrderKey is the one key that takes a word or a list.
const classOrderKey = "stream.class_order"

// Keys lists every key of a config in the order of the struct, such as "optimizer.lr". Options of methods,
// `method.<name>.<option>`, come last, in the order of the catalogue.
func Keys() []string {
	keys := fieldKeys()
	for _, info := range method.Catalogue() {
		keys = append(keys, optionKeys(info)...)
	}
	return keys
}

func optionKeys(info method.Info) []string {
	var keys []string
	for _, o := range info.Options {
		keys = append(keys, "method."+info.Name+"."+o.Name)
	}
	return keys
}

// fieldKeys are the keys that are fields of the struct.
func fieldKeys() []string {
	var keys []string
	walkFields(reflect.TypeFor[Config](), "", nil, func(key string, _ []int) { keys = append(keys, key) })
	return keys
}

// walkFields calls f for every leaf of a config type with its dotted key and its field index.
func walkFields(t reflect.Type, prefix string, index []int, f func(key string, index []int)) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "" || name == "method" {
			continue
		}
		at := append(slices.Clone(index), i)
		if field.Type.Kind() == reflect.Struct {
			walkFields(field.Type, prefix+name+".", at, f)
			continue
		}
		f(prefix+name, at)
	}
}

// Set sets one key of the config from text, as flags and --set do: `Set("optimizer.lr", "0.05")`. Lists are written
// "a,b" or "[a, b]". An unknown key or a value of the wrong type is an error that names the nearest key or the type.
func (c *Config) Set(key, value string) error {
	text := value
	if c.isList(key) && !strings.HasPrefix(strings.TrimSpace(value), "[") {
		text = "[" + value + "]"
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return fmt.Errorf("config: %s: %q cannot be read; want %s; quote special characters", key, value, c.wantedBy(key))
	}
	var node ast.Node
	if len(file.Docs) > 0 {
		node = file.Docs[0].Body
	}
	var f faults
	c.setNode("", key, node, &f)
	return f.err()
}

// isList tells whether a key holds a list, for which "a,b" is accepted.
func (c *Config) isList(key string) bool {
	t := c.typeOf(key)
	return t != nil && t.Kind() == reflect.Slice
}

// typeOf is the Go type behind a key, nil for an unknown one.
func (c *Config) typeOf(key string) reflect.Type {
	if option, ok := methodOption(key); ok {
		return reflect.TypeOf(option.Default)
	}
	var found reflect.Type
	walkFields(reflect.TypeFor[Config](), "", nil, func(k string, index []int) {
		if k == key {
			found = reflect.TypeFor[Config]().FieldByIndex(index).Type
		}
	})
	return found
}

// methodOption finds `method.<name>.<option>` in the catalogue.
func methodOption(key string) (method.Option, bool) {
	name, option, ok := cutMethodKey(key)
	if !ok {
		return method.Option{}, false
	}
	info, err := method.Lookup(name)
	if err != nil {
		return method.Option{}, false
	}
	for _, o := range info.Options {
		if o.Name == option {
			return o, true
		}
	}
	return method.Option{}, false
}

// CheckGiven says so where nothing in the lists of c reads key: an option of a method that is not there, or a setting of replay
// that no method and no trick of them reads, unless it is the default. That is no fault of a config, which may serve several
// lists or be that of one run of a list, but one of a person who asks for it beside the list.
func (c Config) CheckGiven(key string) error {
	name, _, option := cutMethodKey(key)
	switch {
	case option && !slices.Contains(c.Methods, name):
		return fmt.Errorf("%s: %s is not in the list of methods, %s; want it there, or none of its options; add it or take the option away",
			key, name, strings.Join(c.Methods, ", "))
	case !strings.HasPrefix(key, "replay.") || c.reads(key) || c.value(key) == Default().value(key):
		return nil
	}
	want := "want a method that does in the list: " + strings.Join(methodsReading(key), ", ")
	if tricks := tricksReading(key); len(tricks) > 0 {
		want += "; or a trick: " + strings.Join(tricks, ", ")
	}
	return fmt.Errorf("%s: %v, but %s does not read it; %s; take it away or add one of them", key, c.value(key), strings.Join(c.Methods, ", "), want)
}

// reads tells whether a method or a trick of c's lists reads a setting. One that is in no catalogue might.
func (c Config) reads(key string) bool {
	if c.hasUnknownMethod() || len(c.trickSets()) < len(c.Tricks) {
		return true
	}
	names := slices.Concat(append(c.trickSets(), c.Methods)...)
	readers := append(methodsReading(key), tricksReading(key)...)
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(readers, name) })
}

// methodsReading lists the methods that read a setting.
func methodsReading(key string) []string {
	var names []string
	for _, info := range method.Catalogue() {
		if slices.Contains(info.Settings, key) {
			names = append(names, info.Name)
		}
	}
	return names
}

// tricksReading lists the tricks that read a setting.
func tricksReading(key string) []string {
	var names []string
	for _, t := range method.Tricks() {
		if slices.Contains(t.Settings, key) {
			names = append(names, t.Name)
		}
	}
	return names
}

func cutMethodKey(key string) (name, option string, ok bool) {
	rest, ok := strings.CutPrefix(key, "method.")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ".")
}

// setNode sets key from a node of a YAML document; where ("exp.yaml:12" or "") is said in faults.
func (c *Config) setNode(where, key string, node ast.Node, f *faults) {
	at := key
	if where != "" {
		at = where + ": " + key
	}
	t := c.typeOf(key)
	if t == nil {
		found, wanted, remedy := "unknown key", "want a key that `ocl config show` lists", nearest.Hint(key, Keys())
		if rest, ok := strings.CutPrefix(key, "method."); ok {
			name, _, _ := strings.Cut(rest, ".")
			if info, err := method.Lookup(name); err != nil {
				found, remedy = fmt.Sprintf("unknown method %q", name), nearest.Hint(name, methodNames())
			} else if len(info.Options) == 0 {
				found, remedy = "unknown option", name+" has no options; "+remedy
			} else {
				found, wanted = "unknown option", "want one that `ocl methods "+name+"` lists"
				remedy = nearest.Hint(key, optionKeys(info))
			}
		}
		f.add(at, found, wanted, remedy)
		return
	}
	if node == nil || node.Type() == ast.NullType && t.Kind() != reflect.Pointer {
		f.add(at, "no value", "want "+c.wantedBy(key), "write a value or take the key away")
		return
	}
	v, err := decodeNode(node, t)
	if err != nil {
		f.add(at, "found "+show(node), "want "+c.wantedBy(key), "correct the value")
		return
	}
	if name, option, ok := cutMethodKey(key); ok {
		if c.Method == nil {
			c.Method = map[string]map[string]any{}
		}
		if c.Method[name] == nil {
			c.Method[name] = map[string]any{}
		}
		c.Method[name][option] = v.Interface()
		return
	}
	walkFields(reflect.TypeFor[Config](), "", nil, func(k string, index []int) {
		if k == key {
			reflect.ValueOf(c).Elem().FieldByIndex(index).Set(v)
		}
	})
	c.memoryGiven = c.memoryGiven || key == "memory"
}

// decodeNode reads a value of exactly type t: no number becomes text, no fraction a whole number.
func decodeNode(node ast.Node, t reflect.Type) (reflect.Value, error) {
	var raw any
	if err := yaml.NodeToValue(node, &raw); err != nil {
		return reflect.Value{}, err
	}
	return convert(raw, t)
}

var errType = errors.New("wrong type")

// exponentOnly are numbers such as 1e-3, which YAML 1.2 takes for numbers and the parser, wanting a point, for text.
var exponentOnly = regexp.MustCompile(`^[-+]?[0-9]+[eE][-+]?[0-9]+$`)

// convert turns a value as YAML or JSON decodes it into type t.
func convert(raw any, t reflect.Type) (reflect.Value, error) {
	out := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		if raw == nil {
			return out, nil
		}
		v, err := convert(raw, t.Elem())
		if err == nil {
			out = reflect.New(t.Elem())
			out.Elem().Set(v)
		}
		return out, err
	case reflect.Interface: // classOrderKey
		s, word := raw.(string)
		switch {
		case word && strings.Contains(s, ","):
			var list []any
			for field := range strings.SplitSeq(s, ",") {
				n, err := strconv.Atoi(strings.TrimSpace(field))
				if err != nil {
					return out, errType
				}
				list = append(list, n)
			}
			raw = list
		case word:
			return reflect.ValueOf(s), nil
		}
		return convert(raw, reflect.TypeFor[[]int]())
	case reflect.Slice:
		list, ok := raw.([]any)
		if !ok {
			return out, errType
		}
		out = reflect.MakeSlice(t, 0, len(list))
		for _, e := range list {
			v, err := convert(e, t.Elem())
			if err != nil {
				return out, err
			}
			out = reflect.Append(out, v)
		}
		return out, nil
	}
	switch x := raw.(type) {
	case string:
		if t.Kind() == reflect.String {
			out.SetString(x)
			return out, nil
		}
		// The parser takes 1e30, which JSON and Go write, for text: it wants a point in a number with an exponent.
		if v, err := strconv.ParseFloat(x, 64); err == nil && t.Kind() == reflect.Float64 {
			out.SetFloat(v)
			return out, nil
		}
		if t.Kind() == reflect.Float64 && exponentOnly.MatchString(x) {
			v, err := strconv.ParseFloat(x, 64)
			out.SetFloat(v)
			return out, err
		}
	case bool:
		if t.Kind() == reflect.Bool {
			out.SetBool(x)
			return out, nil
		}
	case uint64:
		return convertNumber(float64(x), x, false, t)
	case int64:
		return convertNumber(float64(x), uint64(max(x, -x)), x < 0, t)
	case int:
		return convert(int64(x), t)
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 && t.Kind() != reflect.Float64 {
			return convert(int64(x), t)
		}
		return convertNumber(x, 0, true, t)
	}
	return out, errType
}

// convertNumber stores a number given as float64 and, where it is whole, as magnitude and sign.
func convertNumber(f float64, magnitude uint64, negative bool, t reflect.Type) (reflect.Value, error) {
	out := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Float64:
		out.SetFloat(f)
		return out, nil
	case reflect.Uint64:
		if !negative {
			out.SetUint(magnitude)
			return out, nil
		}
	case reflect.Int:
		if f == math.Trunc(f) && magnitude <= math.MaxInt {
			n := int64(magnitude)
			if negative {
				n = -n
			}
			out.SetInt(n)
			return out, nil
		}
	}
	return out, errType
}

// value is what a key that is a field holds.
func (c Config) value(key string) any {
	var v any
	walkFields(reflect.TypeFor[Config](), "", nil, func(k string, index []int) {
		if k == key {
			v = reflect.ValueOf(c).FieldByIndex(index).Interface()
		}
	})
	return v
}

// wantedBy says in words what kind of value a key takes.
func (c *Config) wantedBy(key string) string {
	if key == classOrderKey {
		return "random, given or a list of all classes, such as 2,0,1"
	}
	t := c.typeOf(key)
	if t == nil {
		return "a known key"
	}
	return kindWords(t)
}

func kindWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindWords(t.Elem())
	case reflect.Slice:
		return "a list, each " + kindWords(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number from 0 to 18446744073709551615"
	case reflect.Float64:
		return "a number"
	}
	return "text"
}

// show is a node as written, shortened.
func show(node ast.Node) string {
	s := strings.Join(strings.Fields(node.String()), " ")
	if len(s) > 60 {
		s = s[:57] + "…"
	}
	return s
}

func methodNames() []string {
	var names []string
	for _, info := range method.Catalogue() {
		names = append(names, info.Name)
	}
	return names
}
