package conv

import (
	"ocl/internal/kernel"
	"ocl/nn/internal/workers"
)

// rowGroup is a set of output positions that have the same taps inside the map, so that no border needs storing and no
// product with a border is computed.
type rowGroup struct {
	out, in []int32 // float offsets of positions, padded to whole tiles by repeating the last
	tapIn   []int32 // offset of each tap's input from in
	tap     []int   // which tap
}

// rowsMap tells for an output pixel and a tap which input pixel is read.
type rowsMap func(y, x, tap int) (iy, ix int, ok bool)

// groupRows sorts the positions of n images by their taps. base gives the input pixel that offsets are relative to.
func groupRows(out, in Layout, n, taps int, m rowsMap, base func(y, x int) (int, int)) []rowGroup {
	var groups []rowGroup
	index := map[string]int{}
	for y := range out.H {
		for x := range out.W {
			var key []byte
			var g rowGroup
			by, bx := base(y, x)
			for t := range taps {
				iy, ix, ok := m(y, x, t)
				if !ok {
					continue
				}
				rel := in.PixelAt(0, iy, ix) - in.PixelAt(0, by, bx)
				g.tap, g.tapIn = append(g.tap, t), append(g.tapIn, int32(rel))
				key = append(key, byte(t), byte(rel), byte(rel>>8), byte(rel>>16), byte(rel>>24))
			}
			i, ok := index[string(key)]
			if !ok {
				i = len(groups)
				index[string(key)] = i
				groups = append(groups, g)
			}
			for img := range n {
				groups[i].out = append(groups[i].out, int32(out.PixelAt(img, y, x)))
				groups[i].in = append(groups[i].in, int32(in.PixelAt(img, by, bx)))
			}
		}
	}
	for i := range groups {
		g := &groups[i]
		for len(g.out)%kernel.RowTile != 0 {
			g.out, g.in = append(g.out, g.out[len(g.out)-1]), append(g.in, g.in[len(g.in)-1])
		}
	}
	return groups
}

// rowChunk is the work of one chunk: tiles [lo, hi) of a group, times kernel.RowTile positions.
type rowChunk struct{ group, lo, hi int }

// rowsPlan holds the groups for a number of images, cut into chunks.
type rowsPlan struct {
	groups []rowGroup
	chunks []rowChunk
	tapW   map[int][][]int32 // by vectors a block, then group: offsets of the taps' weights
}

// rowsConv is a convolution in the channel-last layout.
type rowsConv struct {
	s       *kernel.Set
	out, in Layout
	taps    int
	mapping rowsMap
	base    func(y, x int) (int, int)
	depth   int // input channels that are summed
	blocks  []rowBlock
	plans   map[int]*rowsPlan

	dst, src, w []float32
	plan        *rowsPlan
	finish      kernel.Finish
}

// rowBlock is a block of vecs·Lanes outputs from first on; its weights are packed at w.
type rowBlock struct{ first, vecs, w int }

// rowBlocks cuts outs outputs into blocks of at most RowVecs vectors.
func rowBlocks(s *kernel.Set, outs, perOut int) []rowBlock {
	var blocks []rowBlock
	vecs := (outs + s.Lanes - 1) / s.Lanes
	for v, at := 0, 0; v < vecs; {
		b := rowBlock{first: v * s.Lanes, vecs: min(s.RowVecs, vecs-v), w: at}
		blocks = append(blocks, b)
		v += b.vecs
		at += b.vecs * s.Lanes * perOut
	}
	return blocks
}

func newRowsConv(s *kernel.Set, out, in Layout, taps int, m rowsMap, base func(y, x int) (int, int)) *rowsConv {
	return &rowsConv{s: s, out: out, in: in, taps: taps, mapping: m, base: base, depth: in.C,
		blocks: rowBlocks(s, out.C, taps*in.C), plans: map[int]*rowsPlan{}}
}

func (c *rowsConv) packed() int { return roundUp(c.out.C, c.s.Lanes) * c.taps * c.depth }

func (c *rowsConv) planFor(images int) *rowsPlan {
	if p := c.plans[images]; p != nil {
		return p
	}
	p := &rowsPlan{groups: groupRows(c.out, c.in, images, c.taps, c.mapping, c.base), tapW: map[int][][]int32{}}
	tiles := 0
	for _, g := range p.groups {
		tiles += len(g.out) / kernel.RowTile
	}
	size := max(4, min(32, tiles/4))
	for i, g := range p.groups {
		n := len(g.out) / kernel.RowTile
		for lo := 0; lo < n; lo += size {
			p.chunks = append(p.chunks, rowChunk{i, lo * kernel.RowTile, min(lo+size, n) * kernel.RowTile})
		}
	}
	for _, b := range c.blocks {
		if p.tapW[b.vecs] == nil {
			p.tapW[b.vecs] = c.weightOffsets(p.groups, b.vecs)
		}
	}
	c.plans[images] = p
	return p
}

// weightOffsets lists for each group where its taps' weights begin in a packed block of vecs vectors.
func (c *rowsConv) weightOffsets(groups []rowGroup, vecs int) [][]int32 {
	all := make([][]int32, len(groups))
	for i, g := range groups {
		for _, tap := range g.tap {
			all[i] = append(all[i], int32(tap*c.depth*vecs*c.s.Lanes))
		}
	}
	return all
}

