package kernel

import "math"

// The methods check that their slices reach far enough, as the vector code cannot, and return where there is no work.
// Where sums are taken, vector sets run them in lanes: the order depends on the shape alone, never on alignment.
// Elementwise work may be split anywhere: the bits stay the same.

// need panics unless each array that there is has n floats.
func need(n int, arrays ...[]float32) {
	for _, x := range arrays {
		if x != nil {
			_ = x[n-1]
		}
	}
}

// floor is the least value that a kernel with an optional ReLU may write.
func floor(relu bool) float32 {
	if relu {
		return 0
	}
	return float32(math.Inf(-1))
}

// PlaneSum returns Σ x over the area.
func (s *Set) PlaneSum(x []float32, a Area) (sum float32) {
	if a.empty() {
		return 0
	}
	need(a.end(), x)
	if s.isa == generic {
		return planeSumGeneric(x, a)
	}
	return s.isa.planeSum(&x[a.Base], a.Rows, a.Cols, a.RowStride)
}

// PlaneSquares returns Σ (x-mean)² over the area.
func (s *Set) PlaneSquares(x []float32, a Area, mean float32) (sum float32) {
	if a.empty() {
		return 0
	}
	need(a.end(), x)
	if s.isa == generic {
		return planeSquaresGeneric(x, a, mean)
	}
	return s.isa.planeSquares(&x[a.Base], a.Rows, a.Cols, a.RowStride, mean)
}

// PlaneScale writes y = x·scale + shift, plus res where res is not nil, then max(0, y) where relu is set; a NaN passes.
// y may be x or res.
func (s *Set) PlaneScale(y, x, res []float32, a Area, scale, shift float32, relu bool) {
	if a.empty() {
		return
	}
	need(a.end(), y, x, res)
	switch {
	case s.isa == generic:
		planeScaleGeneric(y, x, res, a, scale, shift, relu)
	case res == nil:
		s.isa.planeScale(&y[a.Base], &x[a.Base], a.Rows, a.Cols, a.RowStride, scale, shift, floor(relu))
	default:
		s.isa.planeScaleRes(&y[a.Base], &x[a.Base], &res[a.Base], a.Rows, a.Cols, a.RowStride, scale, shift, floor(relu))
	}
}

