package loss

import (
	"fmt"

	"ocl/internal/portable"
	"ocl/nn/tensor"
)

// Distillation is knowledge distillation by softmax at a temperature T above 0 (survey §trick_detail; Hinton et al.
// 2015), over all K outputs:
//
//	L = T² · mean over rows of −Σ_c softmax(z'/T)_c · log softmax(z/T)_c
//	dL/dz = T · (softmax(z/T) − softmax(z'/T)) / B
//
// Sums are in float64. It allocates nothing.
type Distillation struct{ T float64 }

// AddTo adds weight times dL/dz to d [B,K] and returns the mean loss of logits z [B,K] against those of a teacher
// [B,K]; weight does not scale the loss.
func (k Distillation) AddTo(d, z, teacher *tensor.Tensor, weight float64) float64 {
	rows := checkDistilled(d, z, teacher)
	mean, loss := 1/float64(rows), 0.0
	for i := range rows {
		zs, ts, ds := z.Row(i), teacher.Row(i), d.Row(i)
		logSum, teacherSum := logSumExp(zs, k.T), logSumExp(ts, k.T)
		for c, v := range zs {
			p := portable.Exp(float64(ts[c])/k.T - teacherSum)
			logQ := float64(v)/k.T - logSum
			loss -= float64(p * logQ)
			ds[c] += float32(weight * mean * k.T * (portable.Exp(logQ) - p))
		}
	}
	return loss * mean * k.T * k.T
}

func checkDistilled(d, z, teacher *tensor.Tensor) int {
	if len(z.Shape) != 2 {
		panic(fmt.Sprintf("loss: distillation: logits %v instead of [B,K]", z.Shape))
	}
	teacher.CheckShape("logits of the teacher", z.Shape[0], z.Shape[1])
	d.CheckShape("gradient of the logits", z.Shape[0], z.Shape[1])
	return z.Shape[0]
}
