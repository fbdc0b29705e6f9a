package kernel

import "slices"

// The plain-Go transforms: the specification of the vector ones. They serve the tiles one by one. Products by powers of
// two are exact, so that it does not matter whether a compiler fuses them into a sum.

type (
	winogradIn      [winogradInRows][winogradInCols]float32 // inputs of a tile, or its products
	winogradOut     [WinogradTileRows][WinogradTileCols]float32
	winogradKernels [3][3]float32
)

// input is Bᵀ d B.
func (d *winogradIn) input() (t winogradIn) {
	for i := range d {
		x := d[i]
		d[i] = [...]float32{x[0] - x[2], x[1] + x[2], x[2] - x[1], x[1] - x[3]}
	}
	for k := range winogradInCols {
		d0, d1, d2, d3, d4, d5 := d[0][k], d[1][k], d[2][k], d[3][k], d[4][k], d[5][k]
		even, odd := d4-4*d2, d3-4*d1
		even2, odd2 := d4-d2, 2*(d3-d1)
		t[0][k] = 4*d0 + d4 - float32(5*d2)
		t[1][k], t[2][k] = even+odd, even-odd
		t[3][k], t[4][k] = even2+odd2, even2-odd2
		t[5][k] = 4*d1 + d5 - float32(5*d3)
	}
	return t
}

// gradient is A y Aᵀ.
func (y *winogradOut) gradient() (t winogradIn) {
	for k := range WinogradTileCols {
		y0, y1, y2, y3 := y[0][k], y[1][k], y[2][k], y[3][k]
		even, odd := y0+y2, y1+y3
		even2, odd2 := y0+4*y2, 2*y1+8*y3
		for i, m := range [...]float32{y0, even + odd, even - odd, even2 + odd2, even2 - odd2, y3} {
			t[i][k] = m
		}
	}
	for i := range t {
		m := t[i]
		t[i] = [...]float32{m[0], m[0] + m[1], m[0] - m[1], -m[1]}
	}
	return t
}

// output is Aᵀ t A.
func (t *winogradIn) output() (y winogradOut) {
	var m [winogradInRows][WinogradTileCols]float32
	for i, r := range t {
		m[i] = [...]float32{r[0] + (r[1] + r[2]), r[1] - r[2] - r[3]}
	}
	for k := range WinogradTileCols {
		sum, diff := m[1][k]+m[2][k], m[1][k]-m[2][k]
		sum2, diff2 := m[3][k]+m[4][k], m[3][k]-m[4][k]
		y[0][k] = m[0][k] + sum + sum2
		y[1][k] = diff + 2*diff2
		y[2][k] = sum + 4*sum2
		y[3][k] = diff + m[5][k] + 8*diff2
	}
	return y
}

const (
	winogradSixth        = float32(1) / 6
	winogradTwelfth      = float32(1) / 12
	winogradTwentyFourth = float32(1) / 24
)

// weights is G w Gᵀ.
func (w *winogradKernels) weights() (u winogradIn) {
	for k := range winogradInCols {
		var g [3]float32
		for i, r := range w {
			g[i] = [...]float32{r[0], 0.5 * (r[0] + r[2] + r[1]), 0.5 * (r[0] + r[2] - r[1]), r[2]}[k]
		}
		even, odd := float32(winogradSixth*(g[0]+g[2])), float32(winogradSixth*g[1])
		even2, odd2 := float32(winogradTwentyFourth*g[0])+float32(winogradSixth*g[2]), float32(winogradTwelfth*g[1])
		u[0][k] = 0.25 * g[0]
		u[1][k], u[2][k] = -even-odd, odd-even
		u[3][k], u[4][k] = even2+odd2, even2-odd2
		u[5][k] = g[2]
	}
	return u
}

// weightsGrad is Gᵀ u G.
func (u *winogradIn) weightsGrad() (w winogradKernels) {
	for i := range w {
		var g [winogradInCols]float32
		for k := range g {
			sum, diff := u[1][k]+u[2][k], u[2][k]-u[1][k]
			sum2, diff2 := u[3][k]+u[4][k], u[3][k]-u[4][k]
			switch i {
			case 0:
				g[k] = float32(0.25*u[0][k]) - float32(winogradSixth*sum) + float32(winogradTwentyFourth*sum2)
			case 1:
				g[k] = float32(winogradSixth*diff) + float32(winogradTwelfth*diff2)
			default:
				g[k] = u[5][k] + float32(winogradSixth*(sum2-sum))
			}
		}
		half := float32(0.5 * (g[1] + g[2]))
		w[i] = [...]float32{g[0] + half, 0.5 * (g[1] - g[2]), half + g[3]}
	}
	return w
}

// scatter writes the products of one tile, step floats apart.
func (t *winogradIn) scatter(dst []float32, step int) {
	for j := range WinogradProducts {
		dst[j*step] = t[j/winogradInCols][j%winogradInCols]
	}
}

