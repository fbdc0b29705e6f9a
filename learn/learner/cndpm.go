package learner

import (
	"context"
	"fmt"
	"math"

	"ocl"
	"ocl/internal/portable"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/learn/optim"
	"ocl/nn"
	"ocl/nn/arch"
	"ocl/nn/tensor"
	"ocl/rng"
)

// CNDPM is the continual neural Dirichlet process mixture (survey §methods; Lee et al. 2020): a mixture of experts that
// grows. An expert is a variational autoencoder, which says how unlikely an image is, and a classifier. With the counts
// n_k of the experts, q_k = −log p_k(x) of the autoencoders and c_k = −log p_k(y|x) of the classifiers:
//
//	Observe:  k* = argmin_k  q_k + c_k − log n_k,  k = 0..K, where expert 0 is never trained and log n_0 = LogAlpha
//	          k* = 0: the sample goes to the short-term memory. Otherwise the experts learn it, each by its
//	          responsibility
//	sleep:    once Capacity samples are stored, a new expert is trained on them alone, and the memory is emptied
//	Predict:  p(y|x) ∝ Σ_k n_k p_k(x) p_k(y|x),  k = 1..K
//
// In the choice, c_k is computed of probabilities raised to the power 1/Chill and scaled to sum 1, so that it counts
// beside the thousands of nats of q_k; its gradient is taken without Chill. Before the first expert there is, Predict
// gives the class with the nearest mean of the stored images.
//
// The initial parameters of expert k come from the source "cndpm/expert/k" of InitSeed. Training draws samples of a
// sleep from "cndpm/samples" of Seed and codes from "cndpm/codes". A prediction draws the codes of an image from a
// source whose name contains the image, so it does not depend on other images and changes no state.
//
// All passes run with the workers of WS. Set the fields before the first call.
type CNDPM struct {
	WS       *nn.Workspace
	Opt      optim.Settings // of each expert
	Memory   *memory.Store  // short-term: has room for 2·Capacity − 1 samples
	Capacity int            // samples before a sleep
	VAE      arch.VAEConfig
	Net      arch.SharingConfig
	Inherit  int // classes of the learners whose states fit too, as [nn.Network.Inherit]; 0 means none

	LogAlpha        float64 // how readily samples begin a new expert: the log-count of expert 0
	Chill           float64 // greater than 0
	VAESteps        int     // of a sleep
	ClassifierSteps int     // of a sleep
	Batch           int     // samples of a step of a sleep, drawn with replacement
	L2              float64 // weight of the squared parameters in a sleep
	Clip            float64 // bound of each gradient, either way
	WakeRate        float64 // factor of the learning rate after the sleep
	ClassifierRate  float64 // factor of the learning rate of classifiers
	Seed, InitSeed  uint64

	atOnce  int     // together, but in a test
	blank   *expert // the placeholder
	experts []*expert
	samples *rng.Source
	codes   *rng.Source
	normals func(dst []float32) // of training, from codes; a test injects others
	slot    func(n int) int     // of n, from samples
	steps   int64
	asleep  bool
	done    int64         // steps of this sleep
	stats   ocl.StepStats // of the batch that it sleeps over
	flops   int64         // of the last Observe, its parts together
	watch   func(done, total int)

	wakeful lateral // of all experts
	absent  lateral // of the placeholder
	asleepV *arch.VAEs
	asleepN *arch.Sharings

	drawn    memory.Buffer // of a step of a sleep
	slots    []int
	eps      [][]float32 // by expert [B,Draws,Latent]
	weight   []float32   // [B]
	nll      [][]float64 // by expert [B], of the autoencoder
	again    []float64   // [B], of one that learns
	scores   []float64   // [K]
	chilled  [][]float64 // by expert [B], of the classifier
	logP     [][]float64 // by expert [B,K], of the classifier
	share    [][]float64 // by expert [B]: responsibilities
	gradient tensor.Tensor
	means    classMeans
}

