package config

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// JSONSchema is a JSON Schema (draft 2020-12) of configs, with which editors complete and check a YAML file.
func (s *Schema) JSONSchema() ([]byte, error) {
	root := closed("an experiment of ocl; `ocl config keys` lists the keys")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "ocl config"
	add(root, versionKey, map[string]any{"type": "integer", "minimum": 1, "maximum": Version,
		"description": "of the file; the program writes it"})
	for _, k := range s.keys() {
		path := strings.Split(k.Name, ".") // no method has a dot in its name
		into := root
		for _, section := range path[:len(path)-1] {
			into = within(into, section)
		}
		k.Choices = s.Choices(k)
		add(into, path[len(path)-1], k.schema())
	}
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("config: the schema cannot be written as JSON: %w", err)
	}
	return append(text, '\n'), nil
}

// closed is an object without other properties than its own.
func closed(description string) map[string]any {
	o := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
	if description != "" {
		o["description"] = description
	}
	return o
}

func add(object map[string]any, name string, property map[string]any) {
	object["properties"].(map[string]any)[name] = property
}

// within is the section of that name in an object.
func within(object map[string]any, name string) map[string]any {
	if got, ok := object["properties"].(map[string]any)[name]; ok {
		return got.(map[string]any)
	}
	section := closed("")
	section["type"] = orNull("object", true) // a section whose keys are all taken away
	add(object, name, section)
	return section
}

// schema describes the values of the key.
func (k Key) schema() map[string]any {
	help := k.Help
	if k.Unset != "" {
		help += ". Default: " + k.Unset
	}
	p := map[string]any{"description": help}
	d := Default()
	if k.index == nil {
		p["default"] = k.preset
	} else if v := k.value(&d); v != nil && k.Unset == "" {
		p["default"] = v
		if order, ok := v.(Order); ok {
			p["default"] = order.Name
		}
	}
	item := map[string]any{}
	switch k.sample().(type) {
	case bool:
		p["type"] = orNull("boolean", k.optional())
		return p
	case uint64:
		p["type"], p["minimum"], p["maximum"] = orNull("integer", k.optional()), 0, uint64(math.MaxUint64)
		return p
	case Order:
		p["oneOf"] = []any{
			map[string]any{"type": "null"},
			map[string]any{"type": "string", "enum": []string{"", OrderRandom, OrderGiven, OrderOfficial}},
			map[string]any{"type": "string", "pattern": "^" + OrderOfficial + ":[0-9]+$"},
			map[string]any{"type": "string", "pattern": "^[0-9]+(, *[0-9]+)+$"},
			map[string]any{"type": "array", "items": map[string]any{"type": "integer", "minimum": 0, "maximum": math.MaxInt64},
				"minItems": 1, "uniqueItems": true},
			map[string]any{"type": "array", "items": map[string]any{"type": "string", "minLength": 1}, "minItems": 1,
				"uniqueItems": true},
		}
		return p
	case []string:
		item["type"] = "string"
		if len(k.Choices) > 0 {
			item["enum"] = k.Choices
		}
		p["type"], p["items"], p["minItems"], p["uniqueItems"] = "array", item, 1, true
		return p
	case []int, []float64:
		k.number(item)
		p["type"], p["items"] = "array", item
		return p
	case int, float64:
		k.number(p)
		return p
	}
	p["type"] = orNull("string", k.optional())
	if len(k.Choices) > 0 {
		choices := []any{}
		for _, c := range k.Choices {
			choices = append(choices, c)
		}
		if k.optional() {
			choices = append(choices, "", nil)
		}
		p["enum"] = choices
	}
	return p
}

// number writes the type and the range of a number of the key. Where 0 stands for itself it is let in by the lower
// bound, as no key has negative values then.
func (k Key) number(p map[string]any) {
	p["type"] = "number"
	switch k.sample().(type) {
	case int, []int:
		p["type"], p["maximum"] = "integer", math.MaxInt64
	}
	if !k.bounded() {
		return
	}
	if low := k.Least; low != -math.MaxFloat64 {
		if k.zero() {
			low = 0
		}
		p[map[bool]string{true: "exclusiveMinimum", false: "minimum"}[k.Above]] = low
	}
	if k.Most != math.MaxFloat64 {
		p[map[bool]string{true: "exclusiveMaximum", false: "maximum"}[k.Below]] = k.Most
	}
}

func orNull(kind string, optional bool) any {
	if optional {
		return []string{kind, "null"}
	}
	return kind
}
