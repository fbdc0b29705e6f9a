package config

import (
	"fmt"
	"strings"
)

// Entry is a key in words, for lists and pages.
type Entry struct {
	Name    string `json:"name"`
	Flag    string `json:"flag,omitempty"` // of `ocl run`, with its hyphens
	Default string `json:"default"`
	Range   string `json:"range"`
	Help    string `json:"help"`
	ReadBy  string `json:"read_by,omitempty"` // "" is everything
}

// Entries describes all keys: those of [Keys], then the options of the methods.
func (s *Schema) Entries() []Entry {
	var all []Entry
	for _, k := range s.keys() {
		e := Entry{Name: k.Name, Default: k.Default(), Range: k.wanted(), Help: k.Help, ReadBy: k.ReadBy}
		if k.Flag() != "" {
			e.Flag = "--" + k.Flag()
		}
		if k.IsUnset(e.Default) {
			e.Default = k.Unset
		}
		if networks := s.networksOf(k); networks != nil {
			e.ReadBy = strings.Join(networks, ", ")
		}
		if methods, tricks := s.readers(k.Name); len(methods)+len(tricks) > 0 {
			e.ReadBy = strings.Join(methods, ", ")
			if len(tricks) > 0 {
				e.ReadBy = strings.TrimPrefix(e.ReadBy+"; tricks "+strings.Join(tricks, ", "), "; ")
			}
		}
		for _, m := range s.Methods {
			switch {
			case !m.ignores(k.Name):
			case e.ReadBy == "":
				e.ReadBy = "all but " + m.Name
			case strings.HasPrefix(e.ReadBy, "all but "):
				e.ReadBy += ", " + m.Name
			default:
				e.ReadBy += ", not " + m.Name
			}
		}
		all = append(all, e)
	}
	return all
}

// Markdown is the table of keys of docs/format/config.md, without the options of methods, which `ocl methods NAME` has,
// and without ranges and readers, which `ocl config keys` has.
func (s *Schema) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, "| key | flag | default | meaning |\n|---|---|---|---|\n")
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	for _, e := range s.Entries()[:len(Keys())] {
		value := code(e.Default)
		if strings.Contains(e.Default, " ") {
			value = e.Default
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Name, code(e.Flag), value, strings.ReplaceAll(e.Help, "|", `\|`))
	}
	return b.String()
}
