package learner_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learner/learnertest"
	"ocl/memory"
	"ocl/nn"
	"ocl/tensor"
)

// comparing is an updater that asks for the cosines of an incoming batch with others, and drops it.
type comparing struct {
	refs ocl.Batch
	size int
	got  []float64
}

func (c *comparing) Update(dst []int, _ *memory.Store, b ocl.Batch, env memory.Env) ([]int, error) {
	in, refs := memory.Groups{Batch: b, Size: c.size}, memory.Groups{Batch: c.refs, Size: c.size}
	c.got = make([]float64, in.Count()*refs.Count())
	if err := env.Probe.Cosines(c.got, in, refs); err != nil {
		return dst, err
	}
	return append(dst, slices.Repeat([]int{-1}, b.Len())...), nil
}

// groupGradients are those of the mean loss of each group of size rows, found one after the other in evaluation mode.
func groupGradients(t *testing.T, net *nn.Network, b ocl.Batch, size int) (all [][]float32) {
	t.Helper()
	net = net.Clone()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	for lo := 0; lo < b.Len(); lo += size {
		logits := net.Forward(ws, b.X.Rows(lo, lo+size), nn.Eval)
		d := tensor.New(size, net.Classes())
		for i := range size {
			sum := 0.0
			for _, z := range logits.Row(i) {
				sum += math.Exp(float64(z))
			}
			for k, z := range logits.Row(i) {
				d.Row(i)[k] = float32(math.Exp(float64(z)) / sum / float64(size))
			}
			d.Row(i)[b.Y[lo+i]] -= 1 / float32(size)
		}
		net.ZeroGrads()
		net.Backward(ws, d)
		all = append(all, slices.Clone(net.Grads()))
	}
	return all
}

// TestGSSKeepsEverythingWhileNotFull: a learner with GSS and room for the whole stream stores it in order.
func TestGSSKeepsEverythingWhileNotFull(t *testing.T) {
	for name, change := range variants {
		if name == "mir" {
			continue
		}
		r := perceptron(t, 0.1)
		change(r)
		r.Memory = memory.NewStore(30, shape, nil)
		batches := made.Batches(1, 6, 5)
		learnertest.Observe(t, r, batches)
		all := contents(r.Memory)
		for i := range all.Y {
			if b := batches[i/5]; all.Y[i] != b.Y[i%5] || !slices.Equal(all.X.Row(i), b.X.Row(i%5)) {
				t.Fatalf("%s: slot %d does not hold sample %d", name, i, i)
			}
		}
		if r.Memory.Len() != 30 {
			t.Errorf("%s: %d stored of 30", name, r.Memory.Len())
		}
	}
}

// TestGSSLabelOutOfRange: a label that the network has no output for is an error, not a panic.
func TestGSSLabelOutOfRange(t *testing.T) {
	r := perceptron(t, 0.1)
	gssOf(&memory.GSS{Size: 2})(r)
	r.Memory = memory.NewStore(5, shape, nil)
	batches := made.Batches(1, 2, 5)
	learnertest.Observe(t, r, batches[:1])
	batches[1].Y[2] = 6
	if _, err := r.Observe(context.Background(), batches[1]); err == nil {
		t.Error("label 6 of 6 classes: no error")
	}
}
