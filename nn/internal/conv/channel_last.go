package conv

import (
	"ocl/internal/kernel"
)

// directChannelLast is a convolution in the channel-last layout.
type directChannelLast struct {
	core
	fwd, bwd *channelLastConv
}

func newDirectChannelLast(m *Maker, in, out Layout, w Window, packed *Packed) *directChannelLast {
	s, t := m.Set, m.tables
	forward := func(y, x, tap int) (int, int, bool) {
		dy, dx := w.shift(tap)
		iy, oky := w.source(y, dy, in.H)
		ix, okx := w.source(x, dx, in.W)
		return iy, ix, oky && okx
	}
	backward := func(y, x, tap int) (int, int, bool) {
		dy, dx := w.shift(tap)
		oy, oky := w.target(y, dy, out.H)
		ox, okx := w.target(x, dx, out.W)
		return oy, ox, oky && okx
	}
	u := &directChannelLast{core: core{s: s, w: w, in: in, out: out, weights: in.C * w.Taps * out.C, packed: packed,
		plus: newPlus(in.C)},
		fwd: newChannelLastConv(s, out, in, w.Taps, forward, func(y, x int) (int, int) { return y * w.Stride, x * w.Stride }),
		bwd: newChannelLastConv(s, in, out, w.Taps, backward,
			func(y, x int) (int, int) { return y / w.Stride, x / w.Stride }),
	}
	grad := newChannelLastGrad(s, out, in, w.Taps, forward, m.Workers)
	u.forward, u.backward, u.gradient = u.fwd, u.bwd, grad
	if m.Narrow {
		u.fwd.byImage, u.bwd.byImage = true, true
		u.fwd.narrow()
		grad.narrow()
	}
	key := tableKey{in: positionsOf(in), out: positionsOf(out), window: w}
	u.fwd.tables, u.fwd.key, u.bwd.tables, u.bwd.key, grad.tables, grad.key = t, key, t, key, t, key
	u.bwd.key.backward = true
	return u
}

// tables are the offsets that convolutions of one pass follow. Those with maps of the same sizes and strides share
// them, whatever their channels.
type tables struct {
	plans map[tableKey]*tapPlan
	lists map[tableKey][]tapList
}

func newTables() *tables {
	return &tables{plans: map[tableKey]*tapPlan{}, lists: map[tableKey][]tapList{}}
}

// tableKey says what a table depends on: images [first, limit) and the rest.
type tableKey struct {
	in, out      Layout
	window       Window
	backward     bool
	first, limit int
}

// of is the key for some images.
func (k tableKey) of(first, limit int) tableKey {
	k.first, k.limit = first, limit
	return k
}

// positionsOf is what the places of a map's pixels depend on.
func positionsOf(g Layout) Layout {
	g.C, g.N = 0, 0
	return g
}

// PackForward copies weights [in][tap][out] into blocks [tap][in][block of out].
func (u *directChannelLast) PackForward(w []float32) {
	taps, ins, outs := u.w.Taps, u.in.C, u.out.C
	wf := u.packed.room(&u.packed.forward, u.fwd.packed(), u.fwd.few == 0 && outs%u.s.Lanes == 0)
	if u.fwd.few > 0 {
		u.packNarrow(wf, w)
		return
	}
	for _, b := range u.fwd.blocks {
		width := b.vecs * u.s.Lanes
		cols := min(width, outs-b.first)
		for tap := range taps {
			dst := wf[b.w+tap*ins*width:]
			for c := range ins {
				copy(dst[c*width:][:cols], w[(c*taps+tap)*outs+b.first:])
			}
		}
	}
}

// packNarrow copies them into blocks [tap][vector of in][few outs][in].
func (u *directChannelLast) packNarrow(wf, w []float32) {
	taps, ins, outs, lanes, few := u.w.Taps, u.in.C, u.out.C, u.s.Lanes, u.fwd.few
	for _, b := range u.fwd.blocks {
		n := min(few, outs-b.first)
		for tap := range taps {
			dst := wf[b.w+tap*u.fwd.tapFloats(b):]
			for c := range ins {
				for v, x := range w[(c*taps+tap)*outs+b.first:][:n] {
					dst[(c/lanes*few+v)*lanes+c%lanes] = x
				}
			}
		}
	}
}

