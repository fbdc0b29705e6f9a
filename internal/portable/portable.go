// Package portable has the functions of package math that learning needs, with the same bits on every processor: those
// that package math has on amd64, where Exp and Log are written in assembly and nothing is fused. On arm64 its Exp is
// another algorithm, and the compiler fuses products and sums of the others, so that last bits differ. Whatever can
// move a number of a run takes these functions. TestBits holds them against package math on amd64, and against hashes
// of their values everywhere.
//
// A product that is added has an explicit conversion to float64: Go then rounds it.
package portable

import "math"

// Exp is e^x. The method is that of Shibata, Efficient evaluation methods of elementary functions suitable for SIMD
// computation (2010): e^x = 2^k·e^r with |r| ≤ ln 2/2, and e^r is the Taylor series of e^(r/16), squared four times.
// The squares are those of e^s-1, which loses fewer digits. It has the bits of math.Exp on a processor with FMA.
func Exp(x float64) float64 {
	if nativeExp {
		return math.Exp(x)
	}
	return exp(x)
}

// ln2Upper and ln2Lower are ln 2 in two parts. The upper one has so few digits that its product with a small whole
// number is exact.
const (
	ln2Upper = 0.69314718055966295651160180568695068359375
	ln2Lower = 0.28235290563031577122588448175013436025525412068e-12
	mostExp  = 7.09782712893384e+02 // e^x is +∞ beyond
	leastExp = -800                 // e^x is 0 below
)

func exp(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < leastExp:
		return 0
	case x > mostExp:
		return math.Inf(1)
	}
	k := math.RoundToEven(x * (1 / math.Ln2))
	s := math.FMA(-k, ln2Lower, math.FMA(-k, ln2Upper, x)) / 16
	sum := 1.0 / (2 * 3 * 4 * 5 * 6 * 7 * 8)
	for _, c := range [...]float64{1.0 / (2 * 3 * 4 * 5 * 6 * 7), 1.0 / (2 * 3 * 4 * 5 * 6), 1.0 / (2 * 3 * 4 * 5),
		1.0 / (2 * 3 * 4), 1.0 / (2 * 3), 1.0 / 2, 1} {
		sum = math.FMA(sum, s, c)
	}
	less := s * sum // e^s - 1
	for range 3 {
		less *= less + 2
	}
	y := math.FMA(less, less+2, 1)
	switch biased := int(k) + 1023; {
	case biased >= 2047:
		return math.Inf(1)
	case biased > 0:
		return y * power(biased)
	case biased < -52:
		return 0
	default: // in two steps, as 2^k is no normal number
		return y * power(biased+1022) * power(1)
	}
}

// power is 2^(biased-1023).
func power(biased int) float64 { return math.Float64frombits(uint64(biased) << 52) }

// Log is the natural logarithm of x: FreeBSD's algorithm (e_log.c), with x = 2^k·(1+f), √½ ≤ 1+f < √2, and a polynomial
// in (f/(2+f))² for ln(1+f). Of a denormal x it is too large, by up to 36, as that of package math on amd64 is.
func Log(x float64) float64 {
	if nativeLog {
		return math.Log(x)
	}
	return log(x)
}

// logTerms are the factors of z, z², … in the polynomial of Log and Log1p.
var logTerms = [...]float64{6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
	2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01}

// ln2High and ln2Low are ln 2 in two parts, for Log and Log1p.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

func log(x float64) float64 {
	const fraction, half = 1<<52 - 1, 1022 << 52
	switch bits := math.Float64bits(x); {
	case x == 0:
		return math.Inf(-1)
	case int64(bits) < 0:
		return math.NaN()
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	default:
		k, m := float64(int(bits>>52)-1022), math.Float64frombits(bits&fraction|half)
		if m <= math.Sqrt2/2 {
			k, m = k-1, m*2
		}
		f := m - 1
		s := f / (2 + f)
		z := s * s
		w := z * z
		odd := float64(w * (logTerms[1] + float64(w*(logTerms[3]+float64(w*logTerms[5])))))
		even := float64(z * (logTerms[0] + float64(w*(logTerms[2]+float64(w*(logTerms[4]+float64(w*logTerms[6])))))))
		square := float64(0.5 * f * f)
		return float64(k*ln2High) - (square - (float64(s*(square+(even+odd))) + float64(k*ln2Low)) - f)
	}
}

