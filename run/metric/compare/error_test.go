package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const images = 10000 // of the test set that the simulated accuracies are measured on

// simulated are accuracies of methods on five seeds, in whole test images. The seed has an effect of its own on all of
// them. What a method adds is normal, or has the heavy tails of Student's t with three degrees of freedom, with the
// same standard deviation of 1 point.
func simulated(r *rand.Rand, means []float64, heavy bool) [][]Value {
	const seeds, spread = 5, .01
	var of [seeds]float64
	for i := range of {
		of[i] = .02 * r.NormFloat64()
	}
	arms := make([][]Value, len(means))
	for m := range arms {
		for i, seed := range of {
			x := r.NormFloat64()
			if heavy {
				x /= math.Sqrt((sq(r.NormFloat64()) + sq(r.NormFloat64()) + sq(r.NormFloat64())) / 3)
				x /= math.Sqrt(3)
			}
			v := math.Round(images*(means[m]+seed+spread*x)) / images
			arms[m] = append(arms[m], Value{Seed: uint64(i), Value: v, Step: 1. / images})
		}
	}
	return arms
}

func sq(x float64) float64 { return x * x }

// againstBest says whether the rule that was used before finds a difference: the method with the highest mean is
// compared with each other one, with Holm's correction over these tests alone.
func againstBest(arms [][]Value, pairs []Pair) bool {
	best, most := 0, math.Inf(-1)
	for m, a := range arms {
		sum := 0.0
		for _, v := range a {
			sum += v.Value
		}
		if sum > most {
			best, most = m, sum
		}
	}
	least := 1.0
	for _, p := range pairs {
		if p.First == best || p.Second == best {
			least = min(least, p.P)
		}
	}
	return least*float64(len(arms)-1) < Level
}

// TestFamilyWiseError draws methods that are all equally good. In less than 6 % of all draws any of their pairs may get
// a verdict. Beside it stand the rule that was used before and plain t-tests.
func TestFamilyWiseError(t *testing.T) {
	for _, c := range []struct {
		methods, draws int
		heavy          bool
	}{{11, 800, false}, {11, 300, true}, {25, 200, false}, {25, 150, true}} {
		t.Run(fmt.Sprintf("%d methods, heavy tails %t", c.methods, c.heavy), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(34, uint64(c.methods)))
			wrong, before, plain := 0, 0, 0
			for range c.draws {
				arms := simulated(r, make([]float64, c.methods), c.heavy)
				pairs := All(arms)
				wrong += count(slices.ContainsFunc(pairs, func(p Pair) bool { return p.Verdict != Undecided }))
				plain += count(slices.ContainsFunc(pairs, func(p Pair) bool { return p.P < Level }))
				before += count(againstBest(arms, pairs))
			}
			share := func(n int) float64 { return 100 * float64(n) / float64(c.draws) }
			t.Logf("a wrong verdict in %.1f %% of %d draws; against the observed best alone %.1f %%, plain t-tests %.1f %%",
				share(wrong), c.draws, share(before), share(plain))
			if !(share(wrong) < 6) {
				t.Errorf("a wrong verdict in %.1f %% of %d draws, want less than 6 %%", share(wrong), c.draws)
			}
		})
	}
}

// TestApartIsRarelyWrong draws two methods whose difference is the margin exactly, which is small beside its standard
// error. Neither verdict may be more frequent than the level, whichever side of 0 the observed difference is on.
func TestApartIsRarelyWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 1))
	const margin, draws = 0.0015, 3000
	verdicts := map[Verdict]int{}
	for range draws {
		arms := simulated(r, []float64{margin, 0}, false)
		verdicts[Family([]Question{{First: arms[0], Second: arms[1], Margin: margin}})[0].Verdict]++
	}
	for _, v := range []Verdict{Alike, Apart} {
		if share := float64(verdicts[v]) / draws; !(share < 0.06) {
			t.Errorf("%q in %.1f %% of %d draws, want at most 5 %% but for chance", v, 100*share, draws)
		}
	}
}

// TestPower prints which part of true differences is found, beside plain t-tests, which find more of them and wrong
// ones too.
func TestPower(t *testing.T) {
	for _, methods := range []int{2, 11, 25} {
		for _, points := range []float64{2, 5, 10} {
			r := rand.New(rand.NewPCG(35, uint64(methods)))
			means := make([]float64, methods) // the first is ahead of all others, which are equal
			means[0] = points / 100
			const draws = 40
			found, reversed, plain := 0, 0, 0
			for range draws {
				for _, p := range All(simulated(r, means, false)) {
					if p.First == 0 {
						found += count(p.Verdict == FirstHigher)
						reversed += count(p.Verdict == SecondHigher)
						plain += count(p.P < Level && p.Mean > 0)
					}
				}
			}
			all := float64(draws * (methods - 1))
			t.Logf("%2d methods, %2g points ahead, which is %.1f standard deviations of a difference: found %5.1f %%, by plain t-tests %5.1f %%",
				methods, points, points/math.Sqrt2, 100*float64(found)/all, 100*float64(plain)/all)
			// What two and eleven methods find far apart, less some points: a comparison that finds little is of no use.
			least := map[int]float64{2: 0.95, 11: 0.9, 25: 0.6}[methods]
			if points == 10 && !(float64(found) >= least*all) || found > plain || reversed > 0 {
				t.Errorf("%d methods, %g points: %d of %g found, %d reversed, %d by plain t-tests", methods, points, found, all,
					reversed, plain)
			}
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
