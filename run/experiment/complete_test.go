package experiment

import (
	"slices"
	"testing"

	"ocl/config"
	"ocl/data"
	"ocl/run/build"
)

// TestSavedConfigGivesTheSameStream: the config that a run leaves, with the number of tasks filled in, makes the tasks
// of the run again, also where they are not equally large.
func TestSavedConfigGivesTheSameStream(t *testing.T) {
	c := one("finetune")
	c.Stream.Tasks = 0
	glyphs, err := OpenData(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// the task of each image, where task i has the classes below ends[i]
	upTo := func(ends ...int32) func([]int32) []int32 {
		return func(labels []int32) []int32 {
			var of []int32
			for _, y := range labels {
				of = append(of, int32(slices.IndexFunc(ends, func(end int32) bool { return y < end })))
			}
			return of
		}
	}
	order := make([]int, glyphs.Classes)
	for k := range order {
		order[k] = len(order) - 1 - k
	}
	for name, tt := range map[string]struct {
		change func(*data.Set)
		want   []int // classes of the tasks
	}{
		"own tasks": {func(s *data.Set) {
			of := upTo(30, int32(s.Classes))
			s.Tasks, s.Train.Task, s.Test.Task = 2, of(s.Train.Y), of(s.Test.Y)
		}, []int{30, glyphs.Classes - 30}},
		"nearly equal": {func(s *data.Set) { s.DefaultTasks = 3 }, shares(glyphs.Classes, 3)},
		"published": {func(s *data.Set) {
			s.Orders = data.Orders{Classes: [][]int{order}, TaskClasses: []int{10, s.Classes - 10}}
		}, []int{10, glyphs.Classes - 10}},
	} {
		set := *glyphs
		tt.change(&set)
		made, err := newExperiment(c, Options{}, &set, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		first := made.Jobs()[0]
		for _, saved := range []config.Config{made.Config(), first.Config} {
			text, err := saved.YAML()
			if err != nil {
				t.Fatal(err)
			}
			read, err := Schema().Parse("saved.yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			again, err := newExperiment(read, Options{}, &set, nil)
			if err != nil {
				t.Errorf("%s: the saved config is refused: %v", name, err)
				continue
			}
			if got := again.Jobs()[0]; got.Key != first.Key {
				t.Errorf("%s: the saved config gives another run: %s", name, config.Difference(first.Config, got.Config))
			}
			st, err := build.NewStream(&set, again.Jobs()[0].Config)
			if err != nil {
				t.Fatal(err)
			}
			var sizes []int
			for _, task := range st.Info().Tasks {
				sizes = append(sizes, len(task.Classes))
			}
			if !slices.Equal(sizes, tt.want) {
				t.Errorf("%s: tasks of %v classes, want %v", name, sizes, tt.want)
			}
		}
	}
}

// shares are so many classes in tasks that differ by one at most.
func shares(classes, tasks int) []int {
	list := make([]int, tasks)
	for k := range classes {
		list[k%tasks]++
	}
	return list
}

// TestDomainsChooseTheKind: to name domains is to ask for a stream of them; the run that comes of it is the same
// whether or not its kind, or the default domains, are named.
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
