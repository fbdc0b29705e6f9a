package kernel

// The methods check the arrays that a transform walks through in steps; as with convolutions, what Pos points at is the
// caller's care.

// WinogradChannelLastInput computes T = Bᵀ X B, X being the input map; pixels outside it are zeros that the caller keeps
// somewhere in X. See [WinogradChannelLast].
func (s *Set) WinogradChannelLastInput(a *WinogradChannelLast) {
	if !s.checkWinogradChannelLast(a, WinogradProducts) {
		return
	}
	switch s.isa {
	case avx512:
		winogradChannelLastInputAVX512(a)
	case avx2:
		winogradChannelLastInputAVX2(a)
	default:
		winogradChannelLastInputGeneric(a)
	}
}

// WinogradChannelLastGradient computes T = A X Aᵀ, X being the gradient of the output; pixels outside the map are zeros that the
// caller keeps somewhere in X. See [WinogradChannelLast].
func (s *Set) WinogradChannelLastGradient(a *WinogradChannelLast) {
	if !s.checkWinogradChannelLast(a, WinogradTileRows*WinogradTileCols) {
		return
	}
	switch s.isa {
	case avx512:
		winogradChannelLastGradientAVX512(a)
	case avx2:
		winogradChannelLastGradientAVX2(a)
	default:
		winogradChannelLastGradientGeneric(a)
	}
}

// WinogradChannelLastOutput computes X = f(Aᵀ T A), where f.Res is read at the index of X. Pixels are stored last to first: those
// outside the map may go where the tile's first pixel goes, which replaces them (f.Res is not X then). A nil f stores the
// sums. See [WinogradChannelLast].
func (s *Set) WinogradChannelLastOutput(a *WinogradChannelLast, f *Finish) {
	if !s.checkWinogradChannelLast(a, WinogradTileRows*WinogradTileCols) {
		return
	}
	f = checkFinish(f, a.C)
	switch s.isa {
	case avx512:
		switch {
		case f == nil:
			winogradChannelLastOutputAVX512(a)
		case f.Res == nil:
			winogradChannelLastOutputScaleAVX512(a, f, floor(f.Relu))
		default:
			winogradChannelLastOutputScaleResAVX512(a, f, floor(f.Relu))
		}
	case avx2:
		switch {
		case f == nil:
			winogradChannelLastOutputAVX2(a)
		case f.Res == nil:
			winogradChannelLastOutputScaleAVX2(a, f, floor(f.Relu))
		default:
			winogradChannelLastOutputScaleResAVX2(a, f, floor(f.Relu))
		}
	default:
		winogradChannelLastOutputGeneric(a, f)
	}
}

// WinogradPlanesInput computes a pair of columns of T = Bᵀ X B, X being the input map with its borders of zeros. See
// [WinogradPlanes].
func (s *Set) WinogradPlanesInput(a *WinogradPlanes) {
	if !s.checkWinogradPlanes(a, winogradInRows, winogradInRows) {
		return
	}
	if a.Next != nil && len(a.Next) < len(a.Pos) {
		panic("kernel: winograd planes: Next is shorter than Pos")
	}
	switch s.isa {
	case avx512:
		if a.Pair == WinogradOuter {
			winogradPlanesInputOuterAVX512(a)
		} else {
			winogradPlanesInputInnerAVX512(a)
		}
	case avx2:
		if a.Pair == WinogradOuter {
			winogradPlanesInputOuterAVX2(a)
		} else {
			winogradPlanesInputInnerAVX2(a)
		}
	default:
		winogradPlanesInputGeneric(s, a)
	}
}

// WinogradPlanesGradient computes a pair of columns of T = A X Aᵀ, X being the gradient of the output. Rows outside the map are zeros that the
// caller keeps somewhere in X. See [WinogradPlanes].
func (s *Set) WinogradPlanesGradient(a *WinogradPlanes) {
	if !s.checkWinogradPlanes(a, WinogradTileRows, winogradInRows) {
		return
	}
	if a.Skip != nil {
		if len(a.Skip) < len(a.Pos)/WinogradTileRows {
			panic("kernel: winograd planes: Skip is shorter than Pos wants")
		}
		for _, n := range a.Skip {
			if n < 0 || int(n) > s.Lanes || n%WinogradTileCols != 0 {
				panic("kernel: winograd planes: Skip is not an even number between 0 and Lanes")
			}
		}
	}
	switch s.isa {
	case avx512:
		if a.Pair == WinogradOuter {
			winogradPlanesGradientOuterAVX512(a)
		} else {
			winogradPlanesGradientInnerAVX512(a)
		}
	case avx2:
		if a.Pair == WinogradOuter {
			winogradPlanesGradientOuterAVX2(a)
		} else {
			winogradPlanesGradientInnerAVX2(a)
		}
	default:
		winogradPlanesGradientGeneric(s, a)
	}
}

