package kernel

import "math"

func normaliseGeneric(y, x, gamma, beta []float32, mean, scale float32) {
	for i, g := range gamma {
		y[i] = float32(float32((x[i]-mean)*scale)*g) + beta[i]
	}
}

func softmaxGeneric(x []float32) {
	most, sum := float32(math.Inf(-1)), 0.0
	for _, v := range x {
		if v > most {
			most = v
		}
	}
	for i, v := range x {
		x[i] = expNegative(v - most)
		sum += float64(x[i])
	}
	inverse := 1 / float32(sum)
	for i := range x {
		x[i] *= inverse
	}
}

// tailTerms are those of a polynomial Q, from the seventh power down, with Φ(-a) = e^(-a²/2)·t·Q(t) for a ≥ 0 and
// t = 1/(1 + tailScale·a). They were fitted by relative errors for a from 0 to 14; the largest is 1.5e-7.
var tailTerms = [...]float32{0.035674773, -0.15720308, 0.20635350, -0.053683642, 0.12856163, 0.099913493, 0.12075396,
	0.1196293}

const tailScale = 0.3

// geluOf is x·Φ(x), with Φ the normal distribution.
func geluOf(x float32) float32 {
	a := float32(math.Abs(float64(x)))
	t := 1 / (1 + float32(tailScale*a))
	q := tailTerms[0]
	for _, c := range tailTerms[1:] {
		q = float32(q*t) + c
	}
	tail := float32(x * float32(float32(q*t)*expNegative(float32(a*a)*-0.5)))
	if math.Signbit(float64(x)) {
		return tail
	}
	return x - tail
}

// quickScale is that of the sigmoid which stands for Φ in CLIP.
const quickScale = 1.702
