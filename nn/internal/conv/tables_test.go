package conv

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
)

// mustPanic fails unless call panics with a text that holds all parts.
func mustPanic(t *testing.T, what string, call func(), parts ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		got := fmt.Sprint(recover())
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: panic %q, want one with %q", what, got, part)
			}
		}
	}()
	call()
}

// TestLayoutsBeyondOffsets: a layout that offsets of 32 bits do not reach is refused, and the text names a number of
// images that they reach. No memory is asked for.
func TestLayoutsBeyondOffsets(t *testing.T) {
	for name, layout := range map[string]func(c, h, w, n int) Layout{"planes": PlanesLayout,
		"channel-last": ChannelLastLayout} {
		for _, c := range []struct{ c, h, w, n, most int }{{20, 32, 32, 1 << 17, 1 << 15}, {64, 84, 84, 10000, 3000},
			{1000000, 1, 1, 5000, 10}} {
			what := fmt.Sprintf("%s of %d×%d×%d", name, c.c, c.h, c.w)
			var most int
			func() {
				defer func() {
					text := fmt.Sprint(recover())
					_, rest, _ := strings.Cut(text, "Use at most ")
					if _, err := fmt.Sscan(rest, &most); err != nil ||
						!strings.Contains(text, fmt.Sprint(c.n, " images with ", c.c, " channels")) {
						t.Errorf("%s: panic %q, want one that says how many images fit", what, text)
					}
				}()
				layout(c.c, c.h, c.w, c.n)
			}()
			if most < c.most || most >= c.n {
				t.Errorf("%s: at most %d images; want %d or more and fewer than %d", what, most, c.most, c.n)
			}
			if g := layout(c.c, c.h, c.w, most); g.Size() > math.MaxInt32 { // it must not panic
				t.Errorf("%s: %d images have offsets up to %d", what, most, g.Size())
			}
			mustPanic(t, what+", one image more", func() { layout(c.c, c.h, c.w, most+1) },
				fmt.Sprint("Use at most ", most, " images"))
		}
		mustPanic(t, name, func() { layout(3, 40000, 40000, 1) }, "Use smaller images")
	}
}

// TestTablesBeyondOffsets: each table refuses an offset that does not fit, where it is built. The layouts are made by
// hand, without the check of the constructors and without memory.
func TestTablesBeyondOffsets(t *testing.T) {
	s := kernel.Available()[0]
	planes := func(c int) Layout {
		return Layout{C: c, H: 16, W: 32, N: 1, RowStride: 33, plane: 17 * 33, stride: 1 << 28, lead: 48}
	}
	last := func(c int) Layout { return Layout{ChannelLast: true, C: c, H: 4, W: 4, N: 2, PixelStride: 1 << 28} }
	small, smallLast := PlanesLayout(3, 16, 32, 1), ChannelLastLayout(3, 4, 4, 2)
	high := Layout{C: 8, H: 16, W: 32, N: 1, RowStride: 1 << 28}
	identity := func(y, x, _ int) (int, int, bool) { return y, x, true }
	here := func(y, x int) (int, int) { return y, x }
	for what, build := range map[string]struct {
		build func()
		table string
	}{
		"planes, inputs": {func() { newDirectPlanes(s, planes(9), small, Window{9, 1}, 1, false, &Packed{}) },
			"table of inputs"},
		"planes, outputs": {func() { newDirectPlanes(s, small, planes(9), Window{9, 1}, 1, false, &Packed{}) },
			"table of outputs"},
		"planes, weights": {func() { newDirectPlanes(s, small, Layout{C: 1 << 28}, Window{9, 1}, 1, false, &Packed{}) },
			"table of weights"},
		"channel-last, taps": {func() {
			groupByTaps(smallLast, last(3), 1, 9, identity, func(int, int) (int, int) { return 0, 0 }, false)
		}, "table of taps"},
		"channel-last, inputs":  {func() { groupByTaps(smallLast, last(3), 2, 1, identity, here, true) }, "table of inputs"},
		"channel-last, outputs": {func() { groupByTaps(last(3), smallLast, 2, 1, identity, here, true) }, "table of outputs"},
		"channel-last, weights": {func() {
			(&channelLastConv{s: s, depth: 1 << 28}).weightOffsets([]tapGroup{{tap: []int{8}}}, outputBlock{vecs: 1})
		}, "table of weights"},
		"gradient, inputs": {func() { newChannelLastGrad(s, smallLast, last(3), 1, identity, 1).listOf(0, 2) },
			"table of inputs"},
		"gradient, outputs": {func() { newChannelLastGrad(s, last(3), smallLast, 1, identity, 1).listOf(0, 2) },
			"table of outputs"},
		"winograd, tiles":        {func() { winogradInputs(last(16)) }, "table of pixels"},
		"winograd, outputs":      {func() { winogradOutputs(last(16)) }, "table of pixels"},
		"winograd, products":     {func() { everyStride(9, 1<<28) }, "table of products"},
		"winograd, planes":       {func() { newWinogradUnits(s, high, small, 1) }, "table of inputs"},
		"winograd, planes again": {func() { newWinogradUnits(s, small, high, 1) }, "table of outputs"},
	} {
		mustPanic(t, what, build.build, build.table, "does not fit 32 bits", "Use a smaller batch")
	}
	if got := offset("inputs", math.MaxInt32); got != math.MaxInt32 {
		t.Errorf("the largest offset is %d, want %d", got, math.MaxInt32)
	}
	if got := offset("inputs", math.MinInt32); got != math.MinInt32 {
		t.Errorf("the least offset is %d, want %d", got, math.MinInt32)
	}
}

