//go:build unix

package conv

import (
	"fmt"
	"testing"

	"ocl/internal/kernel"
	"ocl/internal/pages"
	"ocl/nn/internal/workers"
)

// TestPages: convolutions and changes of layout keep to buffers that are as long as their layouts say and no longer, at
// both ends: inputs, outputs, weights and gradients.
func TestPages(t *testing.T) {
	type shape struct{ in, out, h, w, n int }
	all := []Window{{9, 1}, {9, 2}, {1, 1}, {1, 2}}
	groups := []struct {
		name    string
		layout  func(c, h, w, n int) Layout
		windows []Window
		shapes  []shape
	}{
		{"planes", PlanesLayout, all, []shape{{3, 20, 32, 32, 2}, {20, 20, 16, 16, 3}, {4, 7, 14, 19, 2}, {9, 11, 21, 42, 1},
			{8, 9, 5, 28, 2}, {20, 20, 32, 32, 1}}},
		{"channelLast", ChannelLastLayout, all, []shape{{20, 20, 4, 4, 3}, {16, 33, 5, 7, 2}, {7, 100, 1, 1, 4},
			{40, 80, 8, 8, 1}, {77, 80, 6, 5, 2}}},
		{"narrow", ChannelLastLayout, all[:3], []shape{{36, 4, 4, 3, 2}, {100, 3, 5, 7, 1}, {33, 2, 1, 1, 4}}},
		{"corners", ChannelLastLayout, []Window{{4, 1}}, []shape{{7, 12, 3, 5, 2}, {20, 12, 4, 6, 3}, {32, 36, 2, 2, 4}}},
	}
	team := workers.New(1) // a fault is caught in the goroutine that asks for it
	for _, s := range kernel.Available() {
		for _, g := range groups {
			for i, sh := range g.shapes {
				if s.Name == "generic" && i > 1 && testing.Short() {
					continue // plain Go checks bounds anyway
				}
				for _, w := range g.windows {
					in, out := g.layout(sh.in, sh.h, sh.w, sh.n), g.layout(sh.out, w.Out(sh.h), w.Out(sh.w), sh.n)
					if !in.ChannelLast && out.W < PlanesWidth {
						continue
					}
					for _, algorithm := range []string{Direct, Winograd} {
						m := &Maker{Set: s, Algorithm: algorithm, Workers: 1, Narrow: g.name == "narrow"}
						if algorithm == Winograd && !m.byWinograd(in, out, w) {
							continue
						}
						for _, e := range pages.Edges {
							t.Run(fmt.Sprintf("%s/%s/%s/%v/taps=%d/stride=%d/%v", s.Name, algorithm, g.name, sh, w.Taps, w.Stride, e),
								func(t *testing.T) {
									checkPages(t, team, m, in, out, w, e)
								})
						}
					}
				}
			}
		}
	}
}

// TestLocalPages: convolutions of each channel by itself, of pictures, and maxima keep to buffers of their layouts'
// size.
func TestLocalPages(t *testing.T) {
	team := workers.New(1)
	for _, s := range kernel.Available() {
		m := &Maker{Set: s, Workers: 1}
		for _, e := range pages.Edges {
			for _, l := range localCases {
				floats := func(n int) []float32 { return pages.Floats(t, n, e) }
				side := l.q.outs(l.side, l.border)
				in, out := ChannelLastLayout(72, l.side, l.side, 2).Bordered(l.border), ChannelLastLayout(72, side, side, 2)
				pictures := DenseLayout(3, l.side, l.side, 2, l.border)
				x, z, p, scale := floats(in.Size()), floats(out.Size()), floats(pictures.Size()), floats(Reach(72))
				f := kernel.Finish{Scale: scale, Shift: scale, Res: floats(out.Size()), Relu: true}
				d, c := m.Depthwise(in, out, l.q, &Packed{}), m.Stem(pictures, out, l.q, &Packed{})
				taps := l.q.Side * l.q.Side
				for what, do := range map[string]func(){
					"depthwise, packing": func() { d.PackForward(floats(72 * taps)) },
					"stem, packing":      func() { c.PackForward(floats(72 * 3 * taps)) },
				} {
					if err := pages.Fault(do); err != nil {
						t.Errorf("%s, %v, %v: %s: %v", s.Name, l, e, what, err)
					}
				}
				for what, do := range map[string]func(){
					"depthwise": func() { d.Forward(team, z, x, 2, f) },
					"stem":      func() { c.Forward(team, z, p, 2, f) },
					"maximum":   func() { m.MaxPool(in, out, l.q).Forward(team, z, x, 2) },
				} {
					if err := pages.Fault(do); err != nil {
						t.Errorf("%s, %v, %v: %s: %v", s.Name, l, e, what, err)
					}
				}
			}
		}
	}
}

