package compare

import (
	"math"
	"slices"

	"ocl/rng"
)

const (
	// exactFlips is the largest number of differences of which all signs are counted: 2^15 sums are then kept.
	exactFlips = 30
	// drawnFlips is how many signs are drawn of more differences. The least probability is then 1/20000.
	drawnFlips = 19999
)

// signFlip returns the two-sided probability in (0,1] of the sign-flip test: of all 2^n ways to give signs to the n
// differences, the share whose sum is at least as far from 0 as the observed sum. It assumes no distribution. n
// differences cannot give less than 2/2^n, so three never give less than 0.25. Without differences it is NaN. It is
// exact up to exactFlips differences. For more, it draws drawnFlips lists of signs from a source with a fixed seed and
// also counts the observed signs, so the share is never 0 and is the same at each call.
func signFlip(d []float64) float64 {
	if len(d) == 0 {
		return math.NaN()
	}
	seen, size := 0.0, 0.0
	for _, x := range d {
		seen += x
		size += math.Abs(x)
	}
	// A sum that differs from the observed one only by rounding counts as equally far from 0.
	least := math.Abs(seen) - float64(1e-12*size)
	if len(d) > exactFlips {
		return drawnSignFlip(d, least)
	}
	first, second := signedSums(d[:len(d)/2]), signedSums(d[len(d)/2:])
	slices.Sort(first)
	slices.Sort(second)
	// Only the sums of each half of the differences are made and sorted, so 2^(n/2) sums are kept instead of 2^n. The
	// signs come in opposite pairs, so as many sums are at least `least` as are at most −least. As x rises through first,
	// the large enough sums of second begin further and further to the left.
	above, from := 0, len(second)
	for _, x := range first {
		for from > 0 && x+second[from-1] >= least {
			from--
		}
		above += len(second) - from
	}
	return math.Min(2*float64(above)/math.Exp2(float64(len(d))), 1)
}

// drawnSignFlip estimates the probability from drawn signs: the share of sums, the observed one included, that are at
// least `least` from 0.
func drawnSignFlip(d []float64, least float64) float64 {
	source := rng.New(1, "compare/sign-flip")
	as := 1
	for range drawnFlips {
		sum, signs := 0.0, uint64(0)
		for i, x := range d {
			if i%64 == 0 {
				signs = source.Uint64()
			}
			// The lowest bit becomes the sign of x.
			sum += math.Float64frombits(math.Float64bits(x) ^ signs<<63)
			signs >>= 1
		}
		if math.Abs(sum) >= least {
			as++
		}
	}
	return float64(as) / (drawnFlips + 1)
}

// signedSums are the sums of the values under all 2^n signs.
func signedSums(d []float64) []float64 {
	sums := []float64{0}
	for _, x := range d {
		next := make([]float64, 0, 2*len(sums))
		for _, s := range sums {
			next = append(next, s+x, s-x)
		}
		sums = next
	}
	return sums
}
