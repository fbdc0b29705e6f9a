package nn_test

import (
	"slices"
	"sync"
	"testing"

	"ocl/nn"
	"ocl/nn/tensor"
)

// The outputs of an image are the same, bit for bit, whatever the number of workers and of the other images: several
// workers share one image, and many images are shared out.
func TestFewImagesHaveTheSameBits(t *testing.T) {
	for _, c := range networks(t) {
		for _, n := range []int{1, 2, 5, 6, 41} {
			x := randomImages(c.net, n)
			alone := c.net.NewWorkspace(1)
			defer alone.Close()
			want := c.net.Predict(alone, x)
			for _, workers := range []int{2, 3} {
				ws := c.net.NewWorkspace(workers)
				defer ws.Close()
				got := c.net.Predict(ws, x)
				if !slices.Equal(got.Logits.Data, want.Logits.Data) || !slices.Equal(got.Features.Data, want.Features.Data) {
					t.Errorf("%s: %d images, %d workers: other outputs", c.name, n, workers)
				}
				if got := c.net.Predict(ws, x.Rows(n-1, n)).Logits; !slices.Equal(got.Data, want.Logits.Row(n-1)) {
					t.Errorf("%s: the last of %d images alone, %d workers: other logits", c.name, n, workers)
				}
			}
		}
	}
}

// Readers predict at the same time what a workspace of their own predicts. They refuse to learn, and a network that was
// changed.
func TestReaders(t *testing.T) {
	for _, c := range networks(t) {
		x := randomImages(c.net, 7)
		own := c.net.NewWorkspace(1)
		defer own.Close()
		want := slices.Clone(c.net.Predict(own, x).Logits.Data)
		readers := c.net.Readers(3, 2)
		var wg sync.WaitGroup
		for _, ws := range readers {
			defer ws.Close()
			wg.Go(func() {
				for range 3 {
					if got := c.net.Predict(ws, x).Logits; !slices.Equal(got.Data, want) {
						t.Errorf("%s: other logits", c.name)
					}
					if got := c.net.Predict(ws, x.Rows(0, 1)).Logits; !slices.Equal(got.Data, want[:c.net.Info().Outputs]) {
						t.Errorf("%s: other logits of one image", c.name)
					}
				}
			})
		}
		wg.Wait()
		for what, call := range map[string]func(){
			"Forward": func() { c.net.Forward(readers[0], x, nn.Eval) },
			"Accumulate": func() {
				_ = c.net.Accumulate(readers[0], nn.Accumulation{Batches: []*tensor.Tensor{x}, Loss: objectiveOf})
			},
			"ForwardPair": func() { c.net.ForwardPair(readers[0], c.net.Clone(), x, nn.BatchOnly) },
		} {
			mustPanic(t, what, call, what, "predict only")
		}
		c.net.Changed()
		mustPanic(t, "a changed network", func() { c.net.Predict(readers[1], x) }, "changed after Readers")
	}
}
