//go:build !amd64 || purego

package kernel

func (s *Set) planeSum(x []float32, a Area) float32 { return planeSumGeneric(x, a) }
func (s *Set) planeSquares(x []float32, a Area, mean float32) float32 {
	return planeSquaresGeneric(x, a, mean)
}
func (s *Set) planeScale(y, x, res []float32, a Area, scale, shift float32, relu bool) {
	planeScaleGeneric(y, x, res, a, scale, shift, relu)
}
func (s *Set) planeNormSums(a *PlaneNorm) (sg, sgz float32) { return planeNormSumsGeneric(a) }
func (s *Set) planeNormApply(dz []float32, a *PlaneNorm, p, q, r float32) {
	planeNormApplyGeneric(dz, a, p, q, r)
}

func (s *Set) channelLastSums(sum, x []float32, n, stride int) {
	channelLastSumsGeneric(sum, x, n, stride)
}
func (s *Set) channelLastSquares(sum, x, mean []float32, n, stride int) {
	channelLastSquaresGeneric(sum, x, mean, n, stride)
}
func (s *Set) channelLastScale(y, x, res, scale, shift []float32, n, stride int, relu bool) {
	channelLastScaleGeneric(y, x, res, scale, shift, n, stride, relu)
}
func (s *Set) channelLastNormSums(sg, sgz []float32, a *ChannelLastNorm) {
	channelLastNormSumsGeneric(sg, sgz, a)
}
func (s *Set) channelLastNormApply(dz []float32, a *ChannelLastNorm, p, q, r []float32) {
	channelLastNormApplyGeneric(dz, a, p, q, r)
}

func (s *Set) add(y, x []float32)                    { addGeneric(y, x) }
func (s *Set) axpy(y, x []float32, a float32)        { axpyGeneric(y, x, a) }
func (s *Set) relu(y []float32)                      { reluGeneric(y) }
func (s *Set) reluGrad(g, y []float32)               { reluGradGeneric(g, y) }
func (s *Set) sgd(w, g []float32, lr, decay float32) { sgdGeneric(w, g, lr, decay) }
func (s *Set) momentum(w, g, m []float32, lr, decay, mu float32) {
	momentumGeneric(w, g, m, lr, decay, mu)
}
func (s *Set) adam(w, g, m, v []float32, f *adamFactors) { adamGeneric(w, g, m, v, f) }
func (s *Set) laneSums(dst, src []float32)               { laneSumsGeneric(dst, src, s.Lanes) }
func (s *Set) dot(x, y []float32) float64                { return dotGeneric(x, y) }

func (s *Set) sigmoidError(y, t, in []float32) float64 { return sigmoidErrorGeneric(y, t, in) }
func (s *Set) sigmoidErrorGrad(d, y, t, in []float32, f float32) {
	sigmoidErrorGradGeneric(d, y, t, in, f)
}

func (s *Set) transpose(dst []float32, dstStride int, src []float32, srcStride, n, m int) {
	transposeGeneric(dst, dstStride, src, srcStride, n, m)
}
func (s *Set) split(even, odd, x []float32) { splitGeneric(even, odd, x) }
func (s *Set) merge(x, even, odd []float32) { mergeGeneric(x, even, odd) }
