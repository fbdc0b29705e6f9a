package optim_test

import (
	"math"
	"slices"
	"testing"

	"ocl/learn/optim"
	"ocl/nn/arch"
	"ocl/rng"
)

// TestClipNorm: gradients above the limit are scaled to it, all by one factor; others stay.
func TestClipNorm(t *testing.T) {
	for _, size := range []float64{0.1, 1, 40} {
		net := network(t)
		gradients(net, 3)
		sum := 0.0
		for i := range net.Grads() {
			net.Grads()[i] *= float32(size)
			sum += float64(net.Grads()[i]) * float64(net.Grads()[i])
		}
		before, want := slices.Clone(net.Grads()), math.Sqrt(sum)
		const limit = 2.0
		ws := net.NewWorkspace(2)
		defer ws.Close()
		if got := optim.ClipNorm(net, ws, limit); !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("norm %v, want %v", got, want)
		}
		factor := min(1, limit/(want+1e-6))
		if size == 40 && !(factor < 0.5) || size == 0.1 && factor != 1 {
			t.Fatalf("size %v: factor %v; the test wants one norm above the limit and one below", size, factor)
		}
		for i, g := range net.Grads() {
			if v := float64(before[i]) * factor; !(math.Abs(float64(g)-v) <= 1e-6*math.Abs(v)) {
				t.Fatalf("size %v: gradient %d is %v, want %v", size, i, g, v)
			}
		}
	}
}

// TestNew: an optimiser starts without state, whatever others of the same settings have done, and SetLR moves its own
// next step alone.
func TestNew(t *testing.T) {
	for _, c := range cases {
		used, fresh, other := c.settings.New(), c.settings.New(), c.settings.New()
		warm, a, b := network(t), network(t), network(t)
		gradients(warm, 0)
		used.Step(warm, nil)
		gradients(a, 1)
		gradients(b, 1)
		fresh.Step(a, nil)
		other.Step(b, nil)
		if !slices.Equal(a.Params(), b.Params()) {
			t.Errorf("%s: a new optimiser steps otherwise than another one", c.name)
		}
		fresh.SetLR(0)
		before := slices.Clone(a.Params())
		fresh.Step(a, nil)
		if fresh.LR() != 0 || used.LR() == 0 || !slices.Equal(a.Params(), before) {
			t.Errorf("%s: learning rate set to 0: %v, and %v of another optimiser", c.name, fresh.LR(), used.LR())
		}
	}
}

// BenchmarkClipNorm is what GDumb's training does beside its passes, on the survey's network.
func BenchmarkClipNorm(b *testing.B) {
	net, err := arch.ResNet18(arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 100, NF: 20}, rng.New(1, "net"))
	if err != nil {
		b.Fatal(err)
	}
	ws := net.NewWorkspace(2)
	defer ws.Close()
	for b.Loop() {
		for i := range 1000 {
			net.Grads()[i] = 1 // so that there is always something to scale
		}
		optim.ClipNorm(net, ws, 10)
	}
}

// TestClipValue: each gradient gets its part of the parameter, and is then bounded by itself.
func TestClipValue(t *testing.T) {
	net := network(t)
	gradients(net, 3)
	const decay, limit = 0.25, 0.125
	before := slices.Clone(net.Grads())
	ws := net.NewWorkspace(2)
	defer ws.Close()
	optim.ClipValue(net, ws, decay, limit)
	cut := 0
	for i, g := range net.Grads() {
		want := before[i] + float32(decay*net.Params()[i])
		if max(want, -want) > limit {
			cut++
			want = float32(math.Copysign(limit, float64(want)))
		}
		if g != want {
			t.Fatalf("gradient %d is %v, want %v", i, g, want)
		}
	}
	if n := len(before); cut == 0 || cut == n {
		t.Errorf("%d of %d gradients were cut; want some", cut, n)
	}
	net.Grads()[0] = float32(math.NaN())
	if optim.ClipValue(net, nil, 0, limit); net.Grads()[0] == net.Grads()[0] {
		t.Errorf("a gradient that is no number became %v", net.Grads()[0])
	}
}
