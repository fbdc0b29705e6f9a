package learner_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"ocl"
	"ocl/internal/rng"
	"ocl/learner"
	"ocl/memory"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/tensor"
)

// rounded is a batch of images whose values, in [0,1], are rounded to 8 bits.
func rounded(x *tensor.Tensor, y ...ocl.Label) ocl.Batch {
	pixels := make([]byte, len(x.Data))
	for i, v := range x.Data {
		pixels[i] = byte(math.Round(255 * float64(v)))
	}
	return ocl.NewBatch([3]int(x.Shape[1:]), pixels, y, ocl.NewPixelValues(x.Dim(1), nil, nil))
}

// classify fits class means to the samples x, y and returns what they say of test.
func classify(t *testing.T, net *nn.Network, ws *nn.Workspace, x *tensor.Tensor, y []ocl.Label, test *tensor.Tensor) []ocl.Label {
	t.Helper()
	m := memory.NewStore(len(y), [3]int(x.Shape[1:]), nil)
	slots := make([]int, len(y))
	for i := range slots {
		slots[i] = i
	}
	m.Put(rounded(x, y...), slots)
	var ncm learner.NCM
	if err := ncm.Fit(context.Background(), net, ws, m); err != nil {
		t.Fatal(err)
	}
	got := make([]ocl.Label, test.Dim(0))
	if err := ncm.Classify(got, net.PredictFeatures(ws, test)); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestNCMPermuted: other names for the classes of the memory are those names for the predictions.
func TestNCMPermuted(t *testing.T) {
	net := residual(t).Net
	ws := net.NewWorkspace(1)
	defer ws.Close()
	classes := net.Classes()
	c, h, w := net.Input()
	src := rng.New(3, "permuted")
	x, test := tensor.New(3*classes, c, h, w), tensor.New(40, c, h, w)
	for _, v := range [][]float32{x.Data, test.Data} {
		for i := range v {
			v[i] = float32(src.Float64())
		}
	}
	y, renamed := make([]ocl.Label, 3*classes), make([]ocl.Label, 3*classes)
	names := make([]ocl.Label, classes)
	for k := range names {
		names[k] = ocl.Label((k + 2) % classes)
	}
	for i := range y {
		y[i] = ocl.Label(i % classes)
		renamed[i] = names[y[i]]
	}
	want := classify(t, net, ws, x, y, test)
	if slices.Equal(want, slices.Repeat(want[:1], 40)) {
		t.Fatalf("all predictions are %d; the test wants several", want[0])
	}
	for i := range want {
		want[i] = names[want[i]]
	}
	if got := classify(t, net, ws, x, renamed, test); !slices.Equal(got, want) {
		t.Errorf("renamed: %v, want %v", got, want)
	}
}

// TestNCMAgreesWithHead on a network whose features are one-hot classes and whose head is the identity.
func TestNCMAgreesWithHead(t *testing.T) {
	const classes = 6
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 1, Width: classes, Classes: classes, Hidden: []int{classes}}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	clear(net.Params())
	for _, p := range net.Named() {
		for k := range p.In { // identities; biases stay 0
			net.Params()[p.Offset+k*p.Out+k] = 1
		}
	}
	net.Changed()
	ws := net.NewWorkspace(1)
	defer ws.Close()
	x, y := tensor.New(classes, 1, 1, classes), make([]ocl.Label, classes)
	test, want := tensor.New(4*classes, 1, 1, classes), make([]ocl.Label, 4*classes)
	for k := range classes {
		y[k], x.Row(k)[k] = ocl.Label(k), 1
	}
	for i := range want {
		want[i] = ocl.Label(i * i % classes)
		test.Row(i)[want[i]] = float32(i+1) / 10 // of any length
	}
	head := &learner.Replay{Net: net, WS: ws}
	got := make([]ocl.Label, len(want))
	if err := head.Predict(got, test); err != nil || !slices.Equal(got, want) {
		t.Errorf("head: %v (%v), want %v", got, err, want)
	}
	if got := classify(t, net, ws, x, y, test); !slices.Equal(got, want) {
		t.Errorf("ncm: %v, want %v", got, want)
	}
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

// TestNCMSquares: the squares of the distances have their least at the class that Classify finds, lie between 0 and 4, and
// are infinite for classes without a mean. Two unit vectors at a right angle have the square 2.
func TestNCMSquares(t *testing.T) {
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 1, Width: 3, Classes: 3, Hidden: []int{3}}, rng.New(1, "network/init"))
	if err != nil {
		t.Fatal(err)
	}
	clear(net.Params())
	for _, p := range net.Named() {
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
	if err := ncm.Squares(squares, []float32{0, 0, 9}); err != nil || squares[0] != 2 || !math.IsInf(squares[1], 1) || squares[2] != 0 {
		t.Errorf("squares %v, %v", squares, err)
	}
	if !slices.Equal(ncm.Classes(), []ocl.Label{0, 2}) {
		t.Errorf("classes %v", ncm.Classes())
	}
	if err := ncm.Squares(squares, []float32{0, float32(math.NaN()), 0}); !errors.Is(err, ocl.ErrDiverged) {
		t.Errorf("NaN: %v", err)
	}
}
