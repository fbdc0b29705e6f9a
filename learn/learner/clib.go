package learner

import (
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/loss"
	"ocl/learn/memory"
)

// CLIB is the step of continual learning for i-Blurry (Koh et al. 2022, Online Continual Learning on Class Incremental
// Blurry Task Configuration with Anytime Inference). It learns stored samples alone, as [Stored]. After every step it
// measures the losses of all that is stored, by running statistics, and gives the samples B of the step a share of what
// their mean L has fallen by:
//
//	ΔL = L before − L now      H_i ← H_i + 0.1·(ΔL/|B| − H_i)  for i in B
//
// L is over the samples that were there in both measurements. [memory.Important] stores by H. The rate h adapts itself:
// after 10 measurements at h, and 10 at 0.95·h, it becomes 0.95·h or h/0.95, where Welch's one-sided test at 5 % says
// that ΔL was larger at the lower or at the higher one, and otherwise stays.
//
// [NewCLIB] makes one.
type CLIB struct {
	// Every is the number of steps between two measurements, at least 1. B are then the samples of all of these steps that
	// are still stored.
	Every int
	Fixed bool // the rate stays as it is

	base   float64           // rate of the optimiser
	kept   *memory.Important // which has H
	steps  int64             // since the last measurement
	drawn  []int64           // places in the stream, rising, of the samples of these steps
	places []int64           // in the stream, of each sample that was measured, by slot
	losses []float64         // of these
	rates  schedule

	buffer memory.Buffer
	slots  []int
	fresh  []float64
}

var (
	_ Stepper        = (*CLIB)(nil)
	_ looking        = (*CLIB)(nil)
	_ ocl.State      = (*CLIB)(nil)
	_ memory.Remover = (*CLIB)(nil)
)

// importanceShare is the weight of a step in the importance of a sample.
const importanceShare = 0.1

// measuredAtOnce is how many stored samples go through the network at once.
const measuredAtOnce = 100

// NewCLIB gives r, a learner with a memory that was not used yet, this step and the memory that belongs to it.
func NewCLIB(r *Replay, every int, fixed bool) *CLIB {
	c := &CLIB{Every: every, Fixed: fixed, base: r.Opt.LR(), kept: &memory.Important{}, rates: schedule{scale: 1}}
	r.Step, r.Update = c, c.kept
	return c
}

// Gradient implements [Stepper].
func (c *CLIB) Gradient(r *Replay, b ocl.Batch) (ocl.StepStats, error) {
	stats, err := Stored{}.Gradient(r, b)
	if err != nil {
		return stats, err
	}
	if !c.Fixed {
		r.Opt.SetLR(c.base * c.rates.now())
	}
	origins := r.Memory.Origins()
	for _, slot := range r.Passes()[0].Slots {
		if at, there := slices.BinarySearch(c.drawn, origins[slot]); !there {
			c.drawn = slices.Insert(c.drawn, at, origins[slot])
		}
	}
	c.steps++
	return stats, nil
}

// stepped implements looking: it measures, if it is time.
func (c *CLIB) stepped(r *Replay) error {
	if c.steps < int64(c.Every) {
		return nil
	}
	origins := r.Memory.Origins()
	if err := c.measure(r, len(origins)); err != nil {
		return err
	}
	drop, both := 0.0, 0
	for slot, now := range c.fresh {
		if slot < len(c.places) && c.places[slot] == origins[slot] {
			drop += c.losses[slot] - now
			both++
		}
	}
	if both > 0 {
		drop /= float64(both)
		c.credit(origins, drop)
		if !c.Fixed {
			c.rates.add(drop)
		}
	}
	c.places, c.losses = append(c.places[:0], origins...), append(c.losses[:0], c.fresh...)
	c.steps, c.drawn = 0, c.drawn[:0]
	return nil
}

// credit gives the samples that were learned their share of a drop.
func (c *CLIB) credit(origins []int64, drop float64) {
	c.slots = c.slots[:0]
	for slot, place := range origins {
		if _, learned := slices.BinarySearch(c.drawn, place); learned {
			c.slots = append(c.slots, slot)
		}
	}
	for _, slot := range c.slots {
		h := &c.kept.H[slot]
		*h += float64(importanceShare * (drop/float64(len(c.slots)) - *h))
	}
}