// PackBackward copies them into blocks [tap][out][block of in].
func (u *directChannelLast) PackBackward(w []float32) {
	taps, ins, outs := u.w.Taps, u.in.C, u.out.C
	wb := u.packed.room(&u.packed.backward, u.bwd.packed(), ins%u.s.Lanes == 0)
	for _, b := range u.bwd.blocks {
		width := b.vecs * u.s.Lanes
		n := min(width, ins-b.first)
		for tap := range taps {
			u.s.Transpose(wb[b.w+tap*outs*width:], width, w[(b.first*taps+tap)*outs:], taps*outs, n, outs)
		}
	}
}

// tapGroup is a set of output positions that have the same taps inside the map, so that no border needs storing and no
// product with a border is computed.
type tapGroup struct {
	out, in []int32 // float offsets of positions, padded to whole tiles by repeating the last
	tapIn   []int32 // offset of each tap's input from in
	tap     []int   // which tap
	pixels  []groupPixel
}

// groupPixel is an output pixel and the input pixel that offsets are relative to.
type groupPixel struct{ y, x, by, bx int }

// tapMap gives the input pixel that an output pixel reads through a tap.
type tapMap func(y, x, tap int) (iy, ix int, ok bool)

// groupByTaps sorts the positions of n images by their taps. base gives the input pixel that offsets are relative to.
func groupByTaps(out, in Layout, n, taps int, m tapMap, base func(y, x int) (int, int), byImage bool) []tapGroup {
	var groups []tapGroup
	index := map[string]int{}
	for y := range out.H {
		for x := range out.W {
			var key []byte
			var g tapGroup
			by, bx := base(y, x)
			for t := range taps {
				iy, ix, ok := m(y, x, t)
				if !ok {
					continue
				}
				rel := in.PixelAt(0, iy, ix) - in.PixelAt(0, by, bx)
				g.tap, g.tapIn = append(g.tap, t), append(g.tapIn, offset("taps", rel))
				key = append(key, byte(t), byte(rel), byte(rel>>8), byte(rel>>16), byte(rel>>24))
			}
			i, ok := index[string(key)]
			if !ok {
				i = len(groups)
				index[string(key)] = i
				groups = append(groups, g)
			}
			groups[i].pixels = append(groups[i].pixels, groupPixel{y, x, by, bx})
		}
	}
	for i := range groups {
		g := &groups[i]
		for k := range n * len(g.pixels) {
			pixel, img := k/n, k%n
			if byImage { // what pixels share stays in the caches
				img, pixel = k/len(g.pixels), k%len(g.pixels)
			}
			p := g.pixels[pixel]
			g.out = append(g.out, offset("outputs", out.PixelAt(img, p.y, p.x)))
			g.in = append(g.in, offset("inputs", in.PixelAt(img, p.by, p.bx)))
		}
		g.pixels = nil
		for len(g.out)%kernel.ChannelLastTile != 0 {
			g.out, g.in = append(g.out, g.out[len(g.out)-1]), append(g.in, g.in[len(g.in)-1])
		}
	}
	return groups
}

// tileChunk is the work of one chunk: tiles [lo, hi) of a group, times kernel.ChannelLastTile positions.
type tileChunk struct{ group, lo, hi int }

// tapPlan holds the groups for a number of images, cut into chunks. The groups have the same taps and order for any
// number.
type tapPlan struct {
	groups []tapGroup
	chunks []tileChunk
}

