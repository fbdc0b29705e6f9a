package kernel

// The methods check the arrays that a transform walks through in steps; as with convolutions, what Pos points at is the
// caller's care.

// WinogradChannelLastInput computes T = Bᵀ X B, X being the input map; pixels outside it are zeros that the caller
// keeps somewhere in X. See [WinogradChannelLast].
func (s *Set) WinogradChannelLastInput(a *WinogradChannelLast) {
	if !s.checkWinogradChannelLast(a, WinogradProducts) {
		return
	}
	if s.isa == generic {
		winogradChannelLastInputGeneric(a)
	} else {
		s.isa.winogradChannelLastInput(a)
	}
}

// WinogradChannelLastGradient computes T = A X Aᵀ, X being the gradient of the output; pixels outside the map are zeros
// that the caller keeps somewhere in X. See [WinogradChannelLast].
func (s *Set) WinogradChannelLastGradient(a *WinogradChannelLast) {
	if !s.checkWinogradChannelLast(a, WinogradTileRows*WinogradTileCols) {
		return
	}
	if s.isa == generic {
		winogradChannelLastGradientGeneric(a)
	} else {
		s.isa.winogradChannelLastGradient(a)
	}
}

// WinogradChannelLastOutput computes X = f(Aᵀ T A), where f.Res is read at the index of X. Pixels are stored last to
// first: those outside the map may go where the tile's first pixel goes, which replaces them (f.Res is not X then). See
// [WinogradChannelLast].
func (s *Set) WinogradChannelLastOutput(a *WinogradChannelLast, f *Finish) {
	if !s.checkWinogradChannelLast(a, WinogradTileRows*WinogradTileCols) {
		return
	}
	f.checkWinograd(a.C)
	switch {
	case s.isa == generic:
		winogradChannelLastOutputGeneric(a, f)
	case f.Scale == nil:
		s.isa.winogradChannelLastOutput(a)
	case f.Res == nil:
		s.isa.winogradChannelLastOutputScale(a, f, floor(f.Relu))
	default:
		s.isa.winogradChannelLastOutputScaleRes(a, f, floor(f.Relu))
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
	switch {
	case s.isa == generic:
		winogradPlanesInputGeneric(s, a)
	case a.Pair == WinogradOuter:
		s.isa.winogradPlanesInputOuter(a)
	default:
		s.isa.winogradPlanesInputInner(a)
	}
}

// WinogradPlanesGradient computes a pair of columns of T = A X Aᵀ, X being the gradient of the output. Rows outside the
// map are zeros that the caller keeps somewhere in X. See [WinogradPlanes].
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
	switch {
	case s.isa == generic:
		winogradPlanesGradientGeneric(s, a)
	case a.Pair == WinogradOuter:
		s.isa.winogradPlanesGradientOuter(a)
	default:
		s.isa.winogradPlanesGradientInner(a)
	}
}

// WinogradPlanesOutput computes X = f(Aᵀ T A), where f.Res is read at the index of X. Rows are stored last to first:
// those outside the map may go where the unit's first row goes, which replaces them. Units that overlap write the same
// values. f.Res is not X in either case. See [WinogradPlanes].
func (s *Set) WinogradPlanesOutput(a *WinogradPlanes, f *Finish) {
	if !s.checkWinogradPlanes(a, WinogradTileRows, WinogradProducts) {
		return
	}
	f.checkWinograd(a.C)
	switch {
	case s.isa == generic:
		winogradPlanesOutputGeneric(s, a, f)
	case f.Scale == nil:
		s.isa.winogradPlanesOutput(a)
	case f.Res == nil:
		s.isa.winogradPlanesOutputScale(a, f, floor(f.Relu))
	default:
		s.isa.winogradPlanesOutputScaleRes(a, f, floor(f.Relu))
	}
}

// WinogradWeights computes U = G W Gᵀ; see [WinogradWeights].
func (s *Set) WinogradWeights(a *WinogradWeights) {
	if !s.checkWinogradWeights(a) {
		return
	}
	if s.isa == generic {
		winogradWeightsGeneric(a)
	} else {
		s.isa.winogradWeights(a)
	}
}

// WinogradWeightsGrad adds Gᵀ U G to W, U being the gradient of the transformed weights; see [WinogradWeights].
func (s *Set) WinogradWeightsGrad(a *WinogradWeights) {
	if !s.checkWinogradWeights(a) {
		return
	}
	if s.isa == generic {
		winogradWeightsGradGeneric(a)
	} else {
		s.isa.winogradWeightsGrad(a)
	}
}

// WinogradWeightsAhead asks the caches for the W of a WinogradWeightsGrad that follows soon. U is not used.
func (s *Set) WinogradWeightsAhead(a *WinogradWeights) {
	if a.Rows <= 0 {
		return
	}
	if s.isa != generic {
		s.isa.winogradWeightsAhead(a)
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
	enough(len(a.T), (WinogradProducts-1)*a.Step+(tiles-1)*a.Stride+a.C,
		"kernel: winograd channel-last: products end beyond T")
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
	enough(len(a.T), (products-1)*a.Step+a.PairStep+(a.C-1)*a.Stride+vecs*s.Lanes,
		"kernel: winograd planes: products end beyond T")
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
	enough(len(a.U), (WinogradProducts-1)*a.Step+(a.Rows-1)*a.URow+a.Width,
		"kernel: winograd weights: products end beyond U")
	enough(len(a.W), (a.Rows-1)*a.WRow+8*a.WTap+a.Width, "kernel: winograd weights: taps end beyond W")
	return true
}

// checkWinograd is check for the transforms, which have no Most.
func (f *Finish) checkWinograd(outputs int) {
	f.check(outputs)
	if f.Most != 0 {
		panic("kernel: winograd: a Finish with Most. Use a direct convolution")
	}
}
