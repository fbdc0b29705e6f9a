package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// guardFloats is the width of the band of sentinels on either side of every array of a test.
const guardFloats = 32

// sentinel fills guard bands and outputs before a kernel runs; no product of the tests equals it.
const sentinel = float32(-7.25e9)

// guarded is an array inside a band of sentinels.
type guarded struct{ whole, part []float32 }

// newGuarded makes n floats that begin shift floats after a guard band, so that every alignment can be met.
func newGuarded(n, shift int) guarded {
	whole := make([]float32, n+shift+2*guardFloats)
	for i := range whole {
		whole[i] = sentinel
	}
	at := guardFloats + shift
	return guarded{whole, whole[at : at+n : at+n]}
}

// normal makes n floats around zero inside a guard band.
func normal(r *rand.Rand, n, shift int) []float32 {
	g := newGuarded(n, shift)
	for i := range g.part {
		g.part[i] = float32(r.NormFloat64())
	}
	return g.part
}

// expected collects the outputs of a kernel in float64: want, and Σ|w||x|, which bounds the rounding of any order of
// summation. Elements that no sum names must keep their bits.
type expected struct {
	sum, size map[int]float64
	terms     int
}

func newExpected() *expected { return &expected{map[int]float64{}, map[int]float64{}, 0} }

func (e *expected) set(at int, v float32) {
	e.sum[at], e.size[at] = float64(v), math.Abs(float64(v))
}

func (e *expected) add(at int, w, x float32) {
	p := float64(w) * float64(x)
	e.sum[at] += p
	e.size[at] += math.Abs(p)
}

// anyFinish is any kind of Finish, or none, for a block of outputs; Res may be the output itself.
func anyFinish(r *rand.Rand, outputs int, out guarded, shift int) (f Finish) {
	if r.IntN(5) == 0 {
		return f
	}
	f.Scale, f.Shift, f.Relu = normal(r, outputs, shift), normal(r, outputs, shift), r.IntN(2) == 0
	if f.Relu && r.IntN(2) == 0 {
		f.Most = 0.75
	}
	switch r.IntN(3) {
	case 0:
		f.Res = normal(r, len(out.part), shift)
	case 1:
		copy(out.part, normal(r, len(out.part), 0))
		f.Res = out.part
	}
	return f
}

// check compares an output with its expectation. terms is the number of additions into one element.
func (e *expected) check(t *testing.T, what string, got, before guarded) {
	t.Helper()
	base := guardFloats + len(got.whole) - 2*guardFloats - len(got.part)
	for i, v := range got.whole {
		want, written := e.sum[i-base]
		if !written {
			if math.Float32bits(v) != math.Float32bits(before.whole[i]) {
				t.Fatalf("%s: element %d was overwritten with %g; want it untouched", what, i-base, v)
			}
			continue
		}
		if math.IsNaN(want) || math.IsInf(want, 0) {
			if math.IsNaN(want) != math.IsNaN(float64(v)) || math.IsInf(want, 0) && float64(v) != want {
				t.Fatalf("%s: element %d: got %g; want %g", what, i-base, v, want)
			}
			continue
		}
		tol := float64(e.terms+2)*0x1p-24*e.size[i-base] + 1e-30
		if diff := math.Abs(float64(v) - want); !(diff <= tol) {
			t.Fatalf("%s: element %d: got %g; want %g, not further than %g", what, i-base, v, want, tol)
		}
	}
}

// clone copies an array with its guard bands.
func (g guarded) clone() guarded {
	whole := slices.Clone(g.whole)
	at := guardFloats + len(g.whole) - 2*guardFloats - len(g.part)
	return guarded{whole, whole[at : at+len(g.part) : at+len(g.part)]}
}

// forSets runs a test for every set that this machine has: its vector code and, with the same tile sizes, plain Go.
func forSets(t *testing.T, test func(t *testing.T, s *Set)) {
	for _, s := range Available() {
		t.Run(s.Name, func(t *testing.T) { test(t, s) })
		if s.isa != generic {
			twin := *s
			twin.isa = generic
			t.Run(s.Name+"-twin", func(t *testing.T) { test(t, &twin) })
		}
	}
}

// poisons are values put into one element of an input, to see where they arrive.
var poisons = []float32{0, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}

