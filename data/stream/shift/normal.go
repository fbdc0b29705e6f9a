package shift

import (
	"math"

	"ocl/rng"
)

// The ziggurat of Marsaglia and Tsang (2000) covers the density f(x) = e^(-x²/2), x ≥ 0, with layers of the same area,
// which lie on each other. Layer 0 has the tail beyond tailAt. The two constants are those of their paper for 256
// layers.
const (
	layers    = 256
	tailAt    = 3.6541528853610088
	layerArea = 0.00492867323399
)

// ziggurat holds the right edges of the layers, from the lowest and widest to 0, and the density there. The edge of
// layer 0 is that of a rectangle with the area of the layer, tail included.
var ziggurat = func() (z struct{ x, f [layers + 1]float64 }) {
	density := expNeg(tailAt * tailAt / 2)
	z.x[0], z.f[0] = layerArea/density, density
	z.x[1], z.f[1] = tailAt, density
	for i := 2; i < layers; i++ {
		z.f[i] = layerArea/z.x[i-1] + z.f[i-1]
		z.x[i] = math.Sqrt(-2 * ln(z.f[i]))
	}
	z.f[layers] = 1
	return z
}()

// normal draws from N(0,1). rand.NormFloat64 is the same method, but its exponentials come from package math.
func normal(src *rng.Source) float64 {
	for {
		bits := src.Uint64()
		i := bits % layers
		x := (float64(int64(bits)>>11) + 0.5) / (1 << 52) * ziggurat.x[i] // the half makes the range symmetric
		if math.Abs(x) < ziggurat.x[i+1] {
			return x
		}
		if i == 0 {
			return math.Copysign(tail(src), x)
		}
		// The part of the layer that is only partly below the density.
		if ziggurat.f[i]+float64(unit(src)*(ziggurat.f[i+1]-ziggurat.f[i])) < expNeg(x*x/2) {
			return x
		}
	}
}

// tail draws from N(0,1) beyond tailAt.
func tail(src *rng.Source) float64 {
	for {
		x, y := -ln(unit(src))/tailAt, -ln(unit(src))
		if 2*y > x*x {
			return tailAt + x
		}
	}
}

// unit draws from (0,1).
func unit(src *rng.Source) float64 { return (float64(src.Uint64()>>11) + 0.5) / (1 << 53) }

// ln is the natural logarithm of s, a normal number above 0, with a relative error below 1e-11. It writes s as m·2^k
// with m near 1 and sums ln m = 2(z + z³/3 + … + z¹³/13), z = (m-1)/(m+1).
func ln(s float64) float64 {
	const fraction, one = 1<<52 - 1, 1023 << 52
	bits := math.Float64bits(s)
	k := float64(int(bits>>52) - 1023)
	m := math.Float64frombits(bits&fraction | one)
	if m > math.Sqrt2 {
		m /= 2
		k++
	}
	z := (m - 1) / (m + 1)
	sum := 0.0
	for n := 13; n > 0; n -= 2 {
		sum = 1/float64(n) + float64(z*z*sum)
	}
	return float64(k*math.Ln2) + float64(2*z*sum)
}

// expNeg is e^-t for t in [0,40], with a relative error below 1e-12: the Taylor series of e^(-t/64), squared six times.
func expNeg(t float64) float64 {
	s := t / 64
	sum := 1.0
	for n := 14; n > 0; n-- {
		sum = 1 - s*sum/float64(n) // Go never fuses a quotient
	}
	for range 6 {
		sum *= sum
	}
	return sum
}
