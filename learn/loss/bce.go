package loss

import (
	"fmt"
	"math"

	"ocl/internal/portable"
	"ocl/nn/tensor"
)

// BCE is binary cross entropy on the first columns of the logits, iCaRL's loss: with targets t [B,k] in [0,1] and
// logits z [B,K], k ≤ K, the mean over the B rows of
//
//	Σ_{j<k} −t_j·log σ(z_j) − (1−t_j)·log(1−σ(z_j))
//
// It writes the gradient (σ(z)−t)/B into d [B,K], which may be the logits themselves, and zeros into the columns from k
// on. Sums are in float64. It allocates nothing.
func BCE(d, logits, targets *tensor.Tensor) float64 {
	rows, k := targets.Shape[0], targets.Shape[1]
	if len(logits.Shape) != 2 || logits.Shape[0] != rows || logits.Shape[1] < k || d.Shape[0] != rows ||
		d.Shape[1] != logits.Shape[1] {
		panic(fmt.Sprintf("loss: BCE: logits %v, gradient %v, targets %v. They must be [B,K], [B,K], [B,k] with k ≤ K",
			logits.Shape, d.Shape, targets.Shape))
	}
	classes := logits.Shape[1]
	mean := 1 / float64(rows)
	loss := 0.0
	for i := range rows {
		zs, ds, ts := logits.Data[i*classes:(i+1)*classes], d.Data[i*classes:(i+1)*classes], targets.Data[i*k:(i+1)*k]
		for j, t := range ts {
			var l float64
			l, ds[j] = yesNo(float64(zs[j]), float64(t), mean)
			loss += l
		}
		clear(ds[k:])
	}
	return loss
}

// yesNo is weight·(−t·log σ(z) − (1−t)·log(1−σ(z))), written so that no exponential overflows, and its gradient.
func yesNo(z, t, weight float64) (loss float64, gradient float32) {
	return float64((math.Max(z, 0) - float64(z*t) + portable.Log1p(portable.Exp(-math.Abs(z)))) * weight),
		float32((Sigmoid(z) - t) * weight)
}

// Sigmoid is σ(z) = 1/(1 + e^−z).
func Sigmoid(z float64) float64 { return 1 / (1 + portable.Exp(-z)) }
