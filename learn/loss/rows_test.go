package loss_test

import (
	"math"
	"testing"

	"ocl"
	"ocl/learn/loss"
	"ocl/nn/tensor"
)

// TestRowsAverageToEval: the mean of the rows' losses is the criterion's, also for large logits.
func TestRowsAverageToEval(t *testing.T) {
	z := tensor.Of([]float32{0.5, -1, 2, 1000, 1000, -3}, 2, 3)
	in := loss.Input{Logits: z, Y: []ocl.Label{2, 1}}
	want, err := loss.CrossEntropy{}.Eval(tensor.New(2, 3), in)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]float64, 2)
	if err := (loss.CrossEntropy{}).Rows(rows, in); err != nil {
		t.Fatal(err)
	}
	if got := (rows[0] + rows[1]) / 2; !(math.Abs(got-want) <= 1e-12) || !(math.Abs(rows[1]-math.Ln2) <= 1e-12) {
		t.Errorf("rows %v with mean %v, want mean %v and ln 2 in the second", rows, got, want)
	}
	in.Y[1] = 3
	if err := (loss.CrossEntropy{}).Rows(rows, in); err == nil {
		t.Error("label 3 of 3 classes: no error")
	}
}
