package trained

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/data"
	"ocl/run/train"
)

// sketch is the sketch of pictures with these numbers.
func sketch(first, last uint32) (s data.Sketch) {
	for v := first; v <= last; v++ {
		s = append(s, v*1000)
	}
	return s.Union(nil)
}

// TestMoved: classes with the pictures of another class of the parent are refused where that one has no pictures any
// more, with the commands that mend it, and said where it has.
func TestMoved(t *testing.T) {
	p := &Parent{Folder: filepath.Join(t.TempDir(), "run"), Config: config.Default()}
	p.Known = train.Known{Classes: 4, ClassNames: []string{"lion", "wolf", "fly", "many"},
		Pictures: []data.Sketch{sketch(1, 5), sketch(11, 15), sketch(21, 21), sketch(100, 400)}}
	type classes map[string]data.Sketch
	for _, c := range []struct {
		name  string
		new   classes
		fault string // "" is none
		does  string // the commands
		note  string
	}{
		{name: "renamed", new: classes{"big cat": sketch(1, 5), "wolf": sketch(11, 15)},
			fault: "big cat has the pictures of lion.",
			note:  "most pictures of wolf were learned before, and count twice now. `ocl learn` needs only the new ones",
			does:  "`ocl classes RUN rename lion 'big cat' -o RUN-classes`, `ocl learn RUN-classes` with the flags given here"},
		{name: "pictures added", new: classes{"cat": sketch(1, 10)}, fault: "cat has the pictures of lion."},
		{name: "too many added", new: classes{"cat": sketch(1, 11).Union(sketch(500, 500))}},
		{name: "one of two", new: classes{"cat": data.Sketch{5000, 900000}}},
		{name: "its only picture", new: classes{"insect": sketch(21, 21)}, fault: "insect has the pictures of fly."},
		{name: "large", new: classes{"most": sketch(100, 420)}, fault: "most has the pictures of many."},
		{name: "two", new: classes{"cat": sketch(1, 5), "dog": sketch(11, 15)},
			fault: "cat has the pictures of lion, dog has the pictures of wolf.",
			does:  "`ocl classes RUN rename lion cat -o RUN-classes`, `ocl classes RUN-classes rename wolf dog -o RUN-classes-classes`, `ocl learn RUN-classes-classes` with"},
		{name: "merged", new: classes{"wolf": sketch(1, 5)}, fault: "wolf has the pictures of lion.",
			does: "`ocl classes RUN merge lion wolf -o RUN-classes`"},
		{name: "exchanged", new: classes{"lion": sketch(11, 15), "Wolf": sketch(1, 5)},
			fault: "lion and wolf have exchanged their names.",
			does:  "`ocl classes RUN rename wolf 'wolf (before)' -o RUN-classes`, `ocl classes RUN-classes rename lion wolf -o RUN-classes-classes`, `ocl classes RUN-classes-classes rename 'wolf (before)' lion "},
		{name: "both names", new: classes{"cat": sketch(1, 5), "LION": sketch(1, 5)},
			note: "most pictures of lion were learned before, and count twice now. `ocl learn` needs only the new ones\n" +
				"most pictures of cat are pictures that the parent has learned as lion, which is here too"},
		{name: "in two", new: classes{"cub": sketch(1, 2), "old": sketch(3, 5)}, fault: "cub and old have the pictures of lion.",
			does: "`ocl classes RUN split lion --by FOLDER -o RUN-classes`, where FOLDER has the folders of only these classes, `ocl learn RUN-classes`"},
		{name: "no overlap", new: classes{"cat": sketch(50, 60), "lion": sketch(30, 39)}},
		{name: "few again", new: classes{"lion": sketch(1, 4).Union(sketch(30, 39))}},
		{name: "other capitals", new: classes{"LION": sketch(1, 5)},
			note: "most pictures of lion were learned before, and count twice now. `ocl learn` needs only the new ones"},
	} {
		set := &data.Set{Name: "folder"}
		for name := range c.new {
			set.ClassNames = append(set.ClassNames, name)
		}
		slices.Sort(set.ClassNames)
		for _, name := range set.ClassNames {
			set.Sketches = append(set.Sketches, c.new[name])
		}
		set.Classes = len(set.ClassNames)
		u, err := Unite(p.Known, set)
		if err != nil {
			t.Fatal(err)
		}
		notes, err := p.Moved(u, set)
		if (err != nil) != (c.fault != "") || err != nil && !errors.Is(err, ErrMoved) {
			t.Errorf("%s: %v", c.name, err)
		}
		text := strings.ReplaceAll(fmt.Sprint(err), p.Folder, "RUN")
		if c.fault != "" && (!strings.Contains(text, ": "+c.fault) || !strings.Contains(text, c.does) ||
			!strings.Contains(text, "--new-classes")) {
			t.Errorf("%s: %s", c.name, text)
		}
		if got := strings.Join(notes, "\n"); got != c.note {
			t.Errorf("%s: notes %q", c.name, got)
		}
	}
	// What an older program has learned is not known, and nobody asks of published data.
	set := &data.Set{Name: "folder", Classes: 1, ClassNames: []string{"cat"}, Sketches: []data.Sketch{sketch(1, 5)}}
	p.Known.Pictures = nil
	for name, want := range map[string]int{"folder": 1, "cifar100": 0} {
		p.Config.Data.Name = name
		u, err := Unite(p.Known, set)
		if err != nil {
			t.Fatal(err)
		}
		if notes, err := p.Moved(u, set); err != nil || len(notes) != want {
			t.Errorf("after %s: %q (%v)", name, notes, err)
		}
	}
}

// TestSketchesOfUnion: pictures that come later are added to those of the parent, and an unknown class has none.
func TestSketchesOfUnion(t *testing.T) {
	known := train.Known{Classes: 2, ClassNames: []string{"a", "b"}, Pictures: []data.Sketch{sketch(1, 2), sketch(3, 4)}}
	set := &data.Set{Classes: 2, ClassNames: []string{"B", "c"}, Sketches: []data.Sketch{sketch(5, 6), sketch(7, 8)}}
	u, err := Unite(known, set)
	if err != nil {
		t.Fatal(err)
	}
	got, want := u.Sketches(known.Pictures, set), []data.Sketch{sketch(1, 2), sketch(3, 6), sketch(7, 8)}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, wanted %v", got, want)
	}
	if set.Sketches = nil; len(u.Sketches(nil, set)) != 0 || len(u.Sketches(known.Pictures, set)) != 3 {
		t.Error("nothing is known, or what was is forgotten")
	}
}

// TestSketchesOfSplit: the pictures of a new class are those that it was given, and no longer those of the old one.
func TestSketchesOfSplit(t *testing.T) {
	s := splitting{Model: &Model{}, class: 1, fresh: []int{0, 2}, set: &data.Set{ClassNames: []string{"a", "bird", "c"},
		Sketches: []data.Sketch{sketch(1, 2), sketch(3, 3), sketch(4, 4)}}}
	s.known.Pictures = []data.Sketch{sketch(9, 9), sketch(1, 6)}
	want := []data.Sketch{sketch(9, 9), append(sketch(3, 3), sketch(5, 6)...), sketch(1, 2), sketch(4, 4)}
	if got := s.sketches(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, wanted %v", got, want)
	}
}
