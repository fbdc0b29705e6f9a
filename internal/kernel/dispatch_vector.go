package kernel

// PlaneSum returns Σ x over the area.
func (s *Set) PlaneSum(x []float32, a Area) (sum float32) { return planeSumGeneric(x, a) }

// PlaneSquares returns Σ (x-mean)² over the area.
func (s *Set) PlaneSquares(x []float32, a Area, mean float32) (sum float32) {
	return planeSquaresGeneric(x, a, mean)
}

// PlaneScale writes y = x·scale + shift, plus res where res is not nil, then max(0, y) where relu is set.
func (s *Set) PlaneScale(y, x, res []float32, a Area, scale, shift float32, relu bool) {
	planeScaleGeneric(y, x, res, a, scale, shift, relu)
}

// PlaneNormSums masks G by Y > 0 (where Y is not nil) and returns Σ G and Σ G·(Z-mean).
func (s *Set) PlaneNormSums(a *PlaneNorm) (sg, sgz float32) { return planeNormSumsGeneric(a) }

// PlaneNormApply writes dz = p·G + q·(Z-mean) + r over the area.
func (s *Set) PlaneNormApply(dz []float32, a *PlaneNorm, p, q, r float32) {
	planeNormApplyGeneric(dz, a, p, q, r)
}

// RowsSums adds to sum[c] Σ_n x[n·stride+c], c < len(sum), a multiple of Lanes.
func (s *Set) RowsSums(sum, x []float32, n, stride int) { rowsSumsGeneric(sum, x, n, stride) }

// RowsSquares adds to sum[c] Σ_n (x[n·stride+c]-mean[c])².
func (s *Set) RowsSquares(sum, x, mean []float32, n, stride int) {
	rowsSquaresGeneric(sum, x, mean, n, stride)
}

// RowsScale writes y = x·scale + shift for every channel, plus res where it is not nil, ReLU where set.
func (s *Set) RowsScale(y, x, res, scale, shift []float32, n, stride int, relu bool) {
	rowsScaleGeneric(y, x, res, scale, shift, n, stride, relu)
}

// RowsNormSums masks G by Y > 0 and adds Σ G to sg[c] and Σ G·(Z-mean) to sgz[c].
func (s *Set) RowsNormSums(sg, sgz []float32, a *RowsNorm) { rowsNormSumsGeneric(sg, sgz, a) }

// RowsNormApply writes dz = p·G + q·(Z-mean) + r for every channel.
func (s *Set) RowsNormApply(dz []float32, a *RowsNorm, p, q, r []float32) {
	rowsNormApplyGeneric(dz, a, p, q, r)
}

// Add adds x to y.
func (s *Set) Add(y, x []float32) { addGeneric(y, x) }

// SGD steps w -= lr·(g + decay·w).
func (s *Set) SGD(w, g []float32, lr, decay float32) { sgdGeneric(w, g, lr, decay) }

// Momentum steps m = mu·m + g + decay·w; w -= lr·m.
func (s *Set) Momentum(w, g, m []float32, lr, decay, mu float32) {
	momentumGeneric(w, g, m, lr, decay, mu)
}

// Dot returns Σ x·y; the sum runs in float64.
func (s *Set) Dot(x, y []float32) (sum float64) { return dotGeneric(x, y) }

// Transpose writes dst[j·dstStride+i] = src[i·srcStride+j] for i < n, j < m.
func (s *Set) Transpose(dst []float32, dstStride int, src []float32, srcStride, n, m int) {
	transposeGeneric(dst, dstStride, src, srcStride, n, m)
}

// Split writes even[i] = x[2i] and odd[i] = x[2i+1]; len(odd) is len(even) or one less.
func (s *Set) Split(even, odd, x []float32) { splitGeneric(even, odd, x) }

// Merge is the inverse of splitGeneric.
func (s *Set) Merge(x, even, odd []float32) { mergeGeneric(x, even, odd) }