// expert is one of the mixture.
type expert struct {
	vae      *arch.VAE
	net      *arch.Sharing
	opts     [3]optim.Optimizer // of its networks
	logCount float64
	shown    []float32 // some of them, [shownImages,C,H,W] or fewer
	born     int64     // batches observed when its sleep began, the one under way included
	stored   int64     // samples it was made of
}

// networks returns the three networks of an expert.
func (e *expert) networks() []*nn.Network {
	return []*nn.Network{e.vae.Encoder, e.vae.Decoder, e.net.Net}
}

// parameters is their number of parameters.
func (e *expert) parameters() int { return e.vae.Parameters() + len(e.net.Net.Params()) }

// lateral is the passes through some experts.
type lateral struct {
	vaes *arch.VAEs
	nets *arch.Sharings
	of   int // experts
}

// together is the number of images that go through all experts at once. With 45 experts for 32×32 pixels the maps take
// 3 MB an image. The gradients of larger batches are summed part by part.
const together = 20

var (
	_ ocl.Pausing = (*CNDPM)(nil)
	_ Scored      = (*CNDPM)(nil)
	_ Storing     = (*CNDPM)(nil)
	_ Mixture     = (*CNDPM)(nil)
)

// Stored implements [Storing]: the short-term memory.
func (c *CNDPM) Stored() *memory.Store { return c.Memory }

// prepare makes what does not depend on a state.
func (c *CNDPM) prepare() error {
	if c.blank != nil {
		return nil
	}
	if c.Capacity < c.Batch || c.Batch < 1 {
		return fmt.Errorf("learner: cndpm: a short-term memory of %d samples is smaller than the batch of a sleep, %d. Use a larger memory",
			c.Capacity, c.Batch)
	}
	if !(c.Chill > 0) {
		return fmt.Errorf("learner: cndpm: a chill of %v. Use a number above 0", c.Chill)
	}
	if c.atOnce == 0 {
		c.atOnce = together
	}
	c.samples, c.codes = rng.New(c.Seed, "cndpm/samples"), rng.New(c.Seed, "cndpm/codes")
	c.slot, c.normals = c.samples.IntN, func(dst []float32) { normals(dst, c.codes) }
	return c.placeholder()
}

// normals fills dst with standard normal numbers.
func normals(dst []float32, src *rng.Source) {
	for i := range dst {
		dst[i] = float32(src.NormFloat64())
	}
}

// placeholder makes expert 0, which is as large as the first expert.
func (c *CNDPM) placeholder() (err error) {
	c.blank, err = c.newExpert(0)
	c.absent = lateral{}
	return err
}

// newExpert draws expert k, 0 for the placeholder.
func (c *CNDPM) newExpert(k int) (e *expert, err error) {
	src := rng.New(c.InitSeed, fmt.Sprintf("cndpm/expert/%d", k))
	e = &expert{}
	if e.vae, err = c.VAE.New(max(0, k-1), src); err != nil {
		return nil, err
	}
	if e.net, err = c.Net.New(max(0, k-1), src); err != nil {
		return nil, err
	}
	if c.Inherit > 0 {
		e.net.Net.Inherit(c.Inherit)
	}
	for i := range e.opts {
		e.opts[i] = c.Opt.New()
	}
	return e, nil
}

// setRates makes the learning rates of an expert those of its sleep, or those of the time after it.
func (c *CNDPM) setRates(e *expert, asleep bool) {
	rate := c.Opt.New().LR()
	if !asleep {
		rate *= c.WakeRate
	}
	for i, opt := range e.opts {
		opt.SetLR(rate)
		if i == 2 {
			opt.SetLR(rate * c.ClassifierRate)
		}
	}
}

