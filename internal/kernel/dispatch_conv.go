package kernel

// The methods dispatch statically, so that arguments stay on the caller's stack. Kernels with 8-lane code only serve
// both vector sets.

// Planes runs a convolution in the planes layout; see [Planes].
func (s *Set) Planes(a *Planes) { planesGeneric(s, a) }

// PlanesGrad computes a tile of a weight gradient in the planes layout; see [PlanesGrad].
func (s *Set) PlanesGrad(a *PlanesGrad) { planesGradGeneric(s, a) }

// Rows runs a convolution in the channel-last layout; see [Rows].
func (s *Set) Rows(a *Rows) { rowsGeneric(s, a) }

// RowsGrad computes a tile of a weight gradient in the channel-last layout; see [RowsGrad].
func (s *Set) RowsGrad(a *RowsGrad) { rowsGradGeneric(s, a) }
