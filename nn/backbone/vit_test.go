package backbone

import (
	"bytes"
	"slices"
	"testing"

	"ocl/internal/kernel"
	"ocl/nn"
	"ocl/nn/internal/conv"
	"ocl/nn/safetensors"
)

// made is the backbone of an architecture that need not be in the table.
func made(t *testing.T, a *architecture, side int, r reading, c content, e nn.Engine) *Backbone {
	t.Helper()
	text := c.text(t)
	f, err := safetensors.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	b := &Backbone{engine: e, net: a.layOut(side, r),
		info: Info{Side: side, Mean: [3]float32{0.4, 0.5, 0.6}, Std: [3]float32{0.2, 0.25, 0.3}}}
	b.info.Features = b.net.channels(b.net.features)
	if b.set, err = kernel.Find(e.Kernel); err != nil {
		t.Fatal(err)
	}
	if err := b.load(f); err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzTransformers compares small vision transformers of every shape with the definitions in float64, by every kernel
// set, with one and three workers, which must give the same bits.
func FuzzTransformers(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(2), uint8(0), uint8(1), uint8(0), uint8(0))
	f.Add(uint64(2), uint8(9), uint8(6), uint8(1), uint8(2), uint8(4), uint8(0b1111))
	f.Add(uint64(3), uint8(3), uint8(4), uint8(2), uint8(1), uint8(1), uint8(0b10110))
	f.Add(uint64(4), uint8(5), uint8(0), uint8(0), uint8(0), uint8(0), uint8(0b101001))
	f.Add(uint64(5), uint8(12), uint8(3), uint8(1), uint8(2), uint8(0), uint8(0b1000011))
	f.Fuzz(func(t *testing.T, seed uint64, patch, grid, heads, depth, registers, flags uint8) {
		flag := func(i int) bool { return flags>>i&1 == 1 }
		h := 1 + int(heads)%3
		v := &vit{patch: 2 + int(patch)%15, width: 64 * h, heads: h, depth: 1 + int(depth)%3, registers: int(registers) % 6,
			scaled: flag(0)}
		side, from := v.patch*(1+int(grid)%7), 1+int(seed%7)
		r := reading{scheme: schemes[0], feature: featureClass, gelu: geluErf, positions: positionsPlain,
			stored: from * from}
		if flag(1) {
			r.stored++
		}
		if flag(2) {
			r.gelu = geluQuick
		}
		if flag(3) {
			r.positions = positionsSmooth
		} else if flag(4) {
			r.positions = positionsOffset
		}
		if flag(5) {
			v.projected, r.feature = 24, featureProjection
		}
		if flag(6) {
			r.feature = featureClassMean
		}
		a := &architecture{name: "drawn", vit: v}
		c := drawnOf(a, side, 0, r, seed)
		const n = 2
		pixels := photos(n, side)
		var want []float64
		for _, set := range nn.Kernels() {
			var first []float32
			for _, workers := range []int{1, 3} {
				b := made(t, a, side, r, c, nn.Engine{Kernel: set, Convolution: conv.Direct})
				if want == nil {
					for img := range n {
						features, _ := exactly(c, b.net, b.info.Mean, b.info.Std, pixels[img*len(pixels)/n:][:len(pixels)/n])
						want = append(want, features...)
					}
				}
				w := b.NewWorkspace(workers, workers)
				got := make([]float32, n*b.info.Features)
				if err := w.Features(got, pixels, n); err != nil {
					t.Fatal(err)
				}
				w.Close()
				near(t, set, got, want)
				if first == nil {
					first = got
				} else if !slices.Equal(first, got) {
					t.Errorf("%s: other bits with three workers", set)
				}
			}
		}
	})
}
