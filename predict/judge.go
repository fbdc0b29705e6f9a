package predict

import (
	"fmt"
	"math"

	"ocl"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/tensor"
)

// Model is what decides the class of an input. Nobody changes it while it predicts; any number of goroutines may share
// it, each with a workspace of its own.
type Model struct {
	Net   *nn.Network
	Means *learner.NCM // of a learner that predicts the nearest class mean; else nil
	// Scores are those of a learner with a rule of its own, [n,K] for inputs x [n,C,H,W], more is better. Else nil: the
	// logits decide.
	Scores func(dst []float64, x *tensor.Tensor) error
	Names  []string // of the classes; nil where they have none
}

// Judge fills dst [n,k] with the k best guesses for each of the inputs x [n,C,H,W], 1 ≤ k ≤ K, in one pass. scores [K]
// is room that it changes. Without Means the values of guesses are probabilities, with them distances. A logit that is
// not finite is an error that wraps [ocl.ErrDiverged].
func (m *Model) Judge(ws *nn.Workspace, dst []Guess, k int, x *tensor.Tensor, scores []float64) error {
	switch {
	case m.Means != nil:
		features := m.Net.Predict(ws, x).Features
		for i := range features.Dim(0) {
			if err := m.Means.Squares(scores, features.Row(i)); err != nil {
				return err
			}
			distances(dst[i*k:][:k], scores, m.Names)
		}
	case m.Scores != nil:
		n := x.Dim(0)
		all := make([]float64, n*len(scores))
		if err := m.Scores(all, x); err != nil {
			return err
		}
		for i := range n {
			copy(scores, all[i*len(scores):])
			probabilities(dst[i*k:][:k], scores, m.Names)
		}
	default:
		logits := m.Net.Predict(ws, x).Logits
		for i := range logits.Dim(0) {
			for c, v := range logits.Row(i) {
				if v-v != 0 {
					return fmt.Errorf("%w: the network gives %s a logit of %v", ocl.ErrDiverged, m.called(c), v)
				}
				scores[c] = float64(v)
			}
			probabilities(dst[i*k:][:k], scores, m.Names)
		}
	}
	return nil
}

// called is a class in a message.
func (m *Model) called(class int) string {
	if m.Names == nil {
		return fmt.Sprintf("class %d", class)
	}
	return fmt.Sprintf("%.40q", m.Names[class])
}

// probabilities fills dst with the classes of the highest scores, such as logits, the best first and the lowest class
// first where scores are equal, as learners decide. Their values are the softmax over all scores [K], 1 ≤ len(dst) ≤ K.
// names are those of the classes, nil for none.
func probabilities(dst []Guess, scores []float64, names []string) {
	best(dst, scores, names)
	sum := 0.0
	for _, v := range scores {
		sum += math.Exp(v - dst[0].Value)
	}
	for g, first := 0, dst[0].Value; g < len(dst); g++ {
		dst[g].Value = math.Exp(dst[g].Value-first) / sum
	}
}

// distances is [probabilities] for the classes whose means are nearest, given the squares of the distances [K] as
// [learner.NCM.Squares] has them, which it changes. Values are the distances.
func distances(dst []Guess, squares []float64, names []string) {
	for k, v := range squares {
		squares[k] = -v
	}
	best(dst, squares, names)
	for g := range dst {
		dst[g].Value = math.Sqrt(-dst[g].Value)
	}
}

// best fills dst with the classes of the highest scores.
func best(dst []Guess, scores []float64, names []string) {
	found := 0
	for k, v := range scores {
		if found == len(dst) && !(v > dst[found-1].Value) {
			continue
		}
		found = min(found+1, len(dst))
		at := found - 1
		for ; at > 0 && v > dst[at-1].Value; at-- {
			dst[at] = dst[at-1]
		}
		dst[at] = Guess{Class: k, Value: v}
	}
	if names != nil {
		for g := range dst {
			dst[g].Name = names[dst[g].Class]
		}
	}
}
