package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// branch is a key of a file: a value, or further branches.
type branch struct {
	name  string
	value any      // of a leaf; nil is not set
	below []branch // of a section
	note  string   // what a value that is not set stands for
}

// tree is c in the order of its keys, the version first.
func (c Config) tree() []branch {
	t := []branch{{name: versionKey, value: Version}}
	for _, k := range table {
		leaf := branch{value: k.value(&c)}
		if k.IsUnset(k.text(&c)) {
			leaf.note = k.Unset
		}
		t = grown(t, strings.Split(k.Name, "."), leaf)
	}
	methods := branch{name: "method"}
	for _, name := range sortedKeys(c.Method) {
		m := branch{name: name}
		for _, option := range sortedKeys(c.Method[name]) {
			m.below = append(m.below, branch{name: option, value: c.Method[name][option]})
		}
		if len(m.below) > 0 {
			methods.below = append(methods.below, m)
		}
	}
	if len(methods.below) > 0 {
		t = append(t, methods)
	}
	return t
}

// grown is a tree with a leaf more, at the end of a path of names.
func grown(t []branch, path []string, leaf branch) []branch {
	if len(path) == 1 {
		leaf.name = path[0]
		return append(t, leaf)
	}
	i := slices.IndexFunc(t, func(b branch) bool { return b.name == path[0] })
	if i < 0 {
		i, t = len(t), append(t, branch{name: path[0]})
	}
	t[i].below = grown(t[i].below, path[1:], leaf)
	return t
}

// YAML is the config as a file that [Schema.Parse] reads back to the same config.
func (c Config) YAML() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(mapping(c.tree())); err != nil {
		return nil, fmt.Errorf("config: the config cannot be written as YAML: %w", err)
	}
	return b.Bytes(), e.Close()
}

func mapping(t []branch) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, b := range t {
		value := mapping(b.below)
		if b.below == nil {
			value = node(b.value)
			value.LineComment = b.note
		}
		n.Content = append(n.Content, node(b.name), value)
	}
	return n
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
		if strings.ContainsFunc(v, unicode.IsControl) || strings.ContainsFunc(v, escaped) { // a block of lines that begins with a tab is not read back
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

// MarshalJSON implements [json.Marshaler]: all keys in their order; what is not set is null or empty.
func (c Config) MarshalJSON() ([]byte, error) {
	var text, b bytes.Buffer
	if err := object(&text, c.tree()); err != nil {
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

func object(b *bytes.Buffer, t []branch) error {
	b.WriteByte('{')
	for i, x := range t {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(x.name)
		if err != nil {
			return err
		}
		b.Write(append(name, ':'))
		if x.below != nil {
			if err := object(b, x.below); err != nil {
				return err
			}
			continue
		}
		text, err := json.Marshal(x.json())
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		b.Write(text)
	}
	b.WriteByte('}')
	return nil
}

// json is the value as package encoding/json takes it.
func (b branch) json() any {
	switch v := b.value.(type) {
	case Order:
		switch {
		case v.Name != "":
			return v.Name
		case v.IsUnset():
			return nil
		}
		return v.Classes
	case []string:
		return append([]string{}, v...) // an empty list, not null
	case []int:
		return append([]int{}, v...)
	case []float64:
		return append([]float64{}, v...)
	}
	return b.value
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
