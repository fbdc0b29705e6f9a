package wired_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ocl/nn"
	"ocl/nn/internal/wired"
	"ocl/nn/tensor"
	"ocl/rng"
)

// layerCase is a small network of one layer or a few, for images of c×h×w.
type layerCase struct {
	name    string
	c, h, w int
	// wire adds the layers behind in and returns the map whose values the objective reads.
	weights func(b *nn.Builder) []wired.Weights
	wire    func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map
}

var cases = []layerCase{
	{"transposed", 5, 4, 7,
		func(b *nn.Builder) []wired.Weights { return []wired.Weights{wired.Transposed(b, "up", 5, 3)} },
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.Transposed(w[0], in, false)
		}},
	{"transposed with ReLU", 33, 6, 5,
		func(b *nn.Builder) []wired.Weights { return []wired.Weights{wired.Transposed(b, "up", 33, 9)} },
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.Transposed(w[0], in, true)
		}},
	{"convolution and max-pool", 3, 6, 10,
		func(b *nn.Builder) []wired.Weights { return []wired.Weights{wired.Conv(b, "conv", 3, 3, 7, true)} },
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.MaxPool(s.Conv(w[0], in, 1, false), true)
		}},
	{"residual block", 4, 7, 6,
		func(b *nn.Builder) []wired.Weights {
			return []wired.Weights{wired.Conv(b, "conv1", 4, 3, 5, false), wired.Conv(b, "conv2", 5, 3, 5, false),
				wired.Conv(b, "short", 4, 1, 5, false)}
		},
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			short := s.InstanceNorm(s.Conv(w[2], in, 2, false), nil, false)
			y := s.InstanceNorm(s.Conv(w[0], in, 2, false), nil, true)
			return s.InstanceNorm(s.Conv(w[1], y, 1, false), short, true)
		}},
	{"residual block without a convolution beside", 5, 5, 6,
		func(b *nn.Builder) []wired.Weights { return []wired.Weights{wired.Conv(b, "conv", 5, 3, 5, false)} },
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.InstanceNorm(s.Conv(w[0], in, 1, false), in, true)
		}},
	{"mean and linear layers", 6, 3, 4,
		func(b *nn.Builder) []wired.Weights {
			return []wired.Weights{wired.Matrix(b, "fc", 6, 9), wired.Matrix(b, "out", 9, 4)}
		},
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.Linear(w[1], s.Linear(w[0], s.MeanPool(in), true), false)
		}},
	{"flat and back", 3, 2, 3,
		func(b *nn.Builder) []wired.Weights { return []wired.Weights{wired.Matrix(b, "fc", 18, 96)} },
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.Unflatten(s.Linear(w[0], s.Flatten(in), true), 16, 3, 2)
		}},
	{"convolutions by Winograd, whose maps differ in size", 33, 6, 5,
		func(b *nn.Builder) []wired.Weights {
			var w []wired.Weights
			for i, out := range []int{40, 36, 64, 60, 40} {
				w = append(w, wired.Conv(b, "conv"+string(rune('0'+i)), []int{33, 40, 36, 64, 60}[i], 3, out, true))
			}
			return w
		},
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			for _, l := range w {
				in = s.Conv(l, in, 1, true)
			}
			return in
		}},
	{"transposed twice, then a convolution", 5, 2, 3,
		func(b *nn.Builder) []wired.Weights {
			return []wired.Weights{wired.Transposed(b, "up1", 5, 20), wired.Transposed(b, "up2", 20, 9),
				wired.Conv(b, "conv", 9, 3, 4, true)}
		},
		func(s *wired.Section, w []wired.Weights, in *wired.Map) *wired.Map {
			return s.Conv(w[2], s.Transposed(w[1], s.Transposed(w[0], in, true), true), 1, false)
		}},
}

// build makes a case for up to n images with so many workers.
func (c layerCase) build(t testing.TB, e nn.Engine, n, workers int, forward bool) (*nn.Network, *wired.Wiring,
	*wired.Section,
	*wired.Map, *wired.Map) {
	t.Helper()
	b, err := nn.NewBuilder(c.c, c.h, c.w, e, rng.New(4, c.name))
	if err != nil {
		t.Fatal(err)
	}
	weights := c.weights(b)
	net := must(b.Build())
	ws := net.NewWorkspace(workers)
	t.Cleanup(ws.Close)
	w := wired.New(ws, net.Info().Engine, n)
	in := w.Input(c.c, c.h, c.w, !forward)
	s := w.Section(net, !forward)
	return net, w, s, in, c.wire(s, weights, in)
}

// room is as much as the values of a map take.
func room(m *wired.Map, images int) *tensor.Tensor {
	c, h, w := m.Shape()
	return tensor.New(images, c, h, w)
}

// values copies a map.
func values(m *wired.Map, images int) *tensor.Tensor {
	x := room(m, images)
	for i := range images {
		m.Read(x.Row(i), i)
	}
	return x
}

