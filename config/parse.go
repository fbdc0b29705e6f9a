package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ocl/internal/nearest"
)

// Version is the version of the files that the program writes. It rises when a key changes its meaning or is removed. A key that a file lacks
// has its default, so that a key which a later program adds must mean by its default what runs did before. Files of the versions 1 and 2 are from
// before the first release.
const Version = 3

// versionKey is the first key of files that the program writes.
const versionKey = "version"

// MaxBytes is the most text that is read as a config, ten thousand times the size of a usual one.
const MaxBytes = 1 << 20

// Parse reads a config in YAML or JSON, of a person or a program. Keys that it lacks get their defaults. Errors name the file as name. Everything
// that is wrong with keys and types is reported at once, with its line; [Schema.Validate] checks the ranges.
func (s *Schema) Parse(name string, text []byte) (Config, error) {
	c, _, err := s.ParseAt(name, text)
	return c, err
}

// ParseAt is Parse, and says which lines gave the keys, for [Schema.ValidateAt].
func (s *Schema) ParseAt(name string, text []byte) (Config, Places, error) {
	c, from := Default(), Places{File: name, Lines: map[string]int{}}
	if len(text) > MaxBytes {
		return c, from, fmt.Errorf("config: %s: the file has more than %d bytes, too many for a config. Give a config file", name, MaxBytes)
	}
	root, err := document(name, text)
	if err != nil || root == nil {
		return c, from, err
	}
	r := reader{schema: s, name: name, c: &c, seen: map[string]bool{}, lines: from.Lines}
	switch v := r.version(root); {
	case v > Version:
		return c, from, fmt.Errorf("config: %s: a newer ocl wrote this file (version %d, and this program reads version %d). Use the newer ocl", name, v, Version)
	case v > 0 && v < Version:
		return c, from, fmt.Errorf("config: %s: an ocl from before the first release wrote this file (version %d, and this program reads version %d). Remove the line `version`, and correct what is said of the keys", name, v, Version)
	}
	r.section("", root)
	return c, from, r.err()
}

// document is the one YAML document of a file, nil if it has no keys at all.
func document(name string, text []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("config: %s: the file is not YAML: %s. `ocl config show` prints a correct one", name, shown(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: %s: the file holds several YAML documents. Keep one of them", name)
	}
	return resolve(document.Content[0]), nil
}

// reader walks one document.
type reader struct {
	faults
	grid   *Grid // of a study, whose keys may have several values; nil for a config
	schema *Schema
	name   string
	c      *Config
	seen   map[string]bool
	lines  map[string]int // of the keys that were set
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (r *reader) at(n *yaml.Node) lazy {
	return func() string { return fmt.Sprintf("%s:%d", r.name, n.Line) }
}

// version is that of the file, 0 without one.
func (r *reader) version(root *yaml.Node) int {
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == versionKey {
			v, err := wholeOf(root.Content[i+1].Value)
			if err == nil && v > 0 {
				return v
			}
		}
	}
	return 0
}

// section reads a mapping whose keys begin with prefix.
func (r *reader) section(prefix string, n *yaml.Node) {
	n = resolve(n)
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return
	case n.Kind != yaml.MappingNode:
		what := "this file"
		if prefix != "" {
			what = strings.TrimSuffix(prefix, ".")
		}
		remedy := "Write `key: value`"
		if prefix == "method." {
			remedy = "Did you mean methods?"
		}
		r.add(r.at(n), "%s must hold keys with values, but it holds %s. %s", what, r.show(n), remedy)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := resolve(n.Content[i]), n.Content[i+1]
		key := prefix + name.Value
		where := r.at(name)
		switch {
		case name.Kind != yaml.ScalarNode:
			r.add(where, "%s is used as a key. Use a word as the key", r.show(name))
		case r.seen[key]:
			r.add(where, "%s is given twice. Remove one of them", shown(key))
		case strings.Contains(name.Value, ".") && (r.known(key) || r.isSection(key)):
			section, below, _ := strings.Cut(name.Value, ".")
			r.add(where, "%s has a dot, but keys in a file are nested. Write `%s:` and, indented on the next line, `%s:`", shown(key), shown(section), shown(below))
		case key == versionKey:
			if v := resolve(value); v.Kind != yaml.ScalarNode || r.version(n) == 0 {
				r.add(where, "version is %s. It must be %d; remove the line if you added it", r.show(v), Version)
			}
		case r.isSection(key):
			r.section(key+".", value)
		case r.unknownSection(key, value):
			r.add(where, "%w", unknown("unknown key %s. %s", shownLater(key), sectionMeant(key)))
		default:
			r.leaf(where, key, resolve(value))
			r.lines[key] = name.Line
		}
		r.seen[key] = true
	}
}

