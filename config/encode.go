package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// document is c in the order of its keys, the version first. A value that is not set has a comment that says what it
// stands for, or, in a record, may be left out ([Key.Later]).
func (c Config) document(record bool) *yaml.Node {
	usual := Default()
	root := mapping()
	root.Content = []*yaml.Node{node(versionKey), node(Version)}
	keys := slices.Clone(table)
	for _, key := range optionKeys(c) {
		keys = append(keys, keyCalled(key))
	}
	for _, k := range keys {
		if record && k.Later && (k.IsUnset(k.text(&c)) || equal(k.value(&c), k.value(&usual))) {
			continue
		}
		path := strings.Split(k.Name, ".")
		if k.index == nil {
			method, option, _ := cutOption(k.Name)
			path = []string{"method", method, option}
		}
		at, last := root, len(path)-1
		for _, section := range path[:last] {
			at = below(at, section)
		}
		value := node(k.value(&c))
		if k.IsUnset(k.text(&c)) {
			value.LineComment = k.Unset
		}
		at.Content = append(at.Content, node(path[last]), value)
	}
	return root
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// below is a section of a mapping, which is made where it is not there.
func below(n *yaml.Node, section string) *yaml.Node {
	if _, there := topKey(n, section); there != nil {
		return there
	}
	made := mapping()
	n.Content = append(n.Content, node(section), made)
	return made
}

// YAML is the config as a file that [Schema.Parse] reads back to the same config.
func (c Config) YAML() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(c.document(false)); err != nil {
		return nil, fmt.Errorf("config: the config cannot be written as YAML: %w", err)
	}
	return b.Bytes(), e.Close()
}

// node is a value in YAML; lists stand on one line.
func node(v any) *yaml.Node {
	one := func(tag, text string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
	}
	many := func(items []*yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Content: items}
	}
	switch v := v.(type) {
	case nil:
		return one("!!null", "null")
	case string:
		n := one("!!str", v)
		// a block of lines that begins with a tab is not read back
		if strings.ContainsFunc(v, unicode.IsControl) || strings.ContainsFunc(v, escaped) {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	case bool:
		return one("!!bool", plain(v))
	case float64:
		text := number(v)
		if !strings.ContainsAny(text, ".e") {
			return one("!!int", text) // the key takes it for a number
		}
		return one("!!float", text)
	case []string:
		return many(nodes(v))
	case []int:
		return many(nodes(v))
	case []float64:
		return many(nodes(v))
	case Order:
		if v.IsUnset() {
			return one("!!null", "null")
		}
		if v.Name != "" {
			return one("!!str", v.Name)
		}
		if v.Called != nil {
			return many(nodes(v.Called))
		}
		return many(nodes(v.Classes))
	}
	return one("!!int", plain(v))
}

func nodes[T any](list []T) []*yaml.Node {
	out := make([]*yaml.Node, len(list))
	for i, v := range list {
		out[i] = node(v)
	}
	return out
}

// escaped says whether a character is valid in JSON but not in YAML, whose parser reads both, or changed there.
func escaped(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// MarshalJSON implements [json.Marshaler]: all keys in their order; what is not set is null or empty, or left out
// ([Key.Later]).
func (c Config) MarshalJSON() ([]byte, error) {
	var text, b bytes.Buffer
	if err := writeJSON(&text, c.document(true)); err != nil {
		return nil, fmt.Errorf("config: the config cannot be written as JSON: %w", err)
	}
	for _, r := range text.String() {
		if escaped(r) { // in a string: nothing else has any
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes(), nil
}

// writeJSON writes a node as JSON.
func writeJSON(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		signs := "[]"
		if n.Kind == yaml.MappingNode {
			signs = "{}"
		}
		b.WriteByte(signs[0])
		for i, item := range n.Content {
			switch {
			case n.Kind == yaml.MappingNode && i%2 == 1:
				b.WriteByte(':')
			case i > 0:
				b.WriteByte(',')
			}
			if err := writeJSON(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(signs[1])
		return nil
	}
	var value any = json.RawMessage(n.Value)
	switch n.Tag {
	case "!!str":
		value = n.Value
	case "!!float":
		value, _ = strconv.ParseFloat(n.Value, 64) // which JSON writes otherwise
	}
	text, err := json.Marshal(value)
	b.Write(text)
	return err
}

// UnmarshalJSON implements [json.Unmarshaler]: it reads the config of a result, as [Schema.Parse] does of the
// zero Schema.
func (c *Config) UnmarshalJSON(text []byte) error {
	read, err := new(Schema).Parse("config", text)
	if err != nil {
		return err
	}
	*c = read
	return nil
}