// channelLastConv is a convolution in the channel-last layout.
type channelLastConv struct {
	s       *kernel.Set
	out, in Layout
	taps    int
	mapping tapMap
	base    func(y, x int) (int, int)
	depth   int // input channels that are summed
	blocks  []outputBlock
	tables  *tables
	key     tableKey
	tapW    map[int][][]int32 // by vectors a block, then group: offsets of the taps' weights
	byImage bool              // positions of an image lie side by side in a group, else those of a pixel
	few     int               // outputs in a block of narrow ones; 0: blocks are vectors

	dst, src, w []float32
	now         *tapPlan
	finish      kernel.Finish
}

// outputBlock is a block of vecs·Lanes outputs from first on; its weights are packed at w.
type outputBlock struct{ first, vecs, w int }

// outputBlocks cuts outs outputs into blocks of at most ChannelLastVecs vectors.
func outputBlocks(s *kernel.Set, outs, perOut int) []outputBlock {
	var blocks []outputBlock
	vecs := (outs + s.Lanes - 1) / s.Lanes
	for v, at := 0, 0; v < vecs; {
		b := outputBlock{first: v * s.Lanes, vecs: min(s.ChannelLastVecs, vecs-v), w: at}
		blocks = append(blocks, b)
		v += b.vecs
		at += b.vecs * s.Lanes * perOut
	}
	return blocks
}

func newChannelLastConv(s *kernel.Set, out, in Layout, taps int, m tapMap,
	base func(y, x int) (int, int)) *channelLastConv {
	return &channelLastConv{s: s, out: out, in: in, taps: taps, mapping: m, base: base, depth: in.C,
		blocks: outputBlocks(s, out.C, taps*in.C)}
}

// narrow makes vectors run along the inputs where that takes at least a fifth fewer multiply-adds of vectors. Each tap
// costs about one more a block, and the sums of lanes eight.
func (c *channelLastConv) narrow() {
	few, vectors := c.s.NarrowOuts, roundUp(c.depth, c.s.Lanes)/c.s.Lanes
	blocks := roundUp(c.out.C, few) / few
	if 5*blocks*(c.taps*(vectors*few+1)+8) >= 4*c.taps*(c.depth*(roundUp(c.out.C, c.s.Lanes)/c.s.Lanes)+1) {
		return
	}
	c.few, c.blocks = few, nil
	for first := 0; first < c.out.C; first += few {
		b := outputBlock{first: first}
		b.w = len(c.blocks) * c.taps * c.tapFloats(b)
		c.blocks = append(c.blocks, b)
	}
}

func (c *channelLastConv) packed() int {
	if c.few > 0 {
		return len(c.blocks) * c.taps * c.tapFloats(c.blocks[0])
	}
	return roundUp(c.out.C, c.s.Lanes) * c.taps * c.depth
}

// tapFloats is the weights of a tap in a block.
func (c *channelLastConv) tapFloats(b outputBlock) int {
	if c.few > 0 {
		return roundUp(c.depth, c.s.Lanes) * c.few
	}
	return c.depth * b.vecs * c.s.Lanes
}

func (c *channelLastConv) planFor(images int) *tapPlan {
	key := c.key.of(0, images)
	p := c.tables.plans[key]
	if p == nil {
		p = c.plan(images)
		c.tables.plans[key] = p
	}
	if c.tapW == nil {
		c.tapW = map[int][][]int32{}
		for _, b := range c.blocks {
			if c.tapW[b.vecs] == nil {
				c.tapW[b.vecs] = c.weightOffsets(p.groups, b)
			}
		}
	}
	return p
}

func (c *channelLastConv) plan(images int) *tapPlan {
	p := &tapPlan{groups: groupByTaps(c.out, c.in, images, c.taps, c.mapping, c.base, c.byImage)}
	tiles := 0
	for _, g := range p.groups {
		tiles += len(g.out) / kernel.ChannelLastTile
	}
	size := max(4, min(32, tiles/4))
	for i, g := range p.groups {
		n := len(g.out) / kernel.ChannelLastTile
		for lo := 0; lo < n; lo += size {
			p.chunks = append(p.chunks, tileChunk{i, lo * kernel.ChannelLastTile, min(lo+size, n) * kernel.ChannelLastTile})
		}
	}
	return p
}

