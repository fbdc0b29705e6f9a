// Package calibrate makes probabilities of scores, and finds out how sure an answer may be: whether a sample looks like
// any class that was taught, and how many classes must be named so that the right one is among them. It does so by
// samples whose scores were computed without them: held out, or left out one by one. It draws nothing. Start at [Fit].
package calibrate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"ocl/checkpoint"
	"ocl/internal/portable"
)

// Calibration says what scores are worth. Nobody changes it, so any number of goroutines may use it.
//
// For the scores s of the K classes that can be predicted, with T = Temperature and a = Slope (Guo et al. 2017, On
// Calibration of Modern Neural Networks; Platt 1999, of the best class alone),
//
//	p = softmax(s/T)      ln q/(1−q) = a·ln p₁/(1−p₁)
//
// where p₁ is the largest of p. The class of the highest score gets the probability q, and the others share 1−q as they
// have shared 1−p₁. a is at most 1, so the order of the classes stays.
//
// A sample also has a familiarity: a number that is larger the more the sample looks like the classes that were taught.
// Who computes scores says what it is. Its rank says how many of the samples of taught classes look as strange.
type Calibration struct {
	Temperature float64 // T > 0
	Slope       float64 // a, in (0,1]
	// Of each sample of Fit, rising: its familiarity, and 1 − p of its own class. Both have the same length.
	Known, Doubt []float32
}

// Least is the least number of samples by which scores are calibrated.
const Least = 10

// ErrFew is wrapped by the error of [Fit] about too few samples or classes.
var ErrFew = errors.New("too few samples to calibrate by")

// Samples are what a calibration is fitted to. Scores of a sample, and its familiarity, come from a learner that has
// not learned the sample.
type Samples struct {
	Scores []float64 // [n,K]
	Labels []int     // [n]: the right class, a column of Scores
	Known  []float64 // [n]: the familiarity
}

// ends of the slopes that are tried, and what a slope other than 1 costs, in the units of a mean log-likelihood. The
// price keeps few samples from moving it.
const (
	leastSlope = 0.3
	slopeStep  = 0.01
	slopePrice = 0.05
)

// Fit finds the temperature of the highest likelihood of the samples, and then the slope. Labels are smoothed by
// 1/(n+1), so that samples that are all right do not make the temperature 0. Fewer than [Least] samples, or one class,
// are an error that wraps [ErrFew]. A number that is not finite is an error.
func Fit(s Samples) (*Calibration, error) {
	n := len(s.Labels)
	if n < Least {
		return nil, fmt.Errorf("calibrate: %w: there are %d, and %d are needed", ErrFew, n, Least)
	}
	k := len(s.Scores) / n
	if k < 2 || slices.Min(s.Labels) == slices.Max(s.Labels) {
		return nil, fmt.Errorf("calibrate: %w: they are of one class, and of one class alone nobody can be unsure", ErrFew)
	}
	for _, list := range [][]float64{s.Scores, s.Known} {
		for _, v := range list {
			if v-v != 0 {
				return nil, fmt.Errorf("calibrate: a score is %v. Use smaller inputs", v)
			}
		}
	}
	c := &Calibration{Temperature: temperature(s.Scores, s.Labels, k), Slope: 1}
	best, right := make([]float64, n), make([]bool, n)
	p := make([]float64, k)
	for i, y := range s.Labels {
		c.Probabilities(p, s.Scores[i*k:][:k])
		top := largest(p)
		best[i], right[i] = p[top], top == y
	}
	c.Slope = slope(best, right)
	for i, y := range s.Labels {
		c.Probabilities(p, s.Scores[i*k:][:k])
		c.Doubt = append(c.Doubt, float32(1-p[y]))
		c.Known = append(c.Known, float32(s.Known[i]))
	}
	for _, list := range [][]float32{c.Known, c.Doubt} {
		slices.Sort(list)
	}
	return c, nil
}

// largest is the place of the largest value, the first of several.
func largest(p []float64) int {
	at := 0
	for k, v := range p {
		if v > p[at] {
			at = k
		}
	}
	return at
}

