package learner

import (
	"context"
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/memory"
	"ocl/nn"
	"ocl/nn/tensor"
)

// NCM is the nearest-class-mean classifier (survey §trick_detail, eq:prototye): with the features φ of the network
// and the stored samples M_y of class y,
//
//	μ_y = (1/|M_y|) Σ_{x∈M_y} φ(x)      y* = argmin_y ‖φ(x) − μ_y‖
//
// where φ(x) and then μ_y are scaled to length 1. A class without a stored sample has no mean and is not predicted.
// Batch norm uses its running statistics. It draws nothing. The zero value has no means.
type NCM struct {
	classes []ocl.Label // those with a mean, rising
	means   []float32   // [len(classes),D]
	sums    []float64   // [capacity,D], while fitting
	counts  []int       // [capacity]
	slots   []int
	samples memory.Buffer
	watch   func(done, total int) // called after each batch of Fit; may be nil
}

// fitBatch is the number of stored samples whose features are computed at once. Results do not depend on it.
const fitBatch = 200

// Fit computes the means of the classes in memory with the network as it is. It checks ctx between batches and
// returns an error that wraps its error. A feature that is not a finite number is an error that wraps ErrDiverged.
// After an error the means stay as they were. An empty memory leaves no means.
func (c *NCM) Fit(ctx context.Context, net *nn.Network, ws *nn.Workspace, m *memory.Store) error {
	dim := net.Info().FeatureDim
	if need := net.Info().Capacity * dim; len(c.sums) != need {
		c.sums, c.counts = make([]float64, need), make([]int, net.Info().Capacity)
	}
	clear(c.sums)
	clear(c.counts)
	for from := 0; from < m.Len(); from += fitBatch {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("learner: class means: %w", err)
		}
		c.slots = c.slots[:0]
		for slot := from; slot < min(from+fitBatch, m.Len()); slot++ {
			c.slots = append(c.slots, slot)
		}
		b := c.samples.Gather(m, c.slots)
		features := net.Predict(ws, b.X).Features
		for i, y := range b.Y {
			f := features.Row(i)
			scale := inverseLength(f)
			sum := c.sums[int(y)*dim:][:dim]
			for k, v := range f {
				sum[k] += float64(float64(v) * scale)
			}
			c.counts[y]++
		}
		if c.watch != nil {
			c.watch(from/fitBatch+1, (m.Len()+fitBatch-1)/fitBatch)
		}
	}
	if err := checkFinite("class mean", c.sums); err != nil {
		return err
	}
	c.Forget()
	for y, n := range c.counts {
		if n == 0 {
			continue
		}
		sum := c.sums[y*dim:][:dim]
		length := 0.0
		for _, v := range sum {
			length += float64(v * v)
		}
		// The division by |M_y| is left out, because the mean is scaled to length 1 anyway. A class whose features are all 0
		// keeps the mean 0.
		scale := 0.0
		if length > 0 {
			scale = 1 / math.Sqrt(length)
		}
		c.classes = append(c.classes, ocl.Label(y))
		for _, v := range sum {
			c.means = append(c.means, float32(v*scale))
		}
	}
	return nil
}

// inverseLength is 1/‖f‖, or 0 for the zero vector.
func inverseLength(f []float32) float64 {
	sum := 0.0
	for _, v := range f {
		sum += float64(v) * float64(v)
	}
	if sum == 0 {
		return 0
	}
	return 1 / math.Sqrt(sum)
}

// Fitted tells whether there are means to predict by.
func (c *NCM) Fitted() bool { return len(c.classes) > 0 }

// Means are copies of the classes that have a mean, rising, and of their means, D numbers for each.
func (c *NCM) Means() (classes []ocl.Label, means []float32) {
	return slices.Clone(c.classes), slices.Clone(c.means)
}

// CopyFrom makes the means those of src, for a goroutine that uses them while src finds others.
func (c *NCM) CopyFrom(src *NCM) {
	c.classes, c.means = append(c.classes[:0], src.classes...), append(c.means[:0], src.means...)
}

// Forget drops the means: the network or the memory has changed.
func (c *NCM) Forget() { c.classes, c.means = c.classes[:0], c.means[:0] }

// Classify writes the class of the nearest mean for each row of features [B,D] to dst, the lowest class where several
// are as near. Features that are not finite numbers are an error that wraps ErrDiverged. It panics without means.
func (c *NCM) Classify(dst []ocl.Label, features *tensor.Tensor) error {
	if !c.Fitted() {
		panic("learner: NCM classifies without means; Fit comes first")
	}
	if err := checkFinite("feature", features.Data); err != nil {
		return err
	}
	for i := range dst {
		f := features.Row(i)
		scale := inverseLength(f)
		nearest := math.Inf(1)
		dst[i] = c.classes[0]
		for j, y := range c.classes {
			if distance := c.square(j, f, scale); distance < nearest {
				nearest, dst[i] = distance, y
			}
		}
	}
	return nil
}

// square is the square of the distance between mean j and the features f [D] times scale.
func (c *NCM) square(j int, f []float32, scale float64) float64 {
	distance := 0.0
	for k, mean := range c.means[j*len(f):][:len(f)] {
		d := float64(float64(f[k])*scale) - float64(mean)
		distance += float64(d * d)
	}
	return distance
}

// Squares writes the square of the distance of the features f [D], scaled to length 1, from each class mean to dst [K],
// from 0 to 4; it is infinite for a class without a mean. It changes nothing, so many goroutines may call it at once.
// Features that are not finite numbers are an error that wraps ErrDiverged. It panics without means.
func (c *NCM) Squares(dst []float64, f []float32) error {
	if !c.Fitted() {
		panic("learner: NCM measures distances without means; Fit comes first")
	}
	if err := checkFinite("feature", f); err != nil {
		return err
	}
	for y := range dst {
		dst[y] = math.Inf(1)
	}
	scale := inverseLength(f)
	for j, y := range c.classes {
		dst[y] = c.square(j, f, scale)
	}
	return nil
}

// Classes returns the classes that have a mean, rising. The caller does not change the list.
func (c *NCM) Classes() []ocl.Label { return c.classes }

// State is the means of features of the given length, if there are any.
func (c *NCM) State(dim int) checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Int32List("classes", &c.classes),
		checkpoint.List("means", &c.means),
		checkpoint.Then(func() error {
			if len(c.means) != len(c.classes)*dim {
				return fmt.Errorf("learner: class means: %d numbers for %d classes instead of %d for each, so they belong to another configuration. Use the one they were saved with",
					len(c.means), len(c.classes), dim)
			}
			return nil
		}),
	}
}
