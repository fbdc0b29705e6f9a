package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ocl/internal/limit"
	"ocl/internal/nearest"
)

// faults collects everything that is wrong with a config, so that one run of the command reports it all.
type faults struct {
	list   []error
	more   bool   // there were others beyond limit.Faults
	places Places // of keys that a file gave
}

// full says that no further fault is reported, so that nobody needs to look for one.
func (f *faults) full() bool {
	f.more = f.more || len(f.list) == limit.Faults
	return f.more
}

// add notes what is wrong with a key and what to do, with the key's line in the file and its flag.
func (f *faults) add(key, format string, args ...any) {
	fault := fmt.Errorf(format, args...)
	flag := ""
	if k, ok := find(key); ok && k.Flag() != "" && !strings.Contains(fault.Error(), "--"+k.Flag()) {
		flag = " (--" + k.Flag() + ")"
	}
	f.note(fmt.Errorf("config: %s%s%s: %w", f.places.before(key), shown(key), flag, fault))
}

func (f *faults) note(fault error) {
	if !f.full() {
		f.list = append(f.list, fault)
	}
}

// Places are the lines of a file that gave keys their values. The zero value has none, and so does a key that a flag
// has set since.
type Places struct {
	File  string
	Lines map[string]int // by key, from 1
}

// Forget says that a key has another value by now than that of the file.
func (p Places) Forget(key string) { delete(p.Lines, key) }

// before is "exp.yaml:7: " for a key of the file, or for a section of which the file gives some key; "" for others.
func (p Places) before(key string) string {
	line, known := p.Lines[key]
	if !known {
		for name, at := range p.Lines {
			if strings.HasPrefix(name, key+".") && (line == 0 || at < line) {
				line = at
			}
		}
	}
	if line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", p.File, line)
}

// err is nil without faults, else all of them, one a line.
func (f *faults) err() error {
	err := errors.Join(f.list...)
	if f.more {
		err = errors.Join(err, errors.New("config: there may be more errors. Fix these first"))
	}
	return err
}

// ErrUnknown is wrapped by errors about keys, methods and options that this program does not know. In a file that a
// program wrote, they mean that a newer program wrote it.
var ErrUnknown = errors.New("unknown key")

type unknownError struct{ error }

func (unknownError) Is(err error) bool { return err == ErrUnknown }

func unknown(format string, args ...any) error { return unknownError{fmt.Errorf(format, args...)} }

// meant says which of the names an unknown word probably stands for; all says where the names are listed.
func meant(word string, names []string, all string) string {
	return nearest.Names{List: names, All: all}.Hint(word)
}

// Where the names are listed.
const (
	allKeys    = "`ocl config keys` lists all keys"
	allMethods = "`ocl methods` lists all methods"
	allSets    = "`ocl data list` lists all data sets"
	allStreams = "`ocl data streams` lists all kinds"
)

// meantMethod is meant for the name of a method.
func (s *Schema) meantMethod(name string) string {
	about := func(name string) string { m, _ := lookup(s.Methods, name); return m.About }
	return nearest.Names{List: namesOf(s.Methods), Meaning: about, All: allMethods}.Hint(name)
}

// unknown says that there is no such key, and what was probably meant.
func (s *Schema) unknown(key string) error {
	name, option, ok := cutOption(key)
	options, known := s.owned(name)
	switch {
	case name == "":
		return unknown("unknown key %s. %s", shown(key), s.Meant(key, s.Names()))
	case !known:
		return unknown("unknown method %s. %s", shown(name), s.meantMethod(name))
	case !ok:
		below := slices.DeleteFunc(s.Names(), func(name string) bool { return !strings.HasPrefix(name, key+".") })
		if len(below) == 0 {
			return unknown("%s is a section, not a key. %s", shown(key), allKeys)
		}
		return unknown("%s is a section, not a key. Use one of its keys, such as %s. %s", shown(key),
			nearest.Or(below[:min(len(below), nearest.Most)]), allKeys)
	case len(options) == 0:
		kind := "method"
		if _, is := lookup(s.Tricks, name); is {
			kind = "trick"
		}
		return unknown("unknown option %s. The %s %s has no options", shown(option), kind, name)
	}
	return unknown("unknown option %s of %s. %s", shown(option), name,
		meant(option, namesOf(options), "`ocl methods "+name+"` lists all its options"))
}

// Meant says which keys of a list a person may have meant by one that is not there: keys of its section whose last part
// is like its own or has its meaning, else keys of which it is a typing error, else keys of another section with its
// last part. A key that has only some words in common with it is no answer. It is a sentence for the end of an error.
func (s *Schema) Meant(key string, list []string) string {
	about := func(name string) string { k, _ := s.find(name); return k.Help }
	names := nearest.Names{List: slices.Clone(list), All: allKeys}
	dot := strings.LastIndex(key, ".")
	if dot < 0 {
		names.Aliases = aliases
		if len(names.Misspelt(key)) == 0 { // the meanings of options are of one method
			names.List, names.Meaning = slices.DeleteFunc(names.List,
				func(n string) bool { return strings.HasPrefix(n, "method.") }), about
		}
		return names.Hint(key)
	}
	section, last := key[:dot+1], key[dot+1:]
	parts := nearest.Names{Meaning: func(part string) string { return about(section + part) }}
	var begun, same []string
	for _, name := range names.List {
		if part, ok := strings.CutPrefix(name, section); ok {
			parts.List = append(parts.List, part)
			if strings.HasPrefix(last, part) { // lrate
				begun = append(begun, name)
			}
		}
		if strings.HasSuffix(name, "."+last) {
			same = append(same, name)
		}
	}
	near := parts.Near(last)
	for i := range near {
		near[i] = section + near[i]
	}
	if len(near) == 0 && len(parts.List) == 0 {
		near = names.Misspelt(key)
	}
	for _, list := range [][]string{near, begun, same} {
		if len(list) > 0 {
			return names.Meant(list[:min(len(list), nearest.Most)])
		}
	}
	return allKeys
}

// aliases are shorter forms that people write in place of a key: its last part, its section where it is the section's
// name, and its short name.
func aliases(key string) []string {
	section, last := "", key
	if i := strings.LastIndex(key, "."); i >= 0 {
		section, last = key[:i], key[i+1:]
	}
	short := []string{last}
	if last == "name" {
		short = []string{section}
	}
	if k, _ := find(key); k.Short != "" {
		short = append(short, k.Short)
	}
	return short
}

// shown is text that comes from a file, safe for a terminal and not too long.
func shown(text string) string {
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "")
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:57]) + "…"
	}
	if slices.ContainsFunc([]rune(text), func(r rune) bool {
		return !unicode.IsPrint(r) ||
			r == unicode.ReplacementChar
	}) {
		return strconv.QuoteToASCII(text)
	}
	return text
}