// temperature is the one of the highest likelihood. With β = 1/T, the mean of −ln p of the smoothed labels is convex in
// β, and its derivative is the mean of what the softmax expects of a score, less the score of the smoothed label.
func temperature(scores []float64, labels []int, k int) float64 {
	n := len(labels)
	smooth := 1 / float64(n+1)
	rows := make([]float64, len(scores)) // less their largest, so that no exponential overflows
	spread, target := 0.0, 0.0
	for i, y := range labels {
		row, from := rows[i*k:][:k], scores[i*k:][:k]
		top, mean := from[largest(from)], 0.0
		for j, v := range from {
			row[j] = v - top
			mean += row[j] / float64(k)
		}
		spread -= mean / float64(n)
		target += float64((1-smooth)*row[y]) + float64(smooth*mean)
	}
	if !(spread > 0) {
		return 1 // all scores are alike
	}
	slope := func(beta float64) float64 {
		sum := 0.0
		for i := range n {
			all, mean := 0.0, 0.0
			for _, v := range rows[i*k:][:k] {
				e := portable.Exp(beta * v)
				all += e
				mean += float64(e * v)
			}
			sum += mean / all
		}
		return sum - target
	}
	low, high := -12.0, 12.0 // of ln β·spread
	for range 40 {
		if middle := (low + high) / 2; slope(portable.Exp(middle)/spread) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	return spread / portable.Exp((low+high)/2)
}

// slope is the one of the highest likelihood, given the probability of the best class of each sample and whether it was
// right, less its price.
func slope(best []float64, right []bool) float64 {
	rights := 0
	for _, r := range right {
		if r {
			rights++
		}
	}
	yes := float64(rights+1) / float64(rights+2)
	no := 1 / float64(len(right)-rights+2)
	found, least := 1.0, math.Inf(1)
	for step := 0; ; step++ {
		a := 1 - float64(slopeStep*float64(step))
		if a < leastSlope {
			return found
		}
		cost := 0.0
		for i, p := range best {
			q, target := bent(p, a), no
			if right[i] {
				target = yes
			}
			cost -= float64(target*portable.Log(q)) + float64((1-target)*portable.Log(1-q))
		}
		if cost = cost/float64(len(best)) + float64(slopePrice*(1-a)*(1-a)); cost < least {
			found, least = a, cost
		}
	}
}

// bent is q of p₁.
func bent(p, a float64) float64 {
	p = min(max(p, 1e-9), 1-1e-9)
	return 1 / (1 + portable.Pow((1-p)/p, a))
}

// Probabilities writes the probabilities of the classes with these scores to dst, which may be scores itself.
func (c *Calibration) Probabilities(dst, scores []float64) {
	top := largest(scores)
	most, rest := scores[top], 0.0
	for k, v := range scores {
		dst[k] = portable.Exp((v - most) / c.Temperature)
		if k != top {
			rest += dst[k]
		}
	}
	if c.Slope == 1 || !(rest > 0) {
		for k := range dst {
			dst[k] /= 1 + rest
		}
		return
	}
	odds := portable.Pow(rest, c.Slope) // against the best
	for k := range dst {
		dst[k] *= odds / (1 + odds) / rest
	}
	dst[top] = 1 / (1 + odds)
}

// Rank says which share of samples of taught classes look as strange as one with this familiarity: r/(n+1), where r − 1
// of the n samples are at most as familiar. It is in (0,1]. Of new samples of taught classes, at most a share Q has a
// rank of Q or less.
func (c *Calibration) Rank(familiarity float64) float64 {
	return float64(1+atMost(c.Known, float32(familiarity))) / float64(len(c.Known)+1)
}

// Resolution is the least rank that a sample can have. Who wants a smaller share Q gets no sample that is unknown.
func (c *Calibration) Resolution() float64 { return 1 / float64(len(c.Known)+1) }

// atMost is how many numbers of a rising list are v or less.
func atMost(rising []float32, v float32) int {
	n, _ := slices.BinarySearchFunc(rising, v, func(e, v float32) int {
		if e <= v {
			return -1
		}
		return 1
	})
	return n
}

// Floor is the probability from which on a class belongs to a prediction set: the classes with this probability or more
// have the right one among them for a share coverage of new samples of taught classes (Vovk et al. 2005; here by
// leave-one-out or held-out samples, so approximately). It is 0, all classes, where there are too few samples to say
// so.
func (c *Calibration) Floor(coverage float64) float64 {
	at := int(math.Ceil(coverage * float64(len(c.Doubt)+1)))
	if at > len(c.Doubt) {
		return 0
	}
	return 1 - float64(c.Doubt[max(at, 1)-1])
}

// Parts are the sections of a calibration that is there, below the name calibration; of nil there are none. Loading
// sets what c points to.
func Parts(c **Calibration) checkpoint.Part {
	there := *c != nil
	var loaded Calibration
	if there {
		loaded = **c
	}
	return checkpoint.Either(&there, "calibration/scale", checkpoint.Parts{
		checkpoint.Values("calibration/scale", &loaded.Temperature, &loaded.Slope),
		checkpoint.List("calibration/known", &loaded.Known),
		checkpoint.List("calibration/doubt", &loaded.Doubt),
		checkpoint.Then(func() error {
			n := len(loaded.Known)
			bad := !(loaded.Temperature > 0) || math.IsInf(loaded.Temperature, 1) || !(loaded.Slope > 0 && loaded.Slope <= 1) ||
				n < Least || len(loaded.Doubt) != n
			for _, list := range [][]float32{loaded.Known, loaded.Doubt} {
				bad = bad || !slices.IsSorted(list) || slices.ContainsFunc(list, func(v float32) bool { return v-v != 0 })
			}
			if bad {
				return fmt.Errorf("calibrate: the sections calibration/… have a temperature of %v, a slope of %v and %d numbers. Use a file that ocl wrote",
					loaded.Temperature, loaded.Slope, n)
			}
			fresh := loaded
			*c = &fresh
			return nil
		}),
	}, checkpoint.Parts{checkpoint.Then(func() error { *c = nil; return nil })})
}