// Log1p is ln(1+x), for small x with more digits than Log(1+x): FreeBSD's algorithm (s_log1p.c). The rounding error of
// 1+x, over 1+x, is added to ln(1+x).
func Log1p(x float64) float64 {
	switch size := math.Abs(x); {
	case x < -1 || math.IsNaN(x):
		return math.NaN()
	case x == -1:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	case size < 0x1p-54:
		return x
	case size < 0x1p-29:
		return x - float64(x*x*0.5)
	case x > math.Sqrt2/2-1 && size < math.Sqrt2-1:
		return logOf(x, 0, 0)
	}
	const fraction, one, half, sqrt2 = 1<<52 - 1, 1023 << 52, 1022 << 52, 0x6a09e667f3bcd
	u, lost := x, 0.0
	if math.Abs(x) < 0x1p53 {
		if u = 1 + x; u >= 2 {
			lost = (1 - (u - x)) / u
		} else {
			lost = (x - (u - 1)) / u
		}
	}
	bits := math.Float64bits(u)
	k := int(bits>>52) - 1023
	switch part := bits & fraction; {
	case part < sqrt2:
		return logOf(math.Float64frombits(part|one)-1, k, lost)
	default:
		return logOf(math.Float64frombits(part|half)-1, k+1, lost)
	}
}

// logOf is k·ln 2 + ln(1+f) + lost, for √½ ≤ 1+f < √2.
func logOf(f float64, k int, lost float64) float64 {
	n, square := float64(k), float64(0.5*f*f)
	low := float64(n*ln2Low) + lost
	if k != 0 && math.Abs(f) < 0x1p-20 { // which saves a division
		if f == 0 {
			return float64(n*ln2High) + (lost + float64(n*ln2Low))
		}
		rest := float64(square * (1 - float64(0.66666666666666666*f)))
		return float64(n*ln2High) - (rest - low - f)
	}
	s := f / (2 + f)
	z := s * s
	sum := 0.0
	for i := len(logTerms) - 1; i >= 0; i-- {
		sum = logTerms[i] + float64(z*sum)
	}
	rest := float64(s * (square + float64(z*sum)))
	if k == 0 {
		return f - (square - rest)
	}
	return float64(n*ln2High) - (square - (rest + low) - f)
}

// Pow is x^y, for an x that is not below 0: the whole part of y by squares, the rest as e^(y·ln x). Other numbers are
// left to package math.
func Pow(x, y float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) || !(math.Abs(y) < 1<<63) || math.Abs(y) == 0.5 {
		return math.Pow(x, y)
	}
	whole, part := math.Modf(math.Abs(y))
	product, exponent := 1.0, 0
	if part != 0 {
		if part > 0.5 {
			part, whole = part-1, whole+1
		}
		product = Exp(part * Log(x))
	}
	square, e := math.Frexp(x)
	for n := int64(whole); n != 0; n >>= 1 {
		if e < -1<<12 || e > 1<<12 { // the result is 0 or +∞, and a shift of e might overflow
			exponent += e
			break
		}
		if n&1 == 1 {
			product, exponent = product*square, exponent+e
		}
		if square, e = float64(square*square), e*2; square < 0.5 {
			square, e = square*2, e-1
		}
	}
	if y < 0 {
		product, exponent = 1/product, -exponent
	}
	return math.Ldexp(product, exponent)
}

// Sincos is the sine and the cosine of x: the polynomials of Cephes (sin.c) for what is left of x after whole eighths
// of a turn. From 2^29 on the last bits are those of package math.
func Sincos(x float64) (sin, cos float64) {
	if !(math.Abs(x) < 1<<29) || x == 0 {
		return math.Sincos(x)
	}
	// π/4 in three parts, the first two of which have few digits
	const upper, middle, lower = 7.85398125648498535156e-1, 3.77489470793079817668e-8, 2.69515142907905952645e-15
	eighths := uint64(math.Abs(x) * (4 / math.Pi))
	eighths += eighths & 1
	n := float64(eighths)
	z := math.Abs(x) - float64(n*upper) - float64(n*middle) - float64(n*lower)
	square := z * z
	s, c := 0.0, 0.0
	for i := range sinTerms {
		s, c = float64(s*square)+sinTerms[i], float64(c*square)+cosTerms[i]
	}
	sin = z + float64(float64(z*square)*s)
	cos = 1 - float64(0.5*square) + float64(float64(square*square)*c)
	switch eighths % 8 {
	case 2:
		sin, cos = cos, -sin
	case 4:
		sin, cos = -sin, -cos
	case 6:
		sin, cos = -cos, sin
	}
	if x < 0 {
		sin = -sin
	}
	return sin, cos
}

// Cos is the cosine of x; see [Sincos].
func Cos(x float64) float64 {
	_, cos := Sincos(x)
	return cos
}

// sinTerms and cosTerms are the factors of falling powers.
var (
	sinTerms = [...]float64{1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
		-1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1}
	cosTerms = [...]float64{-1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7,
		2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2}
)
