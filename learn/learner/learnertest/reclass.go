package learnertest

import (
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
)

// reclasses checks a learner that makes one class of two and two of one, and lets go of one ([learner.Reclassing]), in
// the middle of the second task. A class that has gone is stored and predicted no more, what is no class changes
// nothing, and a learner that loaded the state goes on to the same bits. One that refuses, because its memory carries
// numbers by class, changes nothing.
func (c Case) reclasses(t *testing.T) {
	const from, into, gone = 0, 1, 2
	all := c.Batches(1, 2*c.Steps, 5)
	half := c.Steps + 1
	l, twin := c.New(t, 1), c.New(t, 1)
	c.Learn(t, l, all, 0, half)
	prepare(t, l)
	r := l.(learner.Reclassing)
	before := State(t, l)
	refused := []error{r.Merge(0, 0), r.Merge(-1, 0), r.Merge(0, ocl.Label(c.Classes)), r.RemoveClass(-1),
		r.RemoveClass(ocl.Label(c.Classes)), r.Split(into, into), r.Split(into, ocl.Label(c.Classes))}
	if slices.Contains(refused, nil) {
		t.Errorf("what is no class: %v", refused)
	}
	CheckSame(t, "after what it refused", State(t, l), before)

	m := learner.MemoryOf(l)
	counts := map[ocl.Label]int{}
	if m != nil {
		counts = m.Counts()
	}
	if err := r.Merge(from, into); err != nil {
		if r.RemoveClass(gone) == nil {
			t.Errorf("it removes a class, and refuses to merge: %v", err)
		}
		CheckSame(t, "it refused", State(t, l), before)
		return
	}
	if err := r.RemoveClass(gone); err != nil {
		t.Fatal(err)
	}
	if m != nil {
		now := m.Counts()
		if now[from] != 0 || now[gone] != 0 || now[into] != counts[into]+counts[from] {
			t.Errorf("stored are %v, and were %v", now, counts)
		}
	}
	if err := r.Split(into, gone); err != nil {
		t.Fatal(err)
	}
	if open, ok := l.(learner.Open); ok && open.Parts().Net.Info().Head.PerClass() {
		out := logits(open, c.images(l))
		for i := range out.Dim(0) {
			if row := out.Row(i); row[gone] != row[into] {
				t.Errorf("image %d: the output that was copied is %v, and its copy %v", i, row[into], row[gone])
			}
		}
	}
	if err := r.RemoveClass(gone); err != nil {
		t.Fatal(err)
	}
	later := make([]ocl.Batch, len(all))
	for i, b := range all {
		later[i] = b.Clone()
		for j, y := range b.Y {
			if y == from || y == gone {
				later[i].Y[j] = into
			}
		}
	}
	load(t, twin, throughFile(t, State(t, l)))
	CheckSame(t, "loaded after classes have gone", State(t, twin), State(t, l))
	for step, hi := range []int{half, 2 * c.Steps} {
		c.Learn(t, l, later, half, hi)
		if m != nil && m.Len() == 0 {
			continue
		}
		for i, y := range Predict(t, l, c.images(l)) {
			if y == from || y == gone {
				t.Errorf("image %d is of class %d, which has gone (%d)", i, y, step)
			}
		}
	}
	prepare(t, twin)
	c.Learn(t, twin, later, half, 2*c.Steps)
	prepare(t, twin)
	CheckSame(t, "learned on after classes have gone", State(t, twin), State(t, l))
}
