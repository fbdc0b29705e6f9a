package loss

import (
	"fmt"
	"slices"

	"ocl"
	"ocl/internal/portable"
	"ocl/nn/tensor"
)

// Adjusted is the logit-adjusted softmax (Huang et al. 2024, Online Continual Learning via Logit Adjusted Softmax):
// cross entropy of the logits plus τ·ln n_c,
//
//	L = mean over rows of −log(n_y^τ·e^{z_y} / Σ_c n_c^τ·e^{z_c})
//
// where n_c counts the rows of class c in the last steps ([Input.Counts]). Predictions take z as it is. A class without
// such a row is left out of the sum; the authors' code gives it ln 10⁻⁵⁰. With τ = 0 it is [CrossEntropy]. It allocates
// nothing for up to 256 classes.
type Adjusted struct{ Tau float64 }

// Decoupled is the loss of LODE (Liang and Li 2023, Loss Decoupling for Task-Agnostic Continual Learning): incoming
// rows are told apart from the other classes of their batch by a softmax over these alone, and from all classes by a
// loss of its own with the weight β,
//
//	ℓ = lse_batch(z) − z_y + β·(lse_all(z) − lse_batch(z))      β = Rho·new/old
//
// with new the classes of the batch, old those that were observed before ([Input.Seen]) and are not in it, and lse the
// logarithm of the sum of e^z. Other rows have cross entropy over all classes. With β = 1, which it also is where
// nothing is old, it is [CrossEntropy]. The authors halve the sum of both batches, which the learning rate does here.
type Decoupled struct{ Rho float64 }

var (
	_ Criterion = Adjusted{}
	_ Criterion = Decoupled{}
)

// Eval implements [Criterion].
func (c Adjusted) Eval(d *tensor.Tensor, in Input) (float64, error) {
	rows, classes, err := in.check("Adjusted", d)
	if err != nil {
		return 0, err
	}
	if c.Tau == 0 {
		return CrossEntropy{}.Eval(d, in)
	}
	var room [256]ocl.Label
	set := room[:0]
	for k := range classes {
		if k < len(in.Counts) && in.Counts[k] > 0 {
			set = append(set, ocl.Label(k))
		}
	}
	loss, mean := 0.0, 1/float64(rows)
	for i, y := range in.Y {
		if _, counted := slices.BinarySearch(set, y); !counted {
			return 0, fmt.Errorf("loss: row %d: class %d is not among the counts of the step. Count the rows of each step", i, y)
		}
		z := d.Row(i)
		copy(z, in.Logits.Row(i))
		for _, k := range set {
			z[k] += float32(c.Tau * portable.Log(float64(in.Counts[k])))
		}
		loss += among(z, z, set, y, mean)
	}
	return loss, nil
}

// Eval implements [Criterion].
func (c Decoupled) Eval(d *tensor.Tensor, in Input) (float64, error) {
	rows, _, err := in.check("Decoupled", d)
	if err != nil {
		return 0, err
	}
	if !in.Role.Has(Incoming) {
		return CrossEntropy{}.Eval(d, in)
	}
	var room [256]ocl.Label
	batch := room[:0]
	for i, y := range in.Y {
		if in.arrived(i) {
			batch = append(batch, y)
		}
	}
	slices.Sort(batch)
	batch = slices.Compact(batch)
	old := 0
	for _, k := range in.Seen {
		if _, present := slices.BinarySearch(batch, k); !present {
			old++
		}
	}
	beta := 1.0
	if old > 0 {
		beta = c.Rho * float64(len(batch)) / float64(old)
	}
	loss, mean := 0.0, 1/float64(rows)
	for i, y := range in.Y {
		z, g := in.Logits.Row(i), d.Row(i)
		if beta == 1 || !in.arrived(i) {
			loss += among(g, z, nil, y, mean)
			continue
		}
		own, ownSum := sumExp(z, batch, 1)
		most, sum := sumExp(z, nil, 1)
		lseBatch, lseAll := portable.Log(ownSum)+own, portable.Log(sum)+most
		loss += float64((lseBatch - float64(z[y]) + float64(beta*(lseAll-lseBatch))) * mean)
		for k, v := range z {
			p := float64(beta * portable.Exp(float64(v)-lseAll))
			if _, present := slices.BinarySearch(batch, ocl.Label(k)); present {
				p += float64((1 - beta) * portable.Exp(float64(v)-lseBatch))
			}
			if ocl.Label(k) == y {
				p--
			}
			g[k] = float32(p * mean)
		}
	}
	return loss, nil
}

// arrived says whether a row is of the incoming batch, and not from memory.
func (in Input) arrived(row int) bool {
	return in.Role.Has(Incoming) && (in.Slots == nil || in.Slots[row] < 0)
}
