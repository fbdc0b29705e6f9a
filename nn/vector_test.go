package nn_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/rng"
)

func noise(seed uint64, n int) []float32 {
	src, x := rng.New(seed, "test"), make([]float32, n)
	for i := range x {
		x[i] = float32(2*src.Float64() - 1)
	}
	return x
}

// TestVectors compares with plain loops, on lengths around the parts that workers share.
func TestVectors(t *testing.T) {
	net := networks(t)[0].net
	for _, n := range []int{0, 1, 1000, 1 << 14, 1<<14 + 1, 100_003} {
		x, y := noise(1, n), noise(2, n)
		want, size := 0.0, 0.0
		sum := slices.Clone(y)
		for i := range x {
			want += float64(x[i]) * float64(y[i])
			size += math.Abs(float64(x[i]) * float64(y[i]))
			sum[i] += float32(-0.75 * x[i])
		}
		first := 0.0
		for _, workers := range []int{1, 2, 3} {
			ws := net.NewWorkspace(workers)
			defer ws.Close()
			got := ws.Dot(x, y)
			if workers == 1 {
				first = got
			}
			// Each of n additions rounds by half an ulp at most.
			if !(math.Abs(got-want) <= 2e-16*float64(n)*size) || got != first {
				t.Errorf("%d elements, %d workers: dot product %v, want %v, and %v with one worker", n, workers, got, want, first)
			}
			z := slices.Clone(y)
			ws.AddScaled(z, x, -0.75)
			for i := range z {
				if !(math.Abs(float64(z[i]-sum[i])) <= 1.2e-7) { // fused or not: half an ulp
					t.Fatalf("%d elements, %d workers: y + a·x is %v at %d, want %v", n, workers, z[i], i, sum[i])
				}
			}
		}
	}
}

// TestAccumulateApart: the gradients are those of Accumulate before it adds them, with any number of workers.
func TestAccumulateApart(t *testing.T) {
	for _, c := range networks(t) {
		batches := []*tensor.Tensor{c.x, c.x.Rows(0, 1), c.x}
		scale := func(batch int, logits, d *tensor.Tensor) error {
			for i, v := range logits.Data {
				d.Data[i] = float32(batch+1) * v
			}
			return nil
		}
		run := func(workers int, apart bool) ([]float32, []float32) {
			net := c.net.Clone()
			ws := net.NewWorkspace(workers)
			defer ws.Close()
			clear(net.Grads())
			if !apart {
				if err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Loss: scale}); err != nil {
					t.Fatal(err)
				}
				return slices.Clone(net.Grads()), net.Running()
			}
			parts := [][]float32{noise(1, len(net.Grads())), noise(2, len(net.Grads()))}
			if err := net.Accumulate(ws, nn.Accumulation{Batches: batches, Apart: parts, Loss: scale}); err != nil {
				t.Fatal(err)
			}
			if slices.Equal(parts[0], parts[1]) {
				t.Errorf("%s: both gradients are the same", c.name)
			}
			sum := slices.Clone(net.Grads())
			for _, p := range parts {
				for i, v := range p {
					sum[i] += v
				}
			}
			return sum, net.Running()
		}
		want, running := run(1, false)
		for _, workers := range []int{1, 2, 3} {
			got, moved := run(workers, true)
			if !slices.Equal(got, want) || !slices.Equal(moved, running) {
				t.Errorf("%s, %d workers: gradients or running statistics are not those of Accumulate", c.name, workers)
			}
		}
		ws := c.net.NewWorkspace(2)
		defer ws.Close()
		fault := errors.New("fault")
		if err := c.net.Accumulate(ws, nn.Accumulation{Batches: batches[:1], Apart: nil,
			Loss: func(int, *tensor.Tensor, *tensor.Tensor) error { return fault }}); !errors.Is(err, fault) {
			t.Errorf("%s: error %v, want the loss's", c.name, err)
		}
	}
}
