package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"ocl/config"
	"ocl/data"
	"ocl/internal/nearest"
)

// joinedList says how to give words that belong to the list of a flag, such as the second of "--method er mir"; "" where
// they belong to none. Flags that are given come first.
func joinedList(flags *pflag.FlagSet, args []string) string {
	for _, given := range []bool{true, false} {
		for _, list := range []struct {
			flag  string
			names []string
		}{{"method", methodNames()}, {"trick", trickNames()}, {"classifiers", config.Classifiers()}} {
			f := flags.Lookup(list.flag)
			text := strings.Join(args, " ")
			if f.Changed != given {
				continue
			}
			if given {
				text = f.Value.String() + " " + text
			}
			value, words := joined(text, list.flag == "trick")
			if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(list.names, word) }) {
				continue
			}
			remedy := fmt.Sprintf("--%s %s", list.flag, quoteWord(value))
			if list.flag == "trick" && len(words) > 1 && !strings.Contains(value, "+") {
				remedy += fmt.Sprintf(" for a run with each, or --trick %s for one with all of them", quoteWord(strings.Join(words, "+")))
			}
			return remedy
		}
	}
	return ""
}

// joined writes a list without spaces, its items apart by commas, and returns the words in it. Tricks may also be joined by
// plus signs, which are a part of other names.
func joined(text string, plus bool) (list string, words []string) {
	between := func(r rune) bool { return r == ',' || unicode.IsSpace(r) }
	if plus {
		text = strings.ReplaceAll(text, "+", " + ")
	}
	for _, word := range strings.FieldsFunc(text, between) {
		if plus && word == "+" {
			list += "+"
			continue
		}
		if list != "" && (!plus || !strings.HasSuffix(list, "+")) {
			list += ","
		}
		list += word
		words = append(words, word)
	}
	return list, words
}

// isPath is an error if the name of a data set is the path of one.
func isPath(name string) error {
	if slices.Contains(data.Names(), name) {
		return nil
	}
	_, err := os.Stat(name)
	set, known := data.ByPath(name)
	switch {
	case known:
		return fmt.Errorf("--data: %q is a path, not a data set. Write --data %s --data-dir %s", name, set.Name, quoteWord(name))
	case err == nil && nearest.Word(name, data.Names()) == "":
		return fmt.Errorf("--data: %q is a path, not a data set. Write --data NAME --data-dir %s; `ocl data list` lists the names", name, quoteWord(name))
	}
	return nil
}
