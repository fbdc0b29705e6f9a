package metric

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Comparison says how far two methods differ that ran with the same seeds. Differences are the values of the first minus
// those of the second, seed by seed.
type Comparison struct {
	N    int     // pairs
	Mean float64 // of the differences; NaN without pairs
	Half float64 // half width of its 95 % interval, as of [Interval]; NaN for fewer than two pairs
	T    float64 // Mean by its standard error; NaN for fewer than two pairs and where all differences are 0
	P    float64 // two-sided, of the paired t-test with N−1 degrees of freedom, in [0,1]; NaN for fewer than two pairs
	// SignFlip is the two-sided probability in (0,1] of the exact sign-flip test: the share of all 2^N ways to give the
	// differences signs whose sum is at least as far from 0. It assumes no distribution. N pairs cannot give less than
	// 2/2^N, so three pairs never less than 0.25. NaN without pairs.
	SignFlip float64
}

// MaxPairs is the largest number of pairs that [Paired] compares.
const MaxPairs = 40

// Paired compares the values of two methods, those of the same seed at the same place. It panics if the lists differ in
// length or have more than [MaxPairs] values. Equal differences other than 0 have an infinite T and a P of 0. Example:
// (3, 5, 4) and (1, 2, 3) differ by (2, 3, 1), which gives 2 ± 2.484, T = 3.464, P = 0.0742 and a SignFlip of 2/8.
func Paired(a, b []float64) Comparison {
	if len(a) != len(b) || len(a) > MaxPairs {
		panic(fmt.Sprintf("metric: Paired of %d and %d values: want lists of the same length, at most %d", len(a), len(b), MaxPairs))
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	c := Comparison{N: len(d), T: math.NaN(), P: math.NaN(), SignFlip: signFlip(d)}
	if c.Mean, c.Half = Interval(d); len(d) < 2 {
		return c
	}
	squares := 0.0
	for _, x := range d {
		squares += (x - c.Mean) * (x - c.Mean)
	}
	n := float64(len(d))
	if c.T = c.Mean / math.Sqrt(squares/(n-1)/n); math.IsNaN(c.T) { // all are 0
		c.P = 1
		return c
	}
	c.P = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Survival(math.Abs(c.T))
	return c
}

// signFlip is the probability of the sign-flip test of some differences. The sums of each half of them under all signs are
// made and sorted, so that 2^(n/2) sums are kept, and not 2^n.
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
	first, second := signedSums(d[:len(d)/2]), signedSums(d[len(d)/2:])
	slices.Sort(first)
	slices.Sort(second)
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

// Holm returns the probabilities of several tests, adjusted by Holm's method: the chance that any test of the family
// rejects wrongly then stays at the level that each adjusted probability is compared with. They are in the order of p, in
// [0,1] and never smaller than p. NaN, a test that was not made, stays NaN and does not count. Example: 0.01, 0.04 and
// 0.03 become 0.03, 0.06 and 0.06.
func Holm(p []float64) []float64 {
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	out := slices.Clone(p)
	least := 0.0
	for k, i := range order {
		least = max(least, math.Min(float64(len(order)-k)*p[i], 1))
		out[i] = least
	}
	return out
}
