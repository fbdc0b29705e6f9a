package loss

import (
	"fmt"
	"math"
)

// Rows writes −log softmax(z)_y of each row to dst, len(dst) == B, in float64. A label outside [0, K) is an error.
func (CrossEntropy) Rows(dst []float64, in Input) error {
	if len(dst) != len(in.Y) || in.Logits.Dim(0) != len(in.Y) {
		panic(fmt.Sprintf("loss: CrossEntropy: room for %d losses, logits %v, %d labels. They must be B, [B,K], B", len(dst), in.Logits.Shape, len(in.Y)))
	}
	for i, y := range in.Y {
		z := in.Logits.Row(i)
		if y < 0 || int(y) >= len(z) {
			return fmt.Errorf("loss: row %d: label %d is not a class in [0, %d)", i, y, len(z))
		}
		largest, sum := math.Inf(-1), 0.0
		for _, v := range z {
			largest = math.Max(largest, float64(v)) // NaN if any is
		}
		for _, v := range z {
			sum += math.Exp(float64(v) - largest)
		}
		dst[i] = math.Log(sum) + largest - float64(z[y])
	}
	return nil
}
