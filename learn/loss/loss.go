// Package loss holds the criteria on logits. It knows nothing of networks: a caller runs the forward and the backward
// pass. Start at [Criterion].
//
// A criterion gets the outputs of a batch with all that a learner knows of its rows ([Input]), writes the gradient of
// the mean loss, and returns that loss:
//
//	d := tensor.New(2, 3) // dL/dlogits
//	l, err := loss.CrossEntropy{}.Eval(d, loss.Input{Logits: logits, Y: []ocl.Label{0, 2}})
//
// The others are the labels trick ([Labels]), separated softmax ([Separated]) and distillation, which add to it or
// replace it. One of another module is a type with the method Eval.
package loss

import (
	"fmt"
	"math"

	"ocl"
	"ocl/internal/portable"
	"ocl/nn/tensor"
)

// Criterion is a loss over a batch. Several goroutines may evaluate it at once, each on a batch of its own, so one that
// counts anything must guard it. One with a state that changes the numbers of a run implements [ocl.State] too; a
// learner then saves and loads it.
type Criterion interface {
	// Eval writes dL/dlogits into d [B,K] and returns the mean loss over the B rows (0 when B is 0). It changes nothing
	// but the numbers in d, and keeps neither d nor in. Logits that are not finite give a loss that is not finite, and
	// no error. An error, such as a label outside [0, K), leaves d undefined, and ends the learner.
	Eval(d *tensor.Tensor, in Input) (float64, error)
}

// Input is everything that a criterion may use: the logits [B,K] of a batch and its labels, len(Y) == B, and what a
// learner knows of the rows and of the classes. Lists of classes rise.
type Input struct {
	Logits *tensor.Tensor // the outputs of the network
	Y      []ocl.Label

	Role  Role  // where the rows come from; 0 is unknown
	Slots []int // [B]: the memory slot of each row, -1 for a row that is not stored; nil if no row is
	// [B,F]: the floats that the memory carries with each row; nil if it carries none, or no row is stored
	Stored *tensor.Tensor
	// [B]: how many of the first columns of Stored each row has, at most F; further ones are 0. nil without Stored
	Valid []int

	// C_old and C_new, if the learner is TaskAware: the classes of earlier tasks, and those of this one
	Old, New []ocl.Label
	Share    float64 // |C_new| / (|C_old| + |C_new|), a class counted once for every task it occurs in
	// the classes that were observed before the incoming batch; nil if the learner does not keep them
	Seen []ocl.Label
	// how many rows of each class the last steps have learned, this one included; nil if the learner does not count them
	Counts  []int
	Teacher *tensor.Tensor // the teacher's logits [B,K] of the same batch; nil without a teacher
}

// Role says where the rows of a batch come from, as a sum of bits.
type Role uint8

const (
	Incoming Role = 1 << iota // rows of the incoming batch B_n
	Replayed                  // rows from memory
	// the images are another view of rows that the network sees too, such as a crop
	View
	Joined = Incoming | Replayed // both in one batch; Slots tells them apart
)

// Has says whether the role has all bits of another one.
func (r Role) Has(bits Role) bool { return r&bits == bits }

// CrossEntropy is the mean over rows of −log softmax(z)_y, over all K outputs: K is known from the first step and
// nothing is masked. Sums are in float64, the gradient (softmax(z) − onehot(y))/B is rounded to float32 once. The
// gradient may take the place of the logits. It allocates nothing. A label outside [0, K) is an error.
type CrossEntropy struct{}

var _ Criterion = CrossEntropy{}

// Eval implements [Criterion].
func (CrossEntropy) Eval(d *tensor.Tensor, in Input) (float64, error) {
	rows, _, err := in.check("CrossEntropy", d)
	if err != nil {
		return 0, err
	}
	loss, mean := 0.0, 1/float64(rows)
	for i, y := range in.Y {
		loss += among(d.Row(i), in.Logits.Row(i), nil, y, mean)
	}
	return loss, nil
}

// Rows writes −log softmax(z)_y of each row to dst, len(dst) == B, in float64. A label outside [0, K) is an error.
func (CrossEntropy) Rows(dst []float64, in Input) error {
	if _, _, err := in.check("CrossEntropy", in.Logits); err != nil {
		return err
	}
	if len(dst) != len(in.Y) {
		panic(fmt.Sprintf("loss: CrossEntropy: room for %d losses of %d rows", len(dst), len(in.Y)))
	}
	for i, y := range in.Y {
		dst[i] = logSumExp(in.Logits.Row(i), 1) - float64(in.Logits.Row(i)[y])
	}
	return nil
}

// sumExp is the largest of z/T and Σ e^(z/T − largest), both NaN if any logit is, over the classes of set, nil for all.
func sumExp(z []float32, set []ocl.Label, t float64) (largest, sum float64) {
	largest = math.Inf(-1)
	if set == nil {
		for _, v := range z {
			largest = math.Max(largest, float64(v)/t)
		}
		for _, v := range z {
			sum += portable.Exp(float64(v)/t - largest)
		}
		return largest, sum
	}
	for _, k := range set {
		largest = math.Max(largest, float64(z[k])/t)
	}
	for _, k := range set {
		sum += portable.Exp(float64(z[k])/t - largest)
	}
	return largest, sum
}

// logSumExp is log Σ e^(z/T) over all classes.
func logSumExp(z []float32, t float64) float64 {
	largest, sum := sumExp(z, nil, t)
	return portable.Log(sum) + largest
}

// LogSoftmax writes log softmax(z) to dst [K], in float64.
func LogSoftmax(dst []float64, z []float32) {
	log := logSumExp(z, 1)
	for k, v := range z {
		dst[k] = float64(v) - log
	}
}

// among is −weight·log softmax(z)_y over the classes of set, which rise and have y among them; nil is all. It writes
// the gradient to d, which may be z, and zeros for the other classes.
func among(d, z []float32, set []ocl.Label, y ocl.Label, weight float64) float64 {
	largest, sum := sumExp(z, set, 1)
	zy := float64(z[y])
	gradient := func(v float32) float32 { return float32(portable.Exp(float64(v)-largest) / sum * weight) }
	if set == nil {
		for k, v := range z {
			d[k] = gradient(v)
		}
	} else {
		next := 0
		for _, k := range set {
			clear(d[next:k])
			d[k] = gradient(z[k])
			next = int(k) + 1
		}
		clear(d[next:])
	}
	d[y] = float32((portable.Exp(zy-largest)/sum - 1) * weight)
	return float64((portable.Log(sum) + largest - zy) * weight)
}

// check returns B and K, and an error where a label is outside [0, K). It panics where logits, gradient and labels do
// not fit together.
func (in Input) check(name string, d *tensor.Tensor) (rows, classes int, err error) {
	z := in.Logits
	if len(z.Shape) != 2 || z.Shape[0] != len(in.Y) || len(d.Shape) != 2 || d.Shape[0] != z.Shape[0] ||
		d.Shape[1] != z.Shape[1] {
		panic(fmt.Sprintf("loss: %s: logits %v, gradient %v, %d labels. They must be [B,K], [B,K], B", name, z.Shape, d.Shape,
			len(in.Y)))
	}
	rows, classes = z.Shape[0], z.Shape[1]
	for i, y := range in.Y {
		if y < 0 || int(y) >= classes {
			return 0, 0, fmt.Errorf("loss: row %d: label %d is not a class in [0, %d)", i, y, classes)
		}
	}
	return rows, classes, nil
}
