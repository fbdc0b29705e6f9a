package learner_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/learn/learner"
	"ocl/learn/memory"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// rounded is a batch of images whose values, in [0,1], are rounded to 8 bits.
func rounded(x *tensor.Tensor, y ...ocl.Label) ocl.Batch {
	pixels := make([]byte, len(x.Data))
	for i, v := range x.Data {
		pixels[i] = byte(math.Round(255 * float64(v)))
	}
	return ocl.NewBatch([3]int(x.Shape[1:]), pixels, y, ocl.NewPixelValues(x.Dim(1), nil, nil))
}

// TestNCMCancelled: the means from before are kept.
func TestNCMCancelled(t *testing.T) {
	r := perceptron(t, 0.1)
	m := clouds(t, r.Net, 0, 1, 2)
	var ncm learner.NCM
	if err := ncm.Fit(context.Background(), r.Net, r.WS, m); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ncm.Fit(ctx, r.Net, r.WS, m); !errors.Is(err, context.Canceled) || !ncm.Fitted() {
		t.Errorf("error %v, fitted %v; want one that wraps context.Canceled, and the means from before", err, ncm.Fitted())
	}
}

// TestNCMSquares: the squares of the distances have their least at the class that Classify finds, lie between 0 and 4,
// and are infinite for classes without a mean. Two unit vectors at a right angle have the square 2.
func TestNCMSquares(t *testing.T) {
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 1, Width: 3, Classes: 3, Hidden: []int{3}},
		rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	clear(net.Params())
	for _, p := range net.Info().Named {
		if p.In == 3 {
			for i := range 3 {
				net.Params()[p.Offset+i*p.Out+i] = 1
			}
		}
	}
	net.Changed()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	m := memory.NewStore(2, [3]int{1, 1, 3}, nil)
	m.Put(rounded(tensor.Of([]float32{1, 0, 0, 0, 0, 0.4}, 2, 1, 1, 3), 0, 2), []int{0, 1})
	var ncm learner.NCM
	if err := ncm.Fit(context.Background(), net, ws, m); err != nil {
		t.Fatal(err)
	}
	squares := make([]float64, 3)
	if err := ncm.Squares(squares, []float32{0, 0, 9}); err != nil || squares[0] != 2 || !math.IsInf(squares[1], 1) ||
		squares[2] != 0 {
		t.Errorf("squares %v, %v", squares, err)
	}
	if !slices.Equal(ncm.Classes(), []ocl.Label{0, 2}) {
		t.Errorf("classes %v", ncm.Classes())
	}
	var kept learner.NCM // keeps its means whatever becomes of the first one
	kept.CopyFrom(&ncm)
	_, means := kept.Means()
	m.Put(rounded(tensor.Of([]float32{0, 1, 0}, 1, 1, 1, 3), 1), []int{0})
	if err := ncm.Fit(context.Background(), net, ws, m); err != nil {
		t.Fatal(err)
	}
	if classes, same := kept.Means(); !slices.Equal(classes, []ocl.Label{0, 2}) || !slices.Equal(same, means) ||
		!slices.Equal(ncm.Classes(), []ocl.Label{1, 2}) {
		t.Errorf("the copy has classes %v and means %v, and the first one %v", classes, same, ncm.Classes())
	}
	if err := ncm.Squares(squares, []float32{0, float32(math.NaN()), 0}); !errors.Is(err, ocl.ErrDiverged) {
		t.Errorf("NaN: %v", err)
	}
}
