package kernel

import "math"

// The methods check that their slices reach far enough, as the vector code cannot, and return where there is no work.
// Where sums are taken, vector sets run them in lanes: the order depends on the shape alone, never on alignment.
// Elementwise work may be split anywhere: the bits stay the same.

// need panics unless x has n floats.
func need(x []float32, n int) { _ = x[n-1] }

// PlaneSum returns Σ x over the area.
func (s *Set) PlaneSum(x []float32, a Area) (sum float32) {
	if a.empty() {
		return 0
	}
	need(x, a.end())
	return s.planeSum(x, a)
}

// PlaneSquares returns Σ (x-mean)² over the area.
func (s *Set) PlaneSquares(x []float32, a Area, mean float32) (sum float32) {
	if a.empty() {
		return 0
	}
	need(x, a.end())
	return s.planeSquares(x, a, mean)
}

// PlaneScale writes y = x·scale + shift, plus res where res is not nil, then max(0, y) where relu is set; a NaN passes.
// y may be x or res.
func (s *Set) PlaneScale(y, x, res []float32, a Area, scale, shift float32, relu bool) {
	if a.empty() {
		return
	}
	need(y, a.end())
	need(x, a.end())
	if res != nil {
		need(res, a.end())
	}
	s.planeScale(y, x, res, a, scale, shift, relu)
}

// PlaneNormSums masks G by Y > 0 (where Y is not nil) and returns Σ G and Σ G·(Z-mean).
func (s *Set) PlaneNormSums(a *PlaneNorm) (sg, sgz float32) {
	if a.empty() {
		return 0, 0
	}
	need(a.G, a.end())
	need(a.Z, a.end())
	if a.Y != nil {
		need(a.Y, a.end())
	}
	return s.planeNormSums(a)
}

// PlaneNormApply writes dz = p·G + q·(Z-mean) + r over the area. dz may be G or Z.
func (s *Set) PlaneNormApply(dz []float32, a *PlaneNorm, p, q, r float32) {
	if a.empty() {
		return
	}
	need(dz, a.end())
	need(a.G, a.end())
	need(a.Z, a.end())
	s.planeNormApply(dz, a, p, q, r)
}

// ChannelLastSums adds to sum[c] Σ_n x[n·stride+c], c < len(sum).
func (s *Set) ChannelLastSums(sum, x []float32, n, stride int) {
	if n <= 0 || len(sum) == 0 {
		return
	}
	need(x, (n-1)*stride+len(sum))
	s.channelLastSums(sum, x, n, stride)
}

// ChannelLastSquares adds to sum[c] Σ_n (x[n·stride+c]-mean[c])².
func (s *Set) ChannelLastSquares(sum, x, mean []float32, n, stride int) {
	if n <= 0 || len(sum) == 0 {
		return
	}
	need(x, (n-1)*stride+len(sum))
	need(mean, len(sum))
	s.channelLastSquares(sum, x, mean, n, stride)
}

// ChannelLastScale writes y = x·scale + shift for every channel (len(scale) of them), plus res where it is not nil, ReLU where
// set; a NaN passes. y may be x or res.
func (s *Set) ChannelLastScale(y, x, res, scale, shift []float32, n, stride int, relu bool) {
	c := len(scale)
	if n <= 0 || c == 0 {
		return
	}
	end := (n-1)*stride + c
	need(y, end)
	need(x, end)
	need(shift, c)
	if res != nil {
		need(res, end)
	}
	s.channelLastScale(y, x, res, scale, shift, n, stride, relu)
}

// ChannelLastNormSums masks G by Y > 0 and adds Σ G to sg[c] and Σ G·(Z-mean) to sgz[c].
func (s *Set) ChannelLastNormSums(sg, sgz []float32, a *ChannelLastNorm) {
	if a.N <= 0 || a.C <= 0 {
		return
	}
	end := (a.N-1)*a.Stride + a.C
	need(a.G, end)
	need(a.Z, end)
	need(a.Mean, a.C)
	need(sg, a.C)
	need(sgz, a.C)
	if a.Y != nil {
		need(a.Y, end)
	}
	s.channelLastNormSums(sg, sgz, a)
}

// ChannelLastNormApply writes dz = p·G + q·(Z-mean) + r for every channel. dz may be G or Z.
func (s *Set) ChannelLastNormApply(dz []float32, a *ChannelLastNorm, p, q, r []float32) {
	if a.N <= 0 || a.C <= 0 {
		return
	}
	end := (a.N-1)*a.Stride + a.C
	need(dz, end)
	need(a.G, end)
	need(a.Z, end)
	for _, c := range [...][]float32{a.Mean, p, q, r} {
		need(c, a.C)
	}
	s.channelLastNormApply(dz, a, p, q, r)
}

