package method

import (
	"fmt"
	"reflect"
	"slices"

	"ocl"
	"ocl/config"
	"ocl/learn/augment"
	"ocl/learn/learner"
	"ocl/learn/loss"
	"ocl/learn/memory"
)

// Fills has the values that a trick puts into the slots of a learner. A zero field leaves its slot to the method. Only
// the slots decide how tricks combine: their names and the order in which they are given do not matter.
type Fills struct {
	// Labels is the loss on labels, instead of cross entropy.
	Labels loss.Criterion
	// Distil mixes the loss on labels with that of a teacher, which the learner then has. With Alone it has none if
	// replay.kdc_star is authors.
	Distil *loss.Distilled
	Alone  bool
	// Iterations is the number of steps on each incoming batch, unless replay.iterations is set to more than 1.
	Iterations int
	// Reviews has the memory learned once at each task's end.
	Reviews bool
	// Classifies changes the classifier alone: "ncm" is then the first of the config's classifiers.
	Classifies bool

	// Transform makes what changes the images of each step, instead of replay.augment.
	Transform func(ocl.PixelValues) augment.Transform
	// Averages has a mean of the network predict, with the momentum Mean.
	Averages bool
	Mean     float64
	// Follows has that mean teach each step, by this loss around the one on labels. Images are augmented then.
	Follows *loss.MeanDistilled

	// Seen has the learner keep the classes that it has observed, and Counts count the labels of so many last steps; 0
	// counts none. As Classes, they are no slots.
	Seen   bool
	Counts int
	// Classes tells the learner which classes are old and which are new. It is not a slot, because several tricks may need
	// it.
	Classes bool
}

// slots are the places of a learner that tricks fill, in the order in which [Setup.Replay] fills them. A slot holds one
// trick. Two tricks for the same slot exclude each other, and why gives the reason. A learner whose Build has not taken
// what fills the slot ignores the trick, and mend tells its author how it takes it.
var slots = []struct {
	filled func(Fills) bool
	why    string
	taken  func(built) bool
	mend   string
}{
	{func(f Fills) bool { return f.Labels != nil }, "both change the classes of the softmax",
		func(b built) bool { return b.asked.labels || b.kept() }, "let its Build make its loss around Setup.Labels"},
	{func(f Fills) bool { return f.Distil != nil }, "both are the same mixture with different weights",
		func(b built) bool { return b.asked.criterion || b.kept() },
		"let its Build keep the Criterion of Setup.Replay, or put another around Setup.Criterion"},
	{func(f Fills) bool { return f.Distil != nil || f.Follows != nil }, "both learn the answers of a teacher, each of its own",
		func(b built) bool { return b.asked.criterion || b.kept() },
		"let its Build keep the Criterion of Setup.Replay, or put another around Setup.Criterion"},
	{func(f Fills) bool { return f.Iterations > 0 }, "both set the number of steps on a batch",
		func(b built) bool {
			return b.asked.steps || b.some(func(r *learner.Replay) bool { return r.Iterations == b.steps() })
		}, "let its Build make Setup.Steps steps on a batch"},
	{func(f Fills) bool { return f.Transform != nil }, "both change the images",
		func(b built) bool {
			return b.some(func(r *learner.Replay) bool { return r.Augment && r.Transform != nil })
		},
		"let its Build keep Augment and Transform of Setup.Replay"},
	{func(f Fills) bool { return f.Averages }, "both have another network predict",
		func(b built) bool { return b.some(func(r *learner.Replay) bool { return r.Mean != nil }) },
		"let its Build keep the Mean of Setup.Replay"},
	{func(f Fills) bool { return f.Reviews }, "both change what is learned at the end of a task",
		func(b built) bool {
			return b.asked.review || b.some(func(r *learner.Replay) bool { return r.Review != nil && r.Memory != nil })
		}, "let its Build keep samples, and the Review of Setup.Replay"},
	{func(f Fills) bool { return f.Classifies }, "both replace the classifier",
		func(b built) bool { return learner.MemoryOf(b.learner) != nil },
		"let it keep samples, of which the class means are"},
}

// asked records which parts a Build has asked its Setup for.
type asked struct {
	labels, criterion, steps, review bool
	replays                          []*learner.Replay
}

// built records the arguments and the result of a Build.
type built struct {
	Setup
	learner ocl.Learner
}

// some says whether a Replay of the learner is so.
func (b built) some(is func(*learner.Replay) bool) bool {
	return slices.ContainsFunc(b.asked.replays, is)
}

// kept says whether a Replay of the learner has the criterion that it was made with.
func (b built) kept() bool {
	return b.some(func(r *learner.Replay) bool { return reflect.DeepEqual(r.Criterion, b.criterion()) })
}

// ignored returns an error for the first trick that the method does not refuse and that its Build has left out.
func (b built) ignored() error {
	for _, t := range chosen(b.Tricks) {
		for _, slot := range slots {
			if slot.filled(t.Fills) && !slot.taken(b) {
				return fmt.Errorf("method: %s with %s: the method does not use what the trick changes, so the result would be that without the trick. "+
					"Use another method or another trick; who writes the method: name the trick in Refuses of its Info, or %s",
					b.of.Name, t.Name, slot.mend)
			}
		}
	}
	return nil
}

// StepsAlone says whether the trick changes the number of steps and nothing else.
func (f Fills) StepsAlone() bool {
	return f.Iterations > 0 && reflect.DeepEqual(f, Fills{Iterations: f.Iterations})
}

// TaskBoundaries says whether the learner is told when a task begins and ends.
func (f Fills) TaskBoundaries() bool { return f.Classes || f.Distil != nil || f.Reviews }

