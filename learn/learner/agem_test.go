package learner_test

import (
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/memory"
)

// residualCase is what residual learns.
var residualCase = learnertest.Case{Shape: [3]int{3, 32, 32}, Classes: 6}

// sameAsFinetune wants a learner to do what Finetune does on the first n of 6 batches of two tasks, bit for bit.
func sameAsFinetune(t *testing.T, what string, l ocl.Learner, of *learner.Replay, n int) {
	t.Helper()
	finetune := residual(t)
	batches := residualCase.Batches(1, 6, 5)
	got, want := residualCase.Learn(t, l, batches, 0, n), residualCase.Learn(t, finetune, batches, 0, n)
	if !slices.Equal(got, want) || !slices.Equal(of.Net.Params(), finetune.Net.Params()) ||
		!slices.Equal(of.Net.Running(), finetune.Net.Running()) {
		t.Errorf("%s: stats %v, Finetune %v, or another network", what, got, want)
	}
}

// TestAGEMIsFinetune without samples in memory, and in the first task.
func TestAGEMIsFinetune(t *testing.T) {
	r := residual(t)
	sameAsFinetune(t, "no memory", learner.NewAGEM(r), r, 6)
	r = residual(t)
	r.Memory = memory.NewStore(0, residualCase.Shape, nil)
	sameAsFinetune(t, "empty memory", learner.NewAGEM(r), r, 6)
	r = residual(t)
	r.Memory = memory.NewStore(12, residualCase.Shape, nil)
	sameAsFinetune(t, "first task", learner.NewAGEM(r), r, 3)
	if r.Memory.Len() != 12 {
		t.Errorf("%d samples stored in the first task, want 12", r.Memory.Len())
	}
}

// boundaries are the learners that use task boundaries.
var boundaries = map[string]func(*learner.Replay) ocl.Learner{
	"A-GEM": func(r *learner.Replay) ocl.Learner {
		r.Memory = memory.NewStore(12, r.Net.Info().Input, nil)
		return learner.NewAGEM(r)
	},
	"EWC++": func(r *learner.Replay) ocl.Learner {
		return learner.NewEWC(r, learner.EWCOptions{Lambda: 1, Alpha: 0.9, Every: 2})
	},
	"LwF":    func(r *learner.Replay) ocl.Learner { return learner.NewLwF(r, false) },
	"LwF.MC": func(r *learner.Replay) ocl.Learner { return learner.NewLwF(r, true) },
}

// TestBoundariesForget: a learner that has seen two tasks and loads a state of the first one has no teacher and no
// anchor.
func TestBoundariesForget(t *testing.T) {
	batches := made.Batches(1, 8, 5)
	for name, make := range boundaries {
		whole, used := make(perceptron(t, 0.1)), make(perceptron(t, 0.1))
		made.Learn(t, whole, batches, 0, 2)
		state := learnertest.State(t, whole)
		made.Learn(t, used, made.Batches(2, 8, 5), 0, 8)
		if err := used.LoadState(state.Decoder()); err != nil {
			t.Fatal(err)
		}
		learnertest.CheckSame(t, name+", just loaded", learnertest.State(t, used), state)
		want, got := made.Learn(t, whole, batches, 2, 8), made.Learn(t, used, batches, 2, 8)
		if !slices.Equal(got, want) {
			t.Errorf("%s: stats %v, want %v", name, got, want)
		}
		learnertest.CheckSame(t, name, learnertest.State(t, used), learnertest.State(t, whole))
	}
}
