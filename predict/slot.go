package predict

import (
	"errors"
	"fmt"

	"ocl"
	"ocl/data/embed"
	"ocl/nn"
	"ocl/nn/tensor"
)

// part is the number of images that each worker gets at once: as many as a network of small images takes in one go.
const part = 20

// slot has the workspace and the buffers of one call. One goroutine at a time uses it.
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

// embeddedAtOnce is the number of images that go through a pretrained network together. It is small because the maps of
// one image take much more memory than in a network that learns.
const embeddedAtOnce = 4

// load makes inputs of n images or embeddings.
func (p *Predictor) load(s *slot, n int, images []uint8) {
	size, from := s.x.RowLen(), len(images)/n
	s.x.Shape[0], s.x.Data = n, s.x.Data[:n*size]
	for i := range n {
		p.by.Write(s.x.Data[i*size:(i+1)*size], images[i*from:(i+1)*from])
	}
}

// predict fills dst [N,top] with guesses for the images, or for their embeddings, and familiar [N] with their
// familiarities, unless it is nil.
func (p *Predictor) predict(s *slot, dst []Guess, familiar []float64, images []uint8, top int, embedded bool) error {
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
		some := familiar
		if familiar != nil {
			some, familiar = familiar[:n], familiar[n:]
		}
		if err := p.judge(s, dst[:n*top], some, top); err != nil {
			return err
		}
		dst, images = dst[n*top:], images[n*size:]
	}
	return nil
}

// judge sends the inputs of a slot through the network, and writes the top best guesses for each to dst. An output that
// is not finite is an error.
func (p *Predictor) judge(s *slot, dst []Guess, familiar []float64, top int) error {
	if err := p.model.Judge(s.ws, dst, top, &s.x, s.scores, familiar); errors.Is(err, ocl.ErrDiverged) {
		return fmt.Errorf("predict: %s: %w. Use another run", p.info.Folder, err)
	} else if err != nil {
		return fmt.Errorf("predict: %s: %w", p.info.Folder, err)
	}
	return nil
}
