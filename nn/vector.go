package nn

import (
	"fmt"

	"ocl/internal/kernel"
)

// SumWork is work on each of a range of elements, independent of the others, that adds something up.
type SumWork interface {
	Sum(lo, hi int) float64 // over elements [lo, hi)
}

// ShareSum does w on n elements with all workers and returns the sum, of parts of a fixed size in their order, so that
// it does not depend on the number of workers.
func (ws *Workspace) ShareSum(w SumWork, n int) float64 {
	ws.team.CheckIdle()
	s := &ws.vectors.summed
	parts := (n + shareSpan - 1) / shareSpan
	if len(s.parts) < parts {
		s.parts = make([]float64, parts)
	}
	s.work, s.n = w, n
	ws.team.Run(s, parts)
	s.work = nil
	total := 0.0
	for _, v := range s.parts[:parts] {
		total += v
	}
	return total
}

type summed struct {
	work  SumWork
	n     int
	parts []float64
}

func (s *summed) DoChunk(_, chunk int) {
	s.parts[chunk] = s.work.Sum(chunk*shareSpan, min((chunk+1)*shareSpan, s.n))
}

// Dot returns Σ x·y of two vectors of one length, summed in float64, with all workers; it does not depend on their
// number.
func (ws *Workspace) Dot(x, y []float32) float64 {
	checkLengths("Dot", x, y)
	ws.team.CheckIdle()
	ws.vectors.dot = dot{ws.set, x, y}
	sum := ws.ShareSum(&ws.vectors.dot, len(x))
	ws.vectors.dot = dot{}
	return sum
}

type dot struct {
	set  *kernel.Set
	x, y []float32
}

// Sum implements [SumWork].
func (d *dot) Sum(lo, hi int) float64 { return d.set.Dot(d.x[lo:hi], d.y[lo:hi]) }

// AddScaled adds a·x to y, a vector of the same length, with all workers.
func (ws *Workspace) AddScaled(y, x []float32, a float32) {
	checkLengths("AddScaled", y, x)
	ws.team.CheckIdle()
	ws.vectors.add = scaledAddition{ws.set, y, x, a}
	ws.Share(&ws.vectors.add, len(y))
	ws.vectors.add = scaledAddition{}
}

type scaledAddition struct {
	set  *kernel.Set
	y, x []float32
	a    float32
}

// Do implements [Work].
func (s *scaledAddition) Do(lo, hi int) { s.set.Axpy(s.y[lo:hi], s.x[lo:hi], s.a) }

// Scale multiplies the elements of y by a, with all workers.
func (ws *Workspace) Scale(y []float32, a float32) {
	ws.team.CheckIdle()
	ws.vectors.scale = scaling{y, a}
	ws.Share(&ws.vectors.scale, len(y))
	ws.vectors.scale = scaling{}
}

type scaling struct {
	y []float32
	a float32
}

// Do implements [Work].
func (s *scaling) Do(lo, hi int) {
	y, a := s.y[lo:hi], s.a
	for ; len(y) >= 4; y = y[4:] {
		y[0], y[1], y[2], y[3] = y[0]*a, y[1]*a, y[2]*a, y[3]*a
	}
	for i := range y {
		y[i] *= a
	}
}

func checkLengths(what string, x, y []float32) {
	if len(x) != len(y) {
		panic(fmt.Sprintf("nn: %s: %d and %d elements. Give vectors of one length", what, len(x), len(y)))
	}
}
