//go:build amd64 && !purego

package kernel

func (s *Set) winogradChannelLastInput(a *WinogradChannelLast) {
	switch s.isa {
	case avx512:
		winogradChannelLastInputAVX512(a)
	case avx2:
		winogradChannelLastInputAVX2(a)
	default:
		winogradChannelLastInputGeneric(a)
	}
}

func (s *Set) winogradChannelLastGradient(a *WinogradChannelLast) {
	switch s.isa {
	case avx512:
		winogradChannelLastGradientAVX512(a)
	case avx2:
		winogradChannelLastGradientAVX2(a)
	default:
		winogradChannelLastGradientGeneric(a)
	}
}

func (s *Set) winogradChannelLastOutput(a *WinogradChannelLast, f *Finish) {
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

func (s *Set) winogradPlanesInput(a *WinogradPlanes) {
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

func (s *Set) winogradPlanesGradient(a *WinogradPlanes) {
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

func (s *Set) winogradPlanesOutput(a *WinogradPlanes, f *Finish) {
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

func (s *Set) winogradWeights(a *WinogradWeights) {
	switch s.isa {
	case avx512:
		winogradWeightsAVX512(a)
	case avx2:
		winogradWeightsAVX2(a)
	default:
		winogradWeightsGeneric(a)
	}
}

func (s *Set) winogradWeightsAhead(a *WinogradWeights) {
	switch s.isa {
	case avx512:
		winogradWeightsAheadAVX512(a)
	case avx2:
		winogradWeightsAheadAVX2(a)
	}
}

func (s *Set) winogradWeightsGrad(a *WinogradWeights) {
	switch s.isa {
	case avx512:
		winogradWeightsGradAVX512(a)
	case avx2:
		winogradWeightsGradAVX2(a)
	default:
		winogradWeightsGradGeneric(a)
	}
}
