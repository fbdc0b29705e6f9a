package learner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/learn/calibrate"
	"ocl/learn/internal/dense"
	"ocl/nn"
	"ocl/nn/tensor"
)

// unseen is the bias of a class that was never observed: it is below every score, and a finite number as predictions
// want.
const unseen = -1e30

// solved is the common part of learners without gradient. They sum what they observe, and Prepare computes a linear
// head from the sums and writes it into a network. So everything that predicts with a network, or exports one, works
// with them too.
type solved struct {
	name  string
	net   *nn.Network
	ws    *nn.Workspace
	start func()                                       // before the first call; may be nil
	with  func(sums checkpoint.Parts) checkpoint.Parts // the whole state; nil is sums
	begun bool

	steps int64
	flops int64 // of the last Observe; not saved

	labels []ocl.Label // that were observed, rising
	counts []int64     // samples of each
	rows   []float64   // [len(labels),H], a vector of each

	ready bool
	head  []float32 // [len(labels),H+1]: weights and bias of each, while they belong to the present sums
	ridge float64   // that Prepare has used for the head; 0 where a state does not say

	kept   kept
	fitted *calibrate.Calibration // by the samples that are kept; or, where none are, of a state without them
	factor *dense.Sym             // of Prepare, for whitest features at most; nil after a change
	sure   *Calibration           // nil after a change
}

// prepare readies the network before the first call.
func (s *solved) prepare() {
	if s.begun {
		return
	}
	s.begun = true
	if s.start != nil {
		s.start()
	}
	s.show()
}

// begin checks a batch before anything changes, and returns its features [B,H]: the outputs of the hidden layers, or
// the values of the batch where there are none.
func (s *solved) begin(ctx context.Context, b ocl.Batch) (*tensor.Tensor, error) {
	s.prepare()
	if err := ctx.Err(); err != nil || b.Len() == 0 {
		return nil, err
	}
	before := s.ws.FLOPs()
	features, err := s.features(b)
	if err != nil {
		return nil, fmt.Errorf("learner: %s: step %d: %w", s.name, s.steps+1, err)
	}
	s.steps++
	s.Unprepare()
	s.flops = s.ws.FLOPs() - before
	return features, nil
}

// features computes the features [B,H] of a batch. A label out of range or a feature that is not finite is an error.
func (s *solved) features(b ocl.Batch) (*tensor.Tensor, error) {
	if err := checkClasses(b, s.net.Info().Classes); err != nil {
		return nil, err
	}
	features := &tensor.Tensor{Shape: []int{b.Len(), b.X.RowLen()}, Data: b.X.Data}
	if s.net.Info().Layers[0].Kind != nn.FlattenLayer {
		features = s.net.Predict(s.ws, b.X).Features
	}
	for _, v := range features.Data {
		if v-v != 0 {
			return nil, fmt.Errorf("%w: a value of an image or a feature of it is %v. Use smaller inputs that are numbers",
				ocl.ErrDiverged, v)
		}
	}
	return features, nil
}

// unlearn takes samples away: of each its row from the vector of its class, scaled by scale where that is not nil, and
// 1 from the count. rest is called before classes without samples go, with the features. After an error nothing has
// changed.
func (s *solved) unlearn(b ocl.Batch, scale func(row []float32) float64, rest func(x *tensor.Tensor)) error {
	s.prepare()
	if b.Len() == 0 {
		return nil
	}
	x, err := s.features(b)
	if err != nil {
		return fmt.Errorf("learner: %s: unlearn: %w", s.name, err)
	}
	left := map[ocl.Label]int64{}
	for i, y := range s.labels {
		left[y] = s.counts[i]
	}
	for _, y := range b.Y {
		if left[y]--; left[y] < 0 {
			return fmt.Errorf("learner: %s: unlearn: %w: of class %d there are more samples than were observed. Unlearn what was observed, with the label that it had",
				s.name, ErrNotLearned, y)
		}
	}
	s.Unprepare()
	if len(s.kept.labels) >= calibrate.Least { // fewer find no other one
		s.fitted = nil
	}
	for i, y := range b.Y {
		s.kept.remove(y, s.keptOf(b, x).Row(i))
		at, vector := s.vector(y)
		factor := 1.0
		if scale != nil {
			factor = scale(x.Row(i))
		}
		for j, v := range x.Row(i) {
			vector[j] -= float64(float64(v) * factor)
		}
		s.counts[at]--
	}
	rest(x)
	for at := len(s.labels) - 1; at >= 0; at-- {
		if s.counts[at] == 0 {
			s.dropClass(at)
		}
	}
	s.show()
	return nil
}

// Empty implements [Sums].
func (s *solved) Empty() bool { return len(s.labels) == 0 }

// Samples implements [Reclassing].
func (s *solved) Samples(y ocl.Label) int64 {
	if at, known := slices.BinarySearch(s.labels, y); known {
		return s.counts[at]
	}
	return 0
}

