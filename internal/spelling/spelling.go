// Package spelling compares names that were written by different people and on different systems. Unicode has two
// spellings of é: one character, and an e with an accent behind it. They look alike, and a Mac writes the second where
// Windows, Linux and keyboards write the first. Capitals and small letters make no other name either.
package spelling

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"ocl/internal/count"
	"ocl/internal/limit"
)

// Of is the spelling that names are kept in, Unicode's form NFC. Names that look alike have the same one.
func Of(name string) string { return norm.NFC.String(name) }

// Split is the other spelling of a name, Unicode's form NFD, which names of files of a Mac have.
func Split(name string) string { return norm.NFD.String(name) }

// Key is the same for names that are compared as one: in form NFC, and without case (Unicode's simple folding). It is
// not for people to read.
func Key(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, Of(name))
}

// Fault says what is wrong with a name of a class, and what to do; "" is nothing. Names have 1 to [limit.LiveLabel]
// bytes of UTF-8, without control characters or space at their ends.
func Fault(name string) string {
	switch {
	case name == "":
		return "it is empty. Give a name"
	case len(name) > limit.LiveLabel:
		return fmt.Sprintf("it has %s, and %d are the limit. Give a shorter name", count.Of(len(name), "byte"),
			limit.LiveLabel)
	case !utf8.ValidString(name):
		return "it is not UTF-8. Give text"
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return "it has a character that does not show. Remove that"
	case strings.TrimSpace(name) != name:
		return "it begins or ends with a space. Remove that"
	}
	return ""
}

// Find is the name among those that are known which is meant by the given one: the name itself, else one of another
// spelling of Unicode, else one in other capitals, else the name in the spelling that names are kept in. known says
// whether a name is known; others gives all of them and is called only where the name itself is not known.
func Find(name string, known func(string) bool, others func() []string) string {
	of := Of(name)
	switch {
	case known(name):
		return name
	case known(of):
		return of
	}
	key, inCase := Key(of), ""
	for _, other := range others() {
		switch {
		case Of(other) == of:
			return other
		case inCase == "" && Key(other) == key:
			inCase = other
		}
	}
	if inCase != "" {
		return inCase
	}
	return of
}

// Match gives each name the place among those that are known of the one that it means, as [Find] does; -1 is none. Two
// names that are different in one list and would be one known name are not matched without case.
func Match(names, known []string) []int {
	to, place, inCase := make([]int, len(names)), map[string]int{}, map[string]int{}
	times := map[string]int{} // of each key among the names
	for i := len(known) - 1; i >= 0; i-- {
		place[Of(known[i])], inCase[Key(known[i])] = i, i
	}
	for _, name := range names {
		times[Key(name)]++
	}
	for i, name := range names {
		to[i] = slices.Index(known, name)
		if k, is := place[Of(name)]; to[i] < 0 && is {
			to[i] = k
		}
		if k, is := inCase[Key(name)]; to[i] < 0 && is && times[Key(name)] == 1 {
			to[i] = k
		}
	}
	return to
}
