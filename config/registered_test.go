package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ocl/config"
)

// TestRegistered: what a config names of other modules, and what a program lacks of it.
func TestRegistered(t *testing.T) {
	ace, glyphs := config.Origin{Module: "example.com/ace", Version: "v1.2.0"},
		config.Origin{Module: "example.com/runes", Version: "v0.1.0"}
	s := &config.Schema{Catalogue: config.Catalogue{
		Methods:  []config.Method{{Name: "er"}, {Name: "er-ace", Origin: ace}},
		Data:     []config.DataSet{{Name: "glyphs"}, {Name: "runes", Origin: glyphs}},
		Streams:  []config.StreamKind{{Name: "classes"}, {Name: "ring", Origin: glyphs}},
		Networks: []config.NetworkKind{{Name: "resnet18"}, {Name: "tiny", Origin: ace}},
	}}
	c := config.Default()
	c.Methods = []string{"er"}
	if list := s.Registered(c); list != nil {
		t.Errorf("a config without anything of another module has %v", list)
	}
	c.Methods, c.Data.Name, c.Stream.Kind, c.Network.Name = []string{"er", "er-ace"}, "runes", "ring", "tiny"
	list := s.Registered(c)
	want := []config.Registered{
		{"methods", "er-ace", "example.com/ace", "v1.2.0"}, {"data.name", "runes", "example.com/runes", "v0.1.0"},
		{"stream.kind", "ring", "example.com/runes", "v0.1.0"}, {"network.name", "tiny", "example.com/ace", "v1.2.0"},
	}
	if !slices.Equal(list, want) {
		t.Errorf("registered %v, want %v", list, want)
	}
	if err := s.Lacks(list); err != nil {
		t.Error(err)
	}
	newer := want[0]
	newer.Version = "v2.0.0"
	if err := s.Lacks([]config.Registered{newer}); err != nil {
		t.Errorf("another version: %v", err)
	}
	for _, c := range []struct {
		what config.Registered
		want []string
	}{
		{config.Registered{Key: "methods", Name: "scr", Module: "example.com/scr", Version: "v1.0.0"},
			[]string{"method scr of example.com/scr v1.0.0", "imports the package", "cli.Main"}},
		{config.Registered{Key: "methods", Name: "er", Module: "example.com/scr", Version: "v1.0.0"},
			[]string{"has another one of that name"}},
		{config.Registered{Key: "data.name", Name: "x", Module: "m", Version: "v"}, []string{"data set x of m v"}},
		{config.Registered{Key: "stream.kind", Name: "x", Module: "m", Version: "v"}, []string{"kind of stream x of m v"}},
		{config.Registered{Key: "network.name", Name: "x", Module: "m", Version: "v"}, []string{"network x of m v"}},
	} {
		err := s.Lacks([]config.Registered{want[0], c.what})
		if !errors.Is(err, config.ErrLacks) {
			t.Errorf("%v: error %v", c.what, err)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: error %v, want %q in it", c.what, err, part)
			}
		}
	}
	hostile := config.Registered{Key: "\x1b[2J", Name: "\x1b[2J", Module: "\x1b[2J", Version: "\x1b[2J"}
	if err := s.Lacks([]config.Registered{hostile}); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a message with a control character: %v", err)
	}
}

// TestRegisteredDomains: data.domains takes what a data set of another module says, and that set alone.
func TestRegisteredDomains(t *testing.T) {
	s := &config.Schema{Catalogue: config.Catalogue{Data: []config.DataSet{{Name: "glyphs", Domains: []string{"font"}},
		{Name: "runes", Domains: []string{"age"}}}}}
	for _, x := range []struct{ set, domains, want string }{
		{"runes", "age", ""}, {"runes", "size", "Use font, noise, rotation or age"},
		{"runes", "font", "the domains of runes are others. Use age"},
	} {
		c := config.Default()
		c.Data.Name, c.Data.Domains, c.Stream.Kind = x.set, x.domains, config.KindDomains
		err := s.Validate(c)
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s of %s: %v, want %q", x.domains, x.set, err, x.want)
		}
	}
}

func TestOtherVersions(t *testing.T) {
	one := config.Registered{Key: "methods", Name: "er-ace", Module: "example.com/ace", Version: "v1"}
	two := one
	two.Version = "v2"
	for _, c := range []struct {
		made, here []config.Registered
		want       string
	}{
		{nil, nil, ""},
		{[]config.Registered{one}, []config.Registered{one}, ""},
		{[]config.Registered{one}, []config.Registered{two},
			"it was made with the method er-ace of example.com/ace v1, but this program has that of example.com/ace v2"},
		{[]config.Registered{one}, nil,
			"it was made with the method er-ace of example.com/ace v1, but this program does not have it"},
		{nil, []config.Registered{two}, "it was made without the method er-ace of example.com/ace v2 that this program has"},
	} {
		if got := config.OtherVersions(c.made, c.here); got != c.want {
			t.Errorf("%v and %v: %q, want %q", c.made, c.here, got, c.want)
		}
	}
}
