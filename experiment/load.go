package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"ocl/experiment/result"
)

// Load reads a config file over the defaults: YAML whose unknown keys are errors with line and nearest valid key, or the
// result.json of a run, which gives the config of that same run (one method, one seed). Everything wrong with the keys
// and types is reported at once; ranges are left to [Config.Validate].
func Load(path string) (Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("config: %s: %w; want a YAML config or a result.json; check the path", path, err)
	}
	return Parse(filepath.Base(path), b)
}

// Parse is [Load] for a text already in memory; name is said in errors.
func Parse(name string, text []byte) (Config, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		var head struct {
			Format     string          `json:"format"`
			Config     json.RawMessage `json:"config"`
			Provenance struct {
				Numbers int `json:"numbers"`
			} `json:"provenance"`
		}
		if json.Unmarshal(trimmed, &head) == nil && head.Format == result.Format {
			c, err := parseYAML(name, ownKeys(head.Config))
			c.numbers = head.Provenance.Numbers
			return c, err
		}
	}
	return parseYAML(name, text)
}

// ownKeys is the config of a result without the keys that package config has and this one does not read.
func ownKeys(text []byte) []byte {
	var keys map[string]json.RawMessage
	if json.Unmarshal(text, &keys) != nil {
		return text
	}
	for _, k := range []string{"version", "eval_every", "seeds", "engine"} {
		delete(keys, k)
	}
	less, err := json.Marshal(keys)
	if err != nil {
		return text
	}
	return less
}

// parseYAML sets each leaf of the document by its key, so that every fault is found and has its line.
func parseYAML(name string, text []byte) (Config, error) {
	c := Default()
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return c, fmt.Errorf("config: %s: %s; want YAML, such as `ocl config show` prints; correct the line",
			name, firstLine(yaml.FormatError(err, false, false)))
	}
	if len(file.Docs) > 1 {
		return c, fmt.Errorf("config: %s: holds %d documents; want one; keep one of them", name, len(file.Docs))
	}
	var f faults
	if len(file.Docs) == 1 && file.Docs[0].Body != nil {
		c.setMapping(name, "", file.Docs[0].Body, &f)
	}
	return c, f.err()
}

// setMapping walks a mapping whose keys start with prefix.
func (c *Config) setMapping(name, prefix string, node ast.Node, f *faults) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode, *ast.CommentGroupNode:
		return
	default:
		f.add(fmt.Sprintf("%s:%d", name, node.GetToken().Position.Line), "found "+show(node),
			"want keys with values, such as `ocl config show` prints", "write `key: value`")
		return
	}
	for _, v := range values {
		key := prefix + v.Key.GetToken().Value
		where := fmt.Sprintf("%s:%d", name, v.Key.GetToken().Position.Line)
		if c.isSection(key) {
			c.setMapping(name, key+".", v.Value, f)
			continue
		}
		c.setNode(where, key, v.Value, f)
	}
}

// isSection tells whether a key has keys below it.
func (c *Config) isSection(key string) bool {
	if key == "method" {
		return true
	}
	if name, option, ok := cutMethodKey(key + "."); ok && option == "" {
		for _, known := range methodNames() {
			if known == name {
				return true
			}
		}
		return false
	}
	for _, k := range fieldKeys() {
		if strings.HasPrefix(k, key+".") {
			return true
		}
	}
	return false
}

// YAML is the config as a file that [Load] reads back to the same config.
func (c Config) YAML() ([]byte, error) {
	b, err := yaml.MarshalWithOptions(c.withoutIdleMemory(), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("config: it does not marshal: %w", err)
	}
	return b, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
