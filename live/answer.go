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
	switch n := len(pixels); {
	case k < 1:
		return a, fmt.Errorf("%d guesses. Ask for 1 or more", k)
	case n < 1 || n > MaxPictures:
		return a, fmt.Errorf("there are %d images. Give 1 to %d", n, MaxPictures)
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
	k = min(k, m.guesses)
	all := make([]predict.Guess, len(pixels)*k)
	verdicts, err := s.judge(m, all, k, true)
	if err != nil {
		return a, err
	}
	a = Answer{Version: version, Guesses: make([][]predict.Guess, len(pixels)), Verdicts: verdicts}
	for i := range a.Guesses {
		a.Guesses[i] = slices.Clip(all[i*k:][:k])
	}
	return a, nil
}