// sample thins a list of sizes out under -short, where the tests may run in an emulator.
func sample(all ...int) []int {
	if testing.Short() && len(all) > 2 {
		return []int{all[0], all[len(all)-1]}
	}
	return all
}

func TestPlanes(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(1, 0))
		for _, k := range sample(0, 1, 2, 3, 4, 5, 9, 27, 38) {
			for _, rows := range sample(0, 1, 3) {
				for _, tiles := range sample(0, 1, 2) {
					for shift := range 3 {
						testPlanes(t, s, r, k, rows, tiles, shift)
					}
				}
			}
		}
	})
}

func testPlanes(t *testing.T, s *Set, r *rand.Rand, k, rows, tiles, shift int) {
	const xStride = 7 // between the offsets of two k, on average
	tile := 2 * s.Lanes
	a := Planes{Rows: rows, Tiles: tiles, RowStride: tiles*tile + 1, VecStride: s.Lanes, XBase: 3 + shift}
	if shift == 2 { // the second vector of a tile lies in the next row
		a.VecStride = tiles*tile + 5
		a.RowStride = 2 * a.VecStride
	}
	span := rows*a.RowStride + tiles*tile + a.VecStride
	a.OutStride = span + 3
	a.Off = make([]int32, k)
	for i := range a.Off {
		a.Off[i] = int32(r.IntN(xStride*k+1)) - 3
	}
	a.X = normal(r, span+xStride*k+8, shift)
	if rows%2 == 1 { // a row of outputs has weights of its own
		a.WStride = k*s.PlanesOut + 1
	}
	a.W = normal(r, max(0, rows-1)*a.WStride+k*s.PlanesOut, shift)
	if k > 0 {
		a.X[r.IntN(len(a.X))] += poisons[r.IntN(len(poisons))]
	}
	out := newGuarded(s.PlanesOut*a.OutStride, shift)
	a.Finish = anyFinish(r, s.PlanesOut, out, shift)
	want, before := newExpected(), out.clone()
	want.terms = k + 3
	for o := range s.PlanesOut {
		for row := range rows {
			for p := range tiles * tile {
				at := row*a.RowStride + p/tile*tile + p%tile/s.Lanes*a.VecStride + p%s.Lanes
				want.set(o*a.OutStride+at, 0)
				for i, off := range a.Off {
					want.add(o*a.OutStride+at, a.W[row*a.WStride+i*s.PlanesOut+o], a.X[a.XBase+int(off)+at])
				}
				want.finish(&a.Finish, o, o*a.OutStride+at)
			}
		}
	}
	a.Out = out.part
	s.Planes(&a)
	want.check(t, fmt.Sprintf("k=%d rows=%d tiles=%d shift=%d", k, rows, tiles, shift), out, before)
}

func TestPlanesGrad(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(2, 0))
		for _, groups := range sample(0, 1, 3) {
			for _, images := range sample(0, 1, 3) {
				for _, rows := range sample(0, 1, 2, 5) {
					for vecs := range 6 { // all of them: whole rows have code of their own
						testPlanesGrad(t, s, r, groups, images, rows, vecs)
					}
				}
			}
		}
	})
}

func testPlanesGrad(t *testing.T, s *Set, r *rand.Rand, groups, images, rows, vecs int) {
	const reach = 40 // of the offsets
	shift := (images + rows + vecs) % 2
	a := PlanesGrad{Images: images, Rows: rows, Vecs: vecs, YBase: 2 + shift, XBase: 1 + shift, Write: r.IntN(2) == 0}
	a.RowStride = vecs*s.Lanes + 1 + shift
	a.ImageStride = rows*a.RowStride + 5
	span := images * a.ImageStride
	a.YStride = span + 3
	a.Off = make([]int32, groups*s.GradIn)
	for i := range a.Off {
		a.Off[i] = int32(r.IntN(reach)) - 1
	}
	a.X = normal(r, a.XBase+span+reach, shift)
	a.Y = normal(r, a.YBase+s.GradOut*a.YStride, shift)
	a.X[r.IntN(len(a.X))] += poisons[r.IntN(len(poisons))]
	a.Y[r.IntN(len(a.Y))] += poisons[r.IntN(len(poisons))]
	dst := newGuarded(groups*s.GradOut*s.GradIn*s.Lanes, shift)
	copy(dst.part, normal(r, len(dst.part), 0))
	want, before := newExpected(), dst.clone()
	want.terms = images*rows*vecs + 1
	for k, off := range a.Off {
		for m := range s.GradOut {
			for l := range s.Lanes {
				at := ((k/s.GradIn*s.GradOut+m)*s.GradIn+k%s.GradIn)*s.Lanes + l
				want.set(at, dst.part[at])
				if a.Write && images*rows*vecs > 0 {
					want.set(at, 0)
				}
				for i := range images * rows * vecs {
					p := i/vecs/rows*a.ImageStride + i/vecs%rows*a.RowStride + i%vecs*s.Lanes + l
					want.add(at, a.Y[a.YBase+m*a.YStride+p], a.X[a.XBase+int(off)+p])
				}
			}
		}
	}
	a.Dst = dst.part
	s.PlanesGrad(&a)
	want.check(t, fmt.Sprintf("groups=%d images=%d rows=%d vecs=%d", groups, images, rows, vecs), dst, before)
}

