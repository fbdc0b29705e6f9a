package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"ocl/internal/limit"
	"ocl/internal/nearest"
)

// SheetVersion is the version of study files that this program reads and writes.
const SheetVersion = 1

// Keys of a sheet beside those of configs.
const (
	sheetKey   = "study" // with the version; without it, a file is a config
	includeKey = "include"
	excludeKey = "exclude"
	timingKey  = "timing"
	madeKey    = "made"
)

// Sheet is the file of a study as it was written: keys of a config, each with one value or several. Package study knows
// what it means.
type Sheet struct {
	Name    string // of the file, for messages
	Top     Grid
	Include []Grid
	Exclude []Grid
	// Made is what the program has added when the study was made, as plain texts; nil in a person's file.
	Made map[string]string
	Text []byte // the file without Made
}

// Grid is a part of a sheet.
type Grid struct {
	Line     int       // at which it begins
	Settings []Setting // in the order of the file
	Timing   *bool     // whether its runs are timed, nil where it is not said
}

// Setting is a key with its values. Each value has the key's type, or is nil where the key is unset.
type Setting struct {
	Key    string
	Line   int
	Values []any
}

// Apply sets the key to one of its values.
func (s Setting) Apply(c *Config, v any) { keyCalled(s.Key).set(c, v) }

// Find returns the setting of a key.
func (g Grid) Find(key string) (Setting, bool) {
	i := slices.IndexFunc(g.Settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return g.Settings[i], true
}

// Over returns the grid with all settings of base that it does not have itself.
func (g Grid) Over(base Grid) Grid {
	out := Grid{Line: g.Line, Timing: g.Timing, Settings: slices.Clone(base.Settings)}
	if out.Timing == nil {
		out.Timing = base.Timing
	}
	for _, own := range g.Settings {
		if i := slices.IndexFunc(out.Settings, func(s Setting) bool { return s.Key == own.Key }); i >= 0 {
			out.Settings[i] = own
		} else {
			out.Settings = append(out.Settings, own)
		}
	}
	return out
}

// Places are the lines of the settings, for [Schema.ValidateAt].
func (g Grid) Places(file string) Places {
	p := Places{File: file, Lines: map[string]int{}}
	for _, s := range g.Settings {
		p.Lines[s.Key] = s.Line
	}
	return p
}

// IsSheet says whether a text is a study file, and not a config.
func IsSheet(name string, text []byte) (bool, error) {
	root, err := document(name, text)
	if err != nil || root == nil {
		return false, err
	}
	_, version := topKey(root, sheetKey)
	return version != nil, nil
}

// topKey finds a key of a mapping; both are nil where it is absent.
func topKey(n *yaml.Node, key string) (name, value *yaml.Node) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if k := resolve(n.Content[i]); k.Kind == yaml.ScalarNode && k.Value == key {
			return k, resolve(n.Content[i+1])
		}
	}
	return nil, nil
}

// ParseSheet reads the file of a study. Everything that is wrong with keys and types is reported at once, with its
// line. [Schema.ValidateAt] checks the configs that come of it.
func (s *Schema) ParseSheet(name string, text []byte) (Sheet, error) {
	sheet := Sheet{Name: name, Text: text}
	if len(text) > limit.Config {
		return sheet, fmt.Errorf("config: %s: the file has more than %d bytes, too many for a study. Give a study file", name,
			limit.Config)
	}
	root, err := document(name, text)
	if err != nil {
		return sheet, err
	}
	r := reader{schema: s, name: name, lines: map[string]int{}}
	if root == nil {
		root = &yaml.Node{Kind: yaml.MappingNode}
	}
	if key, v := topKey(root, sheetKey); key == nil {
		return sheet, fmt.Errorf("config: %s: it has no line `%s: %d`, so it is no study. Add that line at the top", name,
			sheetKey, SheetVersion)
	} else if version, err := wholeOf(v.Value); err == nil && version > SheetVersion {
		return sheet, fmt.Errorf("config: %s:%d: a newer ocl wrote this study (version %d, and this program reads up to version %d). Use the newer ocl",
			name, key.Line, version, SheetVersion)
	} else if err != nil || version != SheetVersion || v.Kind != yaml.ScalarNode {
		r.fault(key, "%s is %s. It must be %d", sheetKey, show(v), SheetVersion)
	}
	sheet.Top, sheet.Top.Line = Grid{Line: root.Line}, root.Line
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: root.Line}
	given := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := resolve(root.Content[i]), resolve(root.Content[i+1])
		if given[key.Value] && slices.Contains(sheetKeys, key.Value) {
			r.fault(key, "%s is given twice. Remove one of them", key.Value)
			continue
		}
		given[key.Value] = true
		switch key.Value {
		case sheetKey:
		case includeKey:
			sheet.Include = r.grids(key, value)
		case excludeKey:
			sheet.Exclude = r.grids(key, value)
		case madeKey:
			sheet.Made = r.made(key, value)
			sheet.Text = before(text, key.Line)
		case versionKey:
			r.fault(key, "version is a key of configs. A study has `%s: %d` instead; remove the line", sheetKey, SheetVersion)
		default:
			near := nearest.Word(key.Value, sheetKeys)
			if near != "" && key.Value != timingKey && !r.known(key.Value) && !r.isSection(key.Value) {
				r.fault(key, "%w", unknown("unknown key %s. Did you mean %s?", shown(key.Value), near))
				continue
			}
			rest.Content = append(rest.Content, root.Content[i], root.Content[i+1])
		}
	}
	r.fill(&sheet.Top, rest)
	return sheet, r.err()
}

