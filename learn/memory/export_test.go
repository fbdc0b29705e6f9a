package memory

import (
	"ocl"
	"ocl/nn/tensor"
)

// ShapleyOf are the values of samples by one point.
func ShapleyOf(k int, features *tensor.Tensor, labels []ocl.Label, point []float32, y ocl.Label) []float64 {
	var j judge
	j.value(k, features, labels, point, y)
	return j.values
}
