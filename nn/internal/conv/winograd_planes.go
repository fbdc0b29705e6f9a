package conv

import (
	"fmt"

	"ocl/internal/kernel"
)

const (
	// winogradPlanesBand is the bytes of transformed inputs in a group of units.
	winogradPlanesBand = 64 << 10
	// winogradPlanesGradTiles is the most tiles of a block of a weight gradient.
	winogradPlanesGradTiles = 320

	unitInputs  = kernel.WinogradTileRows + 2 // rows
	unitOutputs = kernel.WinogradTileRows
)

// winogradPlanes is a 3×3 convolution of stride 1 in the planes layout.
type winogradPlanes struct {
	core
	fwd, bwd *winogradPlanesConv
	taps     *area // weights with whole vectors of outputs, and transformed
	products *area
}

func newWinogradPlanes(u *directPlanes, workers int, inference bool, mem scratch) *winogradPlanes {
	w := &winogradPlanes{core: u.core, fwd: newWinogradPlanesConv(u.s, u.out, u.in, workers, mem)}
	w.forward, w.taps, w.products = w.fwd, &area{}, &area{}
	if u.packed.Room != nil {
		w.taps, w.products = mem.area("taps", 0), mem.area("products", 0)
	}
	if !inference {
		w.bwd = newWinogradPlanesConv(u.s, u.in, u.out, workers, mem)
		w.backward, w.gradient = w.bwd, byNumber{u.gradient, newWinogradPlanesGrad(u.s, u.out, u.in, workers, mem)}
	}
	return w
}

func (u *winogradPlanes) PackForward(w []float32) {
	ins, outs := u.in.C, u.out.C
	taps, width := u.tapsFor(ins, outs)
	for i := range ins * 9 {
		copy(taps[i*width:], w[i*outs:][:outs])
	}
	u.pack(u.packed.room(&u.packed.forward, u.fwd.packed(), outs%u.s.PlanesOut == 0), ins, outs)
}

func (u *winogradPlanes) PackBackward(w []float32) {
	ins, outs := u.in.C, u.out.C
	taps, width := u.tapsFor(outs, ins)
	for tap := range 9 {
		u.s.Transpose(taps[(8-tap)*width:], 9*width, w[tap*outs:], 9*outs, ins, outs)
	}
	u.pack(u.packed.room(&u.packed.backward, u.bwd.packed(), ins%u.s.PlanesOut == 0), outs, ins)
}

// tapsFor is room for weights [in][tap][width], the outputs being padded to whole vectors.
func (u *winogradPlanes) tapsFor(ins, outs int) (taps []float32, width int) {
	width = roundUp(outs, u.s.Lanes)
	taps = u.taps.first(ins * 9 * width)
	if width > outs {
		clear(taps)
	}
	return taps, width
}

// pack transforms the weights in taps and sorts them by blocks of outputs, [block][product][in][out of the block].
func (u *winogradPlanes) pack(dst []float32, ins, outs int) {
	width := roundUp(outs, u.s.Lanes)
	products := u.products.first(kernel.WinogradProducts * ins * width)
	u.s.WinogradWeights(&kernel.WinogradWeights{U: products, W: u.taps.floats, Rows: ins, Width: width,
		Step: ins * width, URow: width, WRow: 9 * width, WTap: width})
	po := u.s.PlanesOut
	for first := 0; first < outs; first += po {
		n := min(po, outs-first)
		for i := range kernel.WinogradProducts * ins {
			copy(dst[:n], products[i*width+first:])
			dst = dst[po:]
		}
	}
}

// winogradUnits lists the units that cover the maps of some images, in pairs of pairs, because products take two
// vectors for each tile. If a vector does not divide a row, the last unit lies as far to the right as it can and
// overlaps its neighbour. These two form a pair, and all such pairs come first, so that no two workers write to one
// place. The last pairs are filled up with the last unit again, all of which is skipped.
type winogradUnits struct {
	vecs int     // even
	in   []int32 // rows of each unit
	out  []int32 // a row outside the map is written where the unit's first row goes, before it
	grad []int32 // a row outside the map is zeros
	skip []int32
}

func newWinogradUnits(s *kernel.Set, in, out Layout, images int) *winogradUnits {
	u := &winogradUnits{}
	whole := out.W / s.Lanes * s.Lanes // columns in units side by side
	apart := whole
	if whole < out.W {
		apart -= s.Lanes // without the last, which is overlapped
		u.each(out, images, func(img, y int) {
			u.add(in, out, img, y, apart, 0)
			u.add(in, out, img, y, out.W-s.Lanes, whole-(out.W-s.Lanes))
		})
	}
	u.each(out, images, func(img, y int) {
		for x := 0; x < apart; x += s.Lanes {
			u.add(in, out, img, y, x, 0)
		}
	})
	for len(u.skip)%4 != 0 {
		u.in = append(u.in, u.in[len(u.in)-unitInputs:]...)
		u.out = append(u.out, u.out[len(u.out)-unitOutputs:]...)
		u.grad = append(u.grad, u.grad[len(u.grad)-unitOutputs:]...)
		u.skip = append(u.skip, int32(s.Lanes))
	}
	u.vecs = len(u.skip) / 2
	return u
}

