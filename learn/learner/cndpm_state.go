package learner

import (
	"fmt"

	"ocl/checkpoint"
	"ocl/internal/limit"
)

// SaveState implements [ocl.State].
func (c *CNDPM) SaveState(e *checkpoint.Encoder) error {
	if err := c.prepare(); err != nil {
		return err
	}
	return c.parts(len(c.experts)).SaveState(e)
}

// LoadState implements [ocl.State].
func (c *CNDPM) LoadState(d *checkpoint.Decoder) error {
	if err := c.prepare(); err != nil {
		return err
	}
	c.flops, c.means = 0, classMeans{}
	c.forgetPasses()
	return c.parts(0).LoadState(d)
}

// parts is the state, with so many experts where it is saved: the seeds of what is drawn by name, the sources, the
// short-term memory, how far a sleep is, and the experts.
func (c *CNDPM) parts(experts int) checkpoint.Parts {
	seed, initSeed := int64(c.Seed), int64(c.InitSeed)
	return checkpoint.Parts{
		checkpoint.Values("cndpm", &seed, &initSeed, &c.steps, &experts, &c.asleep, &c.done),
		checkpoint.Then(func() error { return c.started(seed, initSeed, experts) }),
		checkpoint.Values("stats", &c.stats.Loss, &c.stats.Correct, &c.stats.Samples, &c.stats.Replay),
		checkpoint.Binary("rng/samples", c.samples),
		checkpoint.Binary("rng/codes", c.codes),
		checkpoint.Sub("memory", c.Memory),
		checkpoint.Then(c.checkMemory),
		checkpoint.Later(func() checkpoint.Parts {
			c.experts = c.experts[:min(experts, len(c.experts))]
			var list checkpoint.Parts
			for k := range experts {
				list = append(list, checkpoint.Later(func() checkpoint.Parts { return c.expertParts(k) }))
			}
			return list
		}),
		checkpoint.Then(func() error {
			for k, e := range c.experts {
				c.setRates(e, c.asleep && k == len(c.experts)-1)
			}
			return nil
		}),
	}
}

// started checks what a state says of its seeds and its sleep, and makes the placeholder that belongs to it.
func (c *CNDPM) started(seed, initSeed int64, experts int) error {
	most := int64(0)
	if c.asleep {
		most = int64(c.sleepSteps())
	}
	if experts < 0 || experts > limit.Experts || c.asleep && experts == 0 || c.done < 0 || c.done > most || c.steps < 0 {
		return fmt.Errorf("learner: cndpm: the state has %d experts and is at step %d of a sleep of %d, so it belongs to another configuration. Use the one it was saved with",
			experts, c.done, most)
	}
	c.Seed, c.experts = uint64(seed), nil
	if uint64(initSeed) == c.InitSeed {
		return nil
	}
	c.InitSeed = uint64(initSeed)
	return c.placeholder()
}

// checkMemory refuses a memory that a learner at such a place cannot have.
func (c *CNDPM) checkMemory() error {
	for y := range c.Memory.Counts() {
		if err := checkLabels(c.Net.Classes, y); err != nil {
			return err
		}
	}
	if (c.Memory.Len() >= c.Capacity) != c.asleep {
		return fmt.Errorf("learner: cndpm: the state has %d stored samples of %d before a sleep, and is asleep: %v, so it belongs to another configuration. Use the one it was saved with",
			c.Memory.Len(), c.Capacity, c.asleep)
	}
	return nil
}

// expertParts is the state of an expert, which is made where it is loaded.
func (c *CNDPM) expertParts(k int) checkpoint.Parts {
	var fault error
	if k == len(c.experts) {
		var e *expert
		if e, fault = c.newExpert(k + 1); fault == nil {
			c.experts = append(c.experts, e)
		}
	}
	if fault != nil {
		return checkpoint.Parts{checkpoint.Then(func() error { return fault })}
	}
	e := c.experts[k]
	parts := checkpoint.Parts{
		checkpoint.Values("expert", &e.logCount, &e.born, &e.stored),
		checkpoint.List("shown", &e.shown),
		checkpoint.Then(func() error {
			if size := c.VAE.Channels * c.VAE.Height * c.VAE.Width; len(e.shown)%size != 0 || len(e.shown) == 0 ||
				len(e.shown) > shownImages*size {
				return fmt.Errorf("learner: cndpm: the state has an expert with %d values of images of %d, so it belongs to another configuration. Use the one it was saved with",
					len(e.shown), size)
			}
			if !(e.logCount >= 0) || e.logCount > 1e3 || e.born < 1 || e.stored < 1 {
				return fmt.Errorf("learner: cndpm: the state has an expert of %d samples with the log-count %v, so it belongs to another configuration. Use the one it was saved with",
					e.stored, e.logCount)
			}
			return nil
		}),
	}
	for i, net := range e.networks() {
		name := [...]string{"encoder", "decoder", "classifier"}[i]
		parts = append(parts, checkpoint.Sub(name, checkpoint.Parts{checkpoint.Sub("net", net),
			optimiserPart(e.opts[i], net)}))
	}
	return checkpoint.Parts{checkpoint.Sub(fmt.Sprintf("expert/%d", k+1), parts)}
}
