package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Origin is the module that has registered what a name stands for, with its version. The zero value is this module.
type Origin struct{ Module, Version string }

// Registered is a name in the config of a run that stands for something of another module.
type Registered struct {
	Key     string `json:"key"` // of the config, such as methods
	Name    string `json:"name"`
	Module  string `json:"module"`
	Version string `json:"version"`
}

// kinds has a word for the value of each key that another module can register.
var kinds = map[string]string{"methods": "method", "data.name": "data set", "stream.kind": "kind of stream",
	"network.name": "network"}

// Kind says in words what the name stands for, such as "method".
func (r Registered) Kind() string {
	if kind, known := kinds[r.Key]; known {
		return kind
	}
	return told(r.Key) // of a file
}

// What is the kind with the name, such as "method er-ace".
func (r Registered) What() string { return r.Kind() + " " + told(r.Name) }

// From is the module with its version.
func (r Registered) From() string { return told(r.Module) + " " + told(r.Version) }

// told is a text of a file that a terminal can show. Versions may be long, and their ends may be all that differs.
func told(text string) string {
	const most = 200
	if len(text) > most || strings.ContainsFunc(text,
		func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToASCII(text[:min(len(text), most)])
	}
	return text
}

// String is all of it, such as "method er-ace of example.com/ace v1.2.0".
func (r Registered) String() string { return r.What() + " of " + r.From() }

// registeredKeys are the keys whose names other modules can register.
func registeredKeys() []string {
	return []string{"methods", "data.name", "stream.kind", "network.name"}
}

// Registered lists the names of a config that stand for something of another module, in the order of [registeredKeys].
func (s *Schema) Registered(c Config) (list []Registered) {
	for _, key := range registeredKeys() {
		var names []string
		switch key {
		case "methods":
			names = c.Methods
		case "data.name":
			names = []string{c.Data.Name}
		case "stream.kind":
			names = []string{c.Stream.Kind}
		case "network.name":
			names = []string{c.Network.Name}
		}
		for _, name := range names {
			if o, known := s.origin(key, name); known && o != (Origin{}) {
				list = append(list, Registered{key, name, o.Module, o.Version})
			}
		}
	}
	return list
}

// origin returns the module that registered the value of a key.
func (s *Schema) origin(key, name string) (o Origin, known bool) {
	switch key {
	case "methods":
		m, ok := lookup(s.Methods, name)
		return m.Origin, ok
	case "data.name":
		d, ok := lookup(s.Data, name)
		return d.Origin, ok
	case "stream.kind":
		k, ok := lookup(s.Streams, name)
		return k.Origin, ok
	}
	n, ok := lookup(s.Networks, name)
	return n.Origin, ok
}

// ErrLacks is wrapped by errors about what a file needs of another module and this program does not have.
var ErrLacks = errors.New("this program lacks something of another module")

type lacksError struct{ error }

func (lacksError) Is(err error) bool { return err == ErrLacks }

// Lacks is an error if this program does not have one of the names that another program had registered. Another version
// of the same module is none. It wraps [ErrLacks].
func (s *Schema) Lacks(list []Registered) error {
	for _, r := range list {
		o, known := s.origin(r.Key, r.Name)
		if known && o.Module == r.Module {
			continue
		}
		has := ""
		if known {
			has = ", but has another one of that name"
		}
		return lacksError{fmt.Errorf("this program does not have the %s%s. Use a program that imports the package of that module and calls cli.Main",
			r, has)}
	}
	return nil
}

// OtherVersions says how two lists differ, as what made has and what is here; "" is not at all.
func OtherVersions(made, here []Registered) string {
	for _, r := range made {
		if slices.Contains(here, r) {
			continue
		}
		for _, own := range here {
			if own.Key == r.Key && own.Name == r.Name {
				return fmt.Sprintf("it was made with the %s, but this program has that of %s", r, own.From())
			}
		}
		return fmt.Sprintf("it was made with the %s, but this program does not have it", r)
	}
	for _, own := range here {
		if !slices.Contains(made, own) {
			return fmt.Sprintf("it was made without the %s that this program has", own)
		}
	}
	return ""
}
