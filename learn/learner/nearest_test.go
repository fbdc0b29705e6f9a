package learner_test

import (
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

// nearest is a learner by class means on the network of perceptron, for some classes of which from are inherited.
func nearest(t *testing.T, seed uint64, from, classes int, head nn.Head) *learner.Nearest {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: classes, Hidden: []int{16}, Head: head},
		rng.New(seed, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	if from > 0 {
		net.Inherit(from)
	}
	r := learnerOf(t, net, 0)
	if !head.PerClass() {
		r.Criterion = criterionFunc(loss.CrossEntropy{}.Eval) // of somebody else
	}
	r.Opt, r.Seed, r.Memory = optim.SGD{LR: 0.1, Momentum: 0.5}.New(), seed, memory.NewStore(12, shape, nil)
	return &learner.Nearest{Replay: r}
}

// TestNearestContract runs the contract with an output a class, and with a head that has none.
func TestNearestContract(t *testing.T) {
	for name, head := range map[string]nn.Head{"linear": {}, "projection": {Kind: nn.ProjectionHead, Out: 9}} {
		t.Run(name, func(t *testing.T) {
			c := made
			c.Capacity = 12
			c.New = func(t *testing.T, seed uint64) ocl.Learner { t.Helper(); return nearest(t, seed, 0, 6, head) }
			c.Heir = func(t *testing.T, seed uint64, classes int) ocl.Learner {
				t.Helper()
				return nearest(t, seed, 6, classes, head)
			}
			learnertest.Run(t, c)
		})
	}
}

// TestNearestTrainsAsReplay: it is a Replay with another rule, which is that of NCM on the memory.
func TestNearestTrainsAsReplay(t *testing.T) {
	l, plain := nearest(t, 1, 0, 6, nn.Head{}), nearest(t, 1, 0, 6, nn.Head{}).Replay
	batches := made.Batches(1, 6, 5)
	learnertest.Observe(t, l, batches)
	learnertest.Observe(t, plain, batches)
	learnertest.CheckSame(t, "a Replay", learnertest.State(t, l.Replay), learnertest.State(t, plain))
	b := made.Batches(2, 1, 23)[0]
	if got, want := learnertest.Predict(t, l, b.X), byMeans(t, plain, b); !slices.Equal(got, want) {
		t.Errorf("predicts %v, and the class means %v", got, want)
	}
}