// Observe implements [ocl.Learner] and [ocl.Pausing]. Loss is the mean of what the experts learned from, over the
// samples that were not stored. The experts learn a batch in one piece; a sleep looks at ctx before each of its steps.
func (c *CNDPM) Observe(ctx context.Context, b ocl.Batch) (ocl.StepStats, error) {
	if err := c.prepare(); err != nil {
		return ocl.StepStats{}, err
	}
	if !c.asleep {
		stats := ocl.StepStats{Samples: b.Len()}
		if err := ctx.Err(); err != nil {
			return stats, fmt.Errorf("learner: cndpm: step %d: %w", c.steps+1, err)
		}
		if b.Len() == 0 {
			return stats, nil
		}
		if err := c.check(b); err != nil {
			return stats, fmt.Errorf("learner: cndpm: step %d: %w", c.steps+1, err)
		}
		c.steps++
		before := c.WS.FLOPs()
		err := c.wake(b, &stats)
		c.flops = c.WS.FLOPs() - before
		if err != nil {
			return stats, fmt.Errorf("learner: cndpm: step %d: %w", c.steps, err)
		}
		if c.Memory.Len() < c.Capacity {
			return stats, nil
		}
		if err := c.fallAsleep(stats); err != nil {
			return stats, fmt.Errorf("learner: cndpm: step %d: %w", c.steps, err)
		}
	}
	before := c.WS.FLOPs()
	err := c.sleep(ctx)
	c.flops += c.WS.FLOPs() - before
	if err != nil {
		return ocl.StepStats{}, fmt.Errorf("learner: cndpm: step %d: asleep, %d of %d steps are done: %w", c.steps, c.done,
			c.sleepSteps(), err)
	}
	stats := c.stats
	c.stats = ocl.StepStats{}
	return stats, nil
}

// check refuses a batch that cannot be learned.
func (c *CNDPM) check(b ocl.Batch) error {
	if b.Len() > c.Capacity {
		return fmt.Errorf("a batch of %d samples is larger than the short-term memory of %d. Use a larger memory or smaller batches",
			b.Len(), c.Capacity)
	}
	return checkClasses(b, c.Net.Classes)
}

// wake learns a batch: it sends each sample to the short-term memory or to the experts.
func (c *CNDPM) wake(b ocl.Batch, stats *ocl.StepStats) error {
	n := b.Len()
	c.slots = c.slots[:0]
	if len(c.experts) == 0 {
		if c.Memory.Len() > 0 {
			c.classMeans()
			for i, y := range b.Y {
				if c.means.nearest(b.X.Row(i)) == y {
					stats.Correct++
				}
			}
		}
		for i := range n {
			c.slots = append(c.slots, c.Memory.Len()+i)
		}
		c.store(b)
		return nil
	}
	if err := c.measure(b); err != nil {
		return err
	}
	free, learned := c.Memory.Len(), 0
	for i := range n {
		if argmax(c.mixed(i)) == b.Y[i] {
			stats.Correct++
		}
		if c.assign(i) {
			c.slots, free = append(c.slots, free), free+1
			continue
		}
		c.slots = append(c.slots, -1)
		learned++
		for k := range c.experts {
			stats.Loss += float64(c.share[k+1][i] * (c.nll[k+1][i] + c.chilled[k+1][i]))
		}
	}
	stats.Loss /= float64(max(1, learned))
	if err := diverged(stats.Loss); err != nil {
		return err
	}
	c.learn(b)
	c.store(b)
	return nil
}

// store puts the rows of a batch into c.slots and keeps the class means up to date.
func (c *CNDPM) store(b ocl.Batch) {
	c.Memory.Put(b, c.slots)
	for i, slot := range c.slots {
		if slot >= 0 && c.means.of > 0 {
			c.means.add(b.X.Row(i), b.Y[i])
		}
	}
}

// eachPart calls f for the parts of n images that go through the experts together.
func (c *CNDPM) eachPart(n int, f func(lo, hi int) error) error {
	for lo := 0; lo < n; lo += c.atOnce {
		if err := f(lo, min(lo+c.atOnce, n)); err != nil {
			return err
		}
	}
	return nil
}

