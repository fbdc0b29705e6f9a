package live

import (
	"fmt"
	"slices"

	"ocl/predict"
)

// MaxPictures is the largest number of images of one [Trainer.Predict].
const MaxPictures = 32

// Answer has the predictions of one [Trainer.Predict], with the version that made them.
type Answer struct {
	Version int64             // that Publish gave what has predicted
	Guesses [][]predict.Guess // by image; the best first
	// Verdicts say by image how sure the guesses are; nil where the learner is not calibrated ([Trainer.Sureness]).
	Verdicts []predict.Verdict
}

// Predict predicts 1 to [MaxPictures] images of the size that the network sees, uint8 [C,H,W] each, in one pass through
// the published copy of the network. It returns at most k guesses of each, and fewer where there are fewer classes.
// Their values are those of [Trainer.Measure]. What it says of an image does not depend on the others. It allocates the
// answer alone.
//
// Before anything was published it returns [ErrNothing].
func (t *Trainer) Predict(k int, pixels [][]byte) (Answer, error) {
	a, err := t.predict(k, pixels)
	if err != nil {
		return Answer{}, fmt.Errorf("live: predict: %w", err)
	}
	return a, nil
}

func (t *Trainer) predict(k int, pixels [][]byte) (a Answer, err error) {
	if err := checkAsked(k, len(pixels)); err != nil {
		return a, err
	}
	for _, image := range pixels {
		if err := t.checkPixels(image); err != nil {
			return a, err
		}
	}
	s, m, version, err := t.publisher.acquire()
	if err != nil {
		return a, err
	}
	defer t.publisher.release(s, m)
	s.load(len(pixels))
	for i, image := range pixels {
		if err := s.see(i, image); err != nil {
			return a, err
		}
	}
	return s.answer(m, version, k)
}

// checkAsked refuses k guesses, or n images, that are none or too many.
func checkAsked(k, n int) error {
	switch {
	case k < 1:
		return fmt.Errorf("%d guesses. Ask for 1 or more", k)
	case n < 1 || n > MaxPictures:
		return fmt.Errorf("there are %d images. Give 1 to %d", n, MaxPictures)
	}
	return nil
}

// answer is what a model of a version says of the inputs of the slot.
func (s *slot) answer(m *model, version int64, k int) (Answer, error) {
	k = min(k, m.guesses)
	n := s.x.Dim(0)
	all := make([]predict.Guess, n*k)
	verdicts, err := s.judge(m, all, k, true)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Version: version, Guesses: make([][]predict.Guess, n), Verdicts: verdicts}
	for i := range a.Guesses {
		a.Guesses[i] = slices.Clip(all[i*k:][:k])
	}
	return a, nil
}

// See returns what the learner takes of an image of the size that the network sees, uint8 [C,H,W]: a new slice with its
// embedding where a pretrained network makes embeddings, and else pixels itself. It stays the same whatever is learned,
// so who looks at an image again and again keeps it for [Trainer.PredictSeen] and [Trainer.Features].
func (t *Trainer) See(pixels []byte) (seen []byte, err error) {
	if err = t.checkPixels(pixels); err == nil {
		seen, err = t.publisher.look(pixels)
	}
	if err != nil {
		return nil, fmt.Errorf("live: see: %w", err)
	}
	return seen, nil
}

// look is See for pixels that were checked.
func (p *publisher) look(pixels []byte) ([]byte, error) {
	s, ok := p.slots.Take()
	if !ok {
		return nil, ErrClosed
	}
	defer p.slots.Give(s)
	if s.desk == nil {
		return pixels, nil
	}
	seen := make([]byte, len(s.embedded))
	return seen, s.desk.Embed(seen, pixels)
}

// PredictSeen is [Trainer.Predict] for what [Trainer.See] has returned of 1 to [MaxPictures] images.
func (t *Trainer) PredictSeen(k int, seen [][]byte) (Answer, error) {
	a, err := t.predictSeen(k, seen)
	if err != nil {
		return Answer{}, fmt.Errorf("live: predict: %w", err)
	}
	return a, nil
}

func (t *Trainer) predictSeen(k int, seen [][]byte) (a Answer, err error) {
	if err := checkAsked(k, len(seen)); err != nil {
		return a, err
	}
	s, m, version, err := t.publisher.acquire()
	if err != nil {
		return a, err
	}
	defer t.publisher.release(s, m)
	if err := s.take(seen); err != nil {
		return a, err
	}
	return s.answer(m, version, k)
}

// take makes what was seen of images the inputs of the slot.
func (s *slot) take(seen [][]byte) error {
	s.load(len(seen))
	for i, one := range seen {
		if want := s.by.Bytes(len(s.x.Row(i))); len(one) != want {
			return fmt.Errorf("there are %d bytes of what was seen of an image. Give the %d that See returns", len(one), want)
		}
		s.by.Write(s.x.Row(i), one)
	}
	return nil
}

// Features returns numbers [D] of each of 1 to [MaxPictures] images, by what [Trainer.See] has returned of them: its
// embedding, or where no pretrained network makes embeddings the features of the published network. Images that show
// the same have features of nearly one direction. Where it takes the published network and nothing was published yet,
// it returns [ErrNothing].
func (t *Trainer) Features(seen [][]byte) ([][]float32, error) {
	all, err := t.features(seen)
	if err != nil {
		return nil, fmt.Errorf("live: features: %w", err)
	}
	return all, nil
}

func (t *Trainer) features(seen [][]byte) (all [][]float32, err error) {
	if !t.made() {
		return nil, errZero
	}
	if err := checkAsked(1, len(seen)); err != nil {
		return nil, err
	}
	s, ok := t.publisher.slots.Take()
	if !ok {
		return nil, ErrClosed
	}
	defer t.publisher.slots.Give(s)
	if err := s.take(seen); err != nil {
		return nil, err
	}
	from := s.x
	if t.embedder == nil {
		m, _, err := t.publisher.hold()
		if err != nil {
			return nil, err
		}
		defer t.publisher.drop(m)
		if _, err := s.judge(m, make([]predict.Guess, len(seen)), 1, false); err != nil {
			return nil, err
		}
		from = m.Net.Predict(s.ws, s.x).Features
	}
	for i := range seen {
		all = append(all, slices.Clone(from.Row(i)))
	}
	return all, nil
}