// weightOffsets lists for each group where its taps' weights begin in a packed block like b.
func (c *channelLastConv) weightOffsets(groups []tapGroup, b outputBlock) [][]int32 {
	all := make([][]int32, len(groups))
	for i, g := range groups {
		for _, tap := range g.tap {
			all[i] = append(all[i], offset("weights", tap*c.tapFloats(b)))
		}
	}
	return all
}

func (c *channelLastConv) run(team Team, dst, src, w []float32, images int, f kernel.Finish) {
	c.dst, c.src, c.w, c.now, c.finish = dst, src, w, c.planFor(images), f
	team.Run(c, len(c.blocks)*len(c.now.chunks))
}

func (c *channelLastConv) DoChunk(_, chunk int) {
	b := c.blocks[chunk/len(c.now.chunks)]
	ch := c.now.chunks[chunk%len(c.now.chunks)]
	g := &c.now.groups[ch.group]
	c.s.ChannelLast(&kernel.ChannelLast{
		Out: c.dst[b.first:], X: c.src, W: c.w[b.w:],
		OutPos: g.out[ch.lo:ch.hi], XPos: g.in[ch.lo:ch.hi],
		TapX: g.tapIn, TapW: c.tapW[b.vecs][ch.group],
		C: c.depth, Vecs: b.vecs, Finish: finishFrom(c.finish, b.first, b.first),
	})
}

// channelLastGradArea is the most positions of a block of a weight gradient: inputs and output gradients of a block
// stay in the first-level cache.
const channelLastGradArea = 160

// channelLastGrad is the gradient of a channel-last convolution with respect to its weights.
type channelLastGrad struct {
	s       *kernel.Set
	out, in Layout
	taps    int
	mapping tapMap
	blocks  []outputBlock
	tables  *tables
	key     tableKey
	turned  bool // tiles of outputs, vectors of inputs

	y, x, dst []float32
	list      []tapList
	scratch   [][]float32
}

// tapList holds, for one tap, the positions where it lies inside the map.
type tapList struct{ x, y []int32 }

func newChannelLastGrad(s *kernel.Set, out, in Layout, taps int, m tapMap, workers int) *channelLastGrad {
	g := &channelLastGrad{s: s, out: out, in: in, taps: taps, mapping: m, blocks: outputBlocks(s, out.C, 0)}
	for range workers {
		g.scratch = append(g.scratch, make([]float32, kernel.ChannelLastTile*s.ChannelLastVecs*s.Lanes))
	}
	return g
}

// narrow makes vectors run along the inputs where that takes at least a fifth fewer multiply-adds of vectors.
func (g *channelLastGrad) narrow() {
	work := func(tiled, vectors int) int {
		return roundUp(tiled, kernel.ChannelLastTile) * roundUp(vectors, g.s.Lanes)
	}
	if 5*work(g.out.C, g.in.C) >= 4*work(g.in.C, g.out.C) {
		return
	}
	g.turned, g.blocks = true, outputBlocks(g.s, g.in.C, 0)
	for i := range g.scratch {
		g.scratch[i] = make([]float32, roundUp(g.out.C, kernel.ChannelLastTile)*g.s.ChannelLastVecs*g.s.Lanes)
	}
}

func (g *channelLastGrad) listFor(first, limit int) []tapList {
	key := g.key.of(first, limit)
	if g.tables.lists[key] == nil {
		g.tables.lists[key] = g.listOf(first, limit)
	}
	return g.tables.lists[key]
}

func (g *channelLastGrad) listOf(first, limit int) []tapList {
	l := make([]tapList, g.taps)
	for t := range l {
		for img := first; img < limit; img++ {
			for y := range g.out.H {
				for x := range g.out.W {
					if iy, ix, ok := g.mapping(y, x, t); ok {
						l[t].x = append(l[t].x, offset("inputs", g.in.PixelAt(img, iy, ix)))
						l[t].y = append(l[t].y, offset("outputs", g.out.PixelAt(img, y, x)))
					}
				}
			}
		}
	}
	return l
}