// known says whether there is such a key.
func (r *reader) known(key string) bool {
	_, _, err := r.schema.find(key)
	return err == nil
}

// isSection says whether a key has keys below it.
func (r *reader) isSection(key string) bool {
	if key == "method" {
		return true
	}
	if name, ok := strings.CutPrefix(key, "method."); ok {
		_, known := lookup(r.schema.Methods, name)
		return known || len(r.schema.Methods) == 0 && !strings.Contains(name, ".")
	}
	for _, k := range table {
		if strings.HasPrefix(k.Name, key+".") {
			return true
		}
	}
	return false
}

// unknownSection says whether a key that is not known has keys below it.
func (r *reader) unknownSection(key string, value *yaml.Node) bool {
	_, known := find(key) // also one that is retired
	return resolve(value).Kind == yaml.MappingNode && !strings.HasPrefix(key, "method.") && !known && !r.known(key)
}

// sectionMeant is the hint for a section that is not known.
func sectionMeant(key string) lazy {
	return func() string {
		var sections []string
		for _, k := range table {
			if i := strings.LastIndex(k.Name, "."); i >= 0 && !slices.Contains(sections, k.Name[:i]) {
				sections = append(sections, k.Name[:i])
			}
		}
		if near := nearest.Word(key, append(sections, "method")); near != "" {
			return "Did you mean the section " + near + "? " + allKeys
		}
		return allKeys
	}
}

// leaf sets a key from its node.
func (r *reader) leaf(where lazy, key string, n *yaml.Node) {
	k, option, err := r.schema.find(key)
	if err != nil {
		r.add(where, "%w", err)
		return
	}
	optional := option == nil && k.optional()
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		switch {
		case !optional:
			r.add(where, "%s has no value. Use %s, or remove the key", key, r.schema.wanted(key))
		case r.grid != nil:
			r.grid.Settings = append(r.grid.Settings, Setting{Key: key, Line: n.Line, Values: []any{nil}})
		default:
			k.set(r.c, nil)
		}
		return
	}
	read := func(n *yaml.Node) (any, error) {
		switch {
		case option == nil:
			return k.kind().fromNode(n)
		case option.Default == nil: // of a method that is in no catalogue
			return anyFrom(n)
		}
		return option.kind().fromNode(n)
	}
	v, err := read(n)
	if r.grid != nil && r.several(where, key, n, v, err, read) {
		return
	}
	if err != nil {
		remedy := ""
		if list := "[" + n.Value + "]"; option == nil && k.List() && n.Kind == yaml.ScalarNode {
			if _, err := k.kind().fromText(list); err == nil && n.Value != "" {
				remedy = ", such as " + shown(list)
			}
		}
		r.add(where, "%s cannot be %s. Use %s%s", key, r.show(n), r.schema.wanted(key), remedy)
		return
	}
	if option == nil {
		k.set(r.c, v)
		return
	}
	r.c.setOption(key, v)
}

// setOption sets `method.<name>.<option>`.
func (c *Config) setOption(key string, v any) {
	name, option, _ := cutOption(key)
	if c.Method == nil {
		c.Method = map[string]map[string]any{}
	}
	if c.Method[name] == nil {
		c.Method[name] = map[string]any{}
	}
	c.Method[name][option] = v
}

