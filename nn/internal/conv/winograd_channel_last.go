package conv

import (
	"fmt"

	"ocl/internal/kernel"
)

const (
	// winogradChannelLastBand is the bytes of transformed inputs in a group of tiles: they stay in the second-level
	// cache while the weights of all outputs pass by.
	winogradChannelLastBand = 320 << 10
	// winogradChannelLastGradTiles is the most tiles of a block of a weight gradient, winogradChannelLastGradPart those
	// transformed at once.
	winogradChannelLastGradTiles = 160
	winogradChannelLastGradPart  = 10
	// winogradChannelLastInputs is the inputs of a chunk of a weight gradient, in tiles of kernel.ChannelLastTile.
	winogradChannelLastInputs = 4
)

// oneTap is the table of taps of a product that has only one.
var oneTap = []int32{0}

// winogradChannelLast is a 3×3 convolution of stride 1 in the channel-last layout.
type winogradChannelLast struct {
	core
	fwd, bwd *winogradChannelLastConv
	edge     []float32 // taps of a last block that reaches beyond the outputs
	mirrored *area     // taps of a block, as the input's gradient wants them
}

func newWinogradChannelLast(u *directChannelLast, workers int, inference bool, mem scratch) *winogradChannelLast {
	w := &winogradChannelLast{core: u.core, fwd: newWinogradChannelLastConv(u.s, u.out, u.in, workers, mem)}
	w.forward = w.fwd
	if !inference {
		w.bwd = newWinogradChannelLastConv(u.s, u.in, u.out, workers, mem)
		w.mirrored = &area{}
		if u.packed.Room != nil {
			w.mirrored = mem.area("taps", 0)
		}
		w.backward, w.gradient = w.bwd, byNumber{u.gradient, newWinogradChannelLastGrad(u.s, u.out, u.in, workers, mem)}
	}
	return w
}

func (u *winogradChannelLast) PackForward(w []float32) {
	wf := u.packed.room(&u.packed.forward, u.fwd.packed(), true)
	winogradBlocks(u.s, wf, w, &u.edge, u.fwd.blocks, u.fwd.wstep, u.in.C, u.out.C)
}

func (u *winogradChannelLast) PackBackward(w []float32) {
	wb, ins, outs := u.packed.room(&u.packed.backward, u.bwd.packed(), true), u.in.C, u.out.C
	for _, b := range u.bwd.blocks {
		width := b.vecs * u.s.Lanes
		taps := u.mirrored.first(outs * 9 * width)
		if b.first+width > ins {
			clear(taps)
		}
		for tap := range 9 {
			u.s.Transpose(taps[(8-tap)*width:], 9*width, w[(b.first*9+tap)*outs:], 9*outs, min(width, ins-b.first), outs)
		}
		u.s.WinogradWeights(&kernel.WinogradWeights{U: wb[b.w:], W: taps, Rows: outs, Width: width,
			Step: u.bwd.wstep, URow: width, WRow: 9 * width, WTap: width})
	}
}

// winogradPixels lists for each tile of g's maps where its rows × cols pixels lie, from top and left of its first
// output on. Of pixels outside the map outside says where, given the tile's first output.
func winogradPixels(g Layout, rows, cols, top, left int, outside func(first int) int) []int32 {
	var pos []int32
	for img := range g.N {
		for ty := 0; ty < g.H; ty += kernel.WinogradTileRows {
			for tx := 0; tx < g.W; tx += kernel.WinogradTileCols {
				for k := range rows * cols {
					y, x := ty+top+k/cols, tx+left+k%cols
					if y < 0 || y >= g.H || x < 0 || x >= g.W {
						pos = append(pos, offset("pixels", outside(g.PixelAt(img, ty, tx))))
						continue
					}
					pos = append(pos, offset("pixels", g.PixelAt(img, y, x)))
				}
			}
		}
	}
	return pos
}

// winogradInputs lists the inputs of all tiles, and winogradGradients their outputs' gradients: zeros outside the map.
func winogradInputs(g Layout) []int32 {
	return winogradPixels(g, kernel.WinogradTileRows+2, winogradColumns, -1, -1, func(int) int { return g.zeros() })
}

func winogradGradients(g Layout) []int32 {
	return winogradPixels(g, kernel.WinogradTileRows, kernel.WinogradTileCols, 0, 0, func(int) int { return g.zeros() })
}

// winogradOutputs lists the outputs of all tiles. What lies outside the map is written where the tile's first output
// goes, before it.
func winogradOutputs(g Layout) []int32 {
	return winogradPixels(g, kernel.WinogradTileRows, kernel.WinogradTileCols, 0, 0, func(first int) int { return first })
}

const (
	tileInputs  = kernel.WinogradProducts
	tileOutputs = kernel.WinogradTileRows * kernel.WinogradTileCols
)

// tilesOf is the number of tiles of an image.
func tilesOf(g Layout) int {
	return tilesAlong(g.H, kernel.WinogradTileRows) * tilesAlong(g.W, kernel.WinogradTileCols)
}

// everyStride lists 0, stride, 2·stride, …
func everyStride(n, stride int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = offset("products", i*stride)
	}
	return v
}

