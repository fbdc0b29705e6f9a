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
	planes := []shape{{3, 20, 32, 32, 2}, {20, 20, 16, 16, 3}, {4, 7, 14, 19, 2}, {9, 11, 21, 42, 1}, {8, 9, 5, 28, 2}, {20, 20, 32, 32, 1}}
	channelLast := []shape{{20, 20, 4, 4, 3}, {16, 33, 5, 7, 2}, {7, 100, 1, 1, 4}, {40, 80, 8, 8, 1}, {77, 80, 6, 5, 2}}
	team := workers.New(1) // a fault is caught in the goroutine that asks for it
	for _, s := range kernel.Available() {
		for _, sh := range []shape{{7, 12, 3, 5, 2}, {20, 12, 4, 6, 3}, {32, 36, 2, 2, 4}} {
			ins, out := []Layout{ChannelLastLayout(sh.in, sh.h, sh.w, sh.n)}, ChannelLastLayout(sh.out, sh.h+1, sh.w+1, sh.n)
			if sh.h%2 == 0 {
				ins = append(ins, BlocksLayout(sh.in, sh.h, sh.w, sh.n))
			}
			for _, in := range ins {
				for _, e := range pages.Edges {
					t.Run(fmt.Sprintf("%s/corners/%v/blocks=%v/%v", s.Name, sh, in.InBlocks(), e), func(t *testing.T) {
						checkPages(t, team, &Maker{Set: s, Algorithm: Direct, Workers: 1}, in, out, Window{4, 1}, e)
					})
				}
			}
		}
	}
	for _, s := range kernel.Available() {
		for _, sh := range []shape{{36, 4, 4, 3, 2}, {100, 3, 5, 7, 1}, {33, 2, 1, 1, 4}} {
			for _, w := range []Window{{9, 1}, {9, 2}, {1, 1}} {
				in, out := ChannelLastLayout(sh.in, sh.h, sh.w, sh.n), ChannelLastLayout(sh.out, w.Out(sh.h), w.Out(sh.w), sh.n)
				for _, e := range pages.Edges {
					t.Run(fmt.Sprintf("%s/narrow/%v/taps=%d/stride=%d/%v", s.Name, sh, w.Taps, w.Stride, e), func(t *testing.T) {
						checkPages(t, team, &Maker{Set: s, Algorithm: Direct, Workers: 1, Narrow: true}, in, out, w, e)
					})
				}
			}
		}
	}
	for _, s := range kernel.Available() {
		for _, inChannelLast := range []bool{false, true} {
			list, layout := planes, PlanesLayout
			if inChannelLast {
				list, layout = channelLast, ChannelLastLayout
			}
			for i, sh := range list {
				if s.Name == "generic" && i > 1 && testing.Short() {
					continue // plain Go checks bounds anyway
				}
				for _, w := range []Window{{9, 1}, {9, 2}, {1, 1}, {1, 2}} {
					if !inChannelLast && w.Out(sh.w) < PlanesWidth {
						continue
					}
					in, out := layout(sh.in, sh.h, sh.w, sh.n), layout(sh.out, w.Out(sh.h), w.Out(sh.w), sh.n)
					for _, algorithm := range []string{Direct, Winograd} {
						m := &Maker{Set: s, Algorithm: algorithm, Workers: 1}
						if algorithm == Winograd && !m.byWinograd(in, out, w) {
							continue
						}
						for _, e := range pages.Edges {
							t.Run(fmt.Sprintf("%s/%s/channelLast=%v/%v/taps=%d/stride=%d/%v", s.Name, algorithm, inChannelLast, sh, w.Taps, w.Stride, e), func(t *testing.T) {
								checkPages(t, team, m, in, out, w, e)
							})
						}
					}
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
		call("forward, finished", func() { c.Forward(team, z, x, in.N, kernel.Finish{Scale: scale, Shift: scale, Res: res, Relu: true}) })
	}
	call("gradient of the input", func() { c.InputGradient(team, dx, z, in.N, nil) })
	call("gradient of the input, added", func() { c.InputGradient(team, dx, z, in.N, sum) })
	call("gradient of the weights", func() { c.WeightGradient(team, w2, z, x, 0, in.N) })
	for img := range in.N {
		call(fmt.Sprint("gradient of the weights, image ", img), func() { c.WeightGradient(team, w2, z, x, img, img+1) })
	}
	if in.ChannelLast && !in.InBlocks() {
		planes := PlanesLayout(in.C, in.H, in.W, in.N)
		from := floats(planes.Size())
		r := NewRelayout(m.Set, planes, in)
		call("relayout", func() { r.Run(team, x, from, 0, in.N, false) })
		call("relayout back", func() { r.Run(team, from, x, 0, in.N, true) })
	}
}
