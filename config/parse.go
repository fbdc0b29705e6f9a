package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ocl/internal/limit"
)

// Version is the version of the files that the program writes. It rises when a key changes its meaning or is removed. A
// key that a file lacks has its default, so that a key which a later program adds must mean by its default what runs
// did before. Files of the versions 1 and 2 are from before the first release.
const Version = 3

// versionKey is the first key of files that the program writes.
const versionKey = "version"

// Parse reads a config in YAML or JSON, of a person or a program. Keys that it lacks get their defaults. Errors name
// the file as name. Everything that is wrong with keys and types is reported at once, with its line; [Schema.Validate]
// checks the ranges.
func (s *Schema) Parse(name string, text []byte) (Config, error) {
	c, _, err := s.ParseAt(name, text)
	return c, err
}

// ParseAt is Parse, and says which lines gave the keys, for [Schema.ValidateAt].
func (s *Schema) ParseAt(name string, text []byte) (Config, Places, error) {
	c, from := Default(), Places{File: name, Lines: map[string]int{}}
	if len(text) > limit.Config {
		return c, from, fmt.Errorf("config: %s: the file has more than %d bytes, too many for a config. Give a config file",
			name, limit.Config)
	}
	root, err := document(name, text)
	if err != nil || root == nil {
		return c, from, err
	}
	r := reader{schema: s, name: name, c: &c, seen: map[string]bool{}, lines: from.Lines}
	switch v := r.version(root); {
	case v > Version:
		return c, from, fmt.Errorf("config: %s: a newer ocl wrote this file (version %d, and this program reads version %d). Use the newer ocl",
			name, v, Version)
	case v > 0 && v < Version:
		return c, from, fmt.Errorf("config: %s: the file is from before the first release (version %d; this ocl reads version %d). Remove its line `version`, and correct the keys that ocl then names",
			name, v, Version)
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
		return nil, fmt.Errorf("config: %s: the file is not YAML: %s. `ocl config show` prints a correct one", name,
			shown(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: %s: the file holds several YAML documents. Keep one of them", name)
	}
	if written(&document, map[*yaml.Node]float64{}) > limit.Config {
		return nil, fmt.Errorf("config: %s: its aliases (*name) stand for more than %d values. Write out what they stand for",
			name, limit.Config)
	}
	return resolve(document.Content[0]), nil
}

// written is the number of nodes that a reader of a whole document visits, where aliases count as often as they are
// used. It is infinite if an alias is within itself.
func written(n *yaml.Node, known map[*yaml.Node]float64) float64 {
	n = resolve(n)
	if sum, there := known[n]; there {
		return sum
	}
	known[n] = math.Inf(1) // as long as it is under way
	sum := 1.0
	for _, below := range n.Content {
		sum += written(below, known)
	}
	known[n] = sum
	return sum
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

// fault notes what is wrong at a node of the file, and what to do.
func (r *reader) fault(at *yaml.Node, format string, args ...any) {
	r.note(fmt.Errorf("config: %s:%d: "+format, slices.Concat([]any{r.name, at.Line}, args)...))
}

// version is the format version of the file, 0 if it states none.
func (r *reader) version(root *yaml.Node) int {
	_, value := topKey(root, versionKey)
	if value == nil {
		return 0
	}
	v, _ := wholeOf(value.Value) // 0 with an error
	return max(v, 0)
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
		r.fault(n, "%s must hold keys with values, but it holds %s. %s", what, show(n), remedy)
		return
	}
	for i := 0; i+1 < len(n.Content) && !r.full(); i += 2 {
		name, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		key := prefix + name.Value
		switch {
		case name.Kind != yaml.ScalarNode:
			r.fault(name, "%s is used as a key. Use a word as the key", show(name))
		case r.seen[key]:
			r.fault(name, "%s is given twice. Remove one of them", shown(key))
		case strings.Contains(name.Value, ".") && (r.known(key) || r.isSection(key)):
			section, below, _ := strings.Cut(name.Value, ".")
			r.fault(name, "%s has a dot, but keys in a file are nested. Write `%s:` and, indented on the next line, `%s:`",
				shown(key), shown(section), shown(below))
		case key == versionKey:
			if value.Kind != yaml.ScalarNode || r.version(n) == 0 {
				r.fault(name, "version is %s. It must be %d; remove the line if you added it", show(value), Version)
			}
		case r.isSection(key):
			r.section(key+".", value)
		case r.grid != nil && key == timingKey:
			r.timing(name, value)
		default:
			r.leaf(name, key, value)
			r.lines[key] = name.Line
		}
		r.seen[key] = true
	}
}

// known says whether there is such a key.
func (r *reader) known(key string) bool {
	_, known := r.schema.find(key)
	return known
}

// isSection says whether a key has keys below it.
func (r *reader) isSection(key string) bool {
	if key == "method" {
		return true
	}
	if name, ok := strings.CutPrefix(key, "method."); ok {
		_, known := r.schema.owned(name)
		return known || len(r.schema.Methods) == 0 && !strings.Contains(name, ".")
	}
	for _, k := range table {
		if strings.HasPrefix(k.Name, key+".") {
			return true
		}
	}
	return false
}

// leaf sets a key from its node.
func (r *reader) leaf(name *yaml.Node, key string, n *yaml.Node) {
	k, known := r.schema.find(key)
	if !known {
		r.fault(name, "%w", r.schema.unknown(key))
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		switch {
		case !k.optional():
			r.fault(name, "%s has no value. Use %s, or remove the key", key, k.wanted())
		case r.grid != nil:
			r.grid.Settings = append(r.grid.Settings, Setting{Key: key, Line: n.Line, Values: []any{nil}})
		default:
			k.set(r.c, nil)
		}
		return
	}
	v, err := fromNode(k.sample(), n)
	switch {
	case r.grid != nil && (err == nil || n.Kind == yaml.SequenceNode):
		r.several(name, k, n, v, err)
	case err != nil:
		remedy := ""
		if list := "[" + n.Value + "]"; k.List() && n.Kind == yaml.ScalarNode {
			if _, err := fromText(k.sample(), list); err == nil && n.Value != "" {
				remedy = ", such as " + shown(list)
			}
		}
		r.fault(name, "%s cannot be %s. Use %s%s", key, show(n), k.wanted(), remedy)
	default:
		k.set(r.c, v)
	}
}

// cutOption splits `method.<name>.<option>`. ok is false if there is no option; the name is empty if it is another key.
func cutOption(key string) (name, option string, ok bool) {
	rest, ok := strings.CutPrefix(key, "method.")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ".")
}

// show is a node as it is written, shortened. Quotes and a tag of the file's own are mentioned, because without them
// the same value would be right.
func show(n *yaml.Node) string {
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

// Set sets one key from text, as the command line does: Set(&c, "optimizer.lr", "0.05"). Lists are written "a,b" or
// "[a, b]". An empty text unsets a key that may be unset: one that has a Key.Unset. An unknown key or a value of
// another type is an error.
func (s *Schema) Set(c *Config, key, text string) error {
	k, known := s.find(key)
	if !known {
		return fmt.Errorf("config: %w", s.unknown(key))
	}
	if text == "" && (k.optional() || k.zero()) {
		k.set(c, nil)
		return nil
	}
	v, err := fromText(k.sample(), text)
	if err != nil {
		found := shown(text)
		if found == "" {
			found = "empty"
		}
		return fmt.Errorf("config: %s cannot be %s. Use %s", key, found, k.wanted())
	}
	if k.ZeroInFiles && v == 0.0 {
		return fmt.Errorf("config: %s: 0 is out of range. Use %s, or leave it out for %s", key, k.wanted(), k.Unset)
	}
	k.set(c, v)
	return nil
}
