package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fieldOf finds the field of a Config that a key is about: optimizer.weight_decay is Config.Optimizer.WeightDecay.
func fieldOf(name string) (index []int) {
	t := reflect.TypeFor[Config]()
	for part := range strings.SplitSeq(strings.ReplaceAll(name, "_", ""), ".") {
		f, ok := t.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, part) })
		if !ok {
			panic("config: there is no field for the key " + name)
		}
		index, t = append(index, f.Index...), f.Type
	}
	return index
}

// field is the field of a key that is no option.
func (k Key) field(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(k.index) }

// sample is a value of the type that the key holds: string, int, uint64, float64, bool, []string, []int, []float64 or
// Order; nil of an option that is in no catalogue.
func (k Key) sample() any {
	if k.index == nil {
		return k.preset
	}
	t := k.field(new(Config)).Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.Zero(t).Interface()
}

// value returns the value of the key in a config, of the type of its sample; nil if it is not set.
func (k Key) value(c *Config) any {
	if k.index == nil {
		method, option, _ := cutOption(k.Name)
		return c.Method[method][option]
	}
	v := k.field(c)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return v.Interface()
}

// set stores a value of the type of sample; nil unsets a key that may be unset.
func (k Key) set(c *Config, v any) {
	if k.index == nil {
		method, option, _ := cutOption(k.Name)
		if c.Method == nil {
			c.Method = map[string]map[string]any{}
		}
		if c.Method[method] == nil {
			c.Method[method] = map[string]any{}
		}
		c.Method[method][option] = v
		return
	}
	at := k.field(c)
	if v != nil && at.Kind() == reflect.Pointer {
		at.Set(reflect.New(at.Type().Elem()))
		at = at.Elem()
	}
	if v == nil {
		at.SetZero()
	} else {
		at.Set(reflect.ValueOf(v))
	}
}

// assign copies the key's value from one config to another, which then share nothing of it.
func (k Key) assign(to, from *Config) {
	v := k.value(from)
	switch list := v.(type) {
	case []string:
		v = slices.Clone(list)
	case []int:
		v = slices.Clone(list)
	case []float64:
		v = slices.Clone(list)
	case Order:
		v = Order{list.Name, slices.Clone(list.Classes), slices.Clone(list.Called)}
	}
	k.set(to, v)
}

// optional says that the key may be unset, which an empty text and null do.
func (k Key) optional() bool {
	if k.index == nil {
		return false
	}
	switch k.sample().(type) {
	case string, Order:
		return k.Unset != ""
	}
	return k.field(new(Config)).Kind() == reflect.Pointer
}

// conform converts a value of an option to the type of its default if nothing is lost: a whole number to a number, and
// the other way round. Other values stay as they are, and Validate reports them.
func (k Key) conform(v any) any {
	switch k.preset.(type) {
	case float64:
		if n, ok := v.(int); ok {
			return float64(n)
		}
	case int:
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int(f)
		}
	}
	return v
}

// IsUnset says whether a value, as a flag takes it, is none: it then stands for Unset.
func (k Key) IsUnset(text string) bool {
	return k.Unset != "" && (text == "" || k.zero() && text == "0")
}

// text is the key's value as a flag takes it, "" where it is not set.
func (k Key) text(c *Config) string { return plain(k.value(c)) }

// FormatValue writes a value of a key or an option as a flag takes it.
func FormatValue(v any) string { return plain(v) }

// plain writes a value as a flag takes it; "" is nil.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return number(v)
	case []string:
		return strings.Join(v, ",")
	case []int:
		return joined(v, strconv.Itoa)
	case []float64:
		return joined(v, number)
	}
	return fmt.Sprint(v)
}

// number writes a number in the shortest form that is read back to the same bits.
func number(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e15) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func joined[T any](list []T, text func(T) string) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = text(v)
	}
	return strings.Join(words, ",")
}

// equal compares two values of a key.
func equal(a, b any) bool { return plain(a) == plain(b) }

// typeInWords names the type of a sample in words, for messages.
func typeInWords(sample any) string {
	switch sample.(type) {
	case int:
		return "a whole number"
	case uint64:
		return "a whole number from 0 to 18446744073709551615"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case []string:
		return "a list of names"
	case []int:
		return "a list of whole numbers"
	case []float64:
		return "a list of numbers"
	case Order:
		return "random, given, official, official:N or a list of all classes, such as 2,0,1 or owl,cat,dog"
	case nil: // of an option that is in no catalogue
		return "a text, a number, true or false"
	}
	return "text"
}

var errType = errors.New("wrong type")

// fromText reads a value of the type of a sample as a flag has it. Lists are "a,b" or "[a, b]".
func fromText(sample any, text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	switch sample.(type) {
	case bool:
		if trimmed != "true" && trimmed != "false" {
			return nil, errType
		}
		return trimmed == "true", nil
	case int:
		return wholeOf(trimmed)
	case uint64:
		return seedOf(trimmed)
	case float64:
		return numberOf(trimmed)
	case []string, []int, []float64:
		items, err := split(trimmed)
		if err != nil {
			return nil, err
		}
		return listOf(sample, items)
	case Order:
		return orderOf(trimmed)
	}
	return text, nil
}

