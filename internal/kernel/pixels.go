package kernel

// pixelPart is how many pixels are summed in float32 before float64 takes over.
const pixelPart = 256

// PixelSums sets sums to Σ z of each channel over n pixels, or to Σ (z-mean)² where mean is not nil. Some pixels at a
// time are summed in float32, in part [C].
func (s *Set) PixelSums(sums []float64, part, z, mean []float32, n, stride int) {
	clear(sums)
	for first := 0; first < n; first += pixelPart {
		clear(part)
		from, count := z[first*stride:], min(pixelPart, n-first)
		if mean != nil {
			s.ChannelLastSquares(part, from, mean, count, stride)
		} else {
			s.ChannelLastSums(part, from, count, stride)
		}
		for i, v := range part {
			sums[i] += float64(v)
		}
	}
}

// PixelGradientSums masks the gradient and sets sg and sgz of each channel to Σ G and Σ G·(Z-mean), as PixelSums does.
func (s *Set) PixelGradientSums(sg, sgz []float64, ps, pz []float32, all *ChannelLastNorm) {
	clear(sg)
	clear(sgz)
	for first := 0; first < all.N; first += pixelPart {
		clear(ps)
		clear(pz)
		a, at := *all, first*all.Stride
		a.Z, a.Y, a.G, a.N = all.Z[at:], Tail(all.Y, at), all.G[at:], min(pixelPart, all.N-first)
		s.ChannelLastNormSums(ps, pz, &a)
		for i := range ps {
			sg[i] += float64(ps[i])
			sgz[i] += float64(pz[i])
		}
	}
}
