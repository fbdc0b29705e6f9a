package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ocl/internal/nearest"
)

// faults collects everything that is wrong with a config, so that one run of the command tells it all.
type faults struct{ list []error }

// add notes `config: where: what is wrong. What to do.`
func (f *faults) add(where, format string, args ...any) {
	f.list = append(f.list, fmt.Errorf("config: %s: "+format, append([]any{where}, args...)...))
}

// err is nil without faults, else all of them, one a line.
func (f *faults) err() error { return errors.Join(f.list...) }

// ErrUnknown is wrapped by errors about keys, methods and options that this program does not know. In a file that a program
// wrote they say that it was a newer one.
var ErrUnknown = errors.New("unknown key")

type unknownError struct{ text string }

func (e unknownError) Error() string   { return e.text }
func (unknownError) Is(err error) bool { return err == ErrUnknown }

func unknown(format string, args ...any) error { return unknownError{fmt.Sprintf(format, args...)} }

// meant is what to do about an unknown word: take the nearest, or choose.
func meant(word string, candidates []string) string {
	if near := nearest.Word(word, candidates); near != "" {
		return "Did you mean " + near + "?"
	}
	return "Choose one of " + strings.Join(candidates, ", ") + "."
}

// shown is text that comes from a file, safe for a terminal and not too long.
func shown(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:57]) + "…"
	}
	if slices.ContainsFunc([]rune(text), func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToASCII(text)
	}
	return text
}
