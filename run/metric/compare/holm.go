package compare

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns the probabilities of several tests, adjusted by Holm's method: the chance that any test of the family
// rejects wrongly then stays at the level that each adjusted probability is compared with. They are in the order of p,
// in [0,1] and never smaller than p. NaN, a test that was not made, stays NaN and does not count. Example: 0.01, 0.04
// and 0.03 become 0.03, 0.06 and 0.06.
func Holm(p []float64) []float64 {
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	out := slices.Clone(p)
	least := 0.0
	for k, i := range order {
		least = max(least, math.Min(float64(len(order)-k)*p[i], 1))
		out[i] = least
	}
	return out
}
