package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ocl/internal/kernel"
	"ocl/nn/internal/conv"
	"ocl/nn/internal/workers"
)

// TestNorm compares batch norm's gradients with central differences of its forward pass, without the ReLU and its kink.
func TestNorm(t *testing.T) {
	for _, s := range kernel.Available() {
		for _, g := range []conv.Layout{conv.PlanesLayout(3, 14, 17, 2), conv.ChannelLastLayout(19, 3, 5, 2)} {
			for _, mode := range []Mode{Probe, Eval} {
				t.Run(fmt.Sprintf("%s/channelLast=%v/mode=%d", s.Name, g.ChannelLast, mode), func(t *testing.T) { checkNorm(t, s, g, mode) })
			}
		}
	}
}

func checkNorm(t *testing.T, s *kernel.Set, g conv.Layout, mode Mode) {
	r := rand.New(rand.NewPCG(3, 4))
	c := g.C
	net := &Network{set: s, params: make([]float32, 2*c), running: make([]float32, 2*c)}
	for i := range c {
		net.params[i], net.params[c+i] = 1+0.3*float32(r.NormFloat64()), 0.3*float32(r.NormFloat64())
		net.running[i], net.running[c+i] = 0.1*float32(r.NormFloat64()), 0.5+r.Float32()
	}
	team := workers.New(1)
	bn := newNorm(s, g, false, normRef{gamma: 0, beta: c, mean: 0, variance: c})
	places := valuesOf(g)
	random := func() []float32 {
		x := make([]float32, g.Size())
		for _, at := range places {
			x[at] = float32(r.NormFloat64())
		}
		return x
	}
	z, coef := random(), random()
	y, dst := make([]float32, g.Size()), make([]float32, 2*c)
	loss := func() (sum float64) {
		bn.begin(net, mode, y, z, nil, g.N)
		if g.ChannelLast {
			bn.forward(team)
		} else {
			bn.observe(team, 0, g.N)
			bn.settleBatch(team)
			bn.write(team, 0, g.N)
		}
		for _, at := range places {
			sum += float64(coef[at]) * float64(y[at])
		}
		return sum
	}
	loss()
	grad, dz := slices.Clone(coef), slices.Clone(z)
	bn.backward(team, dst, grad, nil, dz, g.N, nil) // which turns z into its gradient
	bn.z = z
	check := func(what string, v *float32, got float32) {
		t.Helper()
		const h = 1.0 / 64
		old := *v
		*v = old + h
		up := loss()
		*v = old - h
		down := loss()
		*v = old
		num := (up - down) / (2 * h)
		// h² of the third derivative and float32's rounding of some dozens of terms
		if tol := 2e-3 * (1 + math.Abs(num)); !(math.Abs(num-float64(got)) <= tol) {
			t.Errorf("%s: gradient %g, central difference %g", what, got, num)
		}
	}
	for i := range 2 * c {
		check(fmt.Sprint("parameter ", i), &net.params[i], dst[i])
	}
	for i := range 20 {
		at := places[i*len(places)/20]
		check(fmt.Sprint("input ", at), &z[at], dz[at])
	}
}

// valuesOf lists where the values of an activation lie.
func valuesOf(g conv.Layout) (places []int) {
	for img := range g.N {
		for c := range g.C {
			for y := range g.H {
				for x := range g.W {
					if g.ChannelLast {
						places = append(places, g.PixelAt(img, y, x)+c)
					} else {
						places = append(places, g.RowAt(c, img, y)+x)
					}
				}
			}
		}
	}
	return places
}
