package kernel

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// arrays makes the arrays of a call, each exactly as long as the description of the kernel says it reaches.
type arrays interface {
	floats(n int) []float32
	doubles(n int) []float64
	table(values ...int32) []int32
}

// kernelCalls call all kernels, with every shape that has code of its own. What a kernel returns is written to an
// array.
var kernelCalls = map[string]func(s *Set, f arrays, call func(what string, do func())){
	"planes": planesCalls, "channel-last": channelLastCalls, "winograd": winogradCalls, "vector": vectorCalls,
	"double": doubleCalls,
}

// allFinishes is one of each kind: none, without and with a sum, of an output as long as out.
func allFinishes(f arrays, outputs, out int) []Finish {
	return []Finish{{}, {Scale: f.floats(outputs), Shift: f.floats(outputs), Relu: true},
		{Scale: f.floats(outputs), Shift: f.floats(outputs), Res: f.floats(out)}}
}

// inOrder runs over a map by its sorted keys.
func inOrder(m map[string]func()) iter.Seq2[string, func()] {
	return func(yield func(string, func()) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// planesCalls are Planes and PlanesGrad, with weights of all rows and of each, and all numbers of vectors that have
// code of their own.
func planesCalls(s *Set, f arrays, call func(what string, do func())) {
	// rows, tiles, k, weights a row
	for _, shape := range [][4]int{{1, 1, 1, 0}, {3, 2, 4, 1}, {2, 3, 9, 0}, {1, 1, 5, 1}} {
		rows, tiles, k := shape[0], shape[1], shape[2]
		a := Planes{Rows: rows, Tiles: tiles, RowStride: tiles*2*s.Lanes + 1, VecStride: s.Lanes, XBase: 3,
			WStride: shape[3] * k * s.PlanesOut}
		end := (rows-1)*a.RowStride + (tiles-1)*2*s.Lanes + a.VecStride + s.Lanes
		a.OutStride = end
		var off []int32
		for i := range k {
			off = append(off, int32(i*7-3))
		}
		a.Off, a.X = f.table(off...), f.floats(a.XBase+int(slices.Max(off))+end)
		a.Out, a.W = f.floats(s.PlanesOut*end), f.floats((rows-1)*a.WStride+k*s.PlanesOut)
		for i, finish := range allFinishes(f, s.PlanesOut, len(a.Out)) {
			a.Finish = finish
			call(fmt.Sprint("planes ", shape, ", finish ", i), func() { s.Planes(&a) })
		}
	}
	for _, vecs := range []int{1, 2, 3, 4, 5} {
		for _, images := range []int{1, 3} {
			const rows, groups = 2, 2
			a := PlanesGrad{Images: images, Rows: rows, Vecs: vecs, RowStride: vecs*s.Lanes + 1, XBase: 2, YBase: 0}
			a.ImageStride = rows*a.RowStride + 3
			end := (images-1)*a.ImageStride + (rows-1)*a.RowStride + vecs*s.Lanes
			a.YStride = end
			var off []int32
			for i := range groups * s.GradIn {
				off = append(off, int32(i*5-2))
			}
			a.Off, a.X, a.Y = f.table(off...), f.floats(a.XBase+int(slices.Max(off))+end), f.floats(s.GradOut*end)
			a.Dst = f.floats(len(off) * s.GradOut * s.Lanes)
			for _, a.Write = range []bool{false, true} {
				call(fmt.Sprint("planes gradient, ", vecs, " vectors, ", images, " images"), func() { s.PlanesGrad(&a) })
			}
		}
	}
}

// channelLastCalls are ChannelLast, all widths of a block, its gradient, and what treats each channel by itself.
func channelLastCalls(s *Set, f arrays, call func(what string, do func())) {
	for vecs := 1; vecs <= s.ChannelLastVecs; vecs++ {
		width := vecs * s.Lanes
		for _, c := range []int{1, 3, 16} {
			out := f.table(0, int32(width), int32(2*width), int32(2*width), int32(4*width), 0, 0, 0, 0, int32(4*width))
			x := f.table(0, 8, 16, 24, 24, 1, 2, 3, 4, 40)
			a := ChannelLast{OutPos: out, XPos: x, TapX: f.table(0, 50), TapW: f.table(int32(c*width), 0), C: c, Vecs: vecs,
				Out: f.floats(5 * width), X: f.floats(90 + c), W: f.floats(2 * c * width)}
			for i, finish := range allFinishes(f, width, len(a.Out)) {
				a.Finish = finish
				call(fmt.Sprint("channel-last ", vecs, " vectors, ", c, " channels, finish ", i), func() { s.ChannelLast(&a) })
			}
		}
		for _, c := range []int{1, 7, 8, 10, 12, 14, 15, 16, 19, 40} {
			width := s.NarrowOuts
			size := (c + s.Lanes - 1) / s.Lanes * s.Lanes * width
			a := ChannelLast{OutPos: f.table(0, int32(width), int32(2*width), int32(2*width), int32(4*width)),
				XPos: f.table(0, 8, 16, 24, 40),
				TapX: f.table(0, 50), TapW: f.table(int32(size), 0), C: c, Out: f.floats(5 * width), X: f.floats(90 + c),
				W: f.floats(2 * size)}
			for i, finish := range allFinishes(f, width, len(a.Out)) {
				a.Finish = finish
				call(fmt.Sprint("channel-last, narrow, ", c, " channels, finish ", i), func() { s.ChannelLast(&a) })
			}
		}
		for _, c := range []int{width, 5 * s.Lanes} {
			pos := func(step int) []int32 { return f.table(0, int32(step), int32(2*step), int32(2*step), int32(4*step)) }
			a := Depthwise{OutPos: pos(c), XPos: pos(8), TapX: f.table(0, 50, 9), C: c, Out: f.floats(5 * c),
				X: f.floats(82 + c), W: f.floats(3 * c)}
			for i, finish := range allFinishes(f, c, len(a.Out)) {
				a.Finish = finish
				call(fmt.Sprint("depthwise, ", c, " channels, finish ", i), func() { s.Depthwise(&a) })
			}
			call(fmt.Sprint("maximum, ", c, " channels"), func() {
				s.ChannelLastMax(&ChannelLastMax{Out: a.Out, X: a.X, OutPos: a.OutPos, XPos: a.XPos, TapX: a.TapX, C: c})
			})
		}
		for _, tiles := range []int{1, 3} {
			inputs := tiles * ChannelLastTile
			a := ChannelLastGrad{X: f.floats(40 + inputs), Y: f.floats(30 + width), XPos: f.table(0, 40, 7),
				YPos:      f.table(30, 0, 1),
				DstStride: width + 2, Dst: f.floats((inputs-1)*(width+2) + width), Tiles: tiles, Vecs: vecs}
			for _, a.Write = range []bool{false, true} {
				call(fmt.Sprint("channel-last gradient ", vecs, " vectors, ", tiles, " tiles"), func() { s.ChannelLastGrad(&a) })
			}
		}
	}
}

// winogradCalls are the transforms.
func winogradCalls(s *Set, f arrays, call func(what string, do func())) {
	for _, tiles := range []int{1, 2, 5} {
		for _, c := range []int{s.Lanes, 3 * s.Lanes} {
			what := fmt.Sprintf("channel-last, %d tiles, %d channels: ", tiles, c)
			transform := func(n int) *WinogradChannelLast {
				a := &WinogradChannelLast{Stride: c, Step: tiles*c + 5, C: c}
				var pos []int32
				for i := range tiles * n {
					pos = append(pos, int32((i*11)%(tiles*n)*c))
				}
				a.Pos, a.X, a.T = f.table(pos...), f.floats(tiles*n*c), f.floats((WinogradProducts-1)*a.Step+tiles*c)
				return a
			}
			in, out := transform(WinogradProducts), transform(WinogradTileRows*WinogradTileCols)
			call(what+"input", func() { s.WinogradChannelLastInput(in) })
			call(what+"gradient", func() { s.WinogradChannelLastGradient(out) })
			for i, finish := range allFinishes(f, c, len(out.X)) {
				call(fmt.Sprint(what, "output, finish ", i), func() { s.WinogradChannelLastOutput(out, &finish) })
			}
		}
	}
	for _, vecs := range []int{1, 2, 3} {
		for _, c := range []int{1, 4} {
			what := fmt.Sprintf("planes, %d vectors, %d channels: ", vecs, c)
			// Rows of units lie side by side, left columns after the first float, and right columns behind the last.
			transform := func(rows, left, right, products int, pairStep int) *WinogradPlanes {
				a := &WinogradPlanes{C: c, Stride: vecs*s.Lanes + 1, PairStep: pairStep}
				a.Step = c*a.Stride + 3
				a.XStride = 2*vecs*rows*s.Lanes + left + right
				var pos []int32
				for i := range 2 * vecs * rows {
					pos = append(pos, int32((i*5)%(2*vecs*rows)*s.Lanes+left))
				}
				a.Pos = f.table(pos...)
				a.X = f.floats((c-1)*a.XStride + int(slices.Max(pos)) + s.Lanes + right)
				a.T = f.floats((products-1)*a.Step + pairStep + (c-1)*a.Stride + vecs*s.Lanes)
				return a
			}
			in := transform(winogradInRows, 1, 1, winogradInRows, 7)
			grad, out := transform(WinogradTileRows, 0, 0, winogradInRows, 7),
				transform(WinogradTileRows, 0, 0, WinogradProducts, 0)
			next := *in
			next.Next, next.Out = in.Pos, in.X
			skip := *grad
			skip.Skip = f.table(slices.Repeat([]int32{2, 0}, vecs)...)
			for _, pair := range []WinogradPair{WinogradOuter, WinogradInner} {
				in.Pair, grad.Pair, next.Pair, skip.Pair = pair, pair, pair, pair
				call(fmt.Sprint(what, "input, pair ", pair), func() { s.WinogradPlanesInput(in) })
				call(fmt.Sprint(what, "input with a next one, pair ", pair), func() { s.WinogradPlanesInput(&next) })
				call(fmt.Sprint(what, "gradient, pair ", pair), func() { s.WinogradPlanesGradient(grad) })
				call(fmt.Sprint(what, "gradient that skips, pair ", pair), func() { s.WinogradPlanesGradient(&skip) })
			}
			for i, finish := range allFinishes(f, c, len(out.X)) {
				call(fmt.Sprint(what, "output, finish ", i), func() { s.WinogradPlanesOutput(out, &finish) })
			}
		}
	}
	for _, rows := range []int{1, 3} {
		for _, width := range []int{s.Lanes, 3 * s.Lanes} {
			a := WinogradWeights{Rows: rows, Width: width, URow: width + 1, WTap: width + 2, WRow: 9*width + 20}
			a.Step = rows*a.URow + 3
			a.U = f.floats((WinogradProducts-1)*a.Step + (rows-1)*a.URow + width)
			a.W = f.floats((rows-1)*a.WRow + 8*a.WTap + width)
			what := fmt.Sprintf("weights, %d×%d: ", rows, width)
			call(what+"transform", func() { s.WinogradWeights(&a) })
			call(what+"gradient", func() { s.WinogradWeightsGrad(&a) })
			call(what+"ahead", func() { s.WinogradWeightsAhead(&a) })
		}
	}
}

// vectorCalls are the flat vectors, batch norm and changes of layout, for lengths that fill no vector.
func vectorCalls(s *Set, f arrays, call func(what string, do func())) {
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130} {
		a, b, c, d := f.floats(n), f.floats(n), f.floats(n), f.floats(n)
		for what, do := range inOrder(map[string]func(){
			"axpy": func() { s.Axpy(a, b, 2) }, "dot": func() { a[0] = float32(s.Dot(a, b)) },
			"relu gradient": func() { s.ReLUGrad(a, b) },
			"sgd":           func() { s.SGD(a, b, 0.1, 0.2) }, "momentum": func() { s.Momentum(a, b, c, 0.1, 0.2, 0.3) },
			"sigmoid error": func() { b[0] = float32(s.SigmoidError(a, b, c)) },
			"its gradient":  func() { s.SigmoidErrorGrad(a, b, c, d, 2) },
			"gelu":          func() { s.GELU(a) }, "quick gelu": func() { s.QuickGELU(a) }, "softmax": func() { s.Softmax(a) },
			"layer norm": func() { s.LayerNorm(a, b, c, d, 1e-6) },
			"adam":       func() { s.Adam(a, b, c, d, AdamStep{LR: 0.1, Eps: 1e-8, Correction1: 1, Correction2: 1}) },
		}) {
			call(fmt.Sprint(what, " of ", n), do)
		}
		if n%LaneGroup == 0 {
			src := f.floats(n * s.Lanes)
			call(fmt.Sprint("lane sums of ", n), func() { s.LaneSums(a, src) })
		}
		for _, odd := range []int{n - 1, n} {
			x, even := f.floats(n+odd), f.floats(odd)
			call(fmt.Sprint("split of ", n+odd), func() { s.Split(a, even, x) })
			call(fmt.Sprint("merge of ", n+odd), func() { s.Merge(x, a, even) })
		}
	}
	for _, rows := range []int{1, 2, 3, 5} {
		for _, cols := range []int{1, 3, 4, 6, 8, 13, 16, 17, 31, 42, 64, 67} {
			area := Area{Rows: rows, Cols: cols, RowStride: cols + 1}
			x, y, g := f.floats(area.end()), f.floats(area.end()), f.floats(area.end())
			for what, do := range inOrder(map[string]func(){
				"sum":             func() { y[0] = s.PlaneSum(x, area) },
				"squares":         func() { y[0] = s.PlaneSquares(x, area, 0.5) },
				"scale":           func() { s.PlaneScale(y, x, nil, area, 2, 3, true) },
				"scale and a sum": func() { s.PlaneScale(y, x, g, area, 2, 3, true) },
				"norm sums":       func() { y[0], y[area.end()-1] = s.PlaneNormSums(&PlaneNorm{Area: area, Z: x, G: g}) },
				"gated norm sums": func() { x[0], x[area.end()-1] = s.PlaneNormSums(&PlaneNorm{Area: area, Z: x, Y: y, G: g}) },
				"norm gradient":   func() { s.PlaneNormApply(y, &PlaneNorm{Area: area, Z: x, G: g}, 1, 2, 3) },
			}) {
				call(fmt.Sprintf("planes, %s of %d×%d", what, rows, cols), do)
			}
		}
	}
	for _, n := range []int{1, 2, 3, 7} {
		for _, c := range []int{1, 2, 4, 5, 6, 7, 8, 16, 19, 32, 48, 77} {
			stride := c + 3
			v := func() []float32 { return f.floats(c) }
			x, y, g := f.floats((n-1)*stride+c), f.floats((n-1)*stride+c), f.floats((n-1)*stride+c)
			m, p, q, r := v(), v(), v(), v()
			norm := ChannelLastNorm{Z: x, G: g, Mean: m, N: n, C: c, Stride: stride}
			gated := norm
			gated.Y = y
			for what, do := range inOrder(map[string]func(){
				"sums":            func() { s.ChannelLastSums(p, x, n, stride) },
				"squares":         func() { s.ChannelLastSquares(p, x, m, n, stride) },
				"scale":           func() { s.ChannelLastScale(y, x, nil, p, q, n, stride, true) },
				"scale and a sum": func() { s.ChannelLastScale(y, x, g, p, q, n, stride, true) },
				"norm sums":       func() { s.ChannelLastNormSums(p, q, &norm) },
				"gated norm sums": func() { s.ChannelLastNormSums(p, q, &gated) },
				"norm gradient":   func() { s.ChannelLastNormApply(y, &norm, p, q, r) },
			}) {
				call(fmt.Sprintf("channel-last, %s of %d×%d", what, n, c), do)
			}
		}
	}
	for _, n := range []int{1, 7, 8, 9, 16, 21} {
		for _, m := range []int{1, 7, 8, 11, 24} {
			dst, src := f.floats((m-1)*(n+2)+n), f.floats((n-1)*(m+1)+m)
			call(fmt.Sprintf("transpose %d×%d", n, m), func() { s.Transpose(dst, n+2, src, m+1, n, m) })
		}
	}
}

// doubleCalls are the kernels of float64.
func doubleCalls(s *Set, f arrays, call func(what string, do func())) {
	for _, n := range []int{1, 2, 7} {
		for _, width := range []int{DoubleWidth, 3 * DoubleWidth} {
			dst := [DoubleRows][]float64{f.doubles(width), f.doubles(width), f.doubles(width), f.doubles(width)}
			x, factors := f.doubles(n*width), f.doubles(n*DoubleRows)
			call(fmt.Sprintf("add products, %d of %d", n, width), func() { s.AddProducts(&dst, x, factors) })
		}
		dst, x, factors := f.doubles(DoubleWidth), f.doubles(n*DoubleWidth), f.doubles(n)
		call(fmt.Sprint("sum products, ", n), func() { s.SumProducts(dst, x, factors) })
	}
}