// TestMakeRefuses: shapes that do not fit each other or the kernels are found where the tables are built.
func TestMakeRefuses(t *testing.T) {
	m := &Maker{Set: kernel.Available()[0], Algorithm: Table, Workers: 1}
	planes, last := PlanesLayout, ChannelLastLayout
	for what, c := range map[string]struct {
		in, out Layout
		w       Window
		text    string
	}{
		"taps":        {planes(3, 16, 16, 2), planes(3, 16, 16, 2), Window{4, 1}, "4 taps and stride 1"},
		"stride":      {planes(3, 16, 16, 2), planes(3, 16, 16, 2), Window{9, 3}, "9 taps and stride 3"},
		"layouts":     {planes(3, 16, 16, 2), last(3, 16, 16, 2), Window{9, 1}, "one layout"},
		"images":      {planes(3, 16, 16, 2), planes(3, 16, 16, 3), Window{9, 1}, "the same number of images"},
		"height":      {last(3, 16, 16, 2), last(3, 15, 16, 2), Window{9, 1}, "sides divided by stride 1"},
		"width":       {last(3, 16, 17, 2), last(3, 8, 8, 2), Window{9, 2}, "sides divided by stride 2"},
		"no channels": {last(3, 16, 16, 2), last(0, 16, 16, 2), Window{9, 1}, "Use one layout"},
		"no images":   {last(3, 16, 16, 0), last(3, 16, 16, 0), Window{9, 1}, "Use one layout"},
		"narrow": {planes(3, 16, 13, 2), planes(3, 16, 13, 2), Window{9, 1},
			"maps of 16×13 pixels in planes, narrower than 14"},
		"narrow by stride": {planes(3, 32, 26, 2), planes(3, 16, 13, 2), Window{9, 2},
			"maps of 16×13 pixels in planes, narrower than 14"},
		"narrow for 1 tap":  {planes(3, 32, 26, 2), planes(3, 16, 13, 2), Window{1, 2}, "narrower than 14"},
		"narrow, as inputs": {planes(3, 4, 1, 2), planes(3, 4, 1, 2), Window{9, 1}, "narrower than 14"},
	} {
		mustPanic(t, what, func() { m.Make(c.in, c.out, c.w, &Packed{}) }, c.text)
	}
	m.Make(planes(3, 28, 28, 2), planes(4, 14, 14, 2), Window{9, 2}, &Packed{})
}

