package loss

import (
	"slices"

	"ocl"
	"ocl/nn/tensor"
)

// LwFMC is the loss of LwF.MC (Rebuffi et al., iCaRL: Incremental Classifier and Representation Learning, CVPR 2017,
// the equation of algorithm 3 without exemplars). Each of the K outputs is a yes-or-no question of its own, with binary
// cross entropy:
//
//	L = mean over rows of Σ_c −t_c·log σ(z_c) − (1 − t_c)·log(1 − σ(z_c))
//	t_c = σ(z'_c) for a class of earlier tasks, by the teacher's logits z';  for all others 1 if c is the label, else 0
//
// A class that this task has too is trained on its labels. In the first task there is no teacher, and all classes are.
// The gradient may take the place of the logits. Sums are in float64. It allocates nothing. A label outside [0, K) is
// an error.
type LwFMC struct{}

var _ Criterion = LwFMC{}

// Eval implements [Criterion].
func (LwFMC) Eval(d *tensor.Tensor, in Input) (float64, error) {
	rows, classes, err := in.check("LwFMC", d)
	if err != nil {
		return 0, err
	}
	mean, loss := 1/float64(rows), 0.0
	if in.Teacher != nil {
		in.Teacher.CheckShape("logits of the teacher", rows, classes)
	}
	for i, y := range in.Y {
		zs, ds := in.Logits.Row(i), d.Row(i)
		for c, z := range zs {
			t := 0.0
			switch class := ocl.Label(c); {
			case in.Teacher != nil && isIn(in.Old, class) && !isIn(in.New, class):
				t = Sigmoid(float64(in.Teacher.Row(i)[c]))
			case class == y:
				t = 1
			}
			var l float64
			l, ds[c] = yesNo(float64(z), t, mean)
			loss += l
		}
	}
	return loss, nil
}

// isIn says whether a class is in a set, which rises.
func isIn(set []ocl.Label, class ocl.Label) bool {
	_, found := slices.BinarySearch(set, class)
	return found
}
