package kernel

import "math"

// The plain-Go twins of the elementwise and reducing kernels; the methods of Set say what they compute. Sums of the
// vector sets run in lanes, so they agree with these up to rounding only.

func planeSumGeneric(x []float32, a Area) (sum float32) {
	for r := range a.Rows {
		for _, v := range x[a.Base+r*a.RowStride:][:a.Cols] {
			sum += v
		}
	}
	return sum
}

func planeSquaresGeneric(x []float32, a Area, mean float32) (sum float32) {
	for r := range a.Rows {
		for _, v := range x[a.Base+r*a.RowStride:][:a.Cols] {
			d := v - mean
			sum += float32(d * d)
		}
	}
	return sum
}

func planeScaleGeneric(y, x, res []float32, a Area, scale, shift float32, relu bool) {
	for r := range a.Rows {
		at := a.Base + r*a.RowStride
		dst, src := y[at:][:a.Cols], x[at:][:a.Cols]
		for i, v := range src {
			u := float32(v*scale) + shift
			if res != nil {
				u += res[at+i]
			}
			if relu {
				u = max(u, 0) // a NaN passes, so that a diverged loss is seen
			}
			dst[i] = u
		}
	}
}

func planeNormSumsGeneric(a *PlaneNorm) (sg, sgz float32) {
	for r := range a.Rows {
		at := a.Base + r*a.RowStride
		g, z := a.G[at:][:a.Cols], a.Z[at:][:a.Cols]
		for i := range g {
			if a.Y != nil && !(a.Y[at+i] > 0) {
				g[i] = 0
			}
			sg += g[i]
			sgz += float32(g[i] * (z[i] - a.Mean))
		}
	}
	return sg, sgz
}

func planeNormApplyGeneric(dz []float32, a *PlaneNorm, p, q, r float32) {
	for row := range a.Rows {
		at := a.Base + row*a.RowStride
		g, z, d := a.G[at:][:a.Cols], a.Z[at:][:a.Cols], dz[at:][:a.Cols]
		for i := range d {
			d[i] = float32(p*g[i]) + float32(q*(z[i]-a.Mean)) + r
		}
	}
}

func channelLastSumsGeneric(sum, x []float32, n, stride int) {
	for i := range n {
		for c, v := range x[i*stride:][:len(sum)] {
			sum[c] += v
		}
	}
}

func channelLastSquaresGeneric(sum, x, mean []float32, n, stride int) {
	for i := range n {
		for c, v := range x[i*stride:][:len(sum)] {
			d := v - mean[c]
			sum[c] += float32(d * d)
		}
	}
}

func channelLastScaleGeneric(y, x, res, scale, shift []float32, n, stride int, relu bool) {
	for i := range n {
		at := i * stride
		for c, s := range scale {
			u := float32(x[at+c]*s) + shift[c]
			if res != nil {
				u += res[at+c]
			}
			if relu {
				u = max(u, 0) // a NaN passes, so that a diverged loss is seen
			}
			y[at+c] = u
		}
	}
}

func channelLastNormSumsGeneric(sg, sgz []float32, a *ChannelLastNorm) {
	for i := range a.N {
		at := i * a.Stride
		for c := range a.C {
			g := a.G[at+c]
			if a.Y != nil && !(a.Y[at+c] > 0) {
				g = 0
				a.G[at+c] = 0
			}
			sg[c] += g
			sgz[c] += float32(g * (a.Z[at+c] - a.Mean[c]))
		}
	}
}

func channelLastNormApplyGeneric(dz []float32, a *ChannelLastNorm, p, q, r []float32) {
	for i := range a.N {
		at := i * a.Stride
		for c := range a.C {
			dz[at+c] = float32(p[c]*a.G[at+c]) + float32(q[c]*(a.Z[at+c]-a.Mean[c])) + r[c]
		}
	}
}

func axpyGeneric(y, x []float32, a float32) {
	for i, v := range x[:len(y)] {
		y[i] += float32(a * v)
	}
}

func reluGradGeneric(g, y []float32) {
	for i, v := range y[:len(g)] {
		if !(v > 0) {
			g[i] = 0
		}
	}
}

