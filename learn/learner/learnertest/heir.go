package learnertest

import (
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/nn/tensor"
	"ocl/rng"
)

// further is how many more classes a grown learner (Case.Heir) has.
const further = 3

// grows checks that a learner for more classes can load the state of one for fewer. Then it has the same logits for the
// old classes (all outputs, where there is none a class), it saves a state of its own size, and it learns the new
// classes. With no further classes it is the same learner.
func (c Case) grows(t *testing.T) {
	old := c.New(t, 1)
	batches := c.Batches(1, 2*c.Steps, 5)
	c.Learn(t, old, batches, 0, 2*c.Steps)
	prepare(t, old)
	saved := throughFile(t, State(t, old))
	test := c.Batches(2, 1, 23)[0].X

	heir := c.Heir(t, 2, c.Classes+further)
	load(t, heir, saved)
	if open, ok := old.(learner.Open); ok {
		a, b := logits(open, test), logits(heir.(learner.Open), test)
		old, more := a.Dim(1), 0
		if open.Parts().Net.Info().Head.PerClass() {
			more = further
		}
		for i := range test.Dim(0) {
			if got := b.Row(i); len(got) != old+more || !slices.Equal(got[:old], a.Row(i)) {
				t.Errorf("image %d: the old outputs are %v, and were %v", i, got, a.Row(i))
			}
		}
	}
	grown := State(t, heir)
	twin := c.Heir(t, 3, c.Classes+further)
	load(t, twin, throughFile(t, grown))
	CheckSame(t, "the state of the heir, loaded", State(t, twin), grown)
	more := c.newClasses()
	c.learnThird(t, heir, more, further)
	c.learnThird(t, twin, more, further)
	CheckSame(t, "the heir and what loaded its state, at the end", State(t, twin), State(t, heir))
	for _, y := range Predict(t, heir, more[0].X) {
		if y < 0 || int(y) >= c.Classes+further {
			t.Errorf("label %d, want one in [0, %d)", y, c.Classes+further)
		}
	}
	if open, ok := heir.(learner.Open); ok && open.Parts().Net.Info().Head.PerClass() {
		unlearned := c.Heir(t, 4, c.Classes+further)
		load(t, unlearned, grown)
		a, b := logits(unlearned.(learner.Open), more[0].X), logits(open, more[0].X)
		if slices.Equal(a.Row(0)[c.Classes:], b.Row(0)[c.Classes:]) {
			t.Errorf("the logits of the new classes are still %v after they were learned", a.Row(0)[c.Classes:])
		}
	}

	same := c.Heir(t, 2, c.Classes)
	load(t, same, saved)
	CheckSame(t, "an heir of the same size", State(t, same), saved)
	c.learnThird(t, same, batches[:c.Steps], 0)
	c.learnThird(t, old, batches[:c.Steps], 0)
	CheckSame(t, "an heir of the same size, at the end", State(t, same), State(t, old))
}

// logits returns the logits of the images x.
func logits(l learner.Open, x *tensor.Tensor) *tensor.Tensor {
	p := l.Parts()
	return p.Net.Predict(p.WS, x).Logits
}

// newClasses returns batches with images of the further classes.
func (c Case) newClasses() []ocl.Batch {
	batches := c.Batches(4, 2*c.Steps, 5)
	src := rng.New(4, "learnertest/new classes")
	for _, b := range batches {
		for i := range b.Y {
			b.Y[i] = ocl.Label(c.Classes + src.IntN(further))
		}
	}
	return batches
}

// learnThird shows batches to l as a third task, which has further new classes. If further is 0, it has those of the
// first task.
func (c Case) learnThird(t *testing.T, l ocl.Learner, batches []ocl.Batch, further int) {
	t.Helper()
	task := ocl.TaskInfo{Index: 2, Classes: c.task(0).Classes}
	if further > 0 {
		task.Classes = nil
	}
	for k := range further {
		task.Classes = append(task.Classes, ocl.Label(c.Classes+k))
	}
	beginTask(t, l, task)
	Observe(t, l, batches)
	endTask(t, l)
}