func TestChannelLast(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(3, 0))
		for vecs := 1; vecs <= s.ChannelLastVecs; vecs++ {
			for _, c := range sample(0, 1, 2, 3, 5, 8, 13) {
				for _, taps := range sample(0, 1, 3) {
					for _, tiles := range sample(0, 1, 2) {
						testChannelLast(t, s, r, vecs, c, taps, tiles)
					}
				}
			}
		}
		for _, c := range []int{0, 1, 3, 7, 8, 9, 15, 16, 17, 24, 32, 37} {
			for _, taps := range []int{0, 1, 4} {
				for _, tiles := range []int{0, 1, 2} {
					testChannelLast(t, s, r, 0, c, taps, tiles)
				}
			}
		}
	})
}

// testChannelLast is for blocks of vecs vectors of outputs, or of few outputs where vecs is 0.
func testChannelLast(t *testing.T, s *Set, r *rand.Rand, vecs, c, taps, tiles int) {
	const positions = 9
	shift, bw := (c+taps)%3, vecs*s.Lanes
	size, weight := c*bw+4, func(ch, v int) int { return ch*bw + v } // of a tap
	if vecs == 0 {
		bw = s.NarrowOuts
		size = (c+s.Lanes-1)/s.Lanes*bw*s.Lanes + 4
		weight = func(ch, v int) int { return (ch/s.Lanes*bw+v)*s.Lanes + ch%s.Lanes }
	}
	a := ChannelLast{C: c, Vecs: vecs, X: normal(r, (positions+taps)*(c+1), shift), W: make([]float32, taps*size)}
	for i := range taps {
		a.TapX = append(a.TapX, int32(i*(c+1)))
		a.TapW = append(a.TapW, int32((taps-1-i)*size))
		for ch := range c {
			for v := range bw {
				a.W[i*size+weight(ch, v)] = float32(r.NormFloat64())
			}
		}
	}
	if len(a.W) > 0 {
		a.X[r.IntN(len(a.X))] += poisons[r.IntN(len(poisons))]
	}
	perm := r.Perm(2 * ChannelLastTile * 3)
	for j := range tiles * ChannelLastTile {
		if j%ChannelLastTile == ChannelLastTile-1 { // the last position of a tile repeats the one before
			a.OutPos, a.XPos = append(a.OutPos, a.OutPos[j-1]), append(a.XPos, a.XPos[j-1])
			continue
		}
		a.OutPos, a.XPos = append(a.OutPos, int32(perm[j]*(bw+3))), append(a.XPos, int32(r.IntN(positions)*(c+1)))
	}
	out := newGuarded(len(perm)*(bw+3), shift)
	a.Finish = anyFinish(r, bw, out, shift)
	want, before := newExpected(), out.clone()
	want.terms = c*taps + 3
	for j, at := range a.OutPos {
		for v := range bw {
			want.set(int(at)+v, 0)
			for i := range taps {
				for ch := range c {
					want.add(int(at)+v, a.W[int(a.TapW[i])+weight(ch, v)], a.X[int(a.XPos[j]+a.TapX[i])+ch])
				}
			}
			want.finish(&a.Finish, v, int(at)+v)
		}
	}
	a.Out = out.part
	s.ChannelLast(&a)
	want.check(t, fmt.Sprintf("vecs=%d c=%d taps=%d tiles=%d", vecs, c, taps, tiles), out, before)
}

