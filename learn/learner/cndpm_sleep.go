package learner

import (
	"context"

	"ocl"
	"ocl/internal/portable"
	"ocl/learn/loss"
	"ocl/learn/optim"
)

// sleepSteps is the number of steps of a sleep.
func (c *CNDPM) sleepSteps() int { return c.VAESteps + c.ClassifierSteps }

// fallAsleep makes the expert that the coming sleep trains.
func (c *CNDPM) fallAsleep(stats ocl.StepStats) error {
	e, err := c.newExpert(len(c.experts) + 1)
	if err != nil {
		return err
	}
	e.logCount = portable.Log(1 + float64(c.Memory.Len()))
	e.born, e.stored = c.steps, int64(c.Memory.Len())
	e.shown = c.examples()
	c.setRates(e, true)
	c.experts = append(c.experts, e)
	c.asleep, c.done, c.stats = true, 0, stats
	c.forgetPasses()
	return nil
}

// sleep makes the steps of a sleep that are left, unless ctx ends.
func (c *CNDPM) sleep(ctx context.Context) error {
	for total := c.sleepSteps(); c.done < int64(total); {
		if err := ctx.Err(); err != nil {
			return err
		}
		step := c.vaeStep
		if c.done >= int64(c.VAESteps) {
			step = c.classifierStep
		}
		if err := step(); err != nil {
			return err
		}
		c.done++
		if c.watch != nil {
			c.watch(int(c.done), total)
		}
	}
	c.asleep, c.done = false, 0
	c.setRates(c.experts[len(c.experts)-1], false)
	c.Memory.Clear()
	c.means = classMeans{}
	c.forgetPasses()
	return nil
}

// draw gathers the samples of a step of a sleep.
func (c *CNDPM) draw() {
	c.slots = c.slots[:0]
	for range c.Batch {
		c.slots = append(c.slots, c.slot(c.Memory.Len()))
	}
	c.drawn.Gather(c.Memory, c.slots)
	c.reserve(1, c.Batch)
	for i := range c.weight {
		c.weight[i] = 1 / float32(c.Batch)
	}
}

// vaeStep is a step of the new expert's autoencoder.
func (c *CNDPM) vaeStep() error {
	k := len(c.experts) - 1
	e := c.experts[k]
	if c.asleepV == nil {
		c.asleepV = c.VAE.Pass(c.WS, vaesOf(c.experts), c.Batch, k)
	}
	c.draw()
	c.eps[0] = grow(c.eps[0], c.Batch*c.VAE.Draws*c.VAE.Latent)
	c.normals(c.eps[0])
	clear(e.vae.Encoder.Grads())
	clear(e.vae.Decoder.Grads())
	c.asleepV.Encode(&c.drawn.X)
	c.asleepV.Learn(c.nll[0], k, c.eps[0], c.weight)
	if err := checkFinite("likelihood", c.nll[0]); err != nil {
		return err
	}
	for i, net := range e.networks()[:2] {
		optim.ClipValue(net, c.WS, 2*c.L2, c.Clip)
		e.opts[i].Step(net, c.WS)
	}
	return nil
}

// classifierStep is a step of the new expert's classifier.
func (c *CNDPM) classifierStep() error {
	k := len(c.experts) - 1
	e := c.experts[k]
	if c.asleepN == nil {
		c.asleepV = nil // it is not needed any more
		c.asleepN = c.Net.Pass(c.WS, netsOf(c.experts), c.Batch, k)
	}
	c.draw()
	clear(e.net.Net.Grads())
	c.asleepN.Classify(&c.drawn.X)
	for i, y := range c.drawn.Y {
		logP := c.logP[0][i*c.Net.Classes:][:c.Net.Classes]
		loss.LogSoftmax(logP, c.asleepN.Logits(k, i))
		c.chilled[0][i] = chilledNLL(logP, y, c.Chill)
	}
	if err := checkFinite("likelihood", c.chilled[0]); err != nil {
		return err
	}
	c.classifierGradient(c.logP[0], c.drawn.Y, c.weight)
	c.asleepN.Learn(k, &c.gradient)
	optim.ClipValue(e.net.Net, c.WS, 2*c.L2, c.Clip)
	e.opts[2].Step(e.net.Net, c.WS)
	return nil
}

// Paused implements [ocl.Pausing].
func (c *CNDPM) Paused() bool { return c.asleep }

// Watch implements [ocl.Watched].
func (c *CNDPM) Watch(f func(done, total int)) { c.watch = f }