// each visits the rows of tiles of all images.
func (u *winogradUnits) each(out Layout, images int, visit func(img, y int)) {
	for img := range images {
		for y := 0; y < out.H; y += kernel.WinogradTileRows {
			visit(img, y)
		}
	}
}

// add appends the unit of a row of tiles that begins at column x; of its columns skip belong to its neighbour.
func (u *winogradUnits) add(in, out Layout, img, y, x, skip int) {
	for r := range unitInputs { // a border of zeros lies above and below the map
		u.in = append(u.in, offset("inputs", in.RowAt(0, img, min(y-1+r, in.H))+x))
	}
	for r := range unitOutputs {
		row := out.RowAt(0, img, min(y+r, out.H)) + x
		u.grad = append(u.grad, offset("outputs", row))
		if y+r >= out.H {
			row = out.RowAt(0, img, y) + x
		}
		u.out = append(u.out, offset("outputs", row))
	}
	u.skip = append(u.skip, int32(skip))
}

// winogradPlanesConv convolves a group of units at a time: transform, 24 products for each block of outputs, transform.
type winogradPlanesConv struct {
	s       *kernel.Set
	out, in Layout
	blocks  int // of PlanesOut outputs
	group   int // vectors, an even number
	stride  int
	step    int
	off     []int32
	units   map[int]*winogradUnits
	t, m    []*area // one a worker

	dst, src, w []float32
	finish      kernel.Finish
	list        *winogradUnits
	total, span int // groups in all and in a chunk
}

func newWinogradPlanesConv(s *kernel.Set, out, in Layout, workers int, mem scratch) *winogradPlanesConv {
	c := &winogradPlanesConv{s: s, out: out, in: in, blocks: (out.C + s.PlanesOut - 1) / s.PlanesOut,
		units: map[int]*winogradUnits{}}
	c.group = max(2, winogradPlanesBand/(4*kernel.WinogradProducts*in.C*s.Lanes)/2*2)
	c.stride = c.group * s.Lanes
	c.step = winogradStep(max(in.C, s.PlanesOut) * c.stride)
	c.off = everyStride(in.C, c.stride)
	for worker := range workers {
		c.t = append(c.t, mem.area(fmt.Sprint("t", worker), kernel.WinogradProducts*c.step))
		c.m = append(c.m, mem.area(fmt.Sprint("m", worker), kernel.WinogradProducts*c.step))
	}
	return c
}

func (c *winogradPlanesConv) packed() int {
	return c.blocks * kernel.WinogradProducts * c.in.C * c.s.PlanesOut
}

func (c *winogradPlanesConv) run(team Team, dst, src, w []float32, images int, f kernel.Finish) {
	c.dst, c.src, c.w, c.finish = dst, src, w, f
	if c.list = c.units[images]; c.list == nil {
		c.list = newWinogradUnits(c.s, c.in, c.out, images)
		c.units[images] = c.list
	}
	c.total = (c.list.vecs + c.group - 1) / c.group
	c.span = span(team, c.total)
	team.Run(c, (c.total+c.span-1)/c.span)
}

func (c *winogradPlanesConv) DoChunk(worker, chunk int) {
	for g := chunk * c.span; g < min((chunk+1)*c.span, c.total); g++ {
		c.convolve(worker, g*c.group, min((g+1)*c.group, c.list.vecs))
	}
}

// convolve computes all outputs of vectors [lo, hi).
func (c *winogradPlanesConv) convolve(worker, lo, hi int) {
	t, m, po := c.t[worker].floats, c.m[worker].floats, c.s.PlanesOut
	var next []int32
	if n := hi + hi - lo; n <= c.list.vecs {
		next = c.list.in[2*hi*unitInputs : 2*n*unitInputs]
	}
	for pair := range kernel.WinogradPair(kernel.WinogradPairs) {
		columns := pair.Columns()
		c.s.WinogradPlanesInput(&kernel.WinogradPlanes{T: t[columns[0]*c.step:], X: c.src,
			Pos:     c.list.in[2*lo*unitInputs : 2*hi*unitInputs],
			XStride: c.in.stride, Step: winogradColumns * c.step, Stride: c.stride, C: c.in.C,
			Pair: pair, PairStep: (columns[1] - columns[0]) * c.step, Next: next, Out: c.dst})
	}
	n := c.in.C * po
	for b := range c.blocks {
		first := b * po
		c.s.Planes(&kernel.Planes{Out: m, X: t, W: c.w[b*kernel.WinogradProducts*n:], Off: c.off, OutStride: c.stride,
			Rows: kernel.WinogradProducts, RowStride: c.step, WStride: n, Tiles: (hi - lo) / 2, VecStride: c.s.Lanes})
		at := first * c.out.stride
		f := finishFrom(c.finish, first, at)
		c.s.WinogradPlanesOutput(&kernel.WinogradPlanes{T: m, X: c.dst[at:],
			Pos:     c.list.out[2*lo*unitOutputs : 2*hi*unitOutputs],
			XStride: c.out.stride, Step: c.step, Stride: c.stride, C: min(po, c.out.C-first)}, &f)
	}
}