// split cuts the text of a list into its items; "[]" and "" have none.
func split(text string) ([]string, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, errType
		}
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return []string{}, nil
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.Trim(strings.TrimSpace(item), `"'`)
	}
	return items, nil
}

// listOf reads the items of a list, or of an order of classes.
func listOf(sample any, items []string) (any, error) {
	switch sample.(type) {
	case []string:
		return items, nil
	case []float64:
		return each(items, numberOf)
	}
	if _, order := sample.(Order); order {
		return listed(items)
	}
	return each(items, wholeOf)
}

// orders says that all words are names of orders, such as those that a study tries one after the other, and not of
// classes.
func orders(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		return word != OrderRandom && word != OrderGiven && !strings.HasPrefix(word, OrderOfficial)
	})
}

// listed is an order of classes by their numbers or by their names. Some of both are a slip; a file that means names
// quotes them.
func listed(items []string) (any, error) {
	numbers := 0
	for _, item := range items {
		if _, err := wholeOf(item); err == nil {
			numbers++
		}
	}
	switch {
	case numbers > 0 && numbers == len(items):
		list, err := each(items, wholeOf)
		return Order{Classes: list}, err
	case numbers == 0 && len(items) > 1 && !slices.Contains(items, "") && !orders(items):
		return Order{Called: items}, nil
	}
	return nil, errType
}

func each[T any](items []string, read func(string) (T, error)) ([]T, error) {
	list := make([]T, len(items))
	for i, item := range items {
		var err error
		if list[i], err = read(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// wholeOf reads a whole number; one with an exponent or a point, such as 1e3, if it is whole.
func wholeOf(text string) (int, error) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return int(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, errType
	}
	return int(f), nil
}

func seedOf(text string) (uint64, error) {
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return n, nil
	}
	n, err := wholeOf(text)
	if err != nil || n < 0 {
		return 0, errType
	}
	return uint64(n), nil
}

func numberOf(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errType
	}
	return v, nil
}

func orderOf(text string) (any, error) {
	_, official := strings.CutPrefix(text, OrderOfficial)
	list := strings.ContainsAny(text, ",[")
	switch {
	case official, !list && !strings.ContainsAny(text, "0123456789"):
		return Order{Name: text}, nil // Validate judges the word
	case !list:
		return nil, errType // a lone number is no list of all classes
	}
	items, err := split(text)
	if err != nil {
		return nil, err
	}
	return listOf(Order{}, items)
}

// fromNode reads a value of exactly the type of a sample: no quoted number becomes a number, no number text, no
// fraction a whole number.
func fromNode(sample any, n *yaml.Node) (any, error) {
	var item any
	switch sample.(type) {
	case nil:
		return optionFromNode(n)
	case []string:
		item = ""
	case []int, Order:
		item = 0
	case []float64:
		item = 0.0
	}
	if _, order := sample.(Order); n.Kind != yaml.SequenceNode && (item == nil || order) {
		text, err := scalar(sample, n)
		if err != nil {
			return nil, err
		}
		return fromText(sample, text)
	}
	if n.Kind != yaml.SequenceNode || item == nil {
		return nil, errType
	}
	items := make([]string, len(n.Content))
	_, order := sample.(Order)
	called := order && slices.ContainsFunc(n.Content,
		func(below *yaml.Node) bool { return resolve(below).ShortTag() == "!!str" })
	for i, below := range n.Content {
		var err error
		if below = resolve(below); called && below.Kind == yaml.ScalarNode { // a class may be called 7, or yes
			items[i] = below.Value
		} else if items[i], err = scalar(item, below); err != nil {
			return nil, err
		}
	}
	if called && !slices.Contains(items, "") && !orders(items) {
		return Order{Called: items}, nil
	}
	return listOf(sample, items)
}

// scalar is the text of a node if YAML takes it for a value of the type of a sample. YAML has words that are no text,
// such as 3, true and null; a file that means the text quotes them.
func scalar(sample any, n *yaml.Node) (text string, err error) {
	tag := n.ShortTag()
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", errType
	case tag == "!!str", tag == "!!binary", tag == "!!timestamp":
		switch sample.(type) {
		case string, Order:
			if tag == "!!timestamp" {
				return n.Value, nil
			}
			err := n.Decode(&text)
			return text, err
		}
	case tag == "!!bool":
		if _, is := sample.(bool); is {
			return strings.ToLower(n.Value), nil
		}
	case tag == "!!int", tag == "!!float":
		switch sample.(type) {
		case int, uint64, float64:
			return n.Value, nil
		}
	}
	return "", errType
}

// optionFromNode reads an option of a method that is in no catalogue, by the type that it has in the file.
func optionFromNode(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!bool":
		return fromNode(false, n)
	case "!!int":
		// A whole number that large may be a float's, and is written as one then.
		if v, err := fromNode(0, n); err == nil && math.Abs(float64(v.(int))) < 1e15 {
			return v, nil
		}
		return fromNode(0.0, n)
	case "!!float":
		return fromNode(0.0, n)
	}
	return fromNode("", n)
}
