package config

import (
	"math"

	"go.yaml.in/yaml/v3"
)

// fromNode reads a value of exactly this kind: no quoted number becomes a number, no number text, no fraction a whole
// number.
func (k kind) fromNode(n *yaml.Node) (any, error) {
	switch k {
	case kindTexts:
		return list(n, func(n *yaml.Node) (string, error) { return textOf(n) })
	case kindWholes:
		return list(n, func(n *yaml.Node) (int, error) { return scalar(n, wholeOf) })
	case kindNumbers:
		return list(n, func(n *yaml.Node) (float64, error) { return scalar(n, numberOf) })
	case kindOrder:
		if n.Kind == yaml.SequenceNode {
			classes, err := list(n, func(n *yaml.Node) (int, error) { return scalar(n, wholeOf) })
			if len(classes) == 0 {
				err = errKind
			}
			return Order{Classes: classes}, err
		}
		text, err := textOf(n)
		if err != nil {
			return nil, err
		}
		return orderOf(text)
	case kindText:
		return textOf(n)
	case kindTruth:
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			return nil, errKind
		}
		var v bool
		err := n.Decode(&v)
		return v, err
	case kindWhole:
		return scalar(n, wholeOf)
	case kindSeed:
		return scalar(n, seedOf)
	}
	return scalar(n, numberOf)
}

// textOf reads a text. YAML has words that are no text, such as 3, true and null; a file that means the text quotes them.
func textOf(n *yaml.Node) (string, error) {
	var v string
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.ShortTag() != "!!binary" && n.ShortTag() != "!!timestamp" {
		return "", errKind
	}
	if n.ShortTag() == "!!timestamp" {
		return n.Value, nil
	}
	err := n.Decode(&v)
	return v, err
}

// scalar reads a number.
func scalar[T any](n *yaml.Node, read func(string) (T, error)) (T, error) {
	var none T
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!float" {
		return none, errKind
	}
	return read(n.Value)
}

// list reads a sequence of scalars.
func list[T any](n *yaml.Node, read func(*yaml.Node) (T, error)) ([]T, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, errKind
	}
	out := make([]T, 0, len(n.Content))
	for _, item := range n.Content {
		v, err := read(resolve(item))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// anyFrom reads an option of a method that is in no catalogue, by the kind that it has in the file.
func anyFrom(n *yaml.Node) (any, error) {
	if n.Kind != yaml.ScalarNode {
		return nil, errKind
	}
	switch n.ShortTag() {
	case "!!bool":
		return kindTruth.fromNode(n)
	case "!!int":
		// A whole number that large may be a float's, and is written as one then.
		if v, err := kindWhole.fromNode(n); err == nil && math.Abs(float64(v.(int))) < 1e15 {
			return v, nil
		}
		return kindNumber.fromNode(n)
	case "!!float":
		return kindNumber.fromNode(n)
	}
	return textOf(n)
}
