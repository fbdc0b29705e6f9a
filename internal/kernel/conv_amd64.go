//go:build amd64 && !purego

package kernel

// The methods dispatch statically, so that arguments stay on the caller's stack.

func (s *Set) planes(a *Planes) {
	switch s.isa {
	case avx512:
		planesAVX512(a)
	case avx2:
		planesAVX2(a)
	default:
		planesGeneric(s, a)
	}
}

func (s *Set) planesGrad(a *PlanesGrad) {
	switch s.isa {
	case avx512:
		planesGradAVX512(a)
	case avx2:
		planesGradAVX2(a)
	default:
		planesGradGeneric(s, a)
	}
}

func (s *Set) channelLast(a *ChannelLast) {
	switch s.isa {
	case avx512:
		switch a.Vecs {
		case 1:
			channelLast1AVX512(a)
		case 2:
			channelLast2AVX512(a)
		case 3:
			channelLast3AVX512(a)
		case 4:
			channelLast4AVX512(a)
		case 5:
			channelLast5AVX512(a)
		}
	case avx2:
		switch a.Vecs {
		case 1:
			channelLast1AVX2(a)
		case 2:
			channelLast2AVX2(a)
		}
	default:
		channelLastGeneric(s, a)
	}
}

func (s *Set) channelLastNarrow(a *ChannelLastNarrow) {
	switch s.isa {
	case avx512:
		channelLastNarrowAVX512(a)
	case avx2:
		channelLastNarrowAVX2(a)
	default:
		channelLastNarrowGeneric(s, a)
	}
}

func (s *Set) channelLastGrad(a *ChannelLastGrad) {
	switch s.isa {
	case avx512:
		switch a.Vecs {
		case 1:
			channelLastGrad1AVX512(a)
		case 2:
			channelLastGrad2AVX512(a)
		case 3:
			channelLastGrad3AVX512(a)
		case 4:
			channelLastGrad4AVX512(a)
		case 5:
			channelLastGrad5AVX512(a)
		}
	case avx2:
		switch a.Vecs {
		case 1:
			channelLastGrad1AVX2(a)
		case 2:
			channelLastGrad2AVX2(a)
		}
	default:
		channelLastGradGeneric(s, a)
	}
}

func (s *Set) fmaPeak(n int) int64 {
	best := Available()[0] // plain Go is measured against what the machine could do
	if s.isa != generic {
		best = s
	}
	switch best.isa {
	case avx512:
		fmaPeakAVX512(n)
	case avx2:
		fmaPeakAVX2(n)
	default:
		return 0
	}
	return 2 * FMAChains * int64(best.Lanes) * int64(n)
}