// vector is the place of a class in labels and its vector, which is 0 for a new class.
func (s *solved) vector(y ocl.Label) (place int, row []float64) {
	width := s.net.Info().FeatureDim
	place, known := slices.BinarySearch(s.labels, y)
	if !known {
		s.labels, s.counts = slices.Insert(s.labels, place, y), slices.Insert(s.counts, place, 0)
		s.rows = slices.Insert(s.rows, place*width, make([]float64, width)...)
	}
	return place, s.rows[place*width:][:width]
}

// samples is the number of samples in the sums.
func (s *solved) samples() (n int64) {
	for _, c := range s.counts {
		n += c
	}
	return n
}

// observed is an error where there is nothing to compute a head of.
func (s *solved) observed(ctx context.Context) error {
	s.prepare()
	if len(s.labels) == 0 {
		return fmt.Errorf("learner: %s: nothing was observed, so there is no classifier. Observe a batch before a prediction",
			s.name)
	}
	return ctx.Err()
}

// finish makes the weights [len(labels),H] and biases the head of the network.
func (s *solved) finish(weights, biases []float64) error {
	width := s.net.Info().FeatureDim
	s.head = s.head[:0]
	for i, bias := range biases {
		for _, v := range append(slices.Clone(weights[i*width:][:width]), bias) {
			s.head = append(s.head, float32(v))
		}
	}
	for _, v := range s.head {
		if v-v != 0 {
			return fmt.Errorf("learner: %s: %w: a weight of the classifier is %v. Use smaller inputs", s.name, ocl.ErrDiverged, v)
		}
	}
	s.ready = true
	s.show()
	return nil
}

// Unprepare implements [Sums].
func (s *solved) Unprepare() { s.ready, s.sure, s.factor = false, nil, nil }

// show writes the head into the network. Classes that were not observed are never predicted.
func (s *solved) show() {
	list, width := s.net.Info().Named, s.net.Info().FeatureDim
	w, b := list[len(list)-2], list[len(list)-1]
	params := s.net.Params()
	clear(params[w.Offset:][:w.Len()])
	for k := range b.Len() {
		params[b.Offset+k] = unseen
	}
	if s.ready {
		for i, y := range s.labels {
			row := s.head[i*(width+1):]
			for j, v := range row[:width] {
				params[w.Offset+j*w.Out+int(y)] = v
			}
			params[b.Offset+int(y)] = row[width]
		}
	}
	s.net.Changed()
}

// Predict implements [ocl.Learner]: the class of the highest score.
func (s *solved) Predict(dst []ocl.Label, x *tensor.Tensor) error {
	s.prepare()
	if err := checkRoom(dst, x); err != nil || len(dst) == 0 {
		return err
	}
	return s.Decide(dst, nn.Outputs{Logits: s.net.Predict(s.ws, x).Logits})
}

// Decide implements [Open].
func (s *solved) Decide(dst []ocl.Label, o nn.Outputs) error {
	s.prepare()
	if !s.ready {
		return fmt.Errorf("learner: %s: no classifier is computed of the present sums. Call Prepare after the last batch",
			s.name)
	}
	return largest(dst, o.Logits)
}

// Parts implements [Open]. The network can be used only between Prepare and the next Observe.
func (s *solved) Parts() Parts {
	s.prepare()
	return Parts{Net: s.net, WS: s.ws, ByLogits: true}
}

// Cost implements [ocl.Learner]. A step counts its sums too; the head that Prepare computes is not counted.
func (s *solved) Cost() ocl.Cost {
	return ocl.Cost{Parameters: len(s.net.Params()), StepFLOPs: s.flops, ImageFLOPs: s.net.Info().FLOPs}
}

// SaveState implements [ocl.State].
func (s *solved) SaveState(e *checkpoint.Encoder) error { return s.whole().SaveState(e) }

// LoadState implements [ocl.State].
func (s *solved) LoadState(d *checkpoint.Decoder) error { return s.whole().LoadState(d) }

// whole is the weights and the samples that are kept.
func (s *solved) whole() checkpoint.Parts { return append(s.Weights(), s.kept.part(s)) }

// Weights implements [Weighted]. Sums hold no sample, unless they are of a class with one. What calibrates the scores
// is among them, and the samples that were kept for that are not.
func (s *solved) Weights() checkpoint.Parts {
	s.prepare()
	if s.with == nil {
		return s.parts()
	}
	return s.with(s.parts())
}

