package method

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Option is a setting of one method alone, true or false, text, a whole number or a number: as Default is.
type Option struct {
	Name    string
	Default any
	Meaning string
	Range   string   // the values that make sense, in words; "" has Wanted say them
	Least   float64  // of a number
	Most    float64  // of a number; 0 is no bound
	Choices []string // of text; none is any text
}

// Wanted is the range in words.
func (o Option) Wanted() string {
	if o.Range != "" {
		return o.Range
	}
	kind := "a number"
	switch o.Default.(type) {
	case bool:
		return "true or false"
	case string:
		if len(o.Choices) == 0 {
			return "text"
		}
		return "one of " + strings.Join(o.Choices, ", ")
	case int:
		kind = "a whole number"
	}
	if o.Most == 0 {
		return fmt.Sprintf("%s, at least %v", kind, o.Least)
	}
	return fmt.Sprintf("%s from %v to %v", kind, o.Least, o.Most)
}

// holds says whether v, of the type of Default, is in range.
func (o Option) holds(v any) bool {
	switch v := v.(type) {
	case string:
		return len(o.Choices) == 0 || slices.Contains(o.Choices, v)
	case int:
		return o.spans(float64(v))
	case float64:
		return o.spans(v)
	}
	return true
}

func (o Option) spans(v float64) bool {
	return v >= o.Least && (o.Most == 0 || v <= o.Most) && !math.IsInf(v, 0)
}

// Grid is the hyperparameters to try together: every combination of a value of each axis.
type Grid []Axis

// Axis is the values of one key of the config.
type Axis struct {
	Key    string // such as optimizer.lr or method.ewc++.lambda
	Values []any
}

// grid is the axes that nearly all methods tune, and further ones.
func grid(rates, decays []any, more ...Axis) Grid {
	return append(Grid{{"optimizer.lr", rates}, {"optimizer.weight_decay", decays}}, more...)
}

// Learning rates and weight decays of table:hyper.
var (
	rates7  = []any{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1}
	rates4  = []any{0.0001, 0.001, 0.01, 0.1}
	decays4 = []any{0.0001, 0.001, 0.01, 0.1}
	decays2 = []any{0.0001, 0.001}
)
