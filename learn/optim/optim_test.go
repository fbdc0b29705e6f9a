package optim_test

import (
	"math"
	"slices"
	"testing"

	"ocl/checkpoint"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/rng"
)

func network(t *testing.T) *nn.Network {
	t.Helper()
	net, err := arch.MLP(arch.Config{Channels: 1, Height: 3, Width: 3, Classes: 4, Hidden: []int{5}}, rng.New(1, "net"))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// gradients sets those of a step; they differ from step to step.
func gradients(net *nn.Network, step int) {
	for i := range net.Grads() {
		net.Grads()[i] = float32(math.Sin(float64(i*7+step*13))) / 3
	}
}

// reference are the formulas in float64: a step from w, g and two vectors of state.
type reference func(t int, w, g float64, m, v *float64) float64

var cases = []struct {
	name     string
	settings optim.Settings
	step     reference
}{
	{"sgd", optim.SGD{LR: 0.1, WeightDecay: 0.01},
		func(_ int, w, g float64, _, _ *float64) float64 { return w - 0.1*(g+0.01*w) }},
	{"momentum", optim.SGD{LR: 0.1, WeightDecay: 0.01, Momentum: 0.9},
		func(_ int, w, g float64, m, _ *float64) float64 {
			*m = 0.9**m + g + 0.01*w
			return w - 0.1**m
		}},
	{"adam", optim.Adam{LR: 0.01, WeightDecay: 0.02},
		func(t int, w, g float64, m, v *float64) float64 {
			g += 0.02 * w
			*m = 0.9**m + 0.1*g
			*v = 0.999**v + 0.001*g*g
			mh, vh := *m/(1-math.Pow(0.9, float64(t))), *v/(1-math.Pow(0.999, float64(t)))
			return w - 0.01*mh/(math.Sqrt(vh)+1e-8)
		}},
}

func TestStepsFollowTheFormulas(t *testing.T) {
	for _, c := range cases {
		net, opt := network(t), c.settings.New()
		n := len(net.Params())
		w, m, v := make([]float64, n), make([]float64, n), make([]float64, n)
		for i, x := range net.Params() {
			w[i] = float64(x)
		}
		for step := 1; step <= 5; step++ {
			gradients(net, step)
			opt.Step(net, nil)
			for i := range w {
				w[i] = c.step(step, w[i], float64(net.Grads()[i]), &m[i], &v[i])
				// a handful of roundings of values below 1, five times over
				if d := math.Abs(float64(net.Params()[i]) - w[i]); !(d <= 5*8*0x1p-24) {
					t.Fatalf("%s: step %d: parameter %d: %v, want %v", c.name, step, i, net.Params()[i], w[i])
				}
			}
		}
	}
}

func TestSavedStateContinues(t *testing.T) {
	for _, c := range cases {
		net, opt := network(t), c.settings.New()
		gradients(net, 1)
		opt.Step(net, nil)
		saved := checkpoint.NewContainer()
		if err := opt.SaveState(saved.Encoder()); err != nil {
			t.Fatal(err)
		}
		other, loaded := net.Clone(), c.settings.New()
		if err := loaded.LoadState(saved.Decoder()); err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			net *nn.Network
			opt optim.Optimizer
		}{{net, opt}, {other, loaded}} {
			gradients(x.net, 2)
			x.opt.Step(x.net, nil)
		}
		if !slices.Equal(net.Params(), other.Params()) {
			t.Errorf("%s: a loaded optimiser steps elsewhere", c.name)
		}
	}
}

// TestFixedParameters: no optimiser moves the scale of a cosine head that has one, whatever its gradient and its decay.
func TestFixedParameters(t *testing.T) {
	for _, c := range cases {
		net, err := arch.MLP(arch.Config{Channels: 1, Height: 3, Width: 3, Classes: 4, Hidden: []int{5},
			Head: nn.Head{Kind: nn.CosineHead, Scale: 10}}, rng.New(1, "net"))
		if err != nil {
			t.Fatal(err)
		}
		ws, opt := net.NewWorkspace(1), c.settings.New()
		defer ws.Close()
		before := slices.Clone(net.Params())
		for step := range 3 {
			gradients(net, step)
			opt.Step(net, ws)
		}
		moved := 0
		for _, p := range net.Info().Named {
			for i, v := range net.Params()[p.Offset:][:p.Len()] {
				if same := v == before[p.Offset+i]; p.Fixed && (!same || v != 10) {
					t.Errorf("%s: %s is %v", c.name, p.Name, v)
				} else if !p.Fixed && !same {
					moved++
				}
			}
		}
		if moved == 0 {
			t.Errorf("%s: nothing moved", c.name)
		}
	}
}