// channelPositions draws whole tiles of positions, the last of each the one before it again, of maps whose channels
// take room floats.
func channelPositions(r *rand.Rand, tiles, inputs, room int) (out, x []int32, outputs int) {
	perm := r.Perm(2 * ChannelLastTile * max(1, tiles))
	for j := range tiles * ChannelLastTile {
		if j%ChannelLastTile == ChannelLastTile-1 {
			out, x = append(out, out[j-1]), append(x, x[j-1])
			continue
		}
		out, x = append(out, int32(perm[j]*(room+3))), append(x, int32(r.IntN(inputs)*room))
	}
	return out, x, len(perm) * (room + 3)
}

// TestDepthwise compares Depthwise and ChannelLastMax with their definitions in float64, with channels that fill one to
// nine vectors, borders of sentinels, and values that are no numbers.
func TestDepthwise(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(6, 0))
		for _, vecs := range sample(0, 1, 2, 3, 4, 5, 9) {
			for _, taps := range sample(1, 2, 9, 25) {
				for _, tiles := range sample(0, 1, 3) {
					for range 4 {
						testDepthwise(t, s, r, vecs*s.Lanes, taps, tiles)
					}
				}
			}
		}
	})
}

func testDepthwise(t *testing.T, s *Set, r *rand.Rand, c, taps, tiles int) {
	const positions = 9
	shift, what := r.IntN(3), fmt.Sprintf("c=%d taps=%d tiles=%d", c, taps, tiles)
	a := Depthwise{C: c, X: normal(r, (positions+taps)*(c+1), shift), W: normal(r, taps*c, shift)}
	poison(r, a.X)
	for i := range taps {
		a.TapX = append(a.TapX, int32((taps-1-i)*(c+1)))
	}
	var size int
	a.OutPos, a.XPos, size = channelPositions(r, tiles, positions, c+1)
	out := newGuarded(size, shift)
	most := ChannelLastMax{X: a.X, OutPos: a.OutPos, XPos: a.XPos, TapX: a.TapX, C: c}
	largest, wantMost := out.clone(), newExpected()
	a.Finish = anyFinish(r, c, out, shift)
	want, before := newExpected(), out.clone()
	want.terms = taps + 3
	for j, at := range a.OutPos {
		for ch := range c {
			place, x := int(at)+ch, func(tap int) float32 { return a.X[int(a.XPos[j]+a.TapX[tap])+ch] }
			want.set(place, 0)
			wantMost.set(place, x(0))
			for i := range taps {
				want.add(place, a.W[i*c+ch], x(i))
				wantMost.set(place, max(float32(wantMost.sum[place]), x(i)))
			}
			want.finish(&a.Finish, ch, place)
		}
	}
	a.Out, most.Out = out.part, largest.part
	s.Depthwise(&a)
	want.check(t, what, out, before)
	empty := largest.clone()
	s.ChannelLastMax(&most)
	wantMost.check(t, "maximum, "+what, largest, empty)
}

func TestChannelLastGrad(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(4, 0))
		for vecs := 1; vecs <= s.ChannelLastVecs; vecs++ {
			for _, n := range sample(0, 1, 2, 3, 4, 5, 11, 29) {
				for _, tiles := range sample(0, 1, 3) {
					testChannelLastGrad(t, s, r, vecs, n, tiles)
				}
			}
		}
	})
}

func testChannelLastGrad(t *testing.T, s *Set, r *rand.Rand, vecs, n, tiles int) {
	const positions = 12
	c := tiles*ChannelLastTile + 2
	bw, shift := vecs*s.Lanes, (n+tiles)%2
	a := ChannelLastGrad{Vecs: vecs, DstStride: bw + 4*shift, Tiles: tiles, Write: r.IntN(2) == 0}
	a.X, a.Y = normal(r, positions*c, shift), normal(r, positions*(bw+1), shift)
	if n > 0 {
		a.X[r.IntN(len(a.X))] += poisons[r.IntN(len(poisons))]
		a.Y[r.IntN(len(a.Y))] += poisons[r.IntN(len(poisons))]
	}
	for range n {
		a.XPos = append(a.XPos, int32(r.IntN(positions)*c)+int32(r.IntN(3)))
		a.YPos = append(a.YPos, int32(r.IntN(positions)*(bw+1)))
	}
	dst := newGuarded(tiles*ChannelLastTile*a.DstStride, shift)
	copy(dst.part, normal(r, len(dst.part), 0))
	want, before := newExpected(), dst.clone()
	want.terms = n + 1
	for i := range tiles * ChannelLastTile {
		for v := range bw {
			at := i*a.DstStride + v
			want.set(at, dst.part[at])
			if a.Write {
				want.set(at, 0)
			}
			for q := range n {
				want.add(at, a.X[int(a.XPos[q])+i], a.Y[int(a.YPos[q])+v])
			}
		}
	}
	a.Dst = dst.part
	s.ChannelLastGrad(&a)
	want.check(t, fmt.Sprintf("vecs=%d n=%d shift=%d tiles=%d", vecs, n, shift, tiles), dst, before)
}

