//go:build amd64 && !purego

package kernel

import "math"

// blockSide is the side of the squares that the vector transpose takes; split and merge take as many floats at once.
const blockSide = 8

// floor is the least value that a kernel with an optional ReLU may write.
func floor(relu bool) float32 {
	if relu {
		return 0
	}
	return float32(math.Inf(-1))
}

func (s *Set) planeSum(x []float32, a Area) float32 {
	switch s.isa {
	case avx512:
		return planeSumAVX512(&x[a.Base], a.Rows, a.Cols, a.RowStride)
	case avx2:
		return planeSumAVX2(&x[a.Base], a.Rows, a.Cols, a.RowStride)
	}
	return planeSumGeneric(x, a)
}

func (s *Set) planeSquares(x []float32, a Area, mean float32) float32 {
	switch s.isa {
	case avx512:
		return planeSquaresAVX512(&x[a.Base], a.Rows, a.Cols, a.RowStride, mean)
	case avx2:
		return planeSquaresAVX2(&x[a.Base], a.Rows, a.Cols, a.RowStride, mean)
	}
	return planeSquaresGeneric(x, a, mean)
}

func (s *Set) planeScale(y, x, res []float32, a Area, scale, shift float32, relu bool) {
	switch s.isa {
	case avx512:
		if res == nil {
			planeScaleAVX512(&y[a.Base], &x[a.Base], a.Rows, a.Cols, a.RowStride, scale, shift, floor(relu))
		} else {
			planeScaleResAVX512(&y[a.Base], &x[a.Base], &res[a.Base], a.Rows, a.Cols, a.RowStride, scale, shift, floor(relu))
		}
	case avx2:
		if res == nil {
			planeScaleAVX2(&y[a.Base], &x[a.Base], a.Rows, a.Cols, a.RowStride, scale, shift, floor(relu))
		} else {
			planeScaleResAVX2(&y[a.Base], &x[a.Base], &res[a.Base], a.Rows, a.Cols, a.RowStride, scale, shift, floor(relu))
		}
	default:
		planeScaleGeneric(y, x, res, a, scale, shift, relu)
	}
}

