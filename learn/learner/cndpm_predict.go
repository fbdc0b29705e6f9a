package learner

import (
	"encoding/binary"
	"fmt"
	"math"

	"ocl"
	"ocl/internal/portable"
	"ocl/learn/loss"
	"ocl/learn/memory"
	"ocl/nn/tensor"
	"ocl/rng"
)

// shownImages is the number of training samples that an expert keeps, to show their reconstructions.
const shownImages = 4

// examples are some of the stored images, spread over the memory.
func (c *CNDPM) examples() []float32 {
	n := min(shownImages, c.Memory.Len())
	slots := make([]int, n)
	for i := range slots {
		slots[i] = i * c.Memory.Len() / n
	}
	return new(memory.Buffer).Gather(c.Memory, slots).X.Data
}

// Experts implements [Mixture].
func (c *CNDPM) Experts() []Expert {
	var list []Expert
	for _, e := range c.trained() {
		list = append(list, Expert{Step: int(e.born), Stored: int(e.stored), Count: portable.Exp(e.logCount),
			Parameters: e.parameters()})
	}
	return list
}

// Reconstructions implements [Mixture]: the autoencoder decodes the means of the images' codes.
func (c *CNDPM) Reconstructions(k int) (images, decoded *tensor.Tensor) {
	e := c.trained()[k]
	n := len(e.shown) / (c.VAE.Channels * c.VAE.Height * c.VAE.Width)
	c.passes()
	images = &tensor.Tensor{Shape: []int{n, c.VAE.Channels, c.VAE.Height, c.VAE.Width}, Data: e.shown}
	decoded = tensor.New(images.Shape...)
	c.wakeful.vaes.Encode(images)
	for i := range n {
		c.wakeful.vaes.Reconstruct(decoded.Row(i), k, i)
	}
	return images, decoded
}

// Predict implements [ocl.Learner].
func (c *CNDPM) Predict(dst []ocl.Label, x *tensor.Tensor) error {
	if err := checkRoom(dst, x); err != nil || len(dst) == 0 {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	if len(c.trained()) == 0 {
		if c.Memory.Len() == 0 {
			return fmt.Errorf("learner: cndpm: there is no expert and no stored sample to predict by. Observe a batch before a prediction")
		}
		c.classMeans()
		for i := range dst {
			dst[i] = c.means.nearest(x.Row(i))
		}
		return nil
	}
	return c.eachScored(x, func(i int, scores []float64) { dst[i] = argmax(scores) })
}

// eachScored calls f with the scores of each image.
func (c *CNDPM) eachScored(x *tensor.Tensor, f func(i int, scores []float64)) error {
	return c.eachPart(x.Dim(0), func(lo, hi int) error {
		if err := c.explain(x.Rows(lo, hi)); err != nil {
			return err
		}
		for i := lo; i < hi; i++ {
			f(i, c.mixed(i-lo))
		}
		return nil
	})
}

// explain finds how unlikely images that are predicted, few of them, are for each expert: c.nll and c.logP. The only
// expert's classifier decides alone, so its autoencoder is not asked.
func (c *CNDPM) explain(x *tensor.Tensor) error {
	n, all := x.Dim(0), c.trained()
	c.passes()
	c.reserve(len(all)+1, n)
	c.wakeful.nets.Classify(x)
	sources := make([]*rng.Source, n)
	if len(all) > 1 {
		c.wakeful.vaes.Encode(x)
		for i := range sources {
			sources[i] = c.sourceOf(x.Row(i))
		}
	}
	for k := range all {
		clear(c.nll[k+1])
		if len(all) > 1 {
			per := c.VAE.Draws * c.VAE.Latent
			c.eps[0] = grow(c.eps[0], n*per)
			for i, src := range sources {
				normals(c.eps[0][i*per:(i+1)*per], src)
			}
			c.wakeful.vaes.NLL(c.nll[k+1], k, c.eps[0])
		}
		for i := range n {
			logits := c.wakeful.nets.Logits(k, i)
			if err := checkFinite("logit", logits); err != nil {
				return err
			}
			loss.LogSoftmax(c.logP[k+1][i*c.Net.Classes:][:c.Net.Classes], logits)
		}
		if err := checkFinite("likelihood", c.nll[k+1]); err != nil {
			return err
		}
	}
	return nil
}

// sourceOf returns the source of the latent codes for the prediction of an image. It depends on the image and the seed
// alone, so a prediction draws the same codes each time.
func (c *CNDPM) sourceOf(image []float32) *rng.Source {
	name := []byte("cndpm/predict/")
	for _, v := range image {
		name = binary.LittleEndian.AppendUint32(name, math.Float32bits(v))
	}
	return rng.New(c.Seed, string(name))
}

// mixed is log p(y|x) ∝ Σ_k n_k p_k(x) p_k(y|x) of image i, less a constant, by c.nll and c.logP, until the next call.
func (c *CNDPM) mixed(i int) (scores []float64) {
	c.scores = grow(c.scores, c.Net.Classes)
	dst, all := c.scores, c.trained()
	most := math.Inf(-1)
	for k, e := range all {
		most = max(most, e.logCount-c.nll[k+1][i])
	}
	for y := range dst {
		dst[y] = math.Inf(-1)
		for k, e := range all {
			dst[y] = logSumExp(dst[y], e.logCount-c.nll[k+1][i]-most+c.logP[k+1][i*len(dst)+y])
		}
	}
	return dst
}

// Scores implements [Scored]. Without an expert there are none, which is an error.
func (c *CNDPM) Scores(dst []float64, x *tensor.Tensor) error {
	if err := c.prepare(); err != nil {
		return err
	}
	if len(c.trained()) == 0 {
		return fmt.Errorf("learner: cndpm: no expert was made yet, so classes have no probabilities. Learn until the short-term memory of %d samples was full",
			c.Capacity)
	}
	return c.eachScored(x, func(i int, scores []float64) { copy(dst[i*len(scores):], scores) })
}

// classMeans makes the means of the stored images those of the memory.
func (c *CNDPM) classMeans() {
	if c.means.of == c.Memory.Len() {
		return
	}
	c.means = classMeans{}
	var buffer memory.Buffer
	for slot := range c.Memory.Len() {
		one := buffer.Gather(c.Memory, []int{slot})
		c.means.add(one.X.Row(0), one.Y[0])
	}
}

// classMeans is the sums of images by class.
type classMeans struct {
	sums   [][]float64 // by class; nil of a class without images
	counts []float64
	of     int // images
}

// add counts an image.
func (m *classMeans) add(image []float32, y ocl.Label) {
	for len(m.sums) <= int(y) {
		m.sums, m.counts = append(m.sums, nil), append(m.counts, 0)
	}
	if m.sums[y] == nil {
		m.sums[y] = make([]float64, len(image))
	}
	for i, v := range image {
		m.sums[y][i] += float64(v)
	}
	m.counts[y]++
	m.of++
}

// nearest is the class of the nearest mean by Euclidean distance in pixels, the lowest class where several are as near.
func (m *classMeans) nearest(image []float32) (label ocl.Label) {
	least := math.Inf(1)
	for y, sum := range m.sums {
		if sum == nil {
			continue
		}
		distance := 0.0
		for i, v := range sum {
			d := float64(image[i]) - v/m.counts[y]
			distance += float64(d * d)
		}
		if distance < least {
			least, label = distance, ocl.Label(y)
		}
	}
	return label
}
