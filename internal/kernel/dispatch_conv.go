package kernel

// Vector code checks no bounds. So the methods first check that outputs, weights and tables are long enough, which
// takes a few comparisons. The caller must make sure that the offsets in the tables are valid. The methods of isa are
// generated. They call the code of a set by its name and not through a variable, so that arguments stay on the caller's
// stack.

// Planes runs a convolution in the planes layout; see [Planes].
func (s *Set) Planes(a *Planes) {
	if a.Rows <= 0 || a.Tiles <= 0 {
		return
	}
	end := (a.Rows-1)*a.RowStride + (a.Tiles-1)*2*s.Lanes + a.VecStride + s.Lanes
	enough(len(a.Out), (s.PlanesOut-1)*a.OutStride+end, "kernel: planes: outputs end beyond Out")
	enough(len(a.W), (a.Rows-1)*a.WStride+len(a.Off)*s.PlanesOut, "kernel: planes: W is shorter than Off wants")
	a.check(s.PlanesOut)
	if a.Res != nil {
		enough(len(a.Res), (s.PlanesOut-1)*a.OutStride+end, "kernel: planes: outputs end beyond Res")
	}
	if s.isa == generic {
		planesGeneric(s, a)
	} else {
		s.isa.planes(a)
	}
}

// PlanesGrad computes tiles of a weight gradient in the planes layout; see [PlanesGrad].
func (s *Set) PlanesGrad(a *PlanesGrad) {
	if a.Images <= 0 || a.Rows <= 0 || a.Vecs <= 0 {
		return
	}
	end := (a.Images-1)*a.ImageStride + (a.Rows-1)*a.RowStride + a.Vecs*s.Lanes
	if len(a.Off)%s.GradIn != 0 {
		panic("kernel: planes gradient: Off is no multiple of GradIn")
	}
	enough(len(a.Y), a.YBase+(s.GradOut-1)*a.YStride+end, "kernel: planes gradient: positions end beyond Y")
	enough(len(a.Dst), len(a.Off)*s.GradOut*s.Lanes, "kernel: planes gradient: Dst is shorter than Off wants")
	if s.isa == generic {
		planesGradGeneric(s, a)
	} else {
		s.isa.planesGrad(a)
	}
}

// ChannelLast runs a convolution in the channel-last layout; see [ChannelLast].
func (s *Set) ChannelLast(a *ChannelLast) {
	if len(a.OutPos)%ChannelLastTile != 0 || len(a.XPos) < len(a.OutPos) || len(a.TapW) < len(a.TapX) {
		panic("kernel: channel-last: positions are no whole tiles or tables differ in length")
	}
	width := s.NarrowOuts
	if a.Vecs != 0 {
		s.checkVecs(a.Vecs)
		width = a.Vecs * s.Lanes
	}
	a.check(width)
	if s.isa == generic {
		if a.Vecs == 0 {
			channelLastNarrowGeneric(s, a)
		} else {
			channelLastGeneric(s, a)
		}
		return
	}
	switch a.Vecs {
	case 0:
		s.isa.channelLastNarrow(a)
	case 1:
		s.isa.channelLast1(a)
	case 2:
		s.isa.channelLast2(a)
	case 3:
		s.isa.channelLast3(a)
	case 4:
		s.isa.channelLast4(a)
	case 5:
		s.isa.channelLast5(a)
	}
}

// check panics where a block of so many outputs has no value for one of them, or no values at all for what is set.
func (f *Finish) check(outputs int) {
	if f.Scale != nil {
		enough(min(len(f.Scale), len(f.Shift)), outputs, "kernel: finish: Scale or Shift is shorter than a block")
	} else if f.Res != nil || f.Relu {
		panic("kernel: finish: Res or Relu without Scale")
	}
	if f.Most < 0 || f.Most > 0 && !f.Relu {
		panic("kernel: finish: Most is negative or without Relu")
	}
}

// Depthwise convolves each channel by itself; see [Depthwise].
func (s *Set) Depthwise(a *Depthwise) {
	s.checkPositions(a.OutPos, a.XPos, a.TapX, a.C)
	enough(len(a.W), len(a.TapX)*a.C, "kernel: depthwise: W is shorter than the taps want")
	a.check(a.C)
	switch {
	case len(a.OutPos) == 0 || a.C == 0:
	case s.isa == generic:
		depthwiseGeneric(a)
	default:
		s.isa.depthwise(a)
	}
}

// ChannelLastMax writes the maxima over taps; see [ChannelLastMax].
func (s *Set) ChannelLastMax(a *ChannelLastMax) {
	s.checkPositions(a.OutPos, a.XPos, a.TapX, a.C)
	switch {
	case len(a.OutPos) == 0 || a.C == 0:
	case s.isa == generic:
		channelLastMaxGeneric(a)
	default:
		s.isa.channelLastMax(a)
	}
}

// checkPositions panics unless kernels that treat each channel by itself can run.
func (s *Set) checkPositions(out, x, taps []int32, channels int) {
	if len(out)%ChannelLastTile != 0 || len(x) < len(out) || len(taps) == 0 {
		panic("kernel: depthwise: positions are no whole tiles, tables differ in length, or there is no tap")
	}
	if channels%s.Lanes != 0 {
		panic("kernel: depthwise: channels do not fill vectors")
	}
}

// ChannelLastGrad computes tiles of a weight gradient in the channel-last layout; see [ChannelLastGrad].
func (s *Set) ChannelLastGrad(a *ChannelLastGrad) {
	if a.Tiles <= 0 {
		return
	}
	if len(a.YPos) < len(a.XPos) {
		panic("kernel: channel-last gradient: YPos is shorter than XPos")
	}
	s.checkVecs(a.Vecs)
	enough(len(a.Dst), (a.Tiles*ChannelLastTile-1)*a.DstStride+a.Vecs*s.Lanes,
		"kernel: channel-last gradient: sums end beyond Dst")
	if s.isa == generic {
		channelLastGradGeneric(s, a)
		return
	}
	switch a.Vecs {
	case 1:
		s.isa.channelLastGrad1(a)
	case 2:
		s.isa.channelLastGrad2(a)
	case 3:
		s.isa.channelLastGrad3(a)
	case 4:
		s.isa.channelLastGrad4(a)
	case 5:
		s.isa.channelLastGrad5(a)
	}
}

// checkVecs panics where a block has a width that no kernel serves.
func (s *Set) checkVecs(vecs int) {
	if vecs < 1 || vecs > s.ChannelLastVecs {
		panic("kernel: channel-last: Vecs is not between 1 and ChannelLastVecs")
	}
}

// enough panics if a slice has fewer elements than the kernel will read or write.
func enough(have, want int, message string) {
	if have < want {
		panic(message)
	}
}

// FMAChains is the number of independent vector multiply-adds in a round of FMAPeakLoop, more than their latency times
// those that start in a cycle.
const FMAChains = 12

// FMAPeakLoop runs n rounds of nothing but fused multiply-adds, with the widest vectors the set (for plain Go: the
// machine) has, and returns the floating-point operations done, two a multiply-add. It returns 0 where there are none.
func (s *Set) FMAPeakLoop(n int) (flops int64) {
	best := Available()[0] // plain Go is measured against what the machine could do
	if s.isa != generic {
		best = s
	}
	if best.isa == generic {
		return 0
	}
	best.isa.fmaPeak(n)
	return 2 * FMAChains * int64(best.Lanes) * int64(n)
}
