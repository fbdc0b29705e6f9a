package kernel

// The plain-Go convolution kernels: the specification of the vector ones. An explicit float32 conversion keeps the
// compiler from fusing a product into its sum, so that plain Go gives the same bits on every machine.

func planesGeneric(s *Set, a *Planes) {
	for r := range a.Rows {
		for t := range a.Tiles {
			for half := range 2 {
				p0 := r*a.RowStride + t*2*s.Lanes + half*a.VecStride
				planesVecGeneric(s, a, a.W[r*a.WStride:], p0)
			}
		}
	}
}

func planesVecGeneric(s *Set, a *Planes, weights []float32, p0 int) {
	for o := range s.PlanesOut {
		out := a.Out[o*a.OutStride+p0:][:s.Lanes]
		var acc [maxLanes]float32
		sum := acc[:s.Lanes]
		for k, off := range a.Off {
			w := weights[k*s.PlanesOut+o]
			x := a.X[a.XBase+int(off)+p0:][:s.Lanes]
			for l := range sum {
				sum[l] += float32(w * x[l])
			}
		}
		for l, v := range sum {
			out[l] = a.finish(v, o, o*a.OutStride+p0+l)
		}
	}
}

// finish is the value stored for a sum of output o that goes to place at.
func (f *Finish) finish(sum float32, o, at int) float32 {
	if f.Scale == nil {
		return sum
	}
	y := float32(sum*f.Scale[o]) + f.Shift[o]
	if f.Res != nil {
		y += f.Res[at]
	}
	if f.Relu {
		y = max(y, 0) // a NaN passes, so that a diverged loss is seen
	}
	if f.Most != 0 {
		y = min(y, f.Most)
	}
	return y
}

func planesGradGeneric(s *Set, a *PlanesGrad) {
	for k, off := range a.Off {
		for m := range s.GradOut {
			sum := a.Dst[((k/s.GradIn*s.GradOut+m)*s.GradIn+k%s.GradIn)*s.Lanes:][:s.Lanes]
			if a.Write {
				clear(sum)
			}
			for row := range a.Images * a.Rows {
				p := row/a.Rows*a.ImageStride + row%a.Rows*a.RowStride
				y := a.Y[a.YBase+m*a.YStride+p:][:a.Vecs*s.Lanes]
				x := a.X[a.XBase+int(off)+p:][:a.Vecs*s.Lanes]
				for i := range y {
					sum[i%s.Lanes] += float32(y[i] * x[i])
				}
			}
		}
	}
}

func channelLastGeneric(s *Set, a *ChannelLast) {
	bw := a.Vecs * s.Lanes
	var tile [ChannelLastTile][maxChannelLastVecs * maxLanes]float32
	for t := 0; t < len(a.OutPos); t += ChannelLastTile {
		for j := range ChannelLastTile {
			sum := tile[j][:bw]
			clear(sum)
			for tap, rel := range a.TapX {
				x := a.X[int(a.XPos[t+j])+int(rel):][:a.C]
				w := a.W[a.TapW[tap]:][:a.C*bw]
				for c, xc := range x {
					row := w[c*bw:][:bw]
					for v := range row {
						sum[v] += float32(xc * row[v])
					}
				}
			}
		}
		for j := range ChannelLastTile {
			for v := range bw {
				tile[j][v] = a.finish(tile[j][v], v, int(a.OutPos[t+j])+v)
			}
		}
		for j := range ChannelLastTile {
			copy(a.Out[a.OutPos[t+j]:][:bw], tile[j][:bw])
		}
	}
}

func channelLastNarrowGeneric(s *Set, a *ChannelLast) {
	var tile [ChannelLastTile][maxNarrowOuts]float32
	for t := 0; t < len(a.OutPos); t += ChannelLastTile {
		for j := range ChannelLastTile {
			for v := range s.NarrowOuts {
				sum := float32(0)
				for tap, rel := range a.TapX {
					w := a.W[a.TapW[tap]:]
					for c, x := range a.X[int(a.XPos[t+j])+int(rel):][:a.C] {
						sum += float32(x * w[(c/s.Lanes*s.NarrowOuts+v)*s.Lanes+c%s.Lanes])
					}
				}
				tile[j][v] = a.finish(sum, v, int(a.OutPos[t+j])+v)
			}
		}
		for j := range ChannelLastTile {
			copy(a.Out[a.OutPos[t+j]:], tile[j][:s.NarrowOuts])
		}
	}
}

func channelLastGradGeneric(s *Set, a *ChannelLastGrad) {
	bw := a.Vecs * s.Lanes
	if a.Write {
		for i := range a.Tiles * ChannelLastTile {
			clear(a.Dst[i*a.DstStride:][:bw])
		}
	}
	for t := range a.Tiles {
		for q, xp := range a.XPos {
			y := a.Y[a.YPos[q]:][:bw]
			for i := t * ChannelLastTile; i < (t+1)*ChannelLastTile; i++ {
				x := a.X[int(xp)+i]
				d := a.Dst[i*a.DstStride:][:bw]
				for v := range d {
					d[v] += float32(x * y[v])
				}
			}
		}
	}
}

func depthwiseGeneric(a *Depthwise) {
	var tile [ChannelLastTile]float32
	for t := 0; t < len(a.OutPos); t += ChannelLastTile {
		for c := range a.C {
			for j := range tile {
				sum := float32(0)
				for tap, rel := range a.TapX {
					sum += float32(a.X[int(a.XPos[t+j])+int(rel)+c] * a.W[tap*a.C+c])
				}
				tile[j] = a.finish(sum, c, int(a.OutPos[t+j])+c)
			}
			for j, v := range tile {
				a.Out[int(a.OutPos[t+j])+c] = v
			}
		}
	}
}

func channelLastMaxGeneric(a *ChannelLastMax) {
	for j, at := range a.OutPos {
		for c := range a.C {
			most := a.X[int(a.XPos[j])+int(a.TapX[0])+c]
			for _, rel := range a.TapX[1:] {
				most = max(most, a.X[int(a.XPos[j])+int(rel)+c])
			}
			a.Out[int(at)+c] = most
		}
	}
}
