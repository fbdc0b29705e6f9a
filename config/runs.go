package config

import (
	"maps"
	"slices"
)

// Resolved returns a copy of c in which what depends on circumstances is filled in: drop_last by protocol, tricks in
// their order, the options of the listed methods by their defaults, and memory 0 where no method of the list keeps one.
// Eval stays empty until the scenario of the stream is known, and the engine until a machine is at hand.
func (s *Schema) Resolved(c Config) Config {
	c = c.Clone()
	if len(s.Methods) > 0 && !slices.ContainsFunc(c.Methods, s.mayUseMemory) {
		c.Memory = 0
	}
	for i, text := range c.Tricks {
		if names := s.tricks(text); names != nil {
			c.Tricks[i] = TrickText(names)
		}
	}
	if c.Stream.DropLast == nil {
		drop := c.Protocol != ProtocolStandard
		c.Stream.DropLast = &drop
	}
	given := c.Method
	c.Method = map[string]map[string]any{}
	for name, options := range given {
		if len(options) > 0 {
			c.Method[name] = options
		}
	}
	for _, of := range s.owners() {
		options := map[string]any{}
		if s.used(c, of.name) {
			for _, o := range of.options {
				options[o.Name] = o.Default
			}
		}
		maps.Copy(options, c.Method[of.name])
		for _, o := range of.options {
			if v, ok := options[o.Name]; ok {
				options[o.Name] = o.key(of.name).conform(v)
			}
		}
		if len(options) > 0 {
			c.Method[of.name] = options
		}
	}
	return c
}

// Normalises says whether mean and deviation change any number. A run keeps those that do not: whether there is one for
// each channel is found when the data are opened.
func (s Stream) Normalises() bool {
	return slices.ContainsFunc(s.Mean, func(v float64) bool { return v != 0 }) ||
		slices.ContainsFunc(s.Std, func(v float64) bool { return v != 1 })
}

// mayUseMemory says whether a method keeps a memory; nobody knows of one that is not in the catalogue.
func (s *Schema) mayUseMemory(name string) bool {
	m, known := lookup(s.Methods, name)
	return !known || m.UsesMemory
}

// Runs are the resolved configs of the single runs of c, each one method with its tricks, its options and its seed, in
// the order in which they start: seed by seed, and for each seed the methods in the order of the list, each with all
// its tricks in that order, so that an experiment that is stopped early leaves comparable runs. A setting that nothing
// in a run reads has its default there, so that the run is the same whatever other methods stood beside it. Running one
// of them again gives the same run.
func (s *Schema) Runs(c Config) []Config {
	c = s.Resolved(c)
	var runs []Config
	for i := range c.Runs {
		for _, name := range c.Methods {
			for _, tricks := range c.Tricks {
				one := c
				one.Methods, one.Tricks, one.Seed, one.Runs = []string{name}, []string{tricks}, c.Seed+uint64(i), 1
				runs = append(runs, s.run(one))
			}
		}
	}
	return runs
}

// run settles what depends on the one method of a run and its tricks.
func (s *Schema) run(c Config) Config {
	name, tricks := c.Methods[0], s.tricks(c.Tricks[0])
	given := c.Method
	c.Method = map[string]map[string]any{}
	for _, of := range append([]string{name}, tricks...) {
		if len(given[of]) > 0 {
			c.Method[of] = given[of]
		}
	}
	c = s.Resolved(c)
	if len(c.Method) == 0 {
		c.Method = nil
	}
	if c.Replay.Teacher == "" {
		c.Replay.Teacher = s.teacher(name, tricks)
	}
	for _, t := range s.Tricks {
		if !t.Classifies || !slices.Contains(tricks, t.Name) {
			continue
		}
		given := c.Classifiers
		c.Classifiers = []string{ClassifierNCM}
		if len(given) > 1 {
			c.Classifiers = append(c.Classifiers, slices.DeleteFunc(given,
				func(name string) bool { return name == ClassifierNCM })...)
		}
	}
	d := Default()
	for _, k := range table {
		if k.Name != "memory" && !s.Reads(name, tricks, k.Name) {
			k.assign(&c, &d)
		}
	}
	return s.settled(c)
}

// settled writes in one way what may be said in several: a setting of another network has its default, and a
// size or an order that are there anyway are not given.
func (s *Schema) settled(c Config) Config {
	d := Default()
	for _, k := range table {
		if !s.ReadsNetwork(c.Network.Name, k.Name) {
			k.assign(&c, &d)
		}
	}
	for _, v := range []struct {
		text   *string
		common string // what no text stands for
	}{
		{&c.Data.Unreadable, UnreadableFail}, {&c.Stream.Shift.Occlusion, OcclusionPerTask},
		{&c.Stream.Shift.Blur, BlurPerImage}, {&c.Network.Head, HeadLinear},
	} {
		if *v.text == v.common {
			*v.text = ""
		}
	}
	if c.Data.Domains == DomainsFont && c.Stream.Kind != "" { // without a kind it chooses one
		c.Data.Domains = ""
	}
	set, _ := lookup(s.Data, c.Data.Name)
	if c.Data.Size == set.Size {
		c.Data.Size = 0
	}
	if order := c.Stream.ClassOrder.Classes; len(order) > 0 && len(order) == set.Classes {
		rising := true
		for i, k := range order {
			rising = rising && k == i
		}
		if rising {
			c.Stream.ClassOrder = Order{Name: OrderGiven}
		}
	}
	return c
}

// teacher returns the default of replay.teacher for a method with some tricks.
func (s *Schema) teacher(method string, tricks []string) string {
	const key = "replay.teacher"
	if m, ok := lookup(s.Methods, method); ok && slices.Contains(m.Settings, key) && m.Teacher != "" {
		return m.Teacher
	}
	for _, t := range s.Tricks {
		if t.Teacher != "" && slices.Contains(tricks, t.Name) && slices.Contains(t.Settings, key) {
			return t.Teacher
		}
	}
	return TeacherEvaluation
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