// parts is the state of all such learners. No part but the lists of classes depends on the number of classes.
func (s *solved) parts() checkpoint.Parts {
	return checkpoint.Parts{
		checkpoint.Values("steps", &s.steps),
		checkpoint.Int32List("classes", &s.labels),
		checkpoint.List("counts", &s.counts),
		checkpoint.List("vectors", &s.rows),
		checkpoint.Either(&s.ready, "head", checkpoint.Parts{
			checkpoint.List("head", &s.head), s.ridgePart(),
			checkpoint.Then(func() error { s.sure, s.factor = nil, nil; return nil }),
		}, checkpoint.Parts{checkpoint.Then(func() error { s.Unprepare(); return nil })}),
		s.calibrationPart(),
		checkpoint.Then(func() error {
			s.flops = 0
			width := s.net.Info().FeatureDim
			if err := checkRising(s.net.Info().Capacity, s.labels); err != nil {
				return err
			}
			n := len(s.labels)
			if len(s.counts) != n || len(s.rows) != n*width || s.ready && (n == 0 || len(s.head) != n*(width+1)) ||
				slices.ContainsFunc(s.counts, func(c int64) bool { return c < 1 || c > 1<<48 }) {
				return fmt.Errorf("learner: %s: the state has %d classes with %d counts and %d numbers, so it belongs to another configuration. Use the one it was saved with",
					s.name, n, len(s.counts), len(s.rows))
			}
			s.show()
			return nil
		}),
	}
}

// ridgePart is the ridge of a head. Older states do not say it.
func (s *solved) ridgePart() checkpoint.Part {
	said := s.ridge > 0
	return checkpoint.Either(&said, "ridge", checkpoint.Parts{
		checkpoint.Values("ridge", &s.ridge),
		checkpoint.Then(func() error {
			if !(s.ridge > 0) || math.IsInf(s.ridge, 1) {
				return fmt.Errorf("learner: %s: the state has a ridge of %v. Use a file that ocl wrote", s.name, s.ridge)
			}
			return nil
		}),
	}, checkpoint.Parts{checkpoint.Then(func() error { s.ridge = 0; return nil })})
}

// calibrationPart is the calibration. A state has it where it belongs to the head, or where no samples are kept to find
// it again: so it says nothing of when predictions were made.
func (s *solved) calibrationPart() checkpoint.Part {
	saved := s.fitted
	if !s.ready && len(s.kept.labels) >= calibrate.Least {
		saved = nil
	}
	return checkpoint.Inline(checkpoint.Parts{calibrate.Parts(&saved), checkpoint.Then(func() error {
		s.fitted, s.sure, s.kept = saved, nil, kept{} // what was kept is of other sums
		return nil
	})})
}

// moments sums outer products of rows. It adds some rows at a time; when it does so changes no bit.
type moments struct {
	sum     dense.Sym
	rows    []float64
	workers int
}

// held is the largest number of rows that wait to be added to a sum of products.
const held = 64

// row is room for another row, which the caller fills.
func (m *moments) row() []float64 {
	if len(m.rows) == held*m.sum.N {
		m.flush()
	}
	if m.rows == nil {
		m.rows = make([]float64, 0, held*m.sum.N)
	}
	at := len(m.rows)
	m.rows = m.rows[:at+m.sum.N]
	return m.rows[at:]
}

// flush adds the rows that wait.
func (m *moments) flush() {
	if len(m.rows) > 0 {
		m.sum.Add(m.rows, 1, m.workers)
		m.rows = m.rows[:0]
	}
}

// subtract takes the outer products of the rows of x away. left is how many samples stay: of none the sum is nothing,
// without what rounding has left.
func (m *moments) subtract(x *tensor.Tensor, left int64) {
	m.flush()
	if left == 0 {
		m.sum.Data = nil
		return
	}
	rows := make([]float64, 0, held*m.sum.N)
	for from := 0; from < x.Dim(0); from += held {
		rows = rows[:0]
		for i := from; i < min(from+held, x.Dim(0)); i++ {
			for _, v := range x.Row(i) {
				rows = append(rows, float64(v))
			}
		}
		m.sum.Add(rows, -1, m.workers)
	}
}

// part is the sum as a state has it.
func (m *moments) part(s *solved) checkpoint.Part {
	return checkpoint.Inline(checkpoint.Parts{checkpoint.List("moments", &m.sum.Data), checkpoint.Then(func() error {
		m.rows = m.rows[:0]
		if n := len(m.sum.Data); n != dense.Size(m.sum.N) && (n != 0 || len(s.labels) > 0) {
			return fmt.Errorf("learner: %s: the state has %d sums of products for %d features, so it belongs to another configuration. Use the one it was saved with",
				s.name, n, m.sum.N)
		}
		if len(m.sum.Data) == 0 {
			m.sum.Data = nil
		}
		return nil
	})})
}

// noFactor is the error about a matrix without a Cholesky factor, with what to do about it.
func (s *solved) noFactor(a *dense.Sym, err error, remedy string) error {
	if errors.Is(err, dense.ErrIndefinite) {
		if slices.ContainsFunc(a.Data, func(v float64) bool { return v-v != 0 }) {
			err = fmt.Errorf("%w: %w", ocl.ErrDiverged, err)
		}
		return fmt.Errorf("learner: %s: %w. %s", s.name, err, remedy)
	}
	return fmt.Errorf("learner: %s: %w", s.name, err)
}

// length is ‖x‖.
func length[T float32 | float64](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return math.Sqrt(sum)
}