// measure computes the losses of all stored samples.
func (c *CLIB) measure(r *Replay, stored int) error {
	c.fresh = append(c.fresh[:0], make([]float64, stored)...)
	for from := 0; from < stored; from += measuredAtOnce {
		to := min(from+measuredAtOnce, stored)
		c.slots = c.slots[:0]
		for slot := from; slot < to; slot++ {
			c.slots = append(c.slots, slot)
		}
		b := c.buffer.Gather(r.Memory, c.slots)
		in := loss.Input{Logits: r.Net.Predict(r.WS, b.X).Logits, Y: b.Y}
		if err := (loss.CrossEntropy{}).Rows(c.fresh[from:to], in); err != nil {
			return err
		}
	}
	return nil
}

// Removed implements [memory.Remover].
func (c *CLIB) Removed(slot, last int) {
	if last < len(c.places) {
		c.places[slot], c.losses[slot] = c.places[last], c.losses[last]
		c.places, c.losses = c.places[:last], c.losses[:last]
	} else if slot < len(c.places) {
		c.places[slot] = -1 // which no sample has
	}
}

func (c *CLIB) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Values("steps", &c.steps, &c.rates.scale),
		checkpoint.List("drawn", &c.drawn), checkpoint.List("places", &c.places), checkpoint.List("losses", &c.losses),
		checkpoint.List("drops", &c.rates.drops),
		checkpoint.Then(func() error {
			if len(c.places) != len(c.losses) || len(c.rates.drops) >= 2*phase || c.steps < 0 || !(c.rates.scale > 0) ||
				math.IsInf(c.rates.scale, 1) || !slices.IsSorted(c.drawn) {
				return fmt.Errorf("learner: clib: the state has %d losses of %d samples, %d drops and the rate %v, so it is damaged. Use an undamaged checkpoint",
					len(c.losses), len(c.places), len(c.rates.drops), c.rates.scale)
			}
			return nil
		}),
	}
}

// SaveState implements [ocl.State].
func (c *CLIB) SaveState(e *checkpoint.Encoder) error { return c.parts().SaveState(e) }

// LoadState implements [ocl.State].
func (c *CLIB) LoadState(d *checkpoint.Decoder) error { return c.parts().LoadState(d) }

// schedule adapts a rate by how far the loss has fallen at it and at a lower one.
type schedule struct {
	scale float64   // of the rate
	drops []float64 // at the rate, and then at the lower one
}

const (
	phase = 10   // measurements at one rate
	lower = 0.95 // the lower rate, divided by the other
)

// now is the rate of the next step, divided by the first one.
func (s *schedule) now() float64 {
	if len(s.drops) >= phase {
		return s.scale * lower
	}
	return s.scale
}

// add takes how far the loss has fallen, and changes the rate once both have been tried.
func (s *schedule) add(drop float64) {
	if s.drops = append(s.drops, drop); len(s.drops) < 2*phase {
		return
	}
	high, highSquare := meanOf(s.drops[:phase])
	low, lowSquare := meanOf(s.drops[phase:])
	s.drops = s.drops[:0]
	square := highSquare + lowSquare
	freedom := float64(square*square) / (float64(highSquare*highSquare) + float64(lowSquare*lowSquare)) * (phase - 1)
	switch t := (low - high) / math.Sqrt(square); {
	case t > rare(freedom):
		s.scale *= lower
	case -t > rare(freedom):
		s.scale /= lower
	}
}

// meanOf is the mean of some numbers, and the square of its standard error.
func meanOf(v []float64) (mean, square float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		square += float64((x-mean)*(x-mean)) / (n * (n - 1))
	}
	return mean, square
}

// rare is what Student's t with 9 to 18 degrees of freedom is above of with 5 %: the expansion of Cornish and Fisher.
func rare(freedom float64) float64 {
	const z = 1.6448536269514722
	const z2 = z * z
	return z * (1 + (z2+1)/(4*freedom) + ((5*z2+16)*z2+3)/(96*freedom*freedom) +
		(((3*z2+19)*z2+17)*z2-15)/(384*freedom*freedom*freedom))
}
