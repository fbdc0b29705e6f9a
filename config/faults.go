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

// maxFaults is how many faults are told: a file that is no config at all has one in each line.
const maxFaults = 20

// faults collects what is wrong with a config, so that one run of the command tells it all.
type faults struct {
	list []error
	more int // beyond maxFaults
}

// add notes `config: where: what is wrong. What to do.` Arguments that are costly to make are [lazy]: beyond maxFaults nobody
// reads them.
func (f *faults) add(where any, format string, args ...any) {
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	if key, is := where.(string); is {
		where = shown(key)
	}
	f.list = append(f.list, fmt.Errorf("config: %s: "+format, append([]any{where}, args...)...))
}

// join adds the faults of another list.
func (f *faults) join(other faults) {
	taken := min(len(other.list), maxFaults-len(f.list))
	f.list = append(f.list, other.list[:taken]...)
	f.more += len(other.list) - taken + other.more
}

// err is nil without faults, else all of them, one a line.
func (f *faults) err() error {
	err := errors.Join(f.list...)
	if f.more > 0 {
		err = errors.Join(err, fmt.Errorf("config: and %d more. Mend these first", f.more))
	}
	return err
}

// lazy is text that is made when it is written.
type lazy func() string

func (l lazy) String() string { return l() }

// ErrUnknown is wrapped by errors about keys, methods and options that this program does not know. In a file that a program
// wrote they say that it was a newer one.
var ErrUnknown = errors.New("unknown key")

type unknownError struct {
	format string
	args   []any
}

func (e unknownError) Error() string   { return fmt.Sprintf(e.format, e.args...) }
func (unknownError) Is(err error) bool { return err == ErrUnknown }

func unknown(format string, args ...any) error { return unknownError{format, args} }

// meant is what to do about an unknown word: take the nearest, or choose.
func meant(word string, candidates []string) lazy {
	return func() string {
		if near := nearest.Word(cutShort(word), candidates); near != "" {
			return "Did you mean " + near + "?"
		}
		return "Choose one of " + strings.Join(candidates, ", ") + "."
	}
}

// cutShort bounds what is compared with the names of keys: no word that one meant is longer.
func cutShort(word string) string { return word[:min(len(word), 100)] }

// shown is text that comes from a file, safe for a terminal and not too long.
func shown(text string) string {
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "")
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:57]) + "…"
	}
	if slices.ContainsFunc([]rune(text), func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToASCII(text)
	}
	return text
}
