package learner_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/learner/learnertest"
	"ocl/nn/arch"
	"ocl/rng"
)

// TestLatents: a batch becomes the activations of its images, as they are, with codes of them to store; nil leaves it
// as it is.
func TestLatents(t *testing.T) {
	c := learnertest.Case{Shape: [3]int{3, 5, 4}, Classes: 6}
	b := c.Batches(1, 2, 5)[0]
	var none *learner.Latents
	if same, err := none.Of(b); err != nil || same.X != b.X || !slices.Equal(same.Pixels, b.Pixels) {
		t.Errorf("without latent replay: %v", err)
	}
	net, err := arch.MLP(arch.Config{Channels: 3, Height: 5, Width: 4, Classes: 6, Hidden: []int{20, 16}},
		rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	if err := net.Freeze(1, true); err != nil {
		t.Fatal(err)
	}
	ws := net.NewWorkspace(1)
	defer ws.Close()
	want := slices.Clone(net.Activations(ws, b.X).Data)
	for _, by := range []learner.LatentEncoding{ocl.Float16{}, ocl.Codes{}} {
		l := &learner.Latents{Net: net, WS: ws, By: by}
		for range 2 { // with buffers of the call before, too
			got, err := l.Of(b)
			if err != nil || !slices.Equal(got.X.Data, want) || !slices.Equal(got.X.Shape, []int{5, 20, 1, 1}) ||
				!slices.Equal(got.Y, b.Y) {
				t.Fatalf("%T: activations of shape %v: %v", by, got.X.Shape, err)
			}
			stored := ocl.NewBatch([3]int{20, 1, 1}, got.Pixels, got.Y, by)
			for i, v := range stored.X.Data {
				if !(math.Abs(float64(v-want[i])) <= 0.01) || len(got.Pixels) != 5*by.Bytes(20) {
					t.Fatalf("%T: %v is stored as %v, in %d bytes", by, want[i], v, len(got.Pixels))
				}
			}
		}
		net.Params()[0] = float32(math.NaN())
		net.Changed()
		if _, err := l.Of(b); !errors.Is(err, ocl.ErrDiverged) {
			t.Errorf("%T: a weight that is no number: %v", by, err)
		}
		net.Params()[0] = 0
		net.Changed()
		want = slices.Clone(net.Activations(ws, b.X).Data)
	}
}
