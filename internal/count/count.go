// Package count writes numbers of things as people read them, for messages, notes and pages. It knows no other words
// than the nouns and names that it is given.
package count

import (
	"fmt"
	"slices"
	"strings"
)

// whole are the types of numbers of things.
type whole interface{ int | int64 | uint64 }

// Of is a number and its noun, which is given for one thing: "1 image", "60,000 images", "0 classes". Nouns with a
// plural of their own, such as index, are not for it.
func Of[N whole](n N, noun string) string {
	if n != 1 {
		noun = many(noun)
	}
	return Number(n) + " " + noun
}

// Number is a number with separators: 5000 is "5,000".
func Number[N whole](n N) string {
	s := fmt.Sprint(n)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Range is a range of whole numbers: "1 to 5", or "3" where there is one number in it.
func Range[N whole](low, high N) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// Some lists the first five of many names, and says how many more there are.
func Some(names []string) string { return First(5, names) }

// First lists so many names at most, and says how many more there are. Commas are between them, or semicolons where a
// name has a comma itself.
func First(most int, names []string) string {
	sep := ", "
	if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, ",") }) {
		sep = "; "
	}
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s%sand %s more", strings.Join(names[:most], sep), sep, Number(more))
	}
	return strings.Join(names, sep)
}

// many is the regular plural of a noun.
func many(noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case y && !strings.ContainsAny(stem[max(len(stem)-1, 0):], "aeiou"):
		return stem + "ies"
	case strings.HasSuffix(noun, "epoch"): // its ch is a k
		return noun + "s"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"):
		return noun + "es"
	}
	return noun + "s"
}