func (g *channelLastGrad) run(team Team, dst, y, x []float32, first, limit int) {
	g.dst, g.y, g.x, g.list = dst, y, x, g.listFor(first, limit)
	team.Run(g, len(g.blocks)*g.taps*g.parts())
}

// parts cuts the inputs of a tap, so that small layers still have work for every worker.
func (g *channelLastGrad) parts() int {
	if g.turned {
		return 1
	}
	return max(1, min(4, g.in.C/(4*kernel.ChannelLastTile)))
}

func (g *channelLastGrad) DoChunk(worker, chunk int) {
	parts := g.parts()
	part, tap, b := chunk%parts, chunk/parts%g.taps, g.blocks[chunk/parts/g.taps]
	if g.turned {
		g.turn(g.scratch[worker], tap, b)
		return
	}
	tiles := (g.in.C + kernel.ChannelLastTile - 1) / kernel.ChannelLastTile
	lo, hi := part*tiles/parts*kernel.ChannelLastTile, (part+1)*tiles/parts*kernel.ChannelLastTile
	outs := min(b.vecs*g.s.Lanes, g.out.C-b.first)
	step := g.taps * g.out.C
	l := g.list[tap]
	width := b.vecs * g.s.Lanes
	a := kernel.ChannelLastGrad{Y: g.y[b.first:], Vecs: b.vecs}
	whole := lo // inputs before it go straight into dst
	if outs == width {
		whole = max(lo, min(hi, g.in.C/kernel.ChannelLastTile*kernel.ChannelLastTile))
	}
	areas := (len(l.x) + channelLastGradArea - 1) / channelLastGradArea
	for area := range areas {
		q, end := area*len(l.x)/areas, (area+1)*len(l.x)/areas
		a.XPos, a.YPos = l.x[q:end], l.y[q:end]
		if whole > lo {
			a.X, a.Dst, a.DstStride = g.x[lo:], g.dst[lo*step+tap*g.out.C+b.first:], step
			a.Tiles = (whole - lo) / kernel.ChannelLastTile
			g.s.ChannelLastGrad(&a)
		}
		for i := whole; i < hi; i += kernel.ChannelLastTile { // the rest would write beyond its rows or columns
			tmp := g.scratch[worker]
			clear(tmp)
			a.X, a.Dst, a.DstStride, a.Tiles = g.x[i:], tmp, width, 1
			g.s.ChannelLastGrad(&a)
			at := i*step + tap*g.out.C + b.first
			for r := range min(kernel.ChannelLastTile, g.in.C-i) {
				for v := range outs {
					g.dst[at+r*step+v] += tmp[r*width+v]
				}
			}
		}
	}
}

// turn adds the gradient of a tap for a block of inputs.
func (g *channelLastGrad) turn(sums []float32, tap int, b outputBlock) {
	clear(sums)
	width, l := b.vecs*g.s.Lanes, g.list[tap]
	a := kernel.ChannelLastGrad{Dst: sums, X: g.y, Y: g.x[b.first:], DstStride: width, Vecs: b.vecs,
		Tiles: (g.out.C + kernel.ChannelLastTile - 1) / kernel.ChannelLastTile}
	areas := (len(l.x) + channelLastGradArea - 1) / channelLastGradArea
	for area := range areas {
		q, end := area*len(l.x)/areas, (area+1)*len(l.x)/areas
		a.XPos, a.YPos = l.y[q:end], l.x[q:end]
		g.s.ChannelLastGrad(&a)
	}
	for i := range min(width, g.in.C-b.first) {
		for o, dst := range g.dst[((b.first+i)*g.taps+tap)*g.out.C:][:g.out.C] {
			g.dst[((b.first+i)*g.taps+tap)*g.out.C+o] = dst + sums[o*width+i]
		}
	}
}