// TestRunsRefuseShortBuffers: a run looks at its buffers once, and says which one is shorter than the tables reach.
func TestRunsRefuseShortBuffers(t *testing.T) {
	s := kernel.Available()[0]
	team := workers.New(1)
	for name, c := range map[string]struct {
		in, out Layout
		w       Window
	}{
		"planes":              {PlanesLayout(9, 16, 16, 2), PlanesLayout(10, 16, 16, 2), Window{9, 1}},
		"planes, stride 2":    {PlanesLayout(9, 32, 32, 2), PlanesLayout(10, 16, 16, 2), Window{9, 2}},
		"channel-last":        {ChannelLastLayout(9, 8, 8, 2), ChannelLastLayout(10, 8, 8, 2), Window{9, 1}},
		"channel-last, 1 tap": {ChannelLastLayout(9, 1, 1, 2), ChannelLastLayout(10, 1, 1, 2), Window{1, 1}},
	} {
		for _, algorithm := range []string{Direct, Winograd} {
			u := (&Maker{Set: s, Algorithm: algorithm, Workers: 1}).Make(c.in, c.out, c.w, &Packed{})
			in := c.in
			if !in.ChannelLast && c.w.Stride == 2 {
				in = phasesOf(in)
			}
			x, z, w := make([]float32, in.Size()), make([]float32, c.out.Size()), make([]float32, c.in.C*c.w.Taps*c.out.C)
			less := func(v []float32) []float32 { return v[:len(v)-1] }
			refused := func(what, text string, call func()) {
				t.Helper()
				mustPanic(t, fmt.Sprintf("%s, %s: %s", name, algorithm, what), call, "conv: "+text)
			}
			refused("unpacked", "Forward without PackForward", func() { u.Forward(team, z, x, 2, kernel.Finish{}) })
			refused("unpacked", "InputGradient without PackBackward", func() { u.InputGradient(team, x, z, 2, nil) })
			u.PackForward(w)
			u.PackBackward(w)
			scale := make([]float32, Reach(c.out.C))
			refused("input", "input: a buffer of", func() { u.Forward(team, z, less(x), 2, kernel.Finish{}) })
			refused("output", "output: a buffer of", func() { u.Forward(team, less(z), x, 2, kernel.Finish{}) })
			refused("residual", "residual: a buffer of", func() {
				u.Forward(team, z, x, 2, kernel.Finish{Scale: scale, Shift: scale, Res: less(z)})
			})
			refused("images", "input: 3 images, but the convolution was made for 1 to 2",
				func() { u.Forward(team, z, x, 3, kernel.Finish{}) })
			refused("no images", "input: 0 images, but the convolution was made for 1 to 2",
				func() { u.Forward(team, z, x, 0, kernel.Finish{}) })
			refused("dx", "gradient of the input: a buffer of", func() { u.InputGradient(team, less(x), z, 2, nil) })
			refused("dz", "gradient of the output: a buffer of", func() { u.InputGradient(team, x, less(z), 2, nil) })
			refused("sum", "sum with the gradient of the input: a buffer of", func() { u.InputGradient(team, x, z, 2, less(x)) })
			refused("images back", "gradient of the input: 3 images", func() { u.InputGradient(team, x, z, 3, nil) })
			for first := range 2 { // the batch, and an image
				refused("dw", fmt.Sprintf("gradient of %d weights", len(w)-1),
					func() { u.WeightGradient(team, less(w), z, x, first, 2) })
				refused("dw, dz", "gradient of the output: a buffer of", func() { u.WeightGradient(team, w, less(z), x, first, 2) })
				refused("dw, x", "input: a buffer of", func() { u.WeightGradient(team, w, z, less(x), first, 2) })
			}
			if !c.in.ChannelLast { // what begins at the second image has room for one
				from := c.out.ImageAt(1)
				u.Forward(team, z[from:], x, 1, kernel.Finish{})
				refused("part", "output: a buffer of", func() { u.Forward(team, less(z[from:]), x, 1, kernel.Finish{}) })
				refused("part too large", "output: a buffer of", func() { u.Forward(team, z[from:], x, 2, kernel.Finish{}) })
			}
			refused("dw, images", "input: 3 images", func() { u.WeightGradient(team, w, z, x, 0, 3) })
			refused("dw, no images", fmt.Sprintf("gradient of %d weights over images 1 to 1", len(w)),
				func() { u.WeightGradient(team, w, z, x, 1, 1) })
			u.Forward(team, z, x, 2, kernel.Finish{})
		}
	}
	packed := &Packed{}
	for _, outs := range []int{9, 99} {
		u := (&Maker{Set: s, Algorithm: Direct, Workers: 1}).Make(ChannelLastLayout(9, 8, 8, 2),
			ChannelLastLayout(outs, 8, 8, 2), Window{9, 1}, packed)
		if outs == 99 {
			mustPanic(t, "weights of another convolution", func() { u.PackForward(make([]float32, 81*outs)) },
				"between convolutions of one kind")
			continue
		}
		u.PackForward(make([]float32, 81*outs))
	}
}