// Excludes says whether two tricks fill the same slot and so cannot be combined, with the reason.
func (t Trick) Excludes(other Trick) (reason string, excluded bool) {
	for _, slot := range slots {
		if t.Name != other.Name && slot.filled(t.Fills) && slot.filled(other.Fills) {
			return slot.why, true
		}
	}
	return "", false
}

// fills joins the Fills of all tricks of a run.
func (s Setup) fills() Fills {
	var all Fills
	for _, t := range chosen(s.Tricks) {
		f := t.Fills
		if t.With != nil {
			f = t.With(s)
		}
		if f.Labels != nil {
			all.Labels = f.Labels
		}
		if f.Distil != nil {
			all.Distil, all.Alone = f.Distil, f.Alone
		}
		all.Iterations = max(all.Iterations, f.Iterations)
		all.Reviews = all.Reviews || f.Reviews
		all.Classifies = all.Classifies || f.Classifies
		all.Classes = all.Classes || f.Classes
		all.Seen, all.Counts = all.Seen || f.Seen, max(all.Counts, f.Counts)
		if f.Transform != nil {
			all.Transform = f.Transform
		}
		if f.Averages {
			all.Averages, all.Mean, all.Follows = true, f.Mean, f.Follows
		}
	}
	return all
}

// Replay makes a Replay without a memory, which is Finetune, with the slots that the tricks of a run fill: first the
// loss on labels, then the distillation around it with its teacher, then the classes that either of them needs, then
// the steps and the review. The classifier is not part of it; an evaluation asks [Setup.Classified]. It draws nothing.
func (s Setup) Replay() *learner.Replay {
	r := &learner.Replay{Net: s.Net, WS: s.WS, Opt: s.Opt.New(), Augment: s.Augment, Seed: s.Seed}
	f := s.fills()
	r.Criterion = s.criterion()
	if s.Taught() {
		r.Teacher = &learner.Teacher{Training: s.Training}
	}
	if f.Classes || f.Distil != nil { // the weight of distillation depends on their numbers
		r.Classes = &learner.Classes{}
	}
	r.Iterations, r.Review, r.Update = s.steps(), s.review(), s.updater()
	if f.Seen {
		r.Seen = &learner.Seen{}
	}
	if f.Counts > 0 {
		r.Recent = &learner.Recent{Steps: f.Counts}
	}
	if f.Averages {
		r.Mean = &learner.Mean{Momentum: f.Mean, Teaches: f.Follows != nil}
	}
	if f.Follows != nil && s.Latent == nil {
		r.Augment = true
	}
	if f.Transform != nil && s.Latent == nil {
		r.Augment, r.Transform = true, f.Transform(s.Pixels)
	}
	if s.asked != nil {
		s.asked.replays = append(s.asked.replays, r)
	}
	return r
}

// updater is what decides which samples the memory keeps.
func (s Setup) updater() memory.Updater {
	switch s.Update {
	case config.UpdateBalanced:
		return &memory.Balanced{}
	case config.UpdateGreedy:
		return &memory.Greedy{Always: true}
	}
	return memory.Reservoir{}
}

// Criterion returns the loss that Replay gives its learner, for a Build that puts another around it: the loss on
// labels, with the distillation of a trick around it. nil is cross entropy.
func (s Setup) Criterion() loss.Criterion {
	if s.asked != nil {
		s.asked.labels, s.asked.criterion = true, true
	}
	return s.criterion()
}

func (s Setup) criterion() loss.Criterion {
	f := s.fills()
	if f.Distil != nil {
		return loss.Distilled{Labels: f.Labels, Root: f.Distil.Root, Alone: !s.Taught()}
	}
	if f.Follows != nil {
		follows := *f.Follows
		follows.Labels = f.Labels
		return follows
	}
	return f.Labels
}

// Labels returns the loss on labels without distillation: cross entropy, or what a trick puts in its place.
func (s Setup) Labels() loss.Criterion {
	if s.asked != nil {
		s.asked.labels = true
	}
	if f := s.fills(); f.Labels != nil {
		return f.Labels
	}
	return loss.CrossEntropy{}
}

// Steps is the number of steps on each incoming batch, that of a trick included.
func (s Setup) Steps() int {
	if s.asked != nil {
		s.asked.steps = true
	}
	return s.steps()
}

func (s Setup) steps() int {
	if n := s.fills().Iterations; n > 0 && s.Iterations <= 1 {
		return n
	}
	return s.Iterations
}

// Taught says whether a teacher predicts all rows of a step because of a trick.
func (s Setup) Taught() bool {
	f := s.fills()
	return f.Distil != nil && !(f.Alone && s.Undistilled)
}

// Followed says whether a mean of the network teaches each step because of a trick.
func (s Setup) Followed() bool { return s.fills().Follows != nil }

// Networks is how many further networks a trick keeps beside the one that learns and a teacher of the last task: means
// of it, and what predicts.
func (s Setup) Networks() int {
	switch f := s.fills(); {
	case f.Follows != nil:
		return 2
	case f.Averages:
		return 1
	}
	return 0
}

// Reviewed says whether the memory is learned once more at each task's end.
func (s Setup) Reviewed() bool { return s.fills().Reviews }

// Classified says whether a trick replaces the classifier by the nearest class mean.
func (s Setup) Classified() bool { return s.fills().Classifies }

// Review returns the review of a learner, or nil if no trick reviews the memory.
func (s Setup) Review() *learner.Review {
	if s.asked != nil {
		s.asked.review = true
	}
	return s.review()
}

func (s Setup) review() *learner.Review {
	if !s.Reviewed() {
		return nil
	}
	return &learner.Review{Batch: s.ReplayBatch}
}
