package method

import (
	"fmt"
	"slices"
	"strings"
)

// Pass is work of the engine that every step of a method has to do.
type Pass struct {
	Work   Work
	Images []int // in each batch; batches of one Pass do not depend on each other
}

// Work is a kind of pass.
type Work string

// Kinds of passes.
const (
	Learn   Work = "learn"   // forward and backward
	Predict Work = "predict" // forward in evaluation mode
	Measure Work = "measure" // forward in evaluation mode by the network that learns, some images at a time
	// forward by the network and by a copy whose weights are new, by the batch's own statistics
	Score     Work = "score"
	Gradients Work = "gradients" // forward in evaluation mode and backward to a gradient of each image
)

// String returns a text such as "learn 10 + 10".
func (p Pass) String() string {
	return string(p.Work) + " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Images), " ", " + "), "[]")
}

// Forwards returns the arithmetic of a pass, in forward passes of one image. A backward pass counts as two.
func (p Pass) Forwards() int {
	sum := 0
	for _, n := range p.Images {
		sum += n
	}
	switch p.Work {
	case Predict, Measure:
		return sum
	case Score:
		return 2 * sum
	}
	return 3 * sum
}

// StepPasses are the passes of a step with b incoming samples and a full memory, from the second task on. For a method
// that trains when it prepares they are those of a step of that training, for one that learns offline those of a
// batch of its own size. They are exactly what Cost of a learner counts, but for four methods whose work depends on
// the data or the step: ASER judges fewer samples where classes have few, iCaRL replays fewer rows once most of its
// memory is of the current task, GSS with gate batch computes its gradients a second time if the batch is accepted, and
// CLIB measures in some steps alone if every says so. Of the setup, Memory and everything from the config must be set.
// A method with networks of its own, or that Solves, has none.
func (i Info) StepPasses(s Setup, b int) []Pass {
	var once []Pass
	switch {
	case i.Passes != nil:
		once = i.Passes(s, b)
	case i.OwnNetworks, i.Solves != nil:
		return nil
	case i.UsesMemory:
		once = ReplayPasses(s, b)
	default:
		once = LearnPasses(s, b)
	}
	if s.Taught() {
		var taught []Pass
		for _, p := range once {
			if p.Work == Learn {
				taught = append(taught, Pass{Predict, p.Images})
			}
		}
		once = append(taught, once...)
	}
	if s.Followed() { // the mean answers for each batch, and the batch is learned as it came too
		var followed []Pass
		for _, p := range once {
			if p.Work == Learn {
				followed = append(followed, Pass{Predict, p.Images})
				p.Images = slices.Concat(p.Images, p.Images)
			}
			followed = append(followed, p)
		}
		once = followed
	}
	if !slices.Contains(i.Settings, "replay.iterations") {
		return once
	}
	var all []Pass
	for n := range max(1, s.Steps()) {
		for _, p := range once {
			if n == 0 || p.Work != Gradients { // the memory is updated once
				all = append(all, p)
			}
		}
	}
	return all
}

// Rows counts the rows of passes that go forward through a network and backward, each through one of maybe several
// networks.
func Rows(passes []Pass) (forward, backward int) {
	for _, p := range passes {
		sum := 0
		for _, n := range p.Images {
			sum += n
		}
		switch forward += sum; p.Work {
		case Score:
			forward += sum
		case Learn, Gradients:
			backward += sum
		}
	}
	return forward, backward
}

// Copies is how many networks or vectors of the length of its parameters a learner keeps from step to step beside its
// network: a teacher, means of the network, and [Traits.Vectors]. What the optimiser keeps is not among them. The setup
// and b are those of [Info.StepPasses].
func (i Info) Copies(s Setup, b int) int {
	n := i.Vectors + s.Networks()
	if !s.Followed() && slices.ContainsFunc(i.StepPasses(s, b), func(p Pass) bool { return p.Work == Predict }) {
		n++
	}
	return n
}

// LearnPasses are the passes of a method that learns from the incoming batch of b rows alone.
func LearnPasses(_ Setup, b int) []Pass { return []Pass{{Learn, []int{b}}} }

// ReplayPasses are the passes of ER: the incoming batch of b rows, and [Setup.Replayed] rows of a full memory.
func ReplayPasses(s Setup, b int) []Pass {
	n := s.Replayed()
	switch {
	case n == 0:
		return LearnPasses(s, b)
	case s.Joint:
		return []Pass{{Learn, []int{b + n}}}
	}
	return []Pass{{Learn, []int{b, n}}}
}

// Replayed is the number of rows that are replayed from a full memory in each step.
func (s Setup) Replayed() int { return min(s.ReplayBatch, s.Memory) }