// TestAttentionPages: attention keeps to buffers of its layouts' size.
func TestAttentionPages(t *testing.T) {
	team := workers.New(1)
	for _, s := range kernel.Available() {
		for _, e := range pages.Edges {
			for _, c := range attentionCases {
				d := c[2] * c[3]
				in, out := ChannelLastLayout(3*d, c[0], 1, 2), ChannelLastLayout(d, c[1], 1, 2)
				a := (&Maker{Set: s, Workers: 1}).Attention(in, out, c[2])
				x, z := pages.Floats(t, in.Size(), e), pages.Floats(t, out.Size(), e)
				a.packed, a.scores[0] = pages.Floats(t, len(a.packed), e), pages.Floats(t, len(a.scores[0]), e)
				if err := pages.Fault(func() { a.Forward(team, z, x, 2) }); err != nil {
					t.Errorf("%s, %v, %v: %v", s.Name, c, e, err)
				}
			}
		}
	}
}

func checkPages(t *testing.T, team *workers.Team, m *Maker, in, out Layout, w Window, e pages.Edge) {
	floats := func(n int) []float32 { return pages.Floats(t, n, e) }
	call := func(what string, do func()) {
		t.Helper()
		if err := pages.Fault(do); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := m.Make(in, out, w, &Packed{})
	if !in.ChannelLast && w.Stride == 2 {
		phases := NewPhases(m.Set, in)
		whole, split := floats(in.Size()), floats(phases.Split.Size())
		call("phases", func() { phases.Run(team, split, whole, 0, in.N, false) })
		call("phases merged", func() { phases.Run(team, whole, split, 0, in.N, true) })
		in = phases.Split
	}
	weights := (in.C * w.Taps * out.C)
	if !in.ChannelLast && w.Stride == 2 {
		weights /= 4
	}
	x, z, w1, w2 := floats(in.Size()), floats(out.Size()), floats(weights), floats(weights)
	dx, res, sum := floats(in.Size()), floats(out.Size()), floats(in.Size())
	scale := floats(Reach(out.C))
	call("packing forward", func() { c.PackForward(w1) })
	call("packing backward", func() { c.PackBackward(w1) })
	call("forward", func() { c.Forward(team, z, x, in.N, kernel.Finish{}) })
	if c.Finishes() {
		call("forward, finished", func() {
			c.Forward(team, z, x, in.N,
				kernel.Finish{Scale: scale, Shift: scale, Res: res, Relu: true})
		})
	}
	call("gradient of the input", func() { c.InputGradient(team, dx, z, in.N, nil) })
	call("gradient of the input, added", func() { c.InputGradient(team, dx, z, in.N, sum) })
	call("gradient of the weights", func() { c.WeightGradient(team, w2, z, x, 0, in.N) })
	for img := range in.N {
		call(fmt.Sprint("gradient of the weights, image ", img), func() { c.WeightGradient(team, w2, z, x, img, img+1) })
	}
	if in.ChannelLast {
		planes := PlanesLayout(in.C, in.H, in.W, in.N)
		from := floats(planes.Size())
		r := NewRelayout(m.Set, planes, in)
		call("relayout", func() { r.Run(team, x, from, 0, in.N, false) })
		call("relayout back", func() { r.Run(team, from, x, 0, in.N, true) })
	}
}