// WinogradPlanesOutput computes X = f(Aᵀ T A), where f.Res is read at the index of X. Rows are stored last to first: those
// outside the map may go where the unit's first row goes, which replaces them. Units that overlap write the same values.
// f.Res is not X in either case. A nil f stores the sums. See [WinogradPlanes].
func (s *Set) WinogradPlanesOutput(a *WinogradPlanes, f *Finish) {
	if !s.checkWinogradPlanes(a, WinogradTileRows, WinogradProducts) {
		return
	}
	f = checkFinish(f, a.C)
	switch s.isa {
	case avx512:
		switch {
		case f == nil:
			winogradPlanesOutputAVX512(a)
		case f.Res == nil:
			winogradPlanesOutputScaleAVX512(a, f, floor(f.Relu))
		default:
			winogradPlanesOutputScaleResAVX512(a, f, floor(f.Relu))
		}
	case avx2:
		switch {
		case f == nil:
			winogradPlanesOutputAVX2(a)
		case f.Res == nil:
			winogradPlanesOutputScaleAVX2(a, f, floor(f.Relu))
		default:
			winogradPlanesOutputScaleResAVX2(a, f, floor(f.Relu))
		}
	default:
		winogradPlanesOutputGeneric(s, a, f)
	}
}

// WinogradWeights computes U = G W Gᵀ; see [WinogradWeights].
func (s *Set) WinogradWeights(a *WinogradWeights) {
	if !s.checkWinogradWeights(a) {
		return
	}
	switch s.isa {
	case avx512:
		winogradWeightsAVX512(a)
	case avx2:
		winogradWeightsAVX2(a)
	default:
		winogradWeightsGeneric(a)
	}
}

// WinogradWeightsGrad adds Gᵀ U G to W, U being the gradient of the transformed weights; see [WinogradWeights].
func (s *Set) WinogradWeightsGrad(a *WinogradWeights) {
	if !s.checkWinogradWeights(a) {
		return
	}
	switch s.isa {
	case avx512:
		winogradWeightsGradAVX512(a)
	case avx2:
		winogradWeightsGradAVX2(a)
	default:
		winogradWeightsGradGeneric(a)
	}
}

// WinogradWeightsAhead asks the caches for the W of a WinogradWeightsGrad that follows soon. U is not used.
func (s *Set) WinogradWeightsAhead(a *WinogradWeights) {
	if a.Rows <= 0 {
		return
	}
	switch s.isa {
	case avx512:
		winogradWeightsAheadAVX512(a)
	case avx2:
		winogradWeightsAheadAVX2(a)
	}
}

// checkWinogradChannelLast tells whether there is work, in tiles of n pixels.
func (s *Set) checkWinogradChannelLast(a *WinogradChannelLast, n int) bool {
	if len(a.Pos)%n != 0 || a.C%s.Lanes != 0 {
		panic("kernel: winograd channel-last: Pos holds no whole tiles or C is no multiple of Lanes")
	}
	tiles := len(a.Pos) / n
	if tiles == 0 || a.C <= 0 {
		return false
	}
	enough(len(a.T), (WinogradProducts-1)*a.Step+(tiles-1)*a.Stride+a.C, "kernel: winograd channel-last: products end beyond T")
	return true
}

// checkWinogradPlanes tells whether there is work: units of n rows each.
func (s *Set) checkWinogradPlanes(a *WinogradPlanes, n, products int) bool {
	if a.Pair != WinogradOuter && a.Pair != WinogradInner {
		panic("kernel: winograd planes: Pair is neither outer nor inner")
	}
	if len(a.Pos)%(2*n) != 0 {
		panic("kernel: winograd planes: Pos holds no whole pairs of units")
	}
	vecs := len(a.Pos) / (2 * n)
	if vecs == 0 || a.C <= 0 {
		return false
	}
	enough(len(a.T), (products-1)*a.Step+a.PairStep+(a.C-1)*a.Stride+vecs*s.Lanes, "kernel: winograd planes: products end beyond T")
	return true
}

// checkWinogradWeights tells whether there is work.
func (s *Set) checkWinogradWeights(a *WinogradWeights) bool {
	if a.Width%s.Lanes != 0 {
		panic("kernel: winograd weights: Width is no multiple of Lanes")
	}
	if a.Rows <= 0 || a.Width <= 0 {
		return false
	}
	enough(len(a.U), (WinogradProducts-1)*a.Step+(a.Rows-1)*a.URow+a.Width, "kernel: winograd weights: products end beyond U")
	enough(len(a.W), (a.Rows-1)*a.WRow+8*a.WTap+a.Width, "kernel: winograd weights: taps end beyond W")
	return true
}

// checkFinish returns f for channels channels, or nil where it stores the sums themselves.
func checkFinish(f *Finish, channels int) *Finish {
	if f == nil {
		return nil
	}
	if f.Scale == nil {
		if f.Res != nil || f.Relu {
			panic("kernel: winograd: a finish without Scale has Res or Relu")
		}
		return nil
	}
	enough(min(len(f.Scale), len(f.Shift)), channels, "kernel: winograd: Scale or Shift is shorter than the channels")
	return f
}
