package compare

import (
	"math"
	"slices"

	"ocl/internal/rng"
)

const (
	// exactFlips is the largest number of differences of which all signs are counted: 2^15 sums are then kept.
	exactFlips = 30
	// drawnFlips is how many signs are drawn of more differences. The least probability is then 1/20000.
	drawnFlips = 19999
)

// signFlip is the two-sided probability in (0,1] of the sign-flip test of some differences: the share of all 2^n ways to give them signs whose
// sum is at least as far from 0. It assumes no distribution. n differences cannot give less than 2/2^n, so three never less than 0.25. NaN
// without differences. It is exact up to exactFlips differences. Of more, drawnFlips signs are drawn from a source with a fixed seed, and
// the seen ones are counted among them, so the share is never 0 and the same at each call.
func signFlip(d []float64) float64 {
	if len(d) == 0 {
		return math.NaN()
	}
	seen, size := 0.0, 0.0
	for _, x := range d {
		seen += x
		size += math.Abs(x)
	}
	// A sum that is the same but for rounding is as far from 0.
	least := math.Abs(seen) - 1e-12*size
	if len(d) > exactFlips {
		return drawnSignFlip(d, least)
	}
	first, second := signedSums(d[:len(d)/2]), signedSums(d[len(d)/2:])
	slices.Sort(first)
	slices.Sort(second)
	// The sums of each half of them under all signs are made and sorted, so that 2^(n/2) sums are kept, and not 2^n.
	// Signs come in opposite pairs, so the sums of at least `least` are as many as those of at most −least. For each of first,
	// rising, those of second that are large enough begin further and further to the left.
	above, from := 0, len(second)
	for _, x := range first {
		for from > 0 && x+second[from-1] >= least {
			from--
		}
		above += len(second) - from
	}
	return math.Min(2*float64(above)/math.Exp2(float64(len(d))), 1)
}

// drawnSignFlip is the share of sums under drawn signs, and the seen ones, that are at least so far from 0.
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