func sgdGeneric(w, g []float32, lr, decay float32) {
	for i, v := range g[:len(w)] {
		w[i] -= float32(lr * (v + float32(decay*w[i])))
	}
}

func momentumGeneric(w, g, m []float32, lr, decay, mu float32) {
	for i, v := range g[:len(w)] {
		m[i] = float32(mu*m[i]) + (v + float32(decay*w[i]))
		w[i] -= float32(lr * m[i])
	}
}

// adamGeneric steps g += decay·w (g is left alone), m += (1-β₁)(g-m), v = β₂·v + (1-β₂)g²,
// w -= lr/c₁ · m / (√v/√c₂ + ε), in PyTorch's order.
func adamGeneric(w, g, m, v []float32, f *adamFactors) {
	for i, d := range g[:len(w)] {
		d += float32(f.decay * w[i])
		m[i] += float32(f.rest1 * (d - m[i]))
		v[i] = float32(f.beta2*v[i]) + float32(f.rest2*float32(d*d))
		root := float32(math.Sqrt(float64(v[i])))
		w[i] -= float32(f.step * (m[i] / (float32(root*f.root) + f.eps)))
	}
}

func sigmoidErrorGeneric(y, t, in []float32) (sum float64) {
	t, in = t[:len(y)], in[:len(y)]
	for i, x := range y {
		y[i] = sigmoidOf(x)
		d := float64(float32(in[i] * (t[i] - y[i])))
		sum += float64(d * d)
	}
	return sum
}

// sigmoidOf is 1/(1+e^−x) within two units in the last place for x ≥ −87. A smaller x counts as −87, and a NaN passes.
func sigmoidOf(x float32) float32 {
	e := expNegative(-float32(math.Abs(float64(x)))) // at most 1
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// The parts of e^x = 2^k·e^r with |r| ≤ ½·ln 2: ln 2 is in two parts, of which the first has few digits, so that its
// product with k is exact, and e^r is a polynomial.
const (
	leastExponent = -87 // e to less is too small for a normal number
	log2e         = 1.44269504088896341
	ln2High       = 0.693359375
	ln2Low        = -2.12194440e-4
)

var expTerms = [...]float32{1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1}

// expNegative is e^x for x ≤ 0.
func expNegative(x float32) float32 {
	if x != x {
		return x
	}
	x = max(x, leastExponent)
	k := int32(float32(x*log2e) - 0.5) // towards zero: the nearest whole number, as x ≤ 0
	f := float32(k)
	r := x - float32(f*ln2High)
	r -= float32(f * ln2Low)
	p := expTerms[0]
	for _, c := range expTerms[1:] {
		p = float32(p*r) + c
	}
	return p * math.Float32frombits(uint32(127+k)<<23)
}

func sigmoidErrorGradGeneric(d, y, t, in []float32, f float32) {
	y, t, in = y[:len(d)], t[:len(d)], in[:len(d)]
	for i, v := range y {
		e := float32(in[i] * (v - t[i]))
		d[i] = float32(f*e) * float32(v*(1-v))
	}
}

func dotGeneric(x, y []float32) (sum float64) {
	for i, v := range x[:len(y)] {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func transposeGeneric(dst []float32, dstStride int, src []float32, srcStride, n, m int) {
	for i := range n {
		for j, v := range src[i*srcStride:][:m] {
			dst[j*dstStride+i] = v
		}
	}
}

func splitGeneric(even, odd, x []float32) {
	for i := range even {
		even[i] = x[2*i]
	}
	for i := range odd {
		odd[i] = x[2*i+1]
	}
}

func mergeGeneric(x, even, odd []float32) {
	for i := range even {
		x[2*i] = even[i]
	}
	for i := range odd {
		x[2*i+1] = odd[i]
	}
}

// laneSumsGeneric adds in the order of the vector sets, so that all give the same bits.
func laneSumsGeneric(dst, src []float32, lanes int) {
	for i := range dst {
		var x [maxLanes]float32
		copy(x[:], src[i*lanes:][:lanes])
		for l := 8; l < lanes; l++ {
			x[l-8] += x[l]
		}
		dst[i] = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]))
	}
}
