package learner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/loss"
)

// TestEWCIsFinetune with λ = 0, and in the first task.
func TestEWCIsFinetune(t *testing.T) {
	r := residual(t)
	sameAsFinetune(t, "λ = 0", learner.NewEWC(r, learner.EWCOptions{Alpha: 0.9, Every: 2}), r, 6)
	r = residual(t)
	sameAsFinetune(t, "first task", learner.NewEWC(r, learner.EWCOptions{Lambda: 100, Alpha: 0.9, Every: 2}), r, 3)
}

// TestEWCExplodes: a λ beyond what the learning rate bears ends in ErrDiverged that names λ.
func TestEWCExplodes(t *testing.T) {
	e := learner.NewEWC(perceptron(t, 0.1), learner.EWCOptions{Lambda: 1e6, Alpha: 0.9, Every: 1})
	made.Learn(t, e, made.Batches(1, 6, 5), 0, 3)
	var err error
	for _, b := range made.Batches(2, 100, 5) {
		if _, err = e.Observe(context.Background(), b); err != nil {
			break
		}
	}
	if !errors.Is(err, ocl.ErrDiverged) || !strings.Contains(err.Error(), "a smaller λ than 1e+06") {
		t.Errorf("λ = 1e6: error %v, want ErrDiverged that names λ", err)
	}
}

// TestEWCForwards: EWC++ passes the boundaries of tasks on to its Replay. With λ = 0, EWC++ with a teacher, classes and
// a review equals a Replay with them, bit for bit. Its anchor θ* is the network after the review.
func TestEWCForwards(t *testing.T) {
	build := func() *learner.Replay {
		r := replaying(t, 11)
		r.Classes, r.Teacher, r.Criterion = &learner.Classes{}, &learner.Teacher{}, loss.Distilled{Labels: loss.Separated{}}
		r.Review = &learner.Review{Batch: 4}
		return r
	}
	plain, r := build(), build()
	e := learner.NewEWC(r, learner.EWCOptions{Alpha: 0.9, Every: 2})
	batches := residualCase.Batches(1, 6, 5)
	want := residualCase.Learn(t, learner.Bounded{Replay: plain}, batches, 0, 6)
	if got := residualCase.Learn(t, e, batches, 0, 6); !slices.Equal(got, want) {
		t.Errorf("stats %v, want %v", got, want)
	}
	if !slices.Equal(plain.Net.Params(), r.Net.Params()) || !slices.Equal(plain.Net.Running(), r.Net.Running()) {
		t.Error("another network than that of the Replay alone")
	}
	anchor := make([]float32, len(r.Net.Params()))
	if err := (checkpoint.Parts{checkpoint.Numbers("ewc/anchor", anchor)}).LoadState(learnertest.State(t,
		e).Decoder()); err != nil || !slices.Equal(anchor, r.Net.Params()) {
		t.Errorf("it holds on to another network than that after the review (%v)", err)
	}
}
