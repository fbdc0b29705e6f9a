package loss

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/nn/tensor"
)

// Labels is the labels trick (survey §trick_detail): [CrossEntropy] over the outputs of the classes C_cur that occur in
// the batch alone,
//
//	L = mean over rows of −log(e^{z_y} / Σ_{j∈C_cur} e^{z_j})
//
// so the logits of other classes get no gradient. With all classes in the batch it is CrossEntropy, bit for bit. It
// allocates nothing for batches of up to 256 rows.
type Labels struct{}

// Separated is separated softmax (survey §trick_detail): a row of an old class is judged by a softmax over the old
// classes, a row of a new one by a softmax over the new classes,
//
//	L = mean over rows of −log(e^{z_y} / Σ_{j∈C} e^{z_j}),   C = C_old or C_new, the one that y is in
//
// Where one of the two is empty it is cross entropy over the other. A label in neither is an error. It allocates
// nothing.
type Separated struct{}

// Distilled mixes the loss of labels with that of a teacher (survey §trick_detail, KDC; §methods, LwF):
//
//	L = λ·L_labels + (1 − λ)·L_KD,   λ = |C_new| / (|C_old| + |C_new|), or its root
//
// L_KD is [Distillation] at [Temperature], over all outputs. Without a teacher, in the first task, L is L_labels. It
// allocates no more than L_labels.
type Distilled struct {
	Labels Criterion // nil is CrossEntropy
	Root   bool      // λ is the root of the share: KDC*
	// Alone leaves λ·L_labels, as the survey's authors' code does, where KDC* never gets a teacher (docs/deviations.md:
	// KDC, KDC*).
	Alone bool
}

// MeanDistilled adds to the loss of labels that of the answers of a teacher that is there in each step (Michel et al.
// 2024, Rethinking Momentum Knowledge Distillation in Online Continual Learning):
//
//	L = L_labels + Weight/2·L_KD   of rows as they are learned
//	L = Weight/2·L_KD              of another view of them ([View]), with the answers to the first
//
// L_KD is [Distillation] at T, over all outputs. It is T² times the Kullback-Leibler divergence of the paper and the
// entropy of the answers, which no parameter changes. Without a teacher L is L_labels. It allocates no more than
// L_labels.
type MeanDistilled struct {
	Labels Criterion // nil is CrossEntropy
	Weight float64   // λ, at least 0
	T      float64   // above 0
}

// Temperature is T of the distillation (survey §app:impl_detail).
const Temperature = 2

var (
	_ Criterion = Labels{}
	_ Criterion = Separated{}
	_ Criterion = Distilled{}
	_ Criterion = MeanDistilled{}
)

// Eval implements [Criterion].
func (Labels) Eval(d *tensor.Tensor, in Input) (float64, error) {
	rows, _, err := in.check("Labels", d)
	if err != nil {
		return 0, err
	}
	var room [256]ocl.Label
	set := append(room[:0], in.Y...)
	slices.Sort(set)
	set = slices.Compact(set)
	loss, mean := 0.0, 1/float64(rows)
	for i, y := range in.Y {
		loss += among(d.Row(i), in.Logits.Row(i), set, y, mean)
	}
	return loss, nil
}

// Eval implements [Criterion].
func (Separated) Eval(d *tensor.Tensor, in Input) (float64, error) {
	rows, _, err := in.check("Separated", d)
	if err != nil {
		return 0, err
	}
	loss, mean := 0.0, 1/float64(rows)
	for i, y := range in.Y {
		set := in.New
		if _, found := slices.BinarySearch(set, y); !found {
			set = in.Old
			if _, found := slices.BinarySearch(set, y); !found {
				return 0, fmt.Errorf("loss: row %d: label %d is neither an old class nor a class of this task. "+
					"Call BeginTask with the classes of a task before its batches", i, y)
			}
		}
		loss += among(d.Row(i), in.Logits.Row(i), set, y, mean)
	}
	return loss, nil
}

// Eval implements [Criterion].
func (c Distilled) Eval(d *tensor.Tensor, in Input) (float64, error) {
	labels := cmp.Or[Criterion](c.Labels, CrossEntropy{})
	if in.Teacher == nil && !c.Alone {
		return labels.Eval(d, in)
	}
	if !c.Alone && len(d.Data) > 0 && &d.Data[0] == &in.Logits.Data[0] {
		panic("loss: Distilled reads the logits twice; want another tensor for the gradient")
	}
	mean, err := labels.Eval(d, in)
	if err != nil || len(in.Y) == 0 {
		return 0, err
	}
	w := in.Share
	if c.Root {
		w = math.Sqrt(w)
	}
	for i, v := range d.Data {
		d.Data[i] = float32(w) * v
	}
	if c.Alone {
		return w * mean, nil
	}
	return float64(w*mean) + float64((1-w)*Distillation{T: Temperature}.AddTo(d, in.Logits, in.Teacher, 1-w)), nil
}

// Eval implements [Criterion].
func (c MeanDistilled) Eval(d *tensor.Tensor, in Input) (mean float64, err error) {
	if in.Teacher != nil && len(d.Data) > 0 && &d.Data[0] == &in.Logits.Data[0] {
		panic("loss: MeanDistilled reads the logits twice; want another tensor for the gradient")
	}
	if in.Teacher != nil && in.Role.Has(View) {
		if _, _, err = in.check("MeanDistilled", d); err != nil {
			return 0, err
		}
		clear(d.Data)
	} else if mean, err = cmp.Or[Criterion](c.Labels, CrossEntropy{}).Eval(d, in); err != nil {
		return 0, err
	}
	if in.Teacher == nil || len(in.Y) == 0 {
		return mean, nil
	}
	half := c.Weight / 2
	return mean + float64(half*Distillation{T: c.T}.AddTo(d, in.Logits, in.Teacher, half)), nil
}
