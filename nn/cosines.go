package nn

import (
	"fmt"
	"math"

	"ocl/internal/kernel"
)

const (
	// cosineBlock is the elements of a block of Cosines: a block of some tens of rows stays in the second-level cache.
	cosineBlock = 1 << 10
	// cosineSpan is the elements of a chunk, some blocks.
	cosineSpan = 1 << 14
)

// cosines is the arguments of one Cosines and its sums. Products and squares are summed in float32 within a block, in
// float64 over the blocks of a chunk and then over the chunks, in their order.
type cosines struct {
	set          *kernel.Set
	a, b         []float32
	n            int // elements of a row
	rowsA, rowsB int
	off          []int32   // where the rows of b begin, padded to whole groups by repeating the last
	sums         []float64 // of each chunk: products [rowsA,rowsB], squares of the rows of a, squares of those of b
	lanes, flat  [][]float32
}

// Cosines writes to dst[i·B+j] the cosine of the angle between row i of a [A,n] and row j of b [B,n], and 0 where
// either is all zeros. With all workers; the result does not depend on their number. The rows of b may begin within 2³¹
// values.
func (ws *Workspace) Cosines(dst []float64, a, b []float32, n int) {
	if n <= 0 || len(a)%n != 0 || len(b)%n != 0 || len(dst) != len(a)/n*(len(b)/n) {
		panic(fmt.Sprintf("nn: Cosines: %d results of %d and %d values in rows of %d. Give whole rows and room for a result of each pair",
			len(dst), len(a), len(b), n))
	}
	if len(dst) == 0 {
		return
	}
	ws.team.CheckIdle()
	c := &ws.cosines
	c.set, c.a, c.b, c.n, c.rowsA, c.rowsB = ws.set, a, b, n, len(a)/n, len(b)/n
	chunks := (n + cosineSpan - 1) / cosineSpan
	c.room(ws.team.Size(), chunks)
	ws.team.Run(c, chunks)
	sums := c.of(0)
	for chunk := 1; chunk < chunks; chunk++ {
		for i, v := range c.of(chunk) {
			sums[i] += v
		}
	}
	squaresA, squaresB := sums[len(dst):][:c.rowsA], sums[len(dst)+c.rowsA:]
	for i, sa := range squaresA {
		for j, sb := range squaresB {
			cos := 0.0
			if sa != 0 && sb != 0 {
				cos = sums[i*c.rowsB+j] / math.Sqrt(sa*sb)
			}
			dst[i*c.rowsB+j] = cos
		}
	}
	c.a, c.b = nil, nil
}

// room makes the table and the buffers, and uses those there are where they are large enough. It panics where an offset
// does not fit the table.
func (c *cosines) room(workers, chunks int) {
	if last := (c.rowsB - 1) * c.n; last > math.MaxInt32 {
		panic(fmt.Sprintf("nn: Cosines: row %d of b begins at %d, and offsets reach %d. Compare fewer rows at a time",
			c.rowsB-1, last, math.MaxInt32))
	}
	c.off = c.off[:0]
	for j := range roundUp(c.rowsB, c.set.GradIn) {
		c.off = append(c.off, int32(min(j, c.rowsB-1)*c.n))
	}
	if need := chunks * c.width(); len(c.sums) < need {
		c.sums = make([]float64, need)
	}
	flat := c.tiles()
	if len(c.flat) == workers && len(c.flat[0]) >= flat {
		return
	}
	c.lanes, c.flat = nil, nil
	for range workers {
		c.lanes = append(c.lanes, make([]float32, flat*c.set.Lanes))
		c.flat = append(c.flat, make([]float32, flat))
	}
}

// tiles is the sums of one call of the kernel.
func (c *cosines) tiles() int { return roundUp(len(c.off)*c.set.GradOut, kernel.LaneGroup) }

func (c *cosines) width() int { return c.rowsA*c.rowsB + c.rowsA + c.rowsB }

// of is the sums of a chunk.
func (c *cosines) of(chunk int) []float64 { return c.sums[chunk*c.width() : (chunk+1)*c.width()] }

func (c *cosines) DoChunk(worker, chunk int) {
	sums := c.of(chunk)
	clear(sums)
	end := min((chunk+1)*cosineSpan, c.n)
	for lo := chunk * cosineSpan; lo < end; lo += cosineBlock {
		hi := min(lo+cosineBlock, end)
		c.products(worker, sums, lo, hi)
		squares := sums[c.rowsA*c.rowsB:]
		for i := range squares {
			x, at := c.a, i*c.n+lo
			if i >= c.rowsA {
				x, at = c.b, (i-c.rowsA)*c.n+lo
			}
			squares[i] += float64(c.set.PlaneSquares(x, kernel.Area{Base: at, Rows: 1, Cols: hi - lo, RowStride: hi - lo}, 0))
		}
	}
}

// products adds those of elements [lo, hi): a weight gradient whose outputs are the rows of a, whose inputs those of b.
func (c *cosines) products(worker int, sums []float64, lo, hi int) {
	s := c.set
	vecs := (hi - lo) / s.Lanes
	flat := c.flat[worker][:c.tiles()]
	lanes := c.lanes[worker]
	g := kernel.PlanesGrad{Dst: lanes, X: c.b, Y: c.a, Off: c.off, XBase: lo, YStride: c.n, Images: 1, Rows: 1, Vecs: vecs,
		Write: true}
	for first := 0; first < c.rowsA && vecs > 0; {
		at, rows := min(first, c.rowsA-s.GradOut), s.GradOut
		if at < 0 { // fewer rows than a tile: each fills one
			at, rows, g.YStride = first, 1, 0
		}
		g.YBase = at*c.n + lo
		s.PlanesGrad(&g)
		s.LaneSums(flat, lanes)
		for ; first < at+rows; first++ {
			for j := range c.rowsB {
				sums[first*c.rowsB+j] += float64(flat[(j/s.GradIn*s.GradOut+first-at)*s.GradIn+j%s.GradIn])
			}
		}
	}
	for i := range c.rowsA {
		for j := range c.rowsB {
			for p := lo + vecs*s.Lanes; p < hi; p++ {
				sums[i*c.rowsB+j] += float64(c.a[i*c.n+p]) * float64(c.b[j*c.n+p])
			}
		}
	}
}
