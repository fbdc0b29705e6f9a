package predict

import (
	"fmt"
	"math"

	"ocl"
	"ocl/internal/portable"
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
	// Calibration makes probabilities of scores, and familiarities. Nil is a learner of which nobody knows what its scores
	// are worth: then probabilities are the softmax of the scores.
	Calibration *learner.Calibration
}

// Judge fills dst [n,k] with the k best guesses for each of the inputs x [n,C,H,W], 1 ≤ k ≤ K, in one pass. Their
// values are probabilities, or distances of Means without a Calibration. scores [K] is room that it changes. familiar
// [n] gets the familiarity of each input; it is nil where nobody asks, or where there is no Calibration. A logit that
// is not finite is an error that wraps [ocl.ErrDiverged].
func (m *Model) Judge(ws *nn.Workspace, dst []Guess, k int, x *tensor.Tensor, scores, familiar []float64) error {
	var out nn.Outputs
	var all []float64 // [n,K]
	if m.Scores == nil {
		out = m.Net.Predict(ws, x)
		if familiar != nil && m.Calibration.Likeness != nil {
			m.Calibration.Likeness.Of(familiar, out.Features)
		}
	} else {
		all = make([]float64, x.Dim(0)*len(scores))
		if err := m.Scores(all, x); err != nil {
			return err
		}
	}
	for i := range x.Dim(0) {
		if err := m.score(scores, i, out, all); err != nil {
			return err
		}
		if familiar != nil && m.Calibration.Likeness == nil {
			familiar[i] = m.Calibration.Energy(scores)
		}
		guesses := dst[i*k:][:k]
		best(guesses, scores, m.Names)
		switch {
		case m.Calibration != nil:
			m.Calibration.Probabilities(scores, scores)
			for g := range guesses {
				guesses[g].Value = scores[guesses[g].Class]
			}
		case m.Means != nil:
			for g := range guesses {
				guesses[g].Value = math.Sqrt(-guesses[g].Value)
			}
		default:
			softmax(guesses, scores)
		}
	}
	return nil
}

// score writes the scores of input i to dst [K], more is better: of class means, the squares of the distances as
// [learner.NCM.Squares] has them, less than 0.
func (m *Model) score(dst []float64, i int, out nn.Outputs, all []float64) error {
	switch {
	case m.Means != nil:
		if err := m.Means.Squares(dst, out.Features.Row(i)); err != nil {
			return err
		}
		for k, v := range dst {
			dst[k] = -v
		}
		return nil
	case m.Scores != nil:
		copy(dst, all[i*len(dst):])
		return nil
	}
	logits := out.Logits.Row(i)
	for c, v := range logits {
		if v-v != 0 {
			return fmt.Errorf("%w: the network gives %s a logit of %v", ocl.ErrDiverged, m.called(c), v)
		}
		dst[c] = float64(v)
	}
	if m.Calibration != nil {
		m.Calibration.Scores(dst, logits, out.Features.Row(i))
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

// softmax makes the values of guesses those of the softmax over all scores [K], of which they are.
func softmax(dst []Guess, scores []float64) {
	sum := 0.0
	for _, v := range scores {
		sum += portable.Exp(v - dst[0].Value)
	}
	for g, first := 0, dst[0].Value; g < len(dst); g++ {
		dst[g].Value = portable.Exp(dst[g].Value-first) / sum
	}
}

// best fills dst with the classes of the highest scores, the best first and the lowest class first where scores are
// equal, as learners decide.
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
