package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ocl"
	"ocl/data"
	"ocl/data/stream/shift"
	"ocl/internal/count"
	"ocl/rng"
)

// Shift says how the tasks of the kind shift disturb their images.
type Shift struct {
	Kinds     []string    // noise, occlusion, blur, in the order in which they are applied
	Strengths [][]float64 // [kind][task of the whole stream]; a kind without a list has the survey's

	PerImage   bool // occlusion: a place for each image
	CrossImage bool // blur: also across the images of a task
}

// ParseShift splits the names of kinds that are joined by plus signs; "" has none.
func ParseShift(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, "+")
	for i, name := range names {
		if name == "" {
			return nil, fmt.Errorf("%q has a plus sign without a kind beside it. Use noise, occlusion, blur, or some of them joined by plus signs",
				text)
		}
		if shift.Strengths(name) == nil {
			return nil, fmt.Errorf("unknown kind %q. Use noise, occlusion, blur, or some of them joined by plus signs", name)
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("%s is listed twice. Remove one of them", name)
		}
	}
	return names, nil
}

// strengths are those of kind i of the list, one for each task.
func (s Shift) strengths(i int) []float64 {
	if i < len(s.Strengths) && len(s.Strengths[i]) > 0 {
		return s.Strengths[i]
	}
	return shift.Strengths(s.Kinds[i])
}

// check compares the lists of strengths with each other and with the number of tasks. If two lists differ in length,
// the error names both, because either may be wrong.
func (s Shift) check(tasks int) error {
	for i, kind := range s.Kinds {
		if len(s.strengths(i)) != len(s.strengths(0)) {
			return fmt.Errorf("stream.shift: %s, but %s. Give both one strength for each task, with stream.shift.%s_strengths and stream.shift.%s_strengths",
				s.has(0), s.has(i), s.Kinds[0], kind)
		}
	}
	if len(s.Kinds) > 0 && len(s.strengths(0)) != tasks {
		return fmt.Errorf("stream.shift: %s for %s. Give one strength for each task with stream.shift.%s_strengths",
			s.has(0), count.Of(tasks, "task"), s.Kinds[0])
	}
	return nil
}

// has returns a text that says how many strengths kind i has, and whether they are the survey's.
func (s Shift) has(i int) string {
	whose := ""
	if i >= len(s.Strengths) || len(s.Strengths[i]) == 0 {
		whose = "the survey's "
	}
	return fmt.Sprintf("%s has %s%s", s.Kinds[i], whose, count.Of(len(s.strengths(i)), "strength"))
}

// steps are the transforms of a task of the whole stream.
func (s Shift) steps(task int) []shift.Step {
	steps := make([]shift.Step, len(s.Kinds))
	for i, kind := range s.Kinds {
		steps[i] = shift.Step{Kind: kind, Strength: s.strengths(i)[task]}
	}
	return steps
}

// shifted brings the same classes with every task, in images that are disturbed more strongly from task to task (survey
// tab: ns_mini, §app:exp_detail). The images of each half are shuffled by the sources "stream/shift/train" and
// "stream/shift/test" of the seed and cut into equal tasks, which are not balanced by class.
var shifted = Kind{
	Name: "shift", Scenario: ocl.DomainIncremental, AllClasses: true,
	Summary: "all classes in every task, in images disturbed by noise, occlusion or blur (stream.shift.kind)",
	tasks: func(_ *data.Set, o Options) int {
		if len(o.Shift.Kinds) == 0 {
			return 1
		}
		return len(o.Shift.strengths(0))
	},
	check: func(set *data.Set, o Options) error {
		switch n := min(set.Train.Len(), set.Test.Len()); {
		case len(o.Shift.Kinds) == 0:
			return errors.New("kind shift: nobody says how the images are disturbed. Use stream.shift.kind=noise, occlusion or blur")
		case o.Tasks < 1 || o.Tasks > n:
			return fmt.Errorf("stream.tasks (--tasks): %d is out of range. Use %s, as there are %s in the smaller half", o.Tasks,
				count.Range(1, n), count.Of(n, "image"))
		}
		return o.Shift.check(o.Tasks)
	},
	divide: func(d input) []taskImages {
		train, test := d.train, all(d.set.Test)
		for name, list := range map[string][]int32{"train": train, "test": test} {
			rng.New(d.o.Seed, "stream/shift/"+name).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		shares := make([]taskImages, d.o.Tasks)
		for t := range shares {
			part := func(list []int32) []int32 { return list[t*len(list)/d.o.Tasks : (t+1)*len(list)/d.o.Tasks] }
			shares[t].train, shares[t].test = part(train), part(test)
		}
		nameClasses(shares, d.set)
		return shares
	},
}

// shift disturbs the images of a list of a half, and keeps them: the pixels are the same at each call.
func (s *Tasks) shift(h *half, list int) ([][]uint8, error) {
	if h.shifted == nil {
		h.shifted = make([][][]uint8, len(h.lists))
	}
	var err error
	if h.shifted[list] == nil {
		h.shifted[list], err = s.disturbed(h, h.lists[list], s.original[list])
	}
	return h.shifted[list], err
}

// MemoryBytes is how much memory the images take that the stream makes and keeps: those of the kind shift, of the
// largest task and of all test sets.
func (s *Tasks) MemoryBytes() int64 {
	largest := 0
	for _, list := range s.train.lists {
		largest = max(largest, len(list))
	}
	return s.keptBytes(largest)
}

// keptBytes is the memory of so many disturbed training images and of all disturbed test images.
func (s *Tasks) keptBytes(images int) int64 {
	if s.opts.Kind != shifted.Name {
		return 0
	}
	for _, list := range s.test.lists {
		images += len(list)
	}
	return int64(images) * int64(s.set.ImageLen())
}

// disturbed are images of a half as a task of the whole stream shows them.
func (s *Tasks) disturbed(h *half, images []int32, task int) ([][]uint8, error) {
	o := s.opts.Shift
	return shift.Apply(context.Background(), shift.Task{
		Shape: [3]int{s.set.C, s.set.H, s.set.W}, N: len(images),
		At:    func(i int, buf []uint8) ([]uint8, error) { return h.from.Images.Image(int(images[i]), buf) },
		Index: func(i int) int { return int(images[i]) },
	}, o.steps(task), shift.Options{PerImage: o.PerImage, CrossImage: o.CrossImage, Seed: s.opts.Seed, Task: task,
		Half: h.name})
}