// TestGradients compares the gradients of parameters and images with central differences.
func TestGradients(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			net, w, s, in, out := c.build(t, nn.Engine{}, 3, 2, false)
			x := images(3, c.c, c.h, c.w, 8)
			run := func(d *tensor.Tensor) float64 {
				in.Load(x)
				w.Forward(3)
				return objective(values(out, 3), d)
			}
			d := room(out, 3)
			run(d)
			for i := range 3 {
				out.WriteGradient(d.Row(i), i)
			}
			clear(net.Grads())
			s.Backward()
			dx := x.Clone()
			for i := range 3 {
				in.ReadGradient(dx.Row(i), i)
			}
			bad, all := 0, 0
			check := func(what string, v []float32, i int, grad float32) {
				const h = 1.0 / 1024
				old := v[i]
				eval := func(x float32) float64 {
					v[i] = x
					net.Changed()
					return run(nil)
				}
				num := (eval(old+h) - eval(old-h)) / (2 * h)
				v[i] = old
				net.Changed()
				all++
				// float32's rounding of a sum of hundreds of terms near 1, over 2h
				if tol := 0.02*math.Abs(num) + 0.03; !(math.Abs(num-float64(grad)) <= tol) {
					bad++
					t.Logf("%s[%d]: gradient %g, central difference %g", what, i, grad, num)
				}
			}
			for _, p := range net.Info().Named {
				for k := range 12 {
					i := p.Offset + (k*7919)%p.Len()
					check(p.Name, net.Params(), i, net.Grads()[i])
				}
			}
			for k := range 20 {
				i := (k*7919 + 11) % x.Len()
				check("image", x.Data, i, dx.Data[i])
			}
			if bad*12 > all { // a difference that straddles a kink of a ReLU or of max-pool is another number
				t.Errorf("%d of %d gradients differ", bad, all)
			}
		})
	}
}

// TestBitsDependOnNothingElse: not on the number of workers, on the room, on the other images of a batch, or on
// whether a backward pass could follow.
func TestBitsDependOnNothingElse(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := images(6, c.c, c.h, c.w, 8)
			net, w, s, in, out := c.build(t, nn.Engine{}, 6, 1, false)
			in.Load(x)
			w.Forward(6)
			want := values(out, 6)
			for _, v := range []struct {
				room, workers, first, n int
				forward                 bool
			}{{6, 3, 0, 6, false}, {9, 2, 0, 6, false}, {1, 2, 4, 1, false}, {5, 2, 1, 5, true}} {
				_, w2, _, in2, out2 := c.build(t, nn.Engine{}, v.room, v.workers, v.forward)
				in2.Load(x.Rows(v.first, v.first+v.n))
				w2.Forward(v.n)
				if got := values(out2, v.n); !slices.Equal(got.Data, want.Rows(v.first, v.first+v.n).Data) {
					t.Errorf("%+v: other values", v)
				}
			}
			grads := func(net *nn.Network, s *wired.Section, out *wired.Map) []float32 {
				for i := range 6 {
					out.WriteGradient(want.Row(i), i)
				}
				clear(net.Grads())
				s.Backward()
				return slices.Clone(net.Grads())
			}
			first := grads(net, s, out)
			net2, w2, s2, in2, out2 := c.build(t, nn.Engine{}, 6, 3, false)
			in2.Load(x)
			w2.Forward(6)
			if !slices.Equal(grads(net2, s2, out2), first) {
				t.Error("other gradients with three workers")
			}
		})
	}
}

