package rng

import (
	"math"

	"ocl/internal/portable"
)

// The ziggurat of Marsaglia and Tsang (2000) covers the density e^(-x²/2), x ≥ 0, by layers of the same area. Layer 0
// has the tail beyond tailAt. The two numbers are those of their paper for 128 layers, and those of math/rand/v2.
const (
	layers    = 128
	tailAt    = 3.442619855899
	layerArea = 9.91256303526217e-3
	most      = 1 << 31 // of the whole number that is drawn
)

// ziggurat has for each layer the numbers below which a draw surely lies under the density, the width of a step, and
// the density at its right edge.
var ziggurat = func() (z struct {
	sure          [layers]uint32
	step, density [layers]float32
}) {
	bell := func(x float64) float64 { return portable.Exp(-0.5 * x * x) }
	x := tailAt
	bottom := layerArea / bell(x) // as wide as a rectangle with the area of the layer, tail included
	z.sure[0], z.step[0], z.density[0] = uint32(x/bottom*most), float32(bottom/most), 1
	z.step[layers-1], z.density[layers-1] = float32(x/most), float32(bell(x))
	for i := layers - 2; i > 0; i-- {
		before := x
		x = math.Sqrt(-2 * portable.Log(layerArea/x+bell(x)))
		z.sure[i+1] = uint32(x / before * most)
		z.step[i], z.density[i] = float32(x/most), float32(bell(x))
	}
	return z
}()

// NormFloat64 draws from N(0,1) what math/rand/v2 draws on amd64. Its own method rounds otherwise on other processors,
// and so takes another draw now and then.
func (s *Source) NormFloat64() float64 {
	for {
		bits := s.Uint64()
		number, layer := int32(bits), bits>>32%layers
		x := float64(number) * float64(ziggurat.step[layer])
		if size := uint32(max(number, -number)); size < ziggurat.sure[layer] {
			return x
		}
		if layer == 0 {
			return math.Copysign(s.tail(), float64(number))
		}
		high, low := ziggurat.density[layer], ziggurat.density[layer-1]
		if high+float32(float32(s.Float64())*(low-high)) < float32(portable.Exp(-0.5*x*x)) {
			return x
		}
	}
}

// tail draws from N(0,1) beyond tailAt.
func (s *Source) tail() float64 {
	for {
		x := float64(-portable.Log(s.Float64()) * (1.0 / tailAt))
		if y := -portable.Log(s.Float64()); y+y >= x*x {
			return tailAt + x
		}
	}
}