// winogradChannelLastConv convolves a group of tiles at a time: transform, 24 products, transform. A product's inputs
// stay in the first-level cache while the blocks of its weights pass by.
type winogradChannelLastConv struct {
	s        *kernel.Set
	in       Layout
	depth    int // input channels, padded to whole vectors
	width    int // output channels, padded to whole vectors
	group    int // tiles
	step     int // of transformed inputs, mstep of products, wstep of weights
	mstep    int
	wstep    int
	blocks   []outputBlock
	inPos    []int32
	outPos   []int32
	tileT    []int32 // where tile q of a group lies in transformed inputs, and in products
	tileM    []int32
	t, m     []*area // one a worker
	dst, src []float32
	w        []float32
	finish   kernel.Finish
	tiles    int
	parts    int // of the blocks of a group
}

func newWinogradChannelLastConv(s *kernel.Set, out, in Layout, workers int, mem scratch) *winogradChannelLastConv {
	c := &winogradChannelLastConv{s: s, in: in, depth: roundUp(in.C, s.Lanes), width: roundUp(out.C, s.Lanes),
		blocks: outputBlocks(s, out.C, in.C),
		inPos:  winogradInputs(in), outPos: winogradOutputs(out)}
	c.group = winogradChannelLastBand / (4 * kernel.WinogradProducts * c.depth)
	// whole tiles of positions: no product is padding
	c.group = min(max(1, c.group/kernel.ChannelLastTile)*kernel.ChannelLastTile,
		roundUp(in.N*tilesOf(in), kernel.ChannelLastTile))
	c.step, c.mstep, c.wstep = winogradStep(c.group*c.depth), winogradStep(c.group*c.width), winogradStep(in.C*c.width)
	c.tileT, c.tileM = everyStride(c.group, c.depth), everyStride(c.group, c.width)
	for worker := range workers {
		c.t = append(c.t, mem.area(fmt.Sprint("t", worker), kernel.WinogradProducts*c.step))
		c.m = append(c.m, mem.area(fmt.Sprint("m", worker), kernel.WinogradProducts*c.mstep))
	}
	return c
}

func (c *winogradChannelLastConv) packed() int { return kernel.WinogradProducts * c.wstep }

func (c *winogradChannelLastConv) run(team Team, dst, src, w []float32, images int, f kernel.Finish) {
	c.dst, c.src, c.w, c.finish = dst, src, w, f
	c.tiles = images * tilesOf(c.in)
	groups := (c.tiles + c.group - 1) / c.group
	c.parts = 1 // a group whose blocks are shared out is transformed by every worker that has some
	if groups < team.Size() {
		c.parts = min(len(c.blocks), (team.Size()+groups-1)/groups)
	}
	team.Run(c, groups*c.parts)
}

func (c *winogradChannelLastConv) DoChunk(worker, chunk int) {
	part := chunk % c.parts
	lo := chunk / c.parts * c.group
	hi := min(lo+c.group, c.tiles)
	t, m := c.t[worker].floats, c.m[worker].floats
	c.s.WinogradChannelLastInput(&kernel.WinogradChannelLast{T: t, X: c.src, Pos: c.inPos[lo*tileInputs : hi*tileInputs],
		Step: c.step, Stride: c.depth, C: c.depth})
	tiles := roundUp(hi-lo, kernel.ChannelLastTile)
	blocks := c.blocks[part*len(c.blocks)/c.parts : (part+1)*len(c.blocks)/c.parts]
	for j := range kernel.WinogradProducts {
		for _, b := range blocks {
			c.s.ChannelLast(&kernel.ChannelLast{Out: m[j*c.mstep+b.first:], X: t[j*c.step:], W: c.w[j*c.wstep+b.w:],
				OutPos: c.tileM[:tiles], XPos: c.tileT[:tiles], TapX: oneTap, TapW: oneTap, C: c.in.C, Vecs: b.vecs})
		}
	}
	first, last := blocks[0].first, blocks[len(blocks)-1]
	f := finishFrom(c.finish, first, first)
	c.s.WinogradChannelLastOutput(&kernel.WinogradChannelLast{T: m[first:], X: c.dst[first:],
		Pos:  c.outPos[lo*tileOutputs : hi*tileOutputs],
		Step: c.mstep, Stride: c.width, C: last.first + last.vecs*c.s.Lanes - first}, &f)
}

// winogradChannelLastGrad is the gradient of the weights: both maps of a block of tiles are transformed, then a chunk
// takes the 24 products of some inputs and a block of outputs and transforms them back.
type winogradChannelLastGrad struct {
	s            *kernel.Set
	out, in      Layout
	depth, width int // channels of a transformed input and output gradient
	block        int // tiles
	xstep, ystep int
	sumStep      int
	blocks       []outputBlock
	parts        int // of the inputs
	inPos        []int32
	outPos       []int32
	tileX, tileY []int32
	tx, ty       *area
	sums         []*area // one a worker
	edge         []*area // the same transformed back, where a block reaches beyond the weights

	y, x, dst []float32
	lo, hi    int // tiles
	multiply  bool
}