// PlaneNormSums masks G by Y > 0 (where Y is not nil) and returns Σ G and Σ G·(Z-mean).
func (s *Set) PlaneNormSums(a *PlaneNorm) (sg, sgz float32) {
	if a.empty() {
		return 0, 0
	}
	need(a.end(), a.G, a.Z, a.Y)
	if s.isa == generic {
		return planeNormSumsGeneric(a)
	}
	if a.Y == nil {
		return s.isa.planeNormSums(&a.G[a.Base], &a.Z[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean)
	}
	return s.isa.planeNormSumsGated(&a.G[a.Base], &a.Z[a.Base], &a.Y[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean)
}

// PlaneNormApply writes dz = p·G + q·(Z-mean) + r over the area. dz may be G or Z.
func (s *Set) PlaneNormApply(dz []float32, a *PlaneNorm, p, q, r float32) {
	if a.empty() {
		return
	}
	need(a.end(), dz, a.G, a.Z)
	if s.isa == generic {
		planeNormApplyGeneric(dz, a, p, q, r)
	} else {
		s.isa.planeNormApply(&dz[a.Base], &a.G[a.Base], &a.Z[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean, p, q, r)
	}
}

// ChannelLastSums adds to sum[c] Σ_n x[n·stride+c], c < len(sum).
func (s *Set) ChannelLastSums(sum, x []float32, n, stride int) {
	if n <= 0 || len(sum) == 0 {
		return
	}
	need((n-1)*stride+len(sum), x)
	if s.isa == generic {
		channelLastSumsGeneric(sum, x, n, stride)
	} else {
		s.isa.channelLastSums(&sum[0], &x[0], n, len(sum), stride)
	}
}

// ChannelLastSquares adds to sum[c] Σ_n (x[n·stride+c]-mean[c])².
func (s *Set) ChannelLastSquares(sum, x, mean []float32, n, stride int) {
	if n <= 0 || len(sum) == 0 {
		return
	}
	need((n-1)*stride+len(sum), x)
	need(len(sum), mean)
	if s.isa == generic {
		channelLastSquaresGeneric(sum, x, mean, n, stride)
	} else {
		s.isa.channelLastSquares(&sum[0], &x[0], &mean[0], n, len(sum), stride)
	}
}

// ChannelLastScale writes y = x·scale + shift for every channel (len(scale) of them), plus res where it is not nil,
// ReLU where set; a NaN passes. y may be x or res.
func (s *Set) ChannelLastScale(y, x, res, scale, shift []float32, n, stride int, relu bool) {
	c := len(scale)
	if n <= 0 || c == 0 {
		return
	}
	end := (n-1)*stride + c
	need(end, y, x, res)
	need(c, shift)
	switch {
	case s.isa == generic:
		channelLastScaleGeneric(y, x, res, scale, shift, n, stride, relu)
	case res == nil:
		s.isa.channelLastScale(&y[0], &x[0], &scale[0], &shift[0], n, len(scale), stride, floor(relu))
	default:
		s.isa.channelLastScaleRes(&y[0], &x[0], &res[0], &scale[0], &shift[0], n, len(scale), stride, floor(relu))
	}
}

// ChannelLastNormSums masks G by Y > 0 and adds Σ G to sg[c] and Σ G·(Z-mean) to sgz[c].
func (s *Set) ChannelLastNormSums(sg, sgz []float32, a *ChannelLastNorm) {
	if a.N <= 0 || a.C <= 0 {
		return
	}
	end := (a.N-1)*a.Stride + a.C
	need(end, a.G, a.Z, a.Y)
	need(a.C, a.Mean, sg, sgz)
	switch {
	case s.isa == generic:
		channelLastNormSumsGeneric(sg, sgz, a)
	case a.Y == nil:
		s.isa.channelLastNormSums(&sg[0], &sgz[0], &a.G[0], &a.Z[0], &a.Mean[0], a.N, a.C, a.Stride)
	default:
		s.isa.channelLastNormSumsGated(&sg[0], &sgz[0], &a.G[0], &a.Z[0], &a.Y[0], &a.Mean[0], a.N, a.C, a.Stride)
	}
}

// ChannelLastNormApply writes dz = p·G + q·(Z-mean) + r for every channel. dz may be G or Z.
func (s *Set) ChannelLastNormApply(dz []float32, a *ChannelLastNorm, p, q, r []float32) {
	if a.N <= 0 || a.C <= 0 {
		return
	}
	end := (a.N-1)*a.Stride + a.C
	need(end, dz, a.G, a.Z)
	need(a.C, a.Mean, p, q, r)
	if s.isa == generic {
		channelLastNormApplyGeneric(dz, a, p, q, r)
	} else {
		s.isa.channelLastNormApply(&dz[0], &a.G[0], &a.Z[0], &a.Mean[0], &p[0], &q[0], &r[0], a.N, a.C, a.Stride)
	}
}

// Axpy adds a·x to y.
func (s *Set) Axpy(y, x []float32, a float32) {
	if len(y) == 0 {
		return
	}
	need(len(y), x)
	if s.isa == generic {
		axpyGeneric(y, x, a)
	} else {
		s.isa.axpy(&y[0], &x[0], len(y), a)
	}
}

// ReLUGrad sets g to zero wherever y, the output of the ReLU, is not above zero.
func (s *Set) ReLUGrad(g, y []float32) {
	if len(g) == 0 {
		return
	}
	need(len(g), y)
	if s.isa == generic {
		reluGradGeneric(g, y)
	} else {
		s.isa.reluGrad(&g[0], &y[0], len(g))
	}
}

// SGD steps w -= lr·(g + decay·w).
func (s *Set) SGD(w, g []float32, lr, decay float32) {
	if len(w) == 0 {
		return
	}
	need(len(w), g)
	if s.isa == generic {
		sgdGeneric(w, g, lr, decay)
	} else {
		s.isa.sgd(&w[0], &g[0], len(w), lr, decay)
	}
}

// Momentum steps m = mu·m + g + decay·w; w -= lr·m.
func (s *Set) Momentum(w, g, m []float32, lr, decay, mu float32) {
	if len(w) == 0 {
		return
	}
	need(len(w), g, m)
	if s.isa == generic {
		momentumGeneric(w, g, m, lr, decay, mu)
	} else {
		s.isa.momentum(&w[0], &g[0], &m[0], len(w), lr, decay, mu)
	}
}

// Adam takes PyTorch's step: with d = g + decay·w, m = β₁·m + (1-β₁)·d, v = β₂·v + (1-β₂)·d² and
// w -= lr/c₁ · m / (√v/√c₂ + ε). It leaves g alone.
func (s *Set) Adam(w, g, m, v []float32, a AdamStep) {
	if len(w) == 0 {
		return
	}
	need(len(w), g, m, v)
	f := &adamFactors{
		step: float32(a.LR / a.Correction1), decay: float32(a.Decay), rest1: float32(1 - a.Beta1),
		beta2: float32(a.Beta2), rest2: float32(1 - a.Beta2), root: float32(1 / math.Sqrt(a.Correction2)),
		eps: float32(a.Eps),
	}
	if s.isa == generic {
		adamGeneric(w, g, m, v, f)
	} else {
		s.isa.adam(&w[0], &g[0], &m[0], &v[0], len(w), f.step, f.decay, f.rest1, f.beta2, f.rest2, f.root, f.eps)
	}
}

// LaneGroup is what the number of sums of [Set.LaneSums] is a multiple of.
const LaneGroup = 8

// LaneSums writes to dst[i] the sum of the Lanes floats of src from i·Lanes on. Lanes are added in pairs, and pairs of
// pairs.
func (s *Set) LaneSums(dst, src []float32) {
	if len(dst)%LaneGroup != 0 {
		panic("kernel: lane sums: their number is no multiple of LaneGroup")
	}
	if len(dst) == 0 {
		return
	}
	need(len(dst)*s.Lanes, src)
	if s.isa == generic {
		laneSumsGeneric(dst, src, s.Lanes)
	} else {
		s.isa.laneSums(&dst[0], &src[0], len(dst)/LaneGroup)
	}
}

// Dot returns Σ x·y; the sum runs in float64, where each product is exact.
func (s *Set) Dot(x, y []float32) (sum float64) {
	if len(y) == 0 {
		return 0
	}
	need(len(y), x)
	if s.isa == generic {
		return dotGeneric(x, y)
	}
	return s.isa.dot(&x[0], &y[0], len(y))
}

// SigmoidError writes y = 1/(1+e^−y) and returns Σ (in·(t−y))², the error of y in those places where in is 1 and not 0.
// The sum runs in float64. Below −87 the sigmoid stays what it is there; a NaN passes.
func (s *Set) SigmoidError(y, t, in []float32) (sum float64) {
	if len(y) == 0 {
		return 0
	}
	need(len(y), t, in)
	if s.isa == generic {
		return sigmoidErrorGeneric(y, t, in)
	}
	return s.isa.sigmoidError(&y[0], &t[0], &in[0], len(y))
}

// SigmoidErrorGrad writes d = f·in·(y−t)·y·(1−y), the gradient of half of f times the sum of [Set.SigmoidError] with
// respect to what y was before it.
func (s *Set) SigmoidErrorGrad(d, y, t, in []float32, f float32) {
	if len(d) == 0 {
		return
	}
	need(len(d), y, t, in)
	if s.isa == generic {
		sigmoidErrorGradGeneric(d, y, t, in, f)
	} else {
		s.isa.sigmoidErrorGrad(&d[0], &y[0], &t[0], &in[0], len(d), f)
	}
}

// blockSide is the side of the squares that the vector transpose takes; split and merge take as many floats at once.
const blockSide = 8

// Transpose writes dst[j·dstStride+i] = src[i·srcStride+j] for i < n, j < m. Vector code turns squares of blockSide;
// those at the right and lower edge overlap those before them and write the same values twice.
func (s *Set) Transpose(dst []float32, dstStride int, src []float32, srcStride, n, m int) {
	if n <= 0 || m <= 0 {
		return
	}
	need((m-1)*dstStride+n, dst)
	need((n-1)*srcStride+m, src)
	if s.isa == generic || n < blockSide || m < blockSide {
		transposeGeneric(dst, dstStride, src, srcStride, n, m)
		return
	}
	down, across := n/blockSide, m/blockSide
	i, j := n-blockSide, m-blockSide // of the last square
	s.isa.transpose(&dst[0], dstStride, &src[0], srcStride, down, across)
	if m%blockSide != 0 {
		s.isa.transpose(&dst[j*dstStride], dstStride, &src[j], srcStride, down, 1)
	}
	if n%blockSide != 0 {
		s.isa.transpose(&dst[i], dstStride, &src[i*srcStride], srcStride, 1, across)
		s.isa.transpose(&dst[j*dstStride+i], dstStride, &src[i*srcStride+j], srcStride, 1, 1)
	}
}

// Split writes even[i] = x[2i] and odd[i] = x[2i+1]; len(odd) is len(even) or one less.
func (s *Set) Split(even, odd, x []float32) {
	if len(even) == 0 {
		return
	}
	need(len(even)+len(odd), x)
	if vecs := len(odd) / blockSide; s.isa != generic && vecs > 0 {
		s.isa.split(&even[0], &odd[0], &x[0], vecs)
		done := vecs * blockSide
		if even, odd, x = even[done:], odd[done:], x[2*done:]; len(even) == 0 {
			return
		}
	}
	splitGeneric(even, odd, x)
}

// Merge is the inverse of Split.
func (s *Set) Merge(x, even, odd []float32) {
	if len(even) == 0 {
		return
	}
	need(len(even)+len(odd), x)
	if vecs := len(odd) / blockSide; s.isa != generic && vecs > 0 {
		s.isa.merge(&x[0], &even[0], &odd[0], vecs)
		done := vecs * blockSide
		if x, even, odd = x[2*done:], even[done:], odd[done:]; len(even) == 0 {
			return
		}
	}
	mergeGeneric(x, even, odd)
}