// cutOption splits `method.<name>.<option>`. ok is false if there is no option; the name is empty if it is another key.
func cutOption(key string) (name, option string, ok bool) {
	rest, ok := strings.CutPrefix(key, "method.")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ".")
}

// find finds a key of the table, or an option of a method. The error says what is unknown and what was
// probably meant.
func (s *Schema) find(key string) (Key, *Option, error) {
	switch k, ok := find(key); {
	case ok:
		return k, nil, nil
	}
	name, option, ok := cutOption(key)
	m, known := lookup(s.Methods, name)
	o, has := lookup(m.Options, option)
	switch {
	case name == "":
		return Key{}, nil, unknown("unknown key %s. %s", shownLater(key), s.meantKey(key))
	case ok && len(s.Methods) == 0:
		return Key{}, &Option{Name: option}, nil
	case !known:
		return Key{}, nil, unknown("unknown method %s. %s", shownLater(name), s.meantMethod(name))
	case has:
		return Key{}, &o, nil
	case !ok:
		return Key{}, nil, unknown("%s is a section, not a key. %s", shownLater(key), s.keysBelow(key))
	case len(m.Options) == 0:
		return Key{}, nil, unknown("unknown option %s. The method %s has no options", shownLater(option), name)
	}
	return Key{}, nil, unknown("unknown option %s of %s. %s", shownLater(option), name,
		meant(option, namesOf(m.Options), "`ocl methods "+name+"` lists all its options"))
}

func shownLater(text string) lazy { return func() string { return shown(text) } }

// wanted says what a key takes.
func (s *Schema) wanted(key string) string {
	if k, ok := find(key); ok {
		return k.Wanted() // one that is retired too: files of earlier programs have it
	}
	_, option, err := s.find(key)
	switch {
	case err != nil:
		return "a known key"
	case option.Default == nil:
		return "a text, a number, true or false"
	}
	return option.Wanted()
}

// show is a node as it is written, shortened. It is made only when the message is read. Quotes and a tag of the file's own
// are mentioned, because without them the same value would be right.
func (r *reader) show(n *yaml.Node) lazy {
	return func() string {
		n := resolve(n)
		text := shown(n.Value)
		switch {
		case n.Kind == yaml.MappingNode:
			return "keys with values"
		case n.Kind == yaml.SequenceNode:
			var items []string
			for _, item := range n.Content[:min(len(n.Content), 10)] {
				switch item = resolve(item); item.Kind {
				case yaml.ScalarNode:
					items = append(items, item.Value)
				case yaml.MappingNode:
					return "a list of keys with values"
				default:
					return "a list of lists"
				}
			}
			if len(n.Content) > len(items) {
				items = append(items, "…")
			}
			return shown("[" + strings.Join(items, ", ") + "]")
		case n.Style&yaml.TaggedStyle != 0:
			return strings.TrimSpace(text + " with the tag " + shown(n.Tag))
		case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0:
			return text
		case strings.HasPrefix(text, `"`):
			return "the text " + text
		}
		return `the text "` + text + `"`
	}
}

// Set sets one key from text, as the command line does: Set(&c, "optimizer.lr", "0.05"). Lists are written "a,b" or "[a, b]".
// An empty text unsets a key that may be unset: one that has a Key.Unset. An unknown key or a value of another type is an
// error.
func (s *Schema) Set(c *Config, key, text string) error {
	k, option, err := s.find(key)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if option == nil && text == "" && (k.optional() || k.zero()) {
		k.set(c, nil)
		return nil
	}
	var of kind
	if option != nil {
		of = option.kind()
	} else {
		of = k.kind()
	}
	v, err := of.fromText(text)
	if err != nil {
		found := shown(text)
		if found == "" {
			found = "empty"
		}
		return fmt.Errorf("config: %s cannot be %s. Use %s", key, found, s.wanted(key))
	}
	if option != nil {
		c.setOption(key, v)
		return nil
	}
	if k.ZeroInFiles && v == 0.0 {
		return fmt.Errorf("config: %s: 0 is out of range. Use %s, or leave it out for %s", key, k.Wanted(), k.Unset)
	}
	k.set(c, v)
	return nil
}
