package loss

import (
	"fmt"
	"math"

	"ocl"
	"ocl/tensor"
)

// Distiller is a loss of logits z [B,K] against those of a teacher, z' [B,K].
type Distiller interface {
	// AddTo adds weight times dL/dz to d [B,K] and returns the mean loss over the B rows, which weight does not scale.
	AddTo(d, z, teacher *tensor.Tensor, weight float64) float64
}

// Distillation is knowledge distillation by softmax at a temperature T above 0 (survey §trick_detail; Hinton et al. 2015),
// over all K outputs:
//
//	L = T² · mean over rows of −Σ_c softmax(z'/T)_c · log softmax(z/T)_c
//	dL/dz = T · (softmax(z/T) − softmax(z'/T)) / B
//
// Sums are in float64. It allocates nothing.
type Distillation struct{ T float64 }

var (
	_ Distiller = Distillation{}
	_ Distiller = SigmoidDistillation{}
)

// AddTo implements [Distiller].
func (k Distillation) AddTo(d, z, teacher *tensor.Tensor, weight float64) float64 {
	rows := checkDistilled(d, z, teacher)
	mean, loss := 1/float64(rows), 0.0
	for i := range rows {
		zs, ts, ds := z.Row(i), teacher.Row(i), d.Row(i)
		logSum, teacherSum := k.logSumExp(zs), k.logSumExp(ts)
		for c, v := range zs {
			p := math.Exp(float64(ts[c])/k.T - teacherSum)
			logQ := float64(v)/k.T - logSum
			loss -= p * logQ
			ds[c] += float32(weight * mean * k.T * (math.Exp(logQ) - p))
		}
	}
	return loss * mean * k.T * k.T
}

// logSumExp is log Σ exp(z/T).
func (k Distillation) logSumExp(z []float32) float64 {
	largest := math.Inf(-1)
	for _, v := range z {
		largest = math.Max(largest, float64(v)/k.T) // NaN if any is
	}
	sum := 0.0
	for _, v := range z {
		sum += math.Exp(float64(v)/k.T - largest)
	}
	return largest + math.Log(sum)
}

// SigmoidDistillation treats each of some classes as a question of its own (Rebuffi et al. 2017): binary cross entropy with
// the teacher's probability as the target, summed over Classes,
//
//	L = mean over rows of −Σ_c [σ(z'_c)·log σ(z_c) + (1 − σ(z'_c))·log(1 − σ(z_c))]
//	dL/dz_c = (σ(z_c) − σ(z'_c)) / B
//
// It allocates nothing.
type SigmoidDistillation struct{ Classes []ocl.Label }

// AddTo implements [Distiller].
func (k SigmoidDistillation) AddTo(d, z, teacher *tensor.Tensor, weight float64) float64 {
	rows := checkDistilled(d, z, teacher)
	mean, loss := 1/float64(rows), 0.0
	for i := range rows {
		zs, ts, ds := z.Row(i), teacher.Row(i), d.Row(i)
		for _, c := range k.Classes {
			v, p := float64(zs[c]), Sigmoid(float64(ts[c]))
			loss += math.Max(v, 0) - v*p + math.Log1p(math.Exp(-math.Abs(v))) // −p·log σ(v) − (1−p)·log(1−σ(v)), without overflow
			ds[c] += float32(weight * mean * (Sigmoid(v) - p))
		}
	}
	return loss * mean
}

func checkDistilled(d, z, teacher *tensor.Tensor) int {
	if len(z.Shape) != 2 {
		panic(fmt.Sprintf("loss: distillation: logits %v; want [B,K]", z.Shape))
	}
	teacher.CheckShape("logits of the teacher", z.Shape[0], z.Shape[1])
	d.CheckShape("gradient of the logits", z.Shape[0], z.Shape[1])
	return z.Shape[0]
}
