package experiment

import (
	"slices"
	"testing"

	"ocl/config"
	"ocl/data"
)

// TestSettled: what a config leaves to the data is filled in, so that a result says it.
func TestSettled(t *testing.T) {
	seven := &data.Set{Classes: 7}
	for _, tt := range []struct {
		set    *data.Set
		change func(*config.Config)
		kind   string
		tasks  int
		sizes  []int
	}{
		{seven, func(*config.Config) {}, "classes", 3, []int{3, 2, 2}},
		{seven, func(c *config.Config) { c.Stream.TaskClasses = []int{4, 3} }, "classes", 2, []int{4, 3}},
		{seven, func(c *config.Config) { c.Stream.Tasks = 7 }, "classes", 7, nil},
		{&data.Set{Classes: 100}, func(*config.Config) {}, "classes", 10, nil},
		{&data.Set{Classes: 7, Tasks: 4, Train: data.Split{Task: []int32{0, 1, 2, 3}}}, func(*config.Config) {}, "tasks", 4, nil},
	} {
		c := config.Default()
		tt.change(&c)
		settleStream(tt.set, &c)
		if c.Stream.Kind != tt.kind || c.Stream.Tasks != tt.tasks || !slices.Equal(c.Stream.TaskClasses, tt.sizes) {
			t.Errorf("%+v, want the kind %s and %d tasks of %v", c.Stream, tt.kind, tt.tasks, tt.sizes)
		}
	}
}

// TestDomainsChooseTheKind: to name domains is to ask for a stream of them; the run that comes of it is the same whether or
// not its kind, or the default domains, are named.
func TestDomainsChooseTheKind(t *testing.T) {
	job := func(domains, kind string) Job {
		c := one("finetune")
		c.Data.Domains, c.Stream.Kind, c.Stream.Tasks = domains, kind, 0
		return mustOpen(t, c, Options{}).Jobs()[0]
	}
	rotation, font := job("rotation", ""), job("font", "")
	if s := rotation.Config.Stream; s.Kind != "domains" || s.Tasks != 10 || rotation.Config.Data.Domains != "rotation" {
		t.Errorf("%+v, want ten tasks of the kind domains", s)
	}
	if named := job("rotation", "domains"); named.Key != rotation.Key || rotation.Key == font.Key {
		t.Errorf("keys %s, with the kind %s, of typefaces %s", rotation.Key, named.Key, font.Key)
	}
	if plain := job("", "domains"); plain.Key != font.Key {
		t.Errorf("keys %s and %s of the same run", font.Key, plain.Key)
	}
	if classes := job("", ""); classes.Config.Stream.Kind != "classes" {
		t.Errorf("where nobody asks for domains: %+v", classes.Config.Stream)
	}
}