// TestTrunk: the second of two sections reads the channels of both, and its gradient ends at its own.
func TestTrunk(t *testing.T) {
	builder := func(name string) *nn.Builder {
		b, err := nn.NewBuilder(3, 6, 6, nn.Engine{}, rng.New(4, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b1, b2 := builder("first"), builder("second")
	a1 := wired.Conv(b1, "a", 3, 3, 5, true)
	a2, c2, d2 := wired.Conv(b2, "a", 3, 3, 4, true), wired.Conv(b2, "b", 9, 3, 6, true), wired.Matrix(b2, "fc", 3*3*6, 3)
	n1, n2 := must(b1.Build()), must(b2.Build())
	ws := n1.NewWorkspace(2)
	defer ws.Close()
	w := wired.New(ws, n1.Info().Engine, 2)
	in := w.Input(3, 6, 6, false)
	trunk := w.Trunk(9, 6, 6)
	s1 := w.Section(n1, true)
	s1.Join(trunk, s1.Conv(a1, in, 1, true))
	s2 := w.Section(n2, true)
	both := s2.Join(trunk, s2.Conv(a2, in, 1, true))
	out := s2.Linear(d2, s2.Flatten(s2.MaxPool(s2.Conv(c2, both, 1, false), true)), false)
	x := images(2, 3, 6, 6, 8)
	in.Load(x)
	run := func(d *tensor.Tensor) float64 {
		w.Forward(2)
		return objective(values(out, 2), d)
	}
	d := room(out, 2)
	run(d)
	got := values(both, 2)
	alone := wired.New(ws, n1.Info().Engine, 2)
	in1 := alone.Input(3, 6, 6, false)
	s := alone.Section(n1, false)
	first := s.Conv(a1, in1, 1, true)
	in1.Load(x)
	alone.Forward(2)
	for i, v := range values(first, 2).Data {
		if img, rest := i/(5*36), i%(5*36); got.Data[img*9*36+rest] != v {
			t.Fatalf("value %d of the first section's channels: %g in the trunk of both, want %g", i, got.Data[img*9*36+rest], v)
		}
	}
	for i := range 2 {
		out.WriteGradient(d.Row(i), i)
	}
	clear(n1.Grads())
	clear(n2.Grads())
	s2.Backward()
	if slices.ContainsFunc(n1.Grads(), func(v float32) bool { return v != 0 }) {
		t.Error("the first section has gradients of the second one's outputs")
	}
	for _, p := range n2.Info().Named {
		for k := range 20 {
			const h = 1.0 / 1024
			i := p.Offset + k*7919%p.Len()
			eval := func(v float32) float64 {
				n2.Params()[i] += v
				n2.Changed()
				return run(nil)
			}
			num := (eval(h) - eval(-2*h)) / (2 * h)
			eval(h)
			if g := float64(n2.Grads()[i]); !(math.Abs(num-g) <= 0.02*math.Abs(num)+0.03) {
				t.Errorf("%s[%d]: gradient %g, central difference %g", p.Name, i, g, num)
			}
		}
	}
}

// TestNetworkIsNoChain: what runs chains of layers refuses a wired network.
func TestNetworkIsNoChain(t *testing.T) {
	net, _, _, _, _ := cases[0].build(t, nn.Engine{}, 1, 1, false)
	ws := net.NewWorkspace(1)
	defer ws.Close()
	defer func() {
		if got := recover(); got == nil || !strings.Contains(got.(string), "no chain") {
			t.Errorf("panic %v, want one that says that the layers are no chain", got)
		}
	}()
	net.Forward(ws, images(1, 5, 4, 7, 1), nn.Eval)
}

// TestSectionsShareMemory: the gradients of a section are those that it has alone, although another one has run since
// and its maps were in the same place, and whether it is the first backward pass or not.
func TestSectionsShareMemory(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := images(4, c.c, c.h, c.w, 8)
			net, w, s, in, out := c.build(t, nn.Engine{}, 4, 2, false)
			in.Load(x)
			w.Forward(4)
			want := values(out, 4)
			learn := func(s *wired.Section, out *wired.Map) []float32 {
				for i := range 4 {
					out.WriteGradient(want.Row(i), i)
				}
				clear(net.Grads())
				s.Backward()
				return slices.Clone(net.Grads())
			}
			grads := learn(s, out)

			ws := net.NewWorkspace(2)
			defer ws.Close()
			both := wired.New(ws, net.Info().Engine, 4)
			b, err := nn.NewBuilder(c.c, c.h, c.w, nn.Engine{}, rng.New(4, c.name))
			if err != nil {
				t.Fatal(err)
			}
			weights := c.weights(b)
			in = both.Input(c.c, c.h, c.w, true)
			var sections []*wired.Section
			var outs []*wired.Map
			for range 3 {
				s := both.Section(net, true)
				sections, outs = append(sections, s), append(outs, c.wire(s, weights, in))
			}
			b, err = nn.NewBuilder(c.c, c.h, c.w, nn.Engine{}, rng.New(4, "another"))
			if err != nil {
				t.Fatal(err)
			}
			l1, l2 := wired.Conv(b, "a", c.c, 3, 50, true), wired.Conv(b, "b", 50, 3, 90, true)
			another := must(b.Build())
			other := both.Section(another, true)
			wide := other.Conv(l2, other.Conv(l1, in, 1, true), 1, true)
			idle := both.Section(net, false)
			last := c.wire(idle, weights, in)
			in.Load(x)
			both.Forward(4)
			before := ws.FLOPs()
			for i, k := range []int{1, 0, 2, 2} {
				for i := range 4 {
					wide.WriteGradient(values(wide, 1).Data, i)
				}
				other.Backward()
				if got := learn(sections[k], outs[k]); !slices.Equal(got, grads) {
					t.Errorf("section %d, backward pass %d: other gradients than alone", k, i)
				}
				if got := values(outs[k], 4); !slices.Equal(got.Data, want.Data) {
					t.Errorf("section %d: other values after the backward pass", k)
				}
			}
			if got, alone := ws.FLOPs()-before, 4*2*4*(s.FLOPs()+other.FLOPs()); got != alone {
				t.Errorf("%d operations of four backward passes, want %d: what is computed again does not count", got, alone)
			}
			if got := values(last, 4); !slices.Equal(got.Data, want.Data) {
				t.Error("a section that does not learn has other values")
			}
		})
	}
}

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

// must is what a call returns that cannot fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
