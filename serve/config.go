package serve

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Setting is a key of a config file with its values. A list has several.
type Setting struct {
	Name   string
	Values []string
	Line   int
}

// ReadConfig reads a config file: YAML with a key for each flag of `ocl serve`, such as `listen: 127.0.0.1:8100`. What
// the keys mean is the caller's.
func ReadConfig(text []byte) ([]Setting, error) {
	var page yaml.Node
	if err := yaml.Unmarshal(text, &page); err != nil {
		return nil, fmt.Errorf("it is no YAML: %w", err)
	}
	if len(page.Content) == 0 {
		return nil, nil
	}
	top := page.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, errors.New("it has no keys. Write lines such as `listen: 127.0.0.1:8100`")
	}
	var list []Setting
	seen := map[string]bool{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		s := Setting{Name: key.Value, Line: key.Line}
		if key.Kind != yaml.ScalarNode || seen[s.Name] {
			return nil, fmt.Errorf("line %d: the key %.60q is there twice, or is none. Write each key once", key.Line, key.Value)
		}
		seen[s.Name] = true
		values := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			values = value.Content
		}
		for _, v := range values {
			if v.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: %.60s has keys of its own. Write a value, or a list of values", v.Line, s.Name)
			}
			s.Values = append(s.Values, v.Value)
		}
		list = append(list, s)
	}
	return list, nil
}
