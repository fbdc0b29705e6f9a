package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a key's value.
type kind int

const (
	kindText kind = iota
	kindWhole
	kindSeed
	kindNumber
	kindTruth
	kindTexts
	kindWholes
	kindNumbers
	kindOrder
)

// words says what a value of the kind is.
func (k kind) words() string {
	return [...]string{"text", "a whole number", "a whole number from 0 to 18446744073709551615", "a number", "true or false",
		"a list of names", "a list of whole numbers", "a list of numbers",
		"random, given, official, official:N or a list of all classes, such as 2,0,1"}[k]
}

// kind is that of the field behind the key.
func (k Key) kind() kind {
	var c Config
	switch k.field(&c).(type) {
	case *int:
		return kindWhole
	case *uint64, **uint64:
		return kindSeed
	case *float64:
		return kindNumber
	case *bool, **bool:
		return kindTruth
	case *[]string:
		return kindTexts
	case *[]int:
		return kindWholes
	case *[]float64:
		return kindNumbers
	case *Order:
		return kindOrder
	}
	return kindText
}

// value is what a key holds: a string, int, uint64, float64, bool, []string, []int, []float64 or Order; nil where an
// optional one is not set.
func (k Key) value(c *Config) any {
	switch p := k.field(c).(type) {
	case *string:
		return *p
	case *int:
		return *p
	case *uint64:
		return *p
	case *float64:
		return *p
	case *bool:
		return *p
	case *[]string:
		return *p
	case *[]int:
		return *p
	case *[]float64:
		return *p
	case *Order:
		return *p
	case **bool:
		if *p != nil {
			return **p
		}
	case **uint64:
		if *p != nil {
			return **p
		}
	}
	return nil
}

// set stores a value of the key's kind; nil unsets one that may be unset.
func (k Key) set(c *Config, v any) {
	switch p := k.field(c).(type) {
	case *string:
		*p, _ = v.(string)
	case *int:
		*p, _ = v.(int)
	case *uint64:
		*p = v.(uint64)
	case *float64:
		*p, _ = v.(float64)
	case *bool:
		*p = v.(bool)
	case *[]string:
		*p = v.([]string)
	case *[]int:
		*p = v.([]int)
	case *[]float64:
		*p = v.([]float64)
	case *Order:
		*p, _ = v.(Order)
	case **bool:
		*p = nil
		if b, ok := v.(bool); ok {
			*p = &b
		}
	case **uint64:
		*p = nil
		if n, ok := v.(uint64); ok {
			*p = &n
		}
	}
}

// assign copies the key's value from one config to another.
func (k Key) assign(to, from *Config) { k.set(to, k.value(from)) }

// optional says that the key may be unset, which an empty text and null do.
func (k Key) optional() bool {
	var c Config
	switch k.field(&c).(type) {
	case **bool, **uint64:
		return true
	case *string, *Order:
		return k.Unset != ""
	}
	return false
}

// IsUnset says whether a value, as a flag takes it, is none: it then stands for Unset.
func (k Key) IsUnset(text string) bool {
	return k.Unset != "" && (text == "" || k.zero() && text == "0")
}

// text is the key's value as a flag takes it, "" where it is not set.
func (k Key) text(c *Config) string {
	v := k.value(c)
	if v == nil {
		return ""
	}
	return plain(v)
}

// FormatValue writes a value of a key or an option as a flag takes it.
func FormatValue(v any) string { return plain(v) }

// plain writes a value as a flag takes it.
func plain(v any) string {
	switch v := v.(type) {
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

var errKind = errors.New("wrong type")

// fromText reads a value as a flag has it. Lists are "a,b" or "[a, b]".
func (k kind) fromText(text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	switch k {
	case kindText:
		return text, nil
	case kindTruth:
		return truthOf(trimmed)
	case kindWhole:
		return wholeOf(trimmed)
	case kindSeed:
		return seedOf(trimmed)
	case kindNumber:
		return numberOf(trimmed)
	case kindTexts:
		return each(trimmed, func(s string) (string, error) { return s, nil })
	case kindWholes:
		return each(trimmed, wholeOf)
	case kindNumbers:
		return each(trimmed, numberOf)
	}
	return orderOf(trimmed)
}

// each reads the items of a list; "[]" and "" have none.
func each[T any](text string, read func(string) (T, error)) ([]T, error) {
	list := []T{}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, errKind
		}
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return list, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		v, err := read(strings.Trim(strings.TrimSpace(item), `"'`))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func truthOf(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errKind
}

// wholeOf reads a whole number; one with an exponent or a point, such as 1e3, if it is whole.
func wholeOf(text string) (int, error) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return int(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, errKind
	}
	return int(f), nil
}

func seedOf(text string) (uint64, error) {
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return n, nil
	}
	n, err := wholeOf(text)
	if err != nil || n < 0 {
		return 0, errKind
	}
	return uint64(n), nil
}

func numberOf(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errKind
	}
	return v, nil
}

func orderOf(text string) (Order, error) {
	if _, official := strings.CutPrefix(text, OrderOfficial); official || text == OrderRandom || text == OrderGiven {
		return Order{Name: text}, nil
	}
	if !strings.ContainsAny(text, ",[") && !slices.ContainsFunc([]byte(text), func(b byte) bool { return b >= '0' && b <= '9' }) {
		return Order{Name: text}, nil // a word that Validate judges
	}
	if !strings.ContainsAny(text, ",[") {
		return Order{}, errKind // a lone number is no list of all classes
	}
	classes, err := each(text, wholeOf)
	if len(classes) == 0 {
		err = errKind
	}
	return Order{Classes: classes}, err
}

// equal compares two values of a key.
func equal(a, b any) bool { return plain(a) == plain(b) }