func (t *winogradIn) gather(src []float32, step int) {
	for j := range WinogradProducts {
		t[j/winogradInCols][j%winogradInCols] = src[j*step]
	}
}

func winogradChannelLastInputGeneric(a *WinogradChannelLast) {
	const n = WinogradProducts
	for q := range len(a.Pos) / n {
		for c := range a.C {
			var d winogradIn
			for k, p := range a.Pos[q*n:][:n] {
				d[k/winogradInCols][k%winogradInCols] = a.X[int(p)+c]
			}
			t := d.input()
			t.scatter(a.T[q*a.Stride+c:], a.Step)
		}
	}
}

func winogradChannelLastGradientGeneric(a *WinogradChannelLast) {
	const n = WinogradTileRows * WinogradTileCols
	for q := range len(a.Pos) / n {
		for c := range a.C {
			var y winogradOut
			for k, p := range a.Pos[q*n:][:n] {
				y[k/WinogradTileCols][k%WinogradTileCols] = a.X[int(p)+c]
			}
			t := y.gradient()
			t.scatter(a.T[q*a.Stride+c:], a.Step)
		}
	}
}

func winogradChannelLastOutputGeneric(a *WinogradChannelLast, f *Finish) {
	const n = WinogradTileRows * WinogradTileCols
	for q := range len(a.Pos) / n {
		for c := range a.C {
			var t winogradIn
			t.gather(a.T[q*a.Stride+c:], a.Step)
			y := t.output()
			for k, p := range slices.Backward(a.Pos[q*n:][:n]) {
				at := int(p) + c
				a.X[at] = f.finish(y[k/WinogradTileCols][k%WinogradTileCols], c, at)
			}
		}
	}
}

// scatterPair writes the products of two columns of a tile.
func (t *winogradIn) scatterPair(dst []float32, a *WinogradPlanes) {
	for i := range t {
		for k, column := range a.Pair.Columns() {
			dst[i*a.Step+k*a.PairStep] = t[i][column]
		}
	}
}

func winogradPlanesInputGeneric(s *Set, a *WinogradPlanes) {
	const n = winogradInRows
	for c := range a.C {
		for i := range len(a.Pos) / (2 * n) * s.Lanes {
			unit, column := winogradLane(i % s.Lanes)
			var d winogradIn
			for r, p := range a.Pos[(i/s.Lanes*2+unit)*n:][:n] {
				copy(d[r][:], a.X[int(p)+c*a.XStride+column-1:])
			}
			t := d.input()
			t.scatterPair(a.T[c*a.Stride+i:], a)
		}
	}
}

func winogradPlanesGradientGeneric(s *Set, a *WinogradPlanes) {
	const n = WinogradTileRows
	for c := range a.C {
		for i := range len(a.Pos) / (2 * n) * s.Lanes {
			unit, column := winogradLane(i % s.Lanes)
			unit += i / s.Lanes * 2
			var y winogradOut
			if a.Skip == nil || column >= int(a.Skip[unit]) {
				for r, p := range a.Pos[unit*n:][:n] {
					copy(y[r][:], a.X[int(p)+c*a.XStride+column:])
				}
			}
			t := y.gradient()
			t.scatterPair(a.T[c*a.Stride+i:], a)
		}
	}
}

func winogradPlanesOutputGeneric(s *Set, a *WinogradPlanes, f *Finish) {
	const n = WinogradTileRows
	for c := range a.C {
		for i := range len(a.Pos) / (2 * n) * s.Lanes {
			unit, column := winogradLane(i % s.Lanes)
			var t winogradIn
			t.gather(a.T[c*a.Stride+i:], a.Step)
			y := t.output()
			for r, p := range slices.Backward(a.Pos[(i/s.Lanes*2+unit)*n:][:n]) {
				for k, sum := range y[r] {
					at := int(p) + c*a.XStride + column + k
					a.X[at] = f.finish(sum, c, at)
				}
			}
		}
	}
}

func winogradWeightsGeneric(a *WinogradWeights) {
	for r := range a.Rows {
		for v := range a.Width {
			var w winogradKernels
			for t := range 9 {
				w[t/3][t%3] = a.W[r*a.WRow+t*a.WTap+v]
			}
			u := w.weights()
			u.scatter(a.U[r*a.URow+v:], a.Step)
		}
	}
}

func winogradWeightsGradGeneric(a *WinogradWeights) {
	for r := range a.Rows {
		for v := range a.Width {
			var u winogradIn
			u.gather(a.U[r*a.URow+v:], a.Step)
			w := u.weightsGrad()
			for t := range 9 {
				a.W[r*a.WRow+t*a.WTap+v] += w[t/3][t%3]
			}
		}
	}
}