func (s *Set) planeNormSums(a *PlaneNorm) (sg, sgz float32) {
	switch s.isa {
	case avx512:
		if a.Y == nil {
			return planeNormSumsAVX512(&a.G[a.Base], &a.Z[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean)
		}
		return planeNormSumsGatedAVX512(&a.G[a.Base], &a.Z[a.Base], &a.Y[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean)
	case avx2:
		if a.Y == nil {
			return planeNormSumsAVX2(&a.G[a.Base], &a.Z[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean)
		}
		return planeNormSumsGatedAVX2(&a.G[a.Base], &a.Z[a.Base], &a.Y[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean)
	}
	return planeNormSumsGeneric(a)
}

func (s *Set) planeNormApply(dz []float32, a *PlaneNorm, p, q, r float32) {
	switch s.isa {
	case avx512:
		planeNormApplyAVX512(&dz[a.Base], &a.G[a.Base], &a.Z[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean, p, q, r)
	case avx2:
		planeNormApplyAVX2(&dz[a.Base], &a.G[a.Base], &a.Z[a.Base], a.Rows, a.Cols, a.RowStride, a.Mean, p, q, r)
	default:
		planeNormApplyGeneric(dz, a, p, q, r)
	}
}

func (s *Set) channelLastSums(sum, x []float32, n, stride int) {
	switch s.isa {
	case avx512:
		channelLastSumsAVX512(&sum[0], &x[0], n, len(sum), stride)
	case avx2:
		channelLastSumsAVX2(&sum[0], &x[0], n, len(sum), stride)
	default:
		channelLastSumsGeneric(sum, x, n, stride)
	}
}

func (s *Set) channelLastSquares(sum, x, mean []float32, n, stride int) {
	switch s.isa {
	case avx512:
		channelLastSquaresAVX512(&sum[0], &x[0], &mean[0], n, len(sum), stride)
	case avx2:
		channelLastSquaresAVX2(&sum[0], &x[0], &mean[0], n, len(sum), stride)
	default:
		channelLastSquaresGeneric(sum, x, mean, n, stride)
	}
}

func (s *Set) channelLastScale(y, x, res, scale, shift []float32, n, stride int, relu bool) {
	switch s.isa {
	case avx512:
		if res == nil {
			channelLastScaleAVX512(&y[0], &x[0], &scale[0], &shift[0], n, len(scale), stride, floor(relu))
		} else {
			channelLastScaleResAVX512(&y[0], &x[0], &res[0], &scale[0], &shift[0], n, len(scale), stride, floor(relu))
		}
	case avx2:
		if res == nil {
			channelLastScaleAVX2(&y[0], &x[0], &scale[0], &shift[0], n, len(scale), stride, floor(relu))
		} else {
			channelLastScaleResAVX2(&y[0], &x[0], &res[0], &scale[0], &shift[0], n, len(scale), stride, floor(relu))
		}
	default:
		channelLastScaleGeneric(y, x, res, scale, shift, n, stride, relu)
	}
}

func (s *Set) channelLastNormSums(sg, sgz []float32, a *ChannelLastNorm) {
	switch s.isa {
	case avx512:
		if a.Y == nil {
			channelLastNormSumsAVX512(&sg[0], &sgz[0], &a.G[0], &a.Z[0], &a.Mean[0], a.N, a.C, a.Stride)
		} else {
			channelLastNormSumsGatedAVX512(&sg[0], &sgz[0], &a.G[0], &a.Z[0], &a.Y[0], &a.Mean[0], a.N, a.C, a.Stride)
		}
	case avx2:
		if a.Y == nil {
			channelLastNormSumsAVX2(&sg[0], &sgz[0], &a.G[0], &a.Z[0], &a.Mean[0], a.N, a.C, a.Stride)
		} else {
			channelLastNormSumsGatedAVX2(&sg[0], &sgz[0], &a.G[0], &a.Z[0], &a.Y[0], &a.Mean[0], a.N, a.C, a.Stride)
		}
	default:
		channelLastNormSumsGeneric(sg, sgz, a)
	}
}

func (s *Set) channelLastNormApply(dz []float32, a *ChannelLastNorm, p, q, r []float32) {
	switch s.isa {
	case avx512:
		channelLastNormApplyAVX512(&dz[0], &a.G[0], &a.Z[0], &a.Mean[0], &p[0], &q[0], &r[0], a.N, a.C, a.Stride)
	case avx2:
		channelLastNormApplyAVX2(&dz[0], &a.G[0], &a.Z[0], &a.Mean[0], &p[0], &q[0], &r[0], a.N, a.C, a.Stride)
	default:
		channelLastNormApplyGeneric(dz, a, p, q, r)
	}
}

func (s *Set) add(y, x []float32) {
	switch s.isa {
	case avx512:
		addAVX512(&y[0], &x[0], len(y))
	case avx2:
		addAVX2(&y[0], &x[0], len(y))
	default:
		addGeneric(y, x)
	}
}

func (s *Set) axpy(y, x []float32, a float32) {
	switch s.isa {
	case avx512:
		axpyAVX512(&y[0], &x[0], len(y), a)
	case avx2:
		axpyAVX2(&y[0], &x[0], len(y), a)
	default:
		axpyGeneric(y, x, a)
	}
}

func (s *Set) relu(y []float32) {
	switch s.isa {
	case avx512:
		reluAVX512(&y[0], len(y))
	case avx2:
		reluAVX2(&y[0], len(y))
	default:
		reluGeneric(y)
	}
}

func (s *Set) reluGrad(g, y []float32) {
	switch s.isa {
	case avx512:
		reluGradAVX512(&g[0], &y[0], len(g))
	case avx2:
		reluGradAVX2(&g[0], &y[0], len(g))
	default:
		reluGradGeneric(g, y)
	}
}

func (s *Set) sgd(w, g []float32, lr, decay float32) {
	switch s.isa {
	case avx512:
		sgdAVX512(&w[0], &g[0], len(w), lr, decay)
	case avx2:
		sgdAVX2(&w[0], &g[0], len(w), lr, decay)
	default:
		sgdGeneric(w, g, lr, decay)
	}
}

func (s *Set) momentum(w, g, m []float32, lr, decay, mu float32) {
	switch s.isa {
	case avx512:
		momentumAVX512(&w[0], &g[0], &m[0], len(w), lr, decay, mu)
	case avx2:
		momentumAVX2(&w[0], &g[0], &m[0], len(w), lr, decay, mu)
	default:
		momentumGeneric(w, g, m, lr, decay, mu)
	}
}

func (s *Set) adam(w, g, m, v []float32, f *adamFactors) {
	switch s.isa {
	case avx512:
		adamAVX512(&w[0], &g[0], &m[0], &v[0], len(w), f.step, f.decay, f.rest1, f.beta2, f.rest2, f.root, f.eps)
	case avx2:
		adamAVX2(&w[0], &g[0], &m[0], &v[0], len(w), f.step, f.decay, f.rest1, f.beta2, f.rest2, f.root, f.eps)
	default:
		adamGeneric(w, g, m, v, f)
	}
}

func (s *Set) laneSums(dst, src []float32) {
	switch s.isa {
	case avx512:
		laneSumsAVX512(&dst[0], &src[0], len(dst)/LaneGroup)
	case avx2:
		laneSumsAVX2(&dst[0], &src[0], len(dst)/LaneGroup)
	default:
		laneSumsGeneric(dst, src, s.Lanes)
	}
}

func (s *Set) dot(x, y []float32) float64 {
	switch s.isa {
	case avx512:
		return dotAVX512(&x[0], &y[0], len(y))
	case avx2:
		return dotAVX2(&x[0], &y[0], len(y))
	}
	return dotGeneric(x, y)
}

func (s *Set) sigmoidError(y, t, in []float32) float64 {
	switch s.isa {
	case avx512:
		return sigmoidErrorAVX512(&y[0], &t[0], &in[0], len(y))
	case avx2:
		return sigmoidErrorAVX2(&y[0], &t[0], &in[0], len(y))
	}
	return sigmoidErrorGeneric(y, t, in)
}

func (s *Set) sigmoidErrorGrad(d, y, t, in []float32, f float32) {
	switch s.isa {
	case avx512:
		sigmoidErrorGradAVX512(&d[0], &y[0], &t[0], &in[0], len(d), f)
	case avx2:
		sigmoidErrorGradAVX2(&d[0], &y[0], &t[0], &in[0], len(d), f)
	default:
		sigmoidErrorGradGeneric(d, y, t, in, f)
	}
}

// transpose turns squares of blockSide. Squares at the right and lower edge overlap those before them: they write the
// same values twice.
func (s *Set) transpose(dst []float32, dstStride int, src []float32, srcStride, n, m int) {
	if s.isa == generic || n < blockSide || m < blockSide {
		transposeGeneric(dst, dstStride, src, srcStride, n, m)
		return
	}
	down, across := n/blockSide, m/blockSide
	i, j := n-blockSide, m-blockSide // of the last square
	transposeAVX2(&dst[0], dstStride, &src[0], srcStride, down, across)
	if m%blockSide != 0 {
		transposeAVX2(&dst[j*dstStride], dstStride, &src[j], srcStride, down, 1)
	}
	if n%blockSide != 0 {
		transposeAVX2(&dst[i], dstStride, &src[i*srcStride], srcStride, 1, across)
		transposeAVX2(&dst[j*dstStride+i], dstStride, &src[i*srcStride+j], srcStride, 1, 1)
	}
}

func (s *Set) split(even, odd, x []float32) {
	if vecs := len(odd) / blockSide; s.isa != generic && vecs > 0 {
		splitAVX2(&even[0], &odd[0], &x[0], vecs)
		done := vecs * blockSide
		if even, odd, x = even[done:], odd[done:], x[2*done:]; len(even) == 0 {
			return
		}
	}
	splitGeneric(even, odd, x)
}

func (s *Set) merge(x, even, odd []float32) {
	if vecs := len(odd) / blockSide; s.isa != generic && vecs > 0 {
		mergeAVX2(&x[0], &even[0], &odd[0], vecs)
		done := vecs * blockSide
		if x, even, odd = x[2*done:], even[done:], odd[done:]; len(even) == 0 {
			return
		}
	}
	mergeGeneric(x, even, odd)
}