// run writes the convolution of src to dst, finished by f; w holds the packed blocks.
func (c *rowsConv) run(team *workers.Team, dst, src, w []float32, images int, f kernel.Finish) {
	c.dst, c.src, c.w, c.plan, c.finish = dst, src, w, c.planFor(images), f
	team.Run(c, len(c.blocks)*len(c.plan.chunks))
}

func (c *rowsConv) DoChunk(_, chunk int) {
	b := c.blocks[chunk/len(c.plan.chunks)]
	ch := c.plan.chunks[chunk%len(c.plan.chunks)]
	g := &c.plan.groups[ch.group]
	c.s.Rows(&kernel.Rows{
		Out: c.dst[b.first:], X: c.src, W: c.w[b.w:],
		OutPos: g.out[ch.lo:ch.hi], XPos: g.in[ch.lo:ch.hi],
		TapX: g.tapIn, TapW: c.plan.tapW[b.vecs][ch.group],
		C: c.depth, Vecs: b.vecs, Finish: finishFrom(c.finish, b.first, b.first),
	})
}

// rowsGradArea is the most positions of a block of a weight gradient: inputs and output gradients of a block stay in the
// first-level cache.
const rowsGradArea = 160

// rowsGrad is the gradient of a channel-last convolution with respect to its weights.
type rowsGrad struct {
	s       *kernel.Set
	out, in Layout
	taps    int
	mapping rowsMap
	blocks  []rowBlock
	lists   map[[2]int][]tapList

	y, x, dst []float32
	list      []tapList
	scratch   [][]float32
}

// tapList holds, for one tap, the positions where it lies inside the map.
type tapList struct{ x, y []int32 }

func newRowsGrad(s *kernel.Set, out, in Layout, taps int, m rowsMap, workers int) *rowsGrad {
	g := &rowsGrad{s: s, out: out, in: in, taps: taps, mapping: m, blocks: rowBlocks(s, out.C, 0),
		lists: map[[2]int][]tapList{}}
	for range workers {
		g.scratch = append(g.scratch, make([]float32, kernel.RowTile*s.RowVecs*s.Lanes))
	}
	return g
}

func (g *rowsGrad) listFor(first, limit int) []tapList {
	if l := g.lists[[2]int{first, limit}]; l != nil {
		return l
	}
	l := make([]tapList, g.taps)
	for t := range l {
		for img := first; img < limit; img++ {
			for y := range g.out.H {
				for x := range g.out.W {
					if iy, ix, ok := g.mapping(y, x, t); ok {
						l[t].x = append(l[t].x, int32(g.in.PixelAt(img, iy, ix)))
						l[t].y = append(l[t].y, int32(g.out.PixelAt(img, y, x)))
					}
				}
			}
		}
	}
	g.lists[[2]int{first, limit}] = l
	return l
}

// run adds the gradient over images [first, limit) to dst, in the parameter's order.
func (g *rowsGrad) run(team *workers.Team, dst, y, x []float32, first, limit int) {
	g.dst, g.y, g.x, g.list = dst, y, x, g.listFor(first, limit)
	team.Run(g, len(g.blocks)*g.taps*g.parts())
}

// parts cuts the inputs of a tap, so that small layers still have work for every worker.
func (g *rowsGrad) parts() int { return max(1, min(4, g.in.C/(4*kernel.RowTile))) }

func (g *rowsGrad) DoChunk(worker, chunk int) {
	parts := g.parts()
	part, tap, b := chunk%parts, chunk/parts%g.taps, g.blocks[chunk/parts/g.taps]
	tiles := (g.in.C + kernel.RowTile - 1) / kernel.RowTile
	lo, hi := part*tiles/parts*kernel.RowTile, (part+1)*tiles/parts*kernel.RowTile
	outs := min(b.vecs*g.s.Lanes, g.out.C-b.first)
	step := g.taps * g.out.C
	l := g.list[tap]
	width := b.vecs * g.s.Lanes
	a := kernel.RowsGrad{Y: g.y[b.first:], Vecs: b.vecs}
	whole := lo // inputs before it go straight into dst
	if outs == width {
		whole = max(lo, min(hi, g.in.C/kernel.RowTile*kernel.RowTile))
	}
	areas := (len(l.x) + rowsGradArea - 1) / rowsGradArea
	for area := range areas {
		q, end := area*len(l.x)/areas, (area+1)*len(l.x)/areas
		a.XPos, a.YPos = l.x[q:end], l.y[q:end]
		if whole > lo {
			a.X, a.Dst, a.DstStride = g.x[lo:], g.dst[lo*step+tap*g.out.C+b.first:], step
			a.Tiles = (whole - lo) / kernel.RowTile
			g.s.RowsGrad(&a)
		}
		for i := whole; i < hi; i += kernel.RowTile { // the rest would write beyond its rows or columns
			tmp := g.scratch[worker]
			clear(tmp)
			a.X, a.Dst, a.DstStride, a.Tiles = g.x[i:], tmp, width, 1
			g.s.RowsGrad(&a)
			at := i*step + tap*g.out.C + b.first
			for r := range min(kernel.RowTile, g.in.C-i) {
				for v := range outs {
					g.dst[at+r*step+v] += tmp[r*width+v]
				}
			}
		}
	}
}
