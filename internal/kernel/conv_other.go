//go:build !amd64 || purego

package kernel

func (s *Set) planes(a *Planes)         { planesGeneric(s, a) }
func (s *Set) planesGrad(a *PlanesGrad) { planesGradGeneric(s, a) }
func (s *Set) rows(a *Rows)             { rowsGeneric(s, a) }
func (s *Set) rowsGrad(a *RowsGrad)     { rowsGradGeneric(s, a) }
func (s *Set) fmaPeak(int) int64        { return 0 }