// winogradPlanesGrad is the gradient of the weights, a pair of columns of points after the other, so that what is
// multiplied lies in the second-level cache: both maps of a block of units are transformed; the sums of the twelve
// products stay apart by lane until the last block. All 24 are transformed back in the order in which they lie. Up to
// as many workers as there are pairs take one each, which keeps what they transform in their own caches; more of them
// share each block's work.
type winogradPlanesGrad struct {
	s            *kernel.Set
	out, in      Layout
	block        int // vectors, an even number
	stride       int
	xstep, ystep int
	off          []int32 // padded to a multiple of GradIn by repeating the last
	oGroups      int
	weights      int // of one tap, in whole tiles, padded to whole groups of lanes
	units        map[int]*winogradUnits
	apart        []winogradSums // one a worker that takes a pair
	flat         *area          // [product][weight]
	taps         *area          // [tap][weight]

	y, x  []float32
	list  *winogradUnits
	phase int
	// of the block that workers share
	pair   kernel.WinogradPair
	lo, hi int // vectors
	part   int // vectors that are transformed at once
}

// winogradSums is what the gradient by one pair of columns needs.
type winogradSums struct {
	tx, ty *area
	sums   *area // [product of the columns][weight][lane]
}

// phases of winogradPlanesGrad
const (
	winogradPair = iota // all of a pair
	winogradTransform
	winogradMultiply
	winogradReduce

	winogradColumns = kernel.WinogradTileCols + 2
)

func newWinogradPlanesGrad(s *kernel.Set, out, in Layout, workers int, mem scratch) *winogradPlanesGrad {
	g := &winogradPlanesGrad{s: s, out: out, in: in, units: map[int]*winogradUnits{}}
	perImage := tilesAlong(out.H, kernel.WinogradTileRows) * ((out.W + s.Lanes - 1) / s.Lanes) // units
	g.block = min(winogradPlanesGradTiles/s.Lanes, roundUp(perImage*out.N, 4)/2)
	g.stride = g.block * s.Lanes
	g.off = everyStride(in.C, g.stride)
	for len(g.off)%s.GradIn != 0 {
		g.off = append(g.off, g.off[len(g.off)-1])
	}
	g.oGroups = (out.C + s.GradOut - 1) / s.GradOut
	g.weights = roundUp(len(g.off)*g.oGroups*s.GradOut, ChannelPad)
	g.xstep, g.ystep = winogradStep(in.C*g.stride), winogradStep(g.oGroups*s.GradOut*g.stride)
	apart := workers
	if workers > kernel.WinogradPairs {
		apart = 1
	}
	for i := range apart {
		g.apart = append(g.apart, winogradSums{
			tx:   mem.area(fmt.Sprint("tx", i), kernel.WinogradPairProducts*g.xstep),
			ty:   mem.area(fmt.Sprint("ty", i), kernel.WinogradPairProducts*g.ystep),
			sums: mem.area(fmt.Sprint("sums", i), kernel.WinogradPairProducts*g.weights*s.Lanes),
		})
	}
	g.flat = mem.area("flat", kernel.WinogradProducts*g.weights)
	g.taps = mem.area("sums of taps", 9*g.weights)
	return g
}

func (g *winogradPlanesGrad) run(team Team, dst, y, x []float32, _, images int) {
	g.y, g.x = y, x
	if g.list = g.units[images]; g.list == nil {
		g.list = newWinogradUnits(g.s, g.in, g.out, images)
		g.units[images] = g.list
	}
	if team.Size() <= kernel.WinogradPairs {
		g.phase = winogradPair
		team.Run(g, kernel.WinogradPairs)
	} else {
		g.share(team)
	}
	clear(g.taps.first(9 * g.weights))
	g.s.WinogradWeightsGrad(&kernel.WinogradWeights{U: g.flat.floats, W: g.taps.floats, Rows: 1, Width: g.weights,
		Step: g.weights, WTap: g.weights})
	g.scatter(dst)
}

