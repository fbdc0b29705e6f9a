package learnertest_test

import (
	"context"
	"errors"
	"testing"

	"ocl"
	"ocl/internal/rng"
	"ocl/learner"
	"ocl/learner/learnertest"
	"ocl/memory"
	"ocl/nn/arch"
	"ocl/optim"
)

// sleeper builds a Sleeper on a small perceptron.
func sleeper(t *testing.T, seed uint64, every, steps int) *learnertest.Sleeper {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{16}}, rng.New(seed, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	t.Cleanup(ws.Close)
	r := &learner.Replay{
		Net: net, WS: ws, Opt: optim.SGD{LR: 0.1, Momentum: 0.5}.New(), Seed: seed, Memory: memory.NewStore(12, [3]int{3, 5, 4}, nil),
	}
	return learnertest.NewSleeper(r, every, steps)
}

// TestSleeper runs the contract, that of pausing included.
func TestSleeper(t *testing.T) {
	learnertest.Run(t, learnertest.Case{
		Shape: [3]int{3, 5, 4}, Classes: 6, Capacity: 12,
		New: func(t *testing.T, seed uint64) ocl.Learner { return sleeper(t, seed, 3, 4) },
		Vary: map[string]func(*testing.T, uint64) ocl.Learner{
			"every": func(t *testing.T, seed uint64) ocl.Learner { return sleeper(t, seed, 2, 4) },
			"steps": func(t *testing.T, seed uint64) ocl.Learner { return sleeper(t, seed, 3, 5) },
		},
	})
}

// TestSleeperCost: a step costs all of its sleep, over a pause too.
func TestSleeperCost(t *testing.T) {
	l, paused := sleeper(t, 1, 1, 4), sleeper(t, 1, 1, 4)
	b := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}.Batches(1, 1, 5)[0]
	learnertest.Observe(t, l, []ocl.Batch{b})
	if c := l.Cost(); c.StepFLOPs != (1+4)*3*5*c.ImageFLOPs {
		t.Errorf("%+v, want a step and four more, forward and backward, on five images", c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	paused.Watch(func(done, _ int) {
		if done == 2 {
			cancel()
		}
	})
	if _, err := paused.Observe(ctx, b); !errors.Is(err, context.Canceled) || !paused.Paused() {
		t.Fatalf("error %v, paused %v", err, paused.Paused())
	}
	learnertest.Observe(t, paused, []ocl.Batch{b})
	if paused.Cost() != l.Cost() {
		t.Errorf("%+v after a pause, want %+v", paused.Cost(), l.Cost())
	}
}
