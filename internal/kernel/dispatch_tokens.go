package kernel

import "math"

// Kernels of networks whose maps are rows of tokens.

// LayerNorm writes y = (x-μ)/√(σ²+eps)·gamma + beta for a row of len(gamma) numbers, of which μ is the mean and σ² the
// mean of (x-μ)². y may be x. An error of y is at most 1e-6 times the largest |gamma·(x-μ)/σ| plus |beta|, where the
// row is no longer than 1,024 and |μ| is at most σ.
func (s *Set) LayerNorm(y, x, gamma, beta []float32, eps float64) {
	n := len(gamma)
	if n == 0 {
		return
	}
	need(n, y, x, beta)
	row := Area{Rows: 1, Cols: n}
	mean := s.PlaneSum(x, row) / float32(n)
	scale := float32(1 / math.Sqrt(float64(s.PlaneSquares(x, row, mean))/float64(n)+eps))
	if s.isa == generic {
		normaliseGeneric(y, x, gamma, beta, mean, scale)
	} else {
		s.isa.normalise(&y[0], &x[0], &gamma[0], &beta[0], n, mean, scale)
	}
}

// Softmax writes x = e^x / Σ e^x. An error is at most (8 + n/16 + x's distance from the largest) units in the last
// place for n numbers, but what is further than 87 below the largest counts as 87 below it. A NaN or +∞ makes all NaN.
func (s *Set) Softmax(x []float32) {
	switch {
	case len(x) == 0:
	case s.isa == generic:
		softmaxGeneric(x)
	default:
		s.isa.softmax(&x[0], len(x))
	}
}

// GELU writes x = x·Φ(x), with Φ the normal distribution (Hendrycks and Gimpel 2016). An error is at most 8 + x² units
// in the last place, or 1e-35. A number that is not finite becomes NaN.
func (s *Set) GELU(x []float32) {
	switch {
	case len(x) == 0:
	case s.isa == generic:
		for i, v := range x {
			x[i] = geluOf(v)
		}
	default:
		s.isa.gelu(&x[0], len(x))
	}
}

// QuickGELU writes x = x/(1+e^(-1.702·x)), which CLIP has in place of [Set.GELU]. An error is at most 8 + 2·|x| units
// in the last place, or 1e-35. A NaN passes.
func (s *Set) QuickGELU(x []float32) {
	switch {
	case len(x) == 0:
	case s.isa == generic:
		for i, v := range x {
			x[i] = v * sigmoidOf(float32(v*quickScale))
		}
	default:
		s.isa.quickGELU(&x[0], len(x))
	}
}