// Add adds x to y.
func (s *Set) Add(y, x []float32) {
	if len(y) > 0 {
		need(x, len(y))
		s.add(y, x)
	}
}

// Axpy adds a·x to y.
func (s *Set) Axpy(y, x []float32, a float32) {
	if len(y) > 0 {
		need(x, len(y))
		s.axpy(y, x, a)
	}
}

// ReLU writes y = max(0, y); a NaN passes.
func (s *Set) ReLU(y []float32) {
	if len(y) > 0 {
		s.relu(y)
	}
}

// ReLUGrad sets g to zero wherever y, the output of the ReLU, is not above zero.
func (s *Set) ReLUGrad(g, y []float32) {
	if len(g) > 0 {
		need(y, len(g))
		s.reluGrad(g, y)
	}
}

// SGD steps w -= lr·(g + decay·w).
func (s *Set) SGD(w, g []float32, lr, decay float32) {
	if len(w) > 0 {
		need(g, len(w))
		s.sgd(w, g, lr, decay)
	}
}

// Momentum steps m = mu·m + g + decay·w; w -= lr·m.
func (s *Set) Momentum(w, g, m []float32, lr, decay, mu float32) {
	if len(w) > 0 {
		need(g, len(w))
		need(m, len(w))
		s.momentum(w, g, m, lr, decay, mu)
	}
}

// Adam takes PyTorch's step: with d = g + decay·w, m = β₁·m + (1-β₁)·d, v = β₂·v + (1-β₂)·d² and
// w -= lr/c₁ · m / (√v/√c₂ + ε). It leaves g alone.
func (s *Set) Adam(w, g, m, v []float32, a AdamStep) {
	if len(w) > 0 {
		need(g, len(w))
		need(m, len(w))
		need(v, len(w))
		s.adam(w, g, m, v, &adamFactors{
			step: float32(a.LR / a.Correction1), decay: float32(a.Decay), rest1: float32(1 - a.Beta1),
			beta2: float32(a.Beta2), rest2: float32(1 - a.Beta2), root: float32(1 / math.Sqrt(a.Correction2)),
			eps: float32(a.Eps),
		})
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
	need(src, len(dst)*s.Lanes)
	s.laneSums(dst, src)
}

// Dot returns Σ x·y; the sum runs in float64, where each product is exact.
func (s *Set) Dot(x, y []float32) (sum float64) {
	if len(y) == 0 {
		return 0
	}
	need(x, len(y))
	return s.dot(x, y)
}

// SigmoidError writes y = 1/(1+e^−y) and returns Σ (in·(t−y))², the error of y in those places where in is 1 and not 0. The
// sum runs in float64. Below −87 the sigmoid stays what it is there; a NaN passes.
func (s *Set) SigmoidError(y, t, in []float32) (sum float64) {
	if len(y) == 0 {
		return 0
	}
	need(t, len(y))
	need(in, len(y))
	return s.sigmoidError(y, t, in)
}

// SigmoidErrorGrad writes d = f·in·(y−t)·y·(1−y), the gradient of half of f times the sum of [Set.SigmoidError] with
// respect to what y was before it.
func (s *Set) SigmoidErrorGrad(d, y, t, in []float32, f float32) {
	if len(d) > 0 {
		need(y, len(d))
		need(t, len(d))
		need(in, len(d))
		s.sigmoidErrorGrad(d, y, t, in, f)
	}
}

// Transpose writes dst[j·dstStride+i] = src[i·srcStride+j] for i < n, j < m.
func (s *Set) Transpose(dst []float32, dstStride int, src []float32, srcStride, n, m int) {
	if n <= 0 || m <= 0 {
		return
	}
	need(dst, (m-1)*dstStride+n)
	need(src, (n-1)*srcStride+m)
	s.transpose(dst, dstStride, src, srcStride, n, m)
}

// Split writes even[i] = x[2i] and odd[i] = x[2i+1]; len(odd) is len(even) or one less.
func (s *Set) Split(even, odd, x []float32) {
	if len(even) > 0 {
		need(x, len(even)+len(odd))
		s.split(even, odd, x)
	}
}

// Merge is the inverse of Split.
func (s *Set) Merge(x, even, odd []float32) {
	if len(even) > 0 {
		need(x, len(even)+len(odd))
		s.merge(x, even, odd)
	}
}