// measure finds how unlikely each sample is for each expert and for the placeholder: c.nll, c.chilled and c.logP.
func (c *CNDPM) measure(b ocl.Batch) error {
	n, classes, codes := b.Len(), c.Net.Classes, c.VAE.Draws*c.VAE.Latent
	c.passes()
	if c.absent.vaes == nil {
		c.absent = c.pass([]*expert{c.blank}, 1)
	}
	c.reserve(len(c.experts)+1, n)
	for k := range len(c.experts) + 1 {
		c.eps[k] = grow(c.eps[k], n*codes)
		c.normals(c.eps[k])
	}
	return c.eachPart(n, func(lo, hi int) error {
		x := b.X.Rows(lo, hi)
		for k := range len(c.experts) + 1 {
			p, at := &c.wakeful, k-1
			if k == 0 {
				p, at = &c.absent, 0
			}
			if k <= 1 { // the first of its pass
				p.vaes.Encode(x)
				p.nets.Classify(x)
			}
			nll, chilled := c.nll[k][lo:hi], c.chilled[k][lo:hi]
			p.vaes.NLL(nll, at, c.eps[k][lo*codes:hi*codes])
			for i, y := range b.Y[lo:hi] {
				logP := c.logP[k][(lo+i)*classes:][:classes]
				loss.LogSoftmax(logP, p.nets.Logits(at, i))
				chilled[i] = chilledNLL(logP, y, c.Chill)
			}
			for _, v := range [][]float64{nll, chilled} {
				if err := checkFinite("likelihood", v); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// reserve makes room for n images and so many experts, the placeholder included.
func (c *CNDPM) reserve(experts, n int) {
	for len(c.eps) < experts {
		c.eps, c.nll, c.chilled = append(c.eps, nil), append(c.nll, nil), append(c.chilled, nil)
		c.logP, c.share = append(c.logP, nil), append(c.share, nil)
	}
	for k := range experts {
		c.nll[k], c.chilled[k], c.share[k] = grow(c.nll[k], n), grow(c.chilled[k], n), grow(c.share[k], n)
		c.logP[k] = grow(c.logP[k], n*c.Net.Classes)
	}
	c.weight = grow(c.weight, n)
}

// grow is v with so many values: its own, or undefined ones.
func grow[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}

// chilledNLL is −log of the probability of class y where log p [K] are divided by chill and then scaled to sum 1.
func chilledNLL(logP []float64, y ocl.Label, chill float64) float64 {
	most := math.Inf(-1)
	for _, v := range logP {
		most = max(most, v)
	}
	sum := 0.0
	for _, v := range logP {
		sum += portable.Exp((v - most) / chill)
	}
	return portable.Log(sum) - (logP[y]-most)/chill
}

// logSumExp is log(e^a + e^b).
func logSumExp(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + portable.Log1p(portable.Exp(b-a))
}

// joint is −log of the joint likelihood of sample i and expert k, up to a constant and with the chilled likelihood of
// the label; less is more likely. k = 0 is the placeholder.
func (c *CNDPM) joint(k, i int) float64 {
	logCount := c.LogAlpha
	if k > 0 {
		logCount = c.experts[k-1].logCount
	}
	return c.nll[k][i] + c.chilled[k][i] - logCount
}

// assign says whether sample i goes to the short-term memory, and sets the responsibilities of the experts, c.share.
// They sum to 1, less the 1e-7 of the authors' code, where the sample does not go there.
func (c *CNDPM) assign(i int) (stored bool) {
	least, stored := c.joint(0, i), true
	for k := range c.experts {
		if v := c.joint(k+1, i); v < least {
			least, stored = v, false
		}
	}
	sum := 0.0
	for k := range c.experts {
		e := portable.Exp(least - c.joint(k+1, i))
		c.share[k+1][i] = e
		sum += e
	}
	for k := range c.experts {
		c.share[k+1][i] /= sum + 1e-7
	}
	return stored
}

// learn makes a step of each expert on the samples that were not stored, each by its responsibility. The loss is their
// sum. An expert without any responsibility for the batch, those that were stored included, makes no step.
func (c *CNDPM) learn(b ocl.Batch) {
	n, classes, codes := b.Len(), c.Net.Classes, c.VAE.Draws*c.VAE.Latent
	var active []int
	for k, e := range c.experts {
		usage := 0.0
		for i := range n {
			usage += c.share[k+1][i]
		}
		e.logCount = logSumExp(e.logCount, portable.Log(usage))
		if float32(usage) > 0 { // as in the authors' float32; what is less moves no parameter
			active = append(active, k)
			for _, net := range e.networks() {
				clear(net.Grads())
			}
		}
	}
	c.again = grow(c.again, n)
	_ = c.eachPart(n, func(lo, hi int) error {
		if n > c.atOnce { // other images went through since
			c.wakeful.vaes.Encode(b.X.Rows(lo, hi))
			c.wakeful.nets.Classify(b.X.Rows(lo, hi))
		}
		weight := c.weight[lo:hi]
		for _, k := range active {
			some := false
			for i := range weight {
				weight[i] = 0
				if c.slots[lo+i] < 0 {
					weight[i] = float32(c.share[k+1][lo+i])
				}
				some = some || weight[i] > 0
			}
			if !some {
				continue
			}
			c.wakeful.vaes.Learn(c.again[lo:hi], k, c.eps[k+1][lo*codes:hi*codes], weight)
			c.classifierGradient(c.logP[k+1][lo*classes:hi*classes], b.Y[lo:hi], weight)
			c.wakeful.nets.Learn(k, &c.gradient)
		}
		return nil
	})
	for _, k := range active {
		for i, net := range c.experts[k].networks() {
			optim.ClipValue(net, c.WS, 0, c.Clip)
			c.experts[k].opts[i].Step(net, c.WS)
		}
	}
}

// classifierGradient sets c.gradient [B,K] to that of Σ weight·(−log p_y), given log p [B,K].
func (c *CNDPM) classifierGradient(logP []float64, y []ocl.Label, weight []float32) {
	classes := c.Net.Classes
	c.gradient.Resize(len(y), classes)
	for i, label := range y {
		row := c.gradient.Row(i)
		for j, v := range logP[i*classes:][:classes] {
			p := portable.Exp(v)
			if ocl.Label(j) == label {
				p--
			}
			row[j] = float32(float64(weight[i]) * p)
		}
	}
}

// pass makes the passes through experts; those from learning on can learn.
func (c *CNDPM) pass(all []*expert, learning int) lateral {
	return lateral{vaes: c.VAE.Pass(c.WS, vaesOf(all), c.atOnce, learning),
		nets: c.Net.Pass(c.WS, netsOf(all), c.atOnce, learning), of: len(all)}
}

func vaesOf(all []*expert) (list []*arch.VAE) {
	for _, e := range all {
		list = append(list, e.vae)
	}
	return list
}

func netsOf(all []*expert) (list []*arch.Sharing) {
	for _, e := range all {
		list = append(list, e.net)
	}
	return list
}

// trained are the experts whose sleep has ended.
func (c *CNDPM) trained() []*expert {
	if c.asleep {
		return c.experts[:len(c.experts)-1]
	}
	return c.experts
}

// passes makes the passes through the experts that there are.
func (c *CNDPM) passes() {
	if all := c.trained(); c.wakeful.of != len(all) {
		c.wakeful = lateral{} // the old one can go first
		c.wakeful = c.pass(all, 0)
	}
}

// forgetPasses drops all passes: their experts have changed.
func (c *CNDPM) forgetPasses() {
	c.wakeful, c.asleepV, c.asleepN = lateral{}, nil, nil
}

// Cost implements [ocl.Learner]. Before the first expert there is no network to predict with; the distances to class
// means are not counted. The codes of one expert are not needed, so only its classifier is counted for an image.
func (c *CNDPM) Cost() ocl.Cost {
	cost := ocl.Cost{StepFLOPs: c.flops}
	all := c.trained()
	for _, e := range all {
		cost.Parameters += e.parameters()
	}
	if len(all) > 0 {
		c.passes()
		cost.ImageFLOPs = c.wakeful.nets.FLOPs()
		if len(all) > 1 {
			cost.ImageFLOPs += c.wakeful.vaes.FLOPs()
		}
	}
	return cost
}