// share does one pair after the other with all workers.
func (g *winogradPlanesGrad) share(team Team) {
	for g.pair = range kernel.WinogradPair(kernel.WinogradPairs) {
		for g.lo = 0; g.lo < g.list.vecs; g.lo = g.hi {
			g.hi = min(g.lo+g.block, g.list.vecs)
			g.phase = winogradTransform
			g.part = max(4, (g.hi-g.lo+team.Size()-1)/team.Size())
			team.Run(g, (g.hi-g.lo+g.part-1)/g.part)
			g.phase = winogradMultiply
			team.Run(g, kernel.WinogradPairProducts*g.oGroups)
		}
		g.phase = winogradReduce
		team.Run(g, kernel.WinogradPairProducts)
	}
}

func (g *winogradPlanesGrad) DoChunk(worker, chunk int) {
	switch g.phase {
	case winogradPair:
		g.whole(&g.apart[worker], kernel.WinogradPair(chunk))
	case winogradTransform:
		at := chunk * g.part
		g.transform(&g.apart[0], g.pair, at, g.lo+at, min(g.lo+at+g.part, g.hi))
	case winogradMultiply:
		m := chunk / g.oGroups
		g.product(&g.apart[0], m, chunk%g.oGroups, m, g.lo, g.hi)
	case winogradReduce:
		g.reduce(&g.apart[0], g.pair, chunk, chunk)
	}
}

// whole does all of one pair. If a product has only one block, its sums are added up as soon as it is done, all in
// the room of the first product, while they are still in the first- or second-level cache.
func (g *winogradPlanesGrad) whole(a *winogradSums, pair kernel.WinogradPair) {
	once := g.list.vecs <= g.block
	for lo := 0; lo < g.list.vecs; lo += g.block {
		hi := min(lo+g.block, g.list.vecs)
		g.transform(a, pair, 0, lo, hi)
		for m := range kernel.WinogradPairProducts {
			room := m
			if once {
				room = 0
			}
			for o := range g.oGroups {
				g.product(a, m, o, room, lo, hi)
			}
			if hi == g.list.vecs {
				g.reduce(a, pair, m, room)
			}
		}
	}
}

// transform writes the columns of vectors [lo, hi) of both maps, from place at of the block on.
func (g *winogradPlanesGrad) transform(a *winogradSums, pair kernel.WinogradPair, at, lo, hi int) {
	g.s.WinogradPlanesInput(&kernel.WinogradPlanes{T: a.tx.floats[at*g.s.Lanes:], X: g.x,
		Pos:     g.list.in[2*lo*unitInputs : 2*hi*unitInputs],
		XStride: g.in.stride, Step: 2 * g.xstep, Stride: g.stride, C: g.in.C, Pair: pair, PairStep: g.xstep})
	g.s.WinogradPlanesGradient(&kernel.WinogradPlanes{T: a.ty.floats[at*g.s.Lanes:], X: g.y,
		Pos:  g.list.grad[2*lo*unitOutputs : 2*hi*unitOutputs],
		Skip: g.list.skip[2*lo : 2*hi], XStride: g.out.stride, Step: 2 * g.ystep, Stride: g.stride, C: g.out.C,
		Pair: pair, PairStep: g.ystep})
}

// product adds product m of the two columns over the block [lo, hi), for a group of outputs, to the sums in a room.
func (g *winogradPlanesGrad) product(a *winogradSums, m, o, room, lo, hi int) {
	group := len(g.off) * g.s.GradOut * g.s.Lanes
	g.s.PlanesGrad(&kernel.PlanesGrad{Dst: a.sums.floats[room*g.weights*g.s.Lanes+o*group:][:group], Y: a.ty.floats,
		X: a.tx.floats, Off: g.off,
		YBase: m*g.ystep + o*g.s.GradOut*g.stride, YStride: g.stride, XBase: m * g.xstep,
		Images: 1, Rows: 1, Vecs: hi - lo, Write: lo == 0})
}

// reduce adds up the lanes of product m of the two columns.
func (g *winogradPlanesGrad) reduce(a *winogradSums, pair kernel.WinogradPair, m, room int) {
	j := winogradColumns*(m/2) + pair.Columns()[m%2]
	g.s.LaneSums(g.flat.floats[j*g.weights:][:g.weights], a.sums.floats[room*g.weights*g.s.Lanes:])
}

// scatter adds the gradients of the taps to the parameter's.
func (g *winogradPlanesGrad) scatter(dst []float32) {
	mo, ni := g.s.GradOut, g.s.GradIn
	for tap := range 9 {
		from := g.taps.floats[tap*g.weights:]
		for o := range g.oGroups {
			outs := min(mo, g.out.C-o*mo)
			for c := range g.in.C {
				tile := from[(o*len(g.off)+c/ni*ni)*mo+c%ni:]
				to := dst[(c*9+tap)*g.out.C+o*mo:][:outs]
				for m := range to {
					to[m] += tile[m*ni]
				}
			}
		}
	}
}
