package learner_test

import (
	"context"
	"runtime"
	"testing"

	"ocl"
	"ocl/internal/rng"
	"ocl/learner"
	"ocl/learner/learnertest"
	"ocl/memory"
	"ocl/nn/arch"
	"ocl/optim"
)

// BenchmarkBoundaries is a step of the survey's network in the second task, on 10 images of 32×32: "finetune" and "er" are
// what the others are to be held against, one pass and two, and "teacher" is the forward pass that LwF adds.
func BenchmarkBoundaries(b *testing.B) {
	c := learnertest.Case{Shape: [3]int{3, 32, 32}, Classes: 100}
	batches := c.Batches(1, 20, 10)
	build := func(b *testing.B) *learner.Replay {
		net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 100, NF: 20}, rng.New(1, "network/init"))
		if err != nil {
			b.Fatal(err)
		}
		ws := net.NewWorkspace(runtime.GOMAXPROCS(0))
		b.Cleanup(ws.Close)
		return &learner.Replay{Net: net, WS: ws, Opt: optim.NewSGD(optim.SGD{LR: 0.001}), Seed: 1}
	}
	replay := func(r *learner.Replay) *learner.Replay {
		r.Memory = memory.NewStore(100, c.Shape)
		return r
	}
	for _, m := range []struct {
		name string
		make func(*learner.Replay) ocl.Learner
	}{
		{"finetune", func(r *learner.Replay) ocl.Learner { return r }},
		{"ewc++", func(r *learner.Replay) ocl.Learner {
			return learner.NewEWC(r, learner.EWCOptions{Lambda: 1, Alpha: 0.9, Every: 50})
		}},
		{"lwf", func(r *learner.Replay) ocl.Learner { return learner.NewLwF(r, false) }},
		{"er", func(r *learner.Replay) ocl.Learner { return replay(r) }},
		{"agem", func(r *learner.Replay) ocl.Learner { return learner.NewAGEM(replay(r)) }},
	} {
		b.Run(m.name, func(b *testing.B) {
			l := m.make(build(b))
			for task := range 2 {
				if aware, ok := l.(ocl.TaskAware); ok {
					if err := aware.BeginTask(ocl.TaskInfo{Index: task, Classes: []ocl.Label{ocl.Label(task)}}); err != nil {
						b.Fatal(err)
					}
				}
				for _, batch := range batches[10*task:][:10] {
					if _, err := l.Observe(context.Background(), batch); err != nil {
						b.Fatal(err)
					}
				}
				if aware, ok := l.(ocl.TaskAware); ok && task == 0 {
					if err := aware.EndTask(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			}
			i := 0
			for b.Loop() {
				if _, err := l.Observe(context.Background(), batches[10+i%10]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
	b.Run("teacher", func(b *testing.B) {
		r := build(b)
		ws := r.WS.Beside()
		for b.Loop() {
			r.Net.Predict(ws, batches[0].X)
		}
	})
}
