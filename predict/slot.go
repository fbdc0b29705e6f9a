package predict

import (
	"fmt"
	"math"

	"ocl"
	"ocl/data/embed"
	"ocl/nn"
	"ocl/nn/tensor"
)

// part is the number of images that each worker gets at once: as many as a network of small images takes in one go.
const part = 20

// slot is what one call works with: a workspace and its buffers.
type slot struct {
	ws     *nn.Workspace
	x      tensor.Tensor // inputs [n,C,H,W], with room for those of all workers
	image  []uint8       // [C,H,W], of an image file
	scores []float64     // [K]: what the guesses of an image are ordered by, more is better

	desk     *embed.Desk // nil where the learner takes images
	embedded []byte      // embeddings of as many images as x has room for
}

func (p *Predictor) newSlot(ws *nn.Workspace, workers int) *slot {
	size, rows := p.input[0]*p.input[1]*p.input[2], part*ws.Workers()
	s := &slot{
		ws: ws, image: make([]uint8, p.size), scores: make([]float64, p.info.Classes),
		x: tensor.Tensor{Shape: []int{0, p.input[0], p.input[1], p.input[2]}, Data: make([]float32, 0, rows*size)},
	}
	if p.maker != nil {
		s.desk, s.embedded = p.maker.Desk(workers, embeddedAtOnce), make([]byte, rows*p.by.Bytes(size))
	}
	return s
}

// embeddedAtOnce is how many images go through a pretrained network together: few, as one of them has much larger maps than a
// network that learns.
const embeddedAtOnce = 4

// load makes inputs of n images or embeddings.
func (p *Predictor) load(s *slot, n int, images []uint8) {
	size, from := s.x.RowLen(), len(images)/n
	s.x.Shape[0], s.x.Data = n, s.x.Data[:n*size]
	for i := range n {
		p.by.Write(s.x.Data[i*size:(i+1)*size], images[i*from:(i+1)*from])
	}
}

// predict fills dst [N,top] with guesses for the images, or for their embeddings.
func (p *Predictor) predict(s *slot, dst []Guess, images []uint8, top int, embedded bool) error {
	size := len(images) * top / max(1, len(dst))
	most := cap(s.x.Data) / s.x.RowLen()
	for len(dst) > 0 {
		n := min(most, len(dst)/top)
		these := images[:n*size]
		if s.desk != nil && !embedded {
			these = s.embedded[:n*p.by.Bytes(p.input[0])]
			if err := s.desk.Embed(these, images[:n*size]); err != nil {
				return fmt.Errorf("predict: %w", err)
			}
		}
		p.load(s, n, these)
		if err := p.judge(s, dst[:n*top], top); err != nil {
			return err
		}
		dst, images = dst[n*top:], images[n*size:]
	}
	return nil
}

// judge sends the inputs of a slot through the network and orders what comes of it.
func (p *Predictor) judge(s *slot, dst []Guess, top int) error {
	if p.means != nil {
		features := p.net.PredictFeatures(s.ws, &s.x)
		for i := range features.Dim(0) {
			if err := p.means.Squares(s.scores, features.Row(i)); err != nil {
				return fmt.Errorf("predict: %s: %w", p.info.Folder, err)
			}
			Distances(dst[i*top:(i+1)*top], s.scores, p.info.ClassNames)
		}
		return nil
	}
	if p.scored != nil {
		n, classes := s.x.Dim(0), len(s.scores)
		all := make([]float64, n*classes)
		if err := p.scored.Scores(all, &s.x); err != nil {
			return fmt.Errorf("predict: %s: %w", p.info.Folder, err)
		}
		for i := range n {
			copy(s.scores, all[i*classes:])
			Probabilities(dst[i*top:(i+1)*top], s.scores, p.info.ClassNames)
		}
		return nil
	}
	logits := p.net.Predict(s.ws, &s.x)
	for i := range logits.Dim(0) {
		for k, v := range logits.Row(i) {
			if v-v != 0 {
				return fmt.Errorf("predict: %s: %w: the network gives class %d a logit of %v. Use another run", p.info.Folder, ocl.ErrDiverged, k, v)
			}
			s.scores[k] = float64(v)
		}
		Probabilities(dst[i*top:(i+1)*top], s.scores, p.info.ClassNames)
	}
	return nil
}

// Probabilities fills dst with the classes of the highest scores, such as logits, the best first and the lowest class first where scores are
// equal, as learners decide. Their values are the softmax over all scores [K], 1 ≤ len(dst) ≤ K. names are those of the classes, nil for none.
func Probabilities(dst []Guess, scores []float64, names []string) {
	best(dst, scores, names)
	sum := 0.0
	for _, v := range scores {
		sum += math.Exp(v - dst[0].Value)
	}
	for g, first := 0, dst[0].Value; g < len(dst); g++ {
		dst[g].Value = math.Exp(dst[g].Value-first) / sum
	}
}

// Distances is [Probabilities] for the classes whose means are nearest, given the squares of the distances [K] as
// [learner.NCM.Squares] has them, which it changes. Values are the distances.
func Distances(dst []Guess, squares []float64, names []string) {
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
