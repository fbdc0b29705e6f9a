package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ocl/config"
	"ocl/data"
)

// TestUntestedClassesAreNoted: the notes of an experiment name the classes without test images, at most five of them.
func TestUntestedClassesAreNoted(t *testing.T) {
	glyphs := func(untested ...int32) *data.Set {
		set, err := data.Open(t.Context(), data.Spec{Name: "glyphs", Size: 8, TrainPerClass: 2, TestPerClass: 2})
		if err != nil {
			t.Fatal(err)
		}
		images, kept := data.Block{Size: set.ImageLen()}, data.Split{}
		for i, k := range set.Test.Y {
			if slices.Contains(untested, k) {
				continue
			}
			pixels, err := set.Test.Images.Image(i, nil)
			if err != nil {
				t.Fatal(err)
			}
			images.Pixels, kept.Y = append(images.Pixels, pixels...), append(kept.Y, k)
		}
		kept.Images = images
		set.Test = kept
		return set
	}
	for _, c := range []struct {
		classes []int32
		named   bool
		want    []string
	}{
		{nil, true, nil},
		{[]int32{3}, false, []string{"class 3 has no test images, so its accuracy is unknown"}},
		{[]int32{3, 9}, false, []string{"2 classes have no test images, so their accuracy is unknown: class 3, class 9"}},
		{[]int32{10, 11}, true, []string{`2 classes have no test images, so their accuracy is unknown: "A", "B"`}},
		{[]int32{0, 1, 2, 3, 4, 5, 6}, false,
			[]string{"7 classes have no test images, so their accuracy is unknown: class 0, class 1, class 2, class 3, class 4, and 2 more"}},
	} {
		set := glyphs(c.classes...)
		if !c.named {
			set.ClassNames = nil
		}
		x, err := newExperiment(tiny(), Options{}, set, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Notes(); !slices.Equal(got, c.want) {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// TestTasksLeftOutAreNoted: a note, the plan and the result give a task the number that it has in the whole stream.
func TestTasksLeftOutAreNoted(t *testing.T) {
	c := one("finetune")
	c.Stream.ClassOrder.Name, c.Stream.Tasks = config.OrderGiven, 10
	set := withoutClasses(t, c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49)
	x, err := newExperiment(c, Options{}, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "left out, as images are absent or cannot be read: task 1, task 5; the other tasks keep their numbers"
	if notes := x.Notes(); !slices.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	p, err := x.Plan(x.Jobs()[0])
	if err != nil || !slices.Equal(p.Tasks, []int{2, 3, 4, 6, 7, 8, 9, 10}) {
		t.Errorf("tasks %v (%v)", p.Tasks, err)
	}
	results, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, task := range results[0].Stream.Tasks {
		if task.Index+1 != p.Tasks[i] {
			t.Errorf("task %d of the result has the index %d, want %d", i, task.Index, p.Tasks[i]-1)
		}
	}
}

// TestTasksLeftOutOfEachSeedAreNoted: seeds that order the classes differently miss different tasks, and each says its
// own.
func TestTasksLeftOutOfEachSeedAreNoted(t *testing.T) {
	c := one("finetune")
	c.Runs = 2
	set := withoutClasses(t, c, 0)
	c.Stream.Tasks = set.Classes // so a task without images is wherever the order of the seed has class 0
	x, err := newExperiment(c, Options{}, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range x.Jobs() {
		p, err := x.Plan(j)
		if err != nil {
			t.Fatal(err)
		}
		absent := 1
		for slices.Contains(p.Tasks, absent) {
			absent++
		}
		want := fmt.Sprintf("seed %d: left out, as images are absent or cannot be read: task %d; the other tasks keep their numbers",
			j.Seed, absent)
		if notes := x.Notes(); !slices.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
}

// withoutClasses opens the data of a config and leaves out the training images of some classes.
func withoutClasses(t *testing.T, c config.Config, classes ...int32) *data.Set {
	t.Helper()
	set, err := OpenData(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	images, kept := data.Block{Size: set.ImageLen()}, data.Split{}
	for i, k := range set.Train.Y {
		if slices.Contains(classes, k) {
			continue
		}
		pixels, err := set.Train.Images.Image(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		images.Pixels, kept.Y = append(images.Pixels, pixels...), append(kept.Y, k)
	}
	kept.Images = images
	set.Train, set.Incomplete = kept, true
	return set
}

// TestTuningHoldsOut: a tuning on data with one test set for all tasks is not tested on it, unless the config says so;
// what is written down says which, and runs of the other protocols keep the keys that they had.
func TestTuningHoldsOut(t *testing.T) {
	c := one("finetune")
	c.Stream.Kind, c.Stream.Tasks = config.KindDomains, 10
	set, err := OpenData(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	shared := *set
	shared.Test.Domain = slices.Repeat([]int32{99}, set.Test.Len()) // a domain that no task has
	off := false
	for _, tt := range []struct {
		set      *data.Set
		protocol string
		given    *bool
		want     bool
	}{
		{&shared, config.ProtocolTuning, nil, true}, {&shared, config.ProtocolTuning, &off, false},
		{&shared, config.ProtocolSurvey, nil, false},
		{set, config.ProtocolTuning, nil, false},
	} {
		c.Protocol, c.Stream.HeldOut = tt.protocol, tt.given
		x, err := newExperiment(c, Options{}, tt.set, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Config().Stream.HeldOut; got == nil || *got != tt.want {
			t.Errorf("%s: holds out %v, want %v", tt.protocol, got, tt.want)
		}
		if said := strings.Contains(Schema().Canonical(x.Jobs()[0].Config), "held_out=true"); said != tt.want {
			t.Errorf("%s: the identity of the run names it: %v", tt.protocol, said)
		}
	}
}

// TestUnreadableClassesAreNoted: of a class whose files are there and cannot be read, no note says that it has none.
func TestUnreadableClassesAreNoted(t *testing.T) {
	set := &data.Set{
		Classes: 5,
		Train:   data.Split{Y: []int32{0, 3}, Unreadable: []int{1, 2, 0, 0, 1}},
		Test:    data.Split{Y: []int32{0, 1, 2}, Unreadable: []int{0, 0, 0, 4, 0}},
	}
	want := []string{
		"class 4 has no readable image", "class 3 has no readable test image, so its accuracy is unknown",
		"class 2 has no training images, so its test images are always wrong",
		"class 1 has no readable training image, so its test images are always wrong",
	}
	if got := missingImages(set); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