// TestConvRefuses checks that faulty arguments stop before vector code runs over memory that is not theirs.
func TestConvRefuses(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		floats := make([]float32, 1000)
		few, tile := floats[:3], make([]int32, ChannelLastTile)
		off := make([]int32, s.GradIn)
		for what, call := range map[string]func(){
			"planes, Out": func() { s.Planes(&Planes{Out: few, X: floats, Rows: 1, Tiles: 1, VecStride: s.Lanes}) },
			"planes, W": func() {
				s.Planes(&Planes{Out: floats, X: floats, Off: tile, W: few, Rows: 1, Tiles: 1, VecStride: s.Lanes})
			},
			"planes, rows": func() { s.Planes(&Planes{Out: floats, Rows: 1, Tiles: 1, VecStride: len(floats)}) },
			"planes, Res": func() {
				s.Planes(&Planes{Out: floats, X: floats, Rows: 1, Tiles: 1, VecStride: s.Lanes,
					Finish: Finish{Scale: floats, Shift: floats, Res: few}})
			},
			"planes, Scale": func() {
				s.Planes(&Planes{Out: floats, X: floats, Rows: 1, Tiles: 1, VecStride: s.Lanes,
					Finish: Finish{Scale: few, Shift: floats}})
			},
			"channel-last, Shift": func() {
				s.ChannelLast(&ChannelLast{Out: floats, OutPos: tile, XPos: tile, Vecs: 1,
					Finish: Finish{Scale: floats, Shift: few}})
			},
			"depthwise, W": func() {
				s.Depthwise(&Depthwise{Out: floats, X: floats, W: few, OutPos: tile, XPos: tile, TapX: tile, C: s.Lanes})
			},
			"depthwise, XPos": func() {
				s.Depthwise(&Depthwise{Out: floats, X: floats, W: floats, OutPos: tile, TapX: tile, C: s.Lanes})
			},
			"depthwise, no tap": func() {
				s.Depthwise(&Depthwise{Out: floats, X: floats, W: floats, OutPos: tile, XPos: tile, C: s.Lanes})
			},
			"depthwise, channels": func() {
				s.Depthwise(&Depthwise{Out: floats, X: floats, W: floats, OutPos: tile, XPos: tile, TapX: tile, C: 1})
			},
			"maximum, no tap": func() {
				s.ChannelLastMax(&ChannelLastMax{Out: floats, X: floats, OutPos: tile, XPos: tile, C: s.Lanes})
			},
			"Most without Relu": func() {
				s.ChannelLast(&ChannelLast{Out: floats, OutPos: tile, XPos: tile, Vecs: 1,
					Finish: Finish{Scale: floats, Shift: floats, Most: 6}})
			},
			"winograd, Most": func() {
				s.WinogradChannelLastOutput(&WinogradChannelLast{T: floats, X: floats,
					Pos: make([]int32, WinogradTileRows*WinogradTileCols), C: s.Lanes},
					&Finish{Scale: floats, Shift: floats, Relu: true, Most: 6})
			},
			"channel-last, narrow, Shift": func() {
				s.ChannelLast(&ChannelLast{Out: floats, OutPos: tile, XPos: tile, Finish: Finish{Scale: floats, Shift: few[:1]}})
			},
			"gradient, Dst": func() {
				s.PlanesGrad(&PlanesGrad{Dst: few, X: floats, Y: floats, Off: off, Images: 1, Rows: 1, Vecs: 1})
			},
			"gradient, Y": func() {
				s.PlanesGrad(&PlanesGrad{Dst: floats, X: floats, Y: few, Off: off, Images: 1, Rows: 1, Vecs: 1})
			},
			"gradient, Off": func() {
				s.PlanesGrad(&PlanesGrad{Dst: floats, X: floats, Y: floats, Off: off[1:], Images: 1, Rows: 1, Vecs: 1})
			},
			"channel-last, tiles": func() { s.ChannelLast(&ChannelLast{Out: floats, OutPos: tile[1:], XPos: tile, Vecs: 1}) },
			"channel-last, XPos":  func() { s.ChannelLast(&ChannelLast{Out: floats, OutPos: tile, XPos: tile[1:], Vecs: 1}) },
			"channel-last, TapW": func() {
				s.ChannelLast(&ChannelLast{Out: floats, OutPos: tile, XPos: tile, TapX: tile,
					Vecs: 1})
			},
			"channel-last, Vecs": func() {
				s.ChannelLast(&ChannelLast{Out: floats, OutPos: tile, XPos: tile, Vecs: s.ChannelLastVecs + 1})
			},
			"channel-last gradient, Dst": func() { s.ChannelLastGrad(&ChannelLastGrad{Dst: few, Tiles: 1, Vecs: 1}) },
			"channel-last gradient, pos": func() {
				s.ChannelLastGrad(&ChannelLastGrad{Dst: floats, XPos: tile, Tiles: 1,
					Vecs: 1})
			},
		} {
			if !panics(call) {
				t.Errorf("%s: the call returned; want a panic", what)
			}
		}
	})
}

