package learner_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/loss"
	"ocl/nn"
)

// TestActiveClasses: a learner with replay, a teacher and class means learns classes that become active one by one. A
// label that is not active is an error, logits that are not active are never predicted, and the teacher has logits of
// all active classes.
func TestActiveClasses(t *testing.T) {
	r := replaying(t, 12)
	r.Classes, r.Teacher, r.Criterion = &learner.Classes{}, &learner.Teacher{}, loss.Distilled{}
	l := learner.Bounded{Replay: r}
	ctx := context.Background()
	all := residualCase.Batches(1, 8, 5)
	batch := func(i int, labels ...ocl.Label) ocl.Batch {
		b := all[i].Clone()
		for j := range b.Y {
			b.Y[j] = labels[j%len(labels)]
		}
		return b
	}
	begin := func(l learner.Bounded, index int, classes ...ocl.Label) {
		t.Helper()
		if err := l.BeginTask(ocl.TaskInfo{Index: index, Classes: classes}); err != nil {
			t.Fatal(err)
		}
	}
	observe := func(l learner.Bounded, b ocl.Batch) {
		t.Helper()
		if s, err := l.Observe(ctx, b); err != nil || math.IsNaN(s.Loss) {
			t.Fatal(s, err)
		}
	}
	r.Net.SetActive(2)
	begin(l, 0, 0, 1)
	if _, err := l.Observe(ctx, batch(0, 0, 2)); err == nil {
		t.Error("class 2 of 2 active ones was learned")
	}
	for i := range 3 {
		observe(l, batch(i, 0, 1))
	}
	if err := l.EndTask(ctx); err != nil {
		t.Fatal(err)
	}
	r.Net.SetActive(3)
	begin(l, 1, 2)
	observe(l, batch(3, 2))
	var ncm learner.NCM
	if err := ncm.Fit(ctx, r.Net, r.WS, r.Memory); err != nil || slices.Max(ncm.Classes()) > 2 {
		t.Errorf("means of classes %v: %v", ncm.Classes(), err)
	}
	labels := make([]ocl.Label, all[4].Len())
	if err := l.Predict(labels, all[4].X); err != nil || slices.Max(labels) > 2 {
		t.Errorf("predicted %v of 3 active classes: %v", labels, err)
	}
	if z := r.Net.Forward(r.WS, all[4].X, nn.Eval); z.Dim(1) != 3 {
		t.Errorf("logits %v, want 3 a row", z.Shape)
	}
}
