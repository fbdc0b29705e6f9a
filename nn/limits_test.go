package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ocl/nn/tensor"
	"ocl/rng"
)

// panicText is what call panics with.
func panicText(call func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	call()
	return ""
}

// TestLargeBatch: a batch whose activations offsets of 32 bits do not reach panics before it takes the room, and the
// text says what fits; prediction takes any number of images.
func TestLargeBatch(t *testing.T) {
	const wide = 1 << 20
	b, err := NewBuilder(1, 1, 1, Engine{}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	b.Linear("wide", wide, true)
	b.Linear("linear", 2, false)
	net := must(b.Build())
	ws := net.NewWorkspace(1)
	defer ws.Close()
	x := tensor.New(math.MaxInt32/wide+2, 1, 1, 1)
	loss := func(int, *tensor.Tensor, *tensor.Tensor) error { return nil }
	for what, call := range map[string]func(){
		"Forward":     func() { net.Forward(ws, x, Train) },
		"Accumulate":  func() { _ = net.Accumulate(ws, Accumulation{Batches: []*tensor.Tensor{x}, Loss: loss}) },
		"ForwardPair": func() { net.ForwardPair(ws, net.Clone(), x, BatchOnly) },
	} {
		if got := panicText(call); !strings.Contains(got, "2049 images with 1048576 channels") ||
			!strings.Contains(got, "Use at most 2046 images at a time") {
			t.Errorf("%s: panic %q, want one with the number of images that fit", what, got)
		}
	}
	if got := net.Predict(ws, x.Rows(0, 7)).Logits.Dim(0); got != 7 {
		t.Errorf("predictions of %d images, want 7", got)
	}
}

// TestCosinesBeyondOffsets: rows that begin beyond 32 bits are refused where the table is made. The rows themselves are
// not.
func TestCosinesBeyondOffsets(t *testing.T) {
	c := cosines{n: 1 << 30, rowsA: 1, rowsB: 3}
	if got := panicText(func() { c.room(1, 1) }); !strings.Contains(got, "row 2 of b begins at 2147483648") {
		t.Errorf("panic %q, want one that says where the last row begins", got)
	}
}

// TestNarrowImages: a network whose first convolution would have images too narrow for planes is refused when it is
// built.
func TestNarrowImages(t *testing.T) {
	for width, want := range map[int]string{13: "a stem on images that are 13 pixels wide. Use images of at least 14",
		14: ""} {
		b, err := NewBuilder(3, 20, width, Engine{}, rng.New(1, "net"))
		if err != nil {
			t.Fatal(err)
		}
		b.Stem("conv1", "bn1", 4)
		if err := b.AvgPool(13); err != nil {
			t.Fatal(err)
		}
		b.Linear("linear", 2, false)
		net, err := b.Build()
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("width %d: error %v, want %q", width, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ws := net.NewWorkspace(1)
		defer ws.Close()
		net.Predict(ws, tensor.New(2, 3, 20, width))
	}
}

// TestApartIsWhole: room of another length than the parameters is refused before anything is computed.
func TestApartIsWhole(t *testing.T) {
	b, err := NewBuilder(1, 2, 2, Engine{}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	b.Linear("linear", 2, false)
	net := must(b.Build())
	ws := net.NewWorkspace(2)
	defer ws.Close()
	x := tensor.New(2, 1, 2, 2)
	loss := func(int, *tensor.Tensor, *tensor.Tensor) error { return nil }
	part := make([]float32, len(net.params)-1, len(net.params)) // a slice of it could reach on
	if got := panicText(func() {
		_ = net.Accumulate(ws, Accumulation{Batches: []*tensor.Tensor{x, x}, Apart: [][]float32{part}, Loss: loss})
	}); !strings.Contains(got, "gradient 1 apart has 9 values instead of 10") {
		t.Errorf("panic %q, want one with both lengths", got)
	}
}

// must is what a call returns that cannot fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
