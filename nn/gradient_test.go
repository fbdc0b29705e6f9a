package nn_test

import (
	"math"
	"testing"

	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// objective is a smooth function of the logits: Σ w·l + ½ Σ (v·l)², with fixed pseudo-random w and v.
func objective(l *tensor.Tensor, d *tensor.Tensor) float64 {
	var sum float64
	for i, v := range l.Data {
		w, u := math.Sin(float64(i)*1.3+0.2), math.Cos(float64(i)*0.7)
		x := float64(v)
		sum += w*x + 0.5*u*u*x*x
		if d != nil {
			d.Data[i] = float32(w + u*u*x)
		}
	}
	return sum
}

func images(n, c, h, w int, seed uint64) *tensor.Tensor {
	x := tensor.New(n, c, h, w)
	r := rng.New(seed, "images")
	for i := range x.Data {
		x.Data[i] = r.Float32()
	}
	return x
}

type namedNet struct {
	name string
	net  *nn.Network
	x    *tensor.Tensor
}

// networks has odd sizes, both layouts, strides, widths that fill no vector, the perceptron and all heads.
func networks(t testing.TB) []namedNet {
	t.Helper()
	var out []namedNet
	add := func(name string, c arch.Config, n int) {
		net, err := buildOf(c)(c, rng.New(3, name))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, namedNet{name, net, images(n, c.Channels, c.Height, c.Width, 5)})
	}
	add("resnet 32", arch.Config{Channels: 3, Height: 32, Width: 32, Classes: 7, NF: 4}, 3)
	add("resnet 36×27", arch.Config{Channels: 1, Height: 36, Width: 27, Classes: 5, NF: 3}, 2)
	add("resnet 33×48 wide", arch.Config{Channels: 2, Height: 33, Width: 48, Classes: 5, NF: 17}, 2)
	add("mlp", arch.Config{Channels: 3, Height: 5, Width: 7, Classes: 6, Hidden: []int{33, 18}}, 4)
	add("mlp with a cosine head", arch.Config{Channels: 3, Height: 5, Width: 7, Classes: 6, Hidden: []int{33, 18},
		Head: nn.Head{Kind: nn.CosineHead}}, 4)
	add("mlp with a projection", arch.Config{Channels: 3, Height: 5, Width: 7, Classes: 6, Hidden: []int{33},
		Head: nn.Head{Kind: nn.ProjectionHead, Hidden: 11, Out: 9}}, 4)
	add("mlp of waves", arch.Config{Channels: 3, Height: 5, Width: 7, Classes: 6, Hidden: []int{33, 18}, Waves: true}, 4)
	add("linear", arch.Config{Channels: 3, Height: 5, Width: 7, Classes: 6}, 4)
	add("linear with a cosine head", arch.Config{Channels: 3, Height: 5, Width: 7, Classes: 6,
		Head: nn.Head{Kind: nn.CosineHead}}, 4)
	return out
}

// TestPerceptronGradients compares the gradients of parameters with central differences of the forward pass. Residual
// networks have too many kinks for that; their layers are checked one by one and whole passes against PyTorch.
func TestPerceptronGradients(t *testing.T) {
	for _, c := range networks(t)[3:] {
		for _, mode := range []nn.Mode{nn.BatchOnly, nn.Eval} {
			ws := c.net.NewWorkspace(1)
			defer ws.Close()
			d := tensor.New(c.x.Dim(0), c.net.Info().Outputs)
			objective(c.net.Forward(ws, c.x, mode), d)
			clear(c.net.Grads())
			ws.Backward(d)
			check := func(what string, v []float32, i int, grad float32) {
				t.Helper()
				const h = 1.0 / 4096
				old := v[i]
				eval := func(x float32) float64 {
					v[i] = x
					c.net.Changed()
					return objective(c.net.Forward(ws, c.x, mode), nil)
				}
				num := (eval(old+h) - eval(old-h)) / (2 * h)
				v[i] = old
				c.net.Changed()
				// float32's rounding of a sum of dozens of terms near 1, over 2h
				if tol := 0.01*math.Abs(num) + 0.01; !(math.Abs(num-float64(grad)) <= tol) {
					t.Errorf("%s mode %d: %s[%d]: gradient %g, central difference %g", c.name, mode, what, i, grad, num)
				}
			}
			for _, p := range c.net.Info().Named {
				for k := range 3 {
					i := p.Offset + (k*7919)%p.Len()
					check(p.Name, c.net.Params(), i, c.net.Grads()[i])
				}
			}
		}
	}
}
