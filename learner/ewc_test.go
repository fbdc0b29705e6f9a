package learner_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ocl"
	"ocl/internal/rng"
	"ocl/learner"
	"ocl/learner/learnertest"
	"ocl/loss"
	"ocl/nn/arch"
)

// TestEWCIsFinetune with λ = 0, and in the first task.
func TestEWCIsFinetune(t *testing.T) {
	r := residual(t)
	sameAsFinetune(t, "λ = 0", learner.NewEWC(r, learner.EWCOptions{Alpha: 0.9, Every: 2}), r, 6)
	r = residual(t)
	sameAsFinetune(t, "first task", learner.NewEWC(r, learner.EWCOptions{Lambda: 100, Alpha: 0.9, Every: 2}), r, 3)
}

// TestEWCFisher follows the running average, the importance and the penalty by hand, in float64 (docs/deviations.md:
// EWC++).
func TestEWCFisher(t *testing.T) {
	for _, raw := range []bool{false, true} {
		net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{2}}, rng.New(1, "network/init"))
		if err != nil {
			t.Fatal(err)
		}
		r := learnerOf(t, net, 0.1)
		o := learner.EWCOptions{Lambda: 2, Alpha: 0.75, Every: 3, Raw: raw}
		e := learner.NewEWC(r, o)
		strength := o.Lambda
		if raw {
			strength, o.Every = o.Lambda/2, 1
		}
		n := len(r.Net.Params())
		fisher, sum, weight, anchor := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for task, length := range []int{7, 5, 4} { // 7: the batch after the second refreshment counts in the next task
			if err := e.BeginTask(ocl.TaskInfo{Index: task}); err != nil {
				t.Fatal(err)
			}
			for step, b := range made.Batches(uint64(task+1), length, 5) {
				if (step+1)%o.Every == 0 {
					for i := range fisher {
						fisher[i] = (1-o.Alpha)*fisher[i] + o.Alpha/float64(o.Every)*sum[i]
						sum[i] = 0
					}
				}
				g, want := gradient(t, r.Net, b)
				for i, v := range r.Net.Params() {
					d := float64(v) - anchor[i]
					want += strength * weight[i] * d * d
					total := float64(g[i]) + 2*strength*weight[i]*d
					sum[i] += total * total
				}
				s, err := e.Observe(context.Background(), b)
				if err != nil || !(math.Abs(s.Loss-want) <= 1e-5*max(1, want)) {
					t.Fatalf("raw %v, task %d, step %d: loss %v (%v), want %v", raw, task+1, step+1, s.Loss, err, want)
				}
			}
			if err := e.EndTask(context.Background()); err != nil {
				t.Fatal(err)
			}
			least, most := fisher[0], fisher[0]
			for _, f := range fisher {
				least, most = min(least, f), max(most, f)
			}
			importance := make([]float32, n)
			if err := learnertest.State(t, e).Decoder().Float32s("ewc/weight", importance); err != nil {
				t.Fatal(err)
			}
			if lo, hi := slices.Min(importance), slices.Max(importance); !raw && (lo != 0 || hi != 1) || !(least > 0) {
				t.Errorf("task %d: importance from %v to %v, Fisher information from %v; want 0 to 1 from above 0", task+1, lo, hi, least)
			}
			for i, f := range fisher {
				if weight[i] = f; !raw {
					weight[i] = (f - least) / (most - least)
				}
				anchor[i] = float64(r.Net.Params()[i])
			}
		}
	}
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

// TestEWCForwards: EWC++ passes the boundaries of tasks on to its Replay. With λ = 0, EWC++ with a teacher, classes and a review
// equals a Replay with them, bit for bit. Its anchor θ* is the network after the review.
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
	if err := learnertest.State(t, e).Decoder().Float32s("ewc/anchor", anchor); err != nil || !slices.Equal(anchor, r.Net.Params()) {
		t.Errorf("it holds on to another network than that after the review (%v)", err)
	}
}