var sheetKeys = []string{sheetKey, includeKey, excludeKey, timingKey, madeKey}

// before is the text up to a line, counted from 1.
func before(text []byte, line int) []byte {
	at := 0
	for range line - 1 {
		for at < len(text) && text[at] != '\n' {
			at++
		}
		at = min(at+1, len(text))
	}
	return text[:at]
}

// fill reads the keys of a mapping into a grid.
func (r *reader) fill(g *Grid, n *yaml.Node) {
	r.grid, r.seen = g, map[string]bool{}
	r.section("", n)
	r.grid = nil
}

// grids reads a list of mappings.
func (r *reader) grids(key, n *yaml.Node) (list []Grid) {
	if n.Kind != yaml.SequenceNode {
		r.fault(key, "%s must be a list of entries with keys, but it is %s. Write `- methods: [er]`", key.Value, show(n))
		return nil
	}
	for _, item := range n.Content {
		item = resolve(item)
		g := Grid{Line: item.Line}
		if item.Kind != yaml.MappingNode || len(item.Content) == 0 {
			r.fault(item, "an entry of %s must hold keys with values, but it holds %s. Write `- methods: [er]`", key.Value,
				show(item))
			continue
		}
		r.fill(&g, item)
		if g.Timing != nil && key.Value == excludeKey {
			r.fault(item, "%s says how runs are made, so it leaves none out. Remove it", timingKey)
		}
		list = append(list, g)
	}
	return list
}

// timing reads whether the runs of a grid are timed.
func (r *reader) timing(key, n *yaml.Node) {
	v, err := fromNode(false, n)
	if truth, is := v.(bool); is && err == nil {
		r.grid.Timing = &truth
		return
	}
	r.fault(key, "%s cannot be %s. Use true or false", key.Value, show(n))
}

// made reads what the program has added.
func (r *reader) made(key, n *yaml.Node) map[string]string {
	made := map[string]string{}
	if n.Kind != yaml.MappingNode {
		r.fault(key, "%s is what ocl writes when a study is made, but it is %s. Remove it", key.Value, show(n))
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		if value.Kind != yaml.ScalarNode {
			r.fault(name, "%s.%s is %s. Remove `%s` and what is below it", key.Value, shown(name.Value), show(value), key.Value)
			continue
		}
		made[name.Value] = value.Value
	}
	return made
}

// several adds a setting to the grid. v is the value of the node if it is a single one; if err says that it is none,
// the node is a list of values.
func (r *reader) several(name *yaml.Node, k Key, n *yaml.Node, v any, err error) {
	s := Setting{Key: k.Name, Line: n.Line}
	names, isList := v.([]string)
	switch {
	case err == nil && isList && (k.Name == "methods" || k.Name == "tricks"): // a run has one method, with its tricks
		for _, name := range names {
			s.Values = append(s.Values, []string{name})
		}
	case err == nil:
		s.Values = []any{v}
	default:
		for _, item := range n.Content {
			v, err := fromNode(k.sample(), resolve(item))
			if err != nil {
				r.fault(item, "%s: the value %s is not possible. Use %s, or a list of such values", k.Name, show(resolve(item)),
					k.wanted())
				return
			}
			// it would drop its runs in silence
			if list, is := v.([]string); is && len(list) == 0 && (k.Name == "methods" || k.Name == "tricks") {
				r.fault(item, "%s: an empty list is no value. Use %s", k.Name,
					map[string]string{"methods": "names, such as [er, agem]", "tricks": "none, as in [none, rv]"}[k.Name])
				return
			}
			s.Values = append(s.Values, v)
		}
	}
	if len(s.Values) == 0 {
		r.fault(name, "%s has an empty list, so the study would have no runs. Give at least one value, or remove the key",
			k.Name)
	}
	seen := make(map[string]bool, len(s.Values))
	for _, v := range s.Values {
		text := plain(v)
		if seen[text] {
			r.fault(name, "%s: %s is listed twice. Remove one of them", k.Name, shown(text))
			break
		}
		seen[text] = true
	}
	r.grid.Settings = append(r.grid.Settings, s)
}