// TestConvSplits checks that a call gives the same bits as the calls for its parts, which is why results do not depend
// on the number of workers.
func TestConvSplits(t *testing.T) {
	forSets(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(5, 0))
		const k, rows, taps = 21, 4, 3
		x, w := normal(r, 4000, 1), normal(r, 4000, 0)
		whole, parts := make([]float32, 4000), make([]float32, 4000)
		off := make([]int32, k)
		for i := range off {
			off[i] = int32(r.IntN(1000))
		}
		p := Planes{Out: whole, X: x, W: w, Off: off, OutStride: 4 * 40, Rows: rows, RowStride: 2*s.Lanes + 1, Tiles: 1,
			VecStride: s.Lanes}
		s.Planes(&p)
		p.Rows = 1
		for row := range rows {
			p.Out, p.XBase = parts[row*p.RowStride:], row*p.RowStride
			s.Planes(&p)
		}
		same(t, "Planes", whole, parts)

		bw := s.ChannelLastVecs * s.Lanes
		a := ChannelLast{Out: whole, X: x, W: w, TapX: off[:taps], TapW: []int32{0, 60, 7}, C: 5, Vecs: s.ChannelLastVecs}
		for j := range 2 * ChannelLastTile {
			a.OutPos, a.XPos = append(a.OutPos, int32(j*bw)), append(a.XPos, int32(r.IntN(1000)))
		}
		s.ChannelLast(&a)
		pos, xPos := a.OutPos, a.XPos
		for j := range pos { // a position alone, in every place of a tile
			a.Out, a.OutPos, a.XPos = parts, nil, nil
			for range ChannelLastTile {
				a.OutPos, a.XPos = append(a.OutPos, pos[j]), append(a.XPos, xPos[j])
			}
			s.ChannelLast(&a)
		}
		same(t, "ChannelLast", whole, parts)

		clear(whole)
		clear(parts)
		d := Depthwise{Out: whole, X: x, W: w, OutPos: pos, XPos: xPos, TapX: off[:taps], C: bw}
		s.Depthwise(&d)
		for j := range pos {
			d.Out, d.OutPos, d.XPos = parts, nil, nil
			for range ChannelLastTile {
				d.OutPos, d.XPos = append(d.OutPos, pos[j]), append(d.XPos, xPos[j])
			}
			s.Depthwise(&d)
		}
		same(t, "Depthwise", whole, parts)
	})
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d: %g as a whole, %g in parts; want the same bits", what, i, got[i], want[i])
		}
	}
}

func TestFMAPeakLoop(t *testing.T) {
	for _, s := range Available() {
		widest := s
		if s.isa == generic {
			widest = Available()[0]
		}
		want := int64(2 * FMAChains * widest.Lanes * 3)
		if widest.isa == generic {
			want = 0
		}
		if got := s.FMAPeakLoop(3); got != want {
			t.Errorf("%s: 3 rounds: %d operations; want %d", s.Name, got, want)
		}
	}
}
