package live

import (
	"fmt"
	"image"

	"ocl/predict"
)

// Predict returns the best guesses for an image of any size, at most k, the best first. There are fewer where fewer
// classes were learned. Of a method that predicts by logits their values are probabilities, and of one that predicts by
// class means distances, of which less is better ([Learner.Measure]). It allocates the guesses alone.
//
// Before anything was learned it returns [ErrNothing].
func (l *Learner) Predict(img image.Image, k int) ([]predict.Guess, error) {
	if k < 1 {
		return nil, fmt.Errorf("live: predict: %d guesses. Ask for 1 or more", k)
	}
	return l.guess(nil, k, img, nil, nil)
}

// PredictInto is [Learner.Predict] with the guesses in dst: it returns dst[:n], with n = len(dst) or fewer, and
// allocates nothing.
func (l *Learner) PredictInto(dst []predict.Guess, img image.Image) ([]predict.Guess, error) {
	return l.guess(dst, len(dst), img, nil, nil)
}

// PredictPixels is [Learner.PredictInto] for an image of the size that the network sees: uint8 [C,H,W], see
// [Learner.Shape].
func (l *Learner) PredictPixels(dst []predict.Guess, pixels []byte) ([]predict.Guess, error) {
	if err := l.t.checkPixels(pixels); err != nil {
		return nil, fmt.Errorf("live: predict: %w", err)
	}
	return l.guess(dst, len(dst), nil, pixels, nil)
}

// guess predicts an image, or pixels where they are not nil, into dst, which it makes if it is nil. v gets the verdict,
// unless it is nil.
func (l *Learner) guess(dst []predict.Guess, k int, img image.Image, pixels []byte, v *predict.Verdict) ([]predict.Guess,
	error) {
	if k < 1 {
		return nil, fmt.Errorf("live: predict: there is room for no guess. Give room for 1 or more")
	}
	if l.t == nil {
		return nil, fmt.Errorf("live: predict: %w", errZero)
	}
	s, m, _, err := l.t.publisher.acquire()
	if err != nil {
		return nil, fmt.Errorf("live: predict: %w", err)
	}
	defer l.t.publisher.release(s, m)
	if pixels == nil {
		if err := s.easel.Draw(s.image, img); err != nil {
			return nil, fmt.Errorf("live: predict: %w", err)
		}
		pixels = s.image
	}
	s.load(1)
	if err := s.see(0, pixels); err != nil {
		return nil, fmt.Errorf("live: predict: %w", err)
	}
	k = min(k, m.guesses)
	if dst == nil {
		dst = make([]predict.Guess, k)
	}
	verdicts, err := s.judge(m, dst[:k], k, v != nil)
	if err != nil {
		return nil, fmt.Errorf("live: predict: %w", err)
	}
	if verdicts != nil {
		*v = verdicts[0]
	}
	return dst[:k], nil
}

// Answer is [Learner.Predict] with what the learner is sure of: whether the image looks like none of the classes.
func (l *Learner) Answer(img image.Image, k int) (a predict.Answer, err error) {
	if k < 1 {
		return a, fmt.Errorf("live: predict: %d guesses. Ask for 1 or more", k)
	}
	a.Guesses, err = l.guess(nil, k, img, nil, &a.Verdict)
	return a, err
}
