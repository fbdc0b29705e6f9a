// Package spelling compares names that were written on different systems. Unicode has two spellings of é: one
// character, and an e with an accent behind it. They look alike, and a Mac writes the second where Windows, Linux and
// keyboards write the first.
package spelling

import "golang.org/x/text/unicode/norm"

// Of is the spelling that names are compared and kept in, Unicode's form NFC. Names that look alike have the same one.
func Of(name string) string { return norm.NFC.String(name) }

// Split is the other spelling of a name, Unicode's form NFD, which names of files of a Mac have.
func Split(name string) string { return norm.NFD.String(name) }

// Find is the name among those that are known which looks like the given one: the name itself, else one of another
// spelling, else the name in the spelling that names are kept in. known says whether a name is known; others gives all
// of them and is called only where that can find one.
func Find(name string, known func(string) bool, others func() []string) string {
	of := Of(name)
	switch {
	case known(name):
		return name
	case known(of), ascii(of):
		return of
	}
	for _, other := range others() {
		if Of(other) == of {
			return other
		}
	}
	return of
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
