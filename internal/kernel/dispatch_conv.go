package kernel

// Planes runs a convolution in the planes layout; see [Planes].
func (s *Set) Planes(a *Planes) { s.planes(a) }

// PlanesGrad computes a tile of a weight gradient in the planes layout; see [PlanesGrad].
func (s *Set) PlanesGrad(a *PlanesGrad) { s.planesGrad(a) }

// Rows runs a convolution in the channel-last layout; see [Rows].
func (s *Set) Rows(a *Rows) { s.rows(a) }

// RowsGrad computes a tile of a weight gradient in the channel-last layout; see [RowsGrad].
func (s *Set) RowsGrad(a *RowsGrad) { s.rowsGrad(a) }

// FMAChains is the number of independent vector multiply-adds in a round of FMAPeakLoop, more than latency times units.
const FMAChains = 12

// FMAPeakLoop runs n rounds of nothing but fused multiply-adds, with the widest vectors the set (for plain Go: the
// machine) has, and returns the floating-point operations done, two a multiply-add. It returns 0 where there are none.
func (s *Set) FMAPeakLoop(n int) (flops int64) { return s.fmaPeak(n) }