func newWinogradChannelLastGrad(s *kernel.Set, out, in Layout, workers int, mem scratch) *winogradChannelLastGrad {
	g := &winogradChannelLastGrad{s: s, out: out, in: in, depth: roundUp(in.C, s.Lanes), width: roundUp(out.C, s.Lanes),
		blocks: outputBlocks(s, out.C, 0), inPos: winogradInputs(in), outPos: winogradGradients(out)}
	g.block = min(winogradChannelLastGradTiles, in.N*tilesOf(in))
	g.xstep, g.ystep = winogradStep(g.block*g.depth+kernel.ChannelLastTile), winogradStep(g.block*g.width)
	g.tileX, g.tileY = everyStride(g.block, g.depth), everyStride(g.block, g.width)
	g.tx = mem.area("tx", kernel.WinogradProducts*g.xstep)
	g.ty = mem.area("ty", kernel.WinogradProducts*g.ystep)
	inputs := winogradChannelLastInputs * kernel.ChannelLastTile
	g.parts = (in.C + inputs - 1) / inputs
	g.sumStep = winogradStep(inputs * s.ChannelLastVecs * s.Lanes)
	for worker := range workers {
		g.sums = append(g.sums, mem.area(fmt.Sprint("sums", worker), kernel.WinogradProducts*g.sumStep))
		g.edge = append(g.edge, mem.area(fmt.Sprint("edge", worker), g.edgeSize()))
	}
	return g
}

func (g *winogradChannelLastGrad) run(team Team, dst, y, x []float32, _, images int) {
	g.dst, g.y, g.x = dst, y, x
	total := images * tilesOf(g.in)
	for g.lo = 0; g.lo < total; g.lo = g.hi {
		g.hi = min(g.lo+g.block, total)
		g.multiply = false
		team.Run(g, (g.hi-g.lo+winogradChannelLastGradPart-1)/winogradChannelLastGradPart)
		g.multiply = true
		team.Run(g, len(g.blocks)*g.parts)
	}
}

func (g *winogradChannelLastGrad) DoChunk(worker, chunk int) {
	if g.multiply {
		g.products(worker, g.blocks[chunk/g.parts], chunk%g.parts)
		return
	}
	lo := chunk * winogradChannelLastGradPart
	first, limit := g.lo+lo, min(g.lo+lo+winogradChannelLastGradPart, g.hi)
	g.s.WinogradChannelLastInput(&kernel.WinogradChannelLast{T: g.tx.floats[lo*g.depth:], X: g.x,
		Pos:  g.inPos[first*tileInputs : limit*tileInputs],
		Step: g.xstep, Stride: g.depth, C: g.depth})
	g.s.WinogradChannelLastGradient(&kernel.WinogradChannelLast{T: g.ty.floats[lo*g.width:], X: g.y,
		Pos:  g.outPos[first*tileOutputs : limit*tileOutputs],
		Step: g.ystep, Stride: g.width, C: g.width})
}

func (g *winogradChannelLastGrad) edgeSize() int {
	return winogradChannelLastInputs * kernel.ChannelLastTile * 9 * g.s.ChannelLastVecs * g.s.Lanes
}

// products adds the gradient of some inputs and a block of outputs.
func (g *winogradChannelLastGrad) products(worker int, b outputBlock, part int) {
	const inputs = winogradChannelLastInputs * kernel.ChannelLastTile
	sums, width := g.sums[worker].floats, b.vecs*g.s.Lanes
	lo, rows, outs := part*inputs, min(inputs, g.in.C-part*inputs), g.out.C
	a := kernel.WinogradWeights{U: sums, W: g.dst[lo*9*outs+b.first:], Rows: rows, Width: width,
		Step: g.sumStep, URow: width, WRow: 9 * outs, WTap: outs}
	whole := b.first+width <= outs
	for j := range kernel.WinogradProducts {
		if whole { // in passing, what the sums will be added to
			ahead, first := a, j*rows/kernel.WinogradProducts
			ahead.W, ahead.Rows = a.W[first*a.WRow:], (j+1)*rows/kernel.WinogradProducts-first
			g.s.WinogradWeightsAhead(&ahead)
		}
		g.s.ChannelLastGrad(&kernel.ChannelLastGrad{Dst: sums[j*g.sumStep:], X: g.tx.floats[j*g.xstep+lo:],
			Y:    g.ty.floats[j*g.ystep+b.first:],
			XPos: g.tileX[:g.hi-g.lo], YPos: g.tileY[:g.hi-g.lo], DstStride: width,
			Tiles: (rows + kernel.ChannelLastTile - 1) / kernel.ChannelLastTile, Vecs: b.vecs, Write: true})
	}
	if whole {
		g.s.WinogradWeightsGrad(&a)
		return
	}
	edge := g.edge[worker].first(g.edgeSize())
	clear(edge)
	a.W, a.WRow, a.WTap = edge, 9*width, width
	g.s.WinogradWeightsGrad(&a)
	for i := range rows * 9 {
		to := g.dst[lo*9*outs+i*outs+b.first:][:outs-b.first]
		for v := range to {
			to[v] += edge[i*width+v]
		}
	}
}
