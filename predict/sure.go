package predict

import (
	"context"
	"fmt"
	"math"

	"ocl/internal/count"
	"ocl/learn/learner"
	"ocl/run/result"
)

// Sureness says how sure the answers of a learner may be.
type Sureness struct {
	Samples     int     // by which it was calibrated
	Temperature float64 // that scores are divided by
	// Unknown is the share of images of known classes that may be called unknown. With 0.05 about half of the images of
	// other classes are called so (docs/pictures.md has what was measured). With fewer Samples than 1/Unknown − 1 none is.
	Unknown  float64
	Coverage float64 // of [Answer.Set]; 0 without
}

// NewSureness describes a calibration. unknown and coverage are as in [Options]. A share outside of (0,1) is an error.
func NewSureness(c *learner.Calibration, unknown, coverage float64) (*Sureness, error) {
	if unknown == 0 {
		unknown = result.UnknownShare
	}
	switch {
	case !(unknown > 0 && unknown < 1):
		return nil, fmt.Errorf("predict: %v is no share of images that may be called unknown. Use a number between 0 and 1, such as 0.05",
			unknown)
	case coverage != 0 && !(coverage > 0 && coverage < 1):
		return nil, fmt.Errorf("predict: %v is no coverage. Use a number between 0 and 1, such as 0.95", coverage)
	case c == nil:
		return nil, nil
	}
	return &Sureness{len(c.Known), c.Temperature, unknown, coverage}, nil
}

// CalibratedBy is how many samples must calibrate a learner before a share of images of known classes can be unknown.
func CalibratedBy(unknown float64) int { return int(math.Ceil(1/unknown-1e-9)) - 1 }

// sure fills in Info.Sureness, and a note where there is none. why says why.
func (p *Predictor) sure(o Options, why string) (err error) {
	c := p.model.Calibration
	if p.info.Sureness, err = NewSureness(c, o.Unknown, o.Coverage); err != nil {
		return err
	}
	switch s := p.info.Sureness; {
	case s == nil && (o.Unknown != 0 || o.Coverage != 0):
		return fmt.Errorf("predict: %s: the learner is not calibrated, so it cannot say what is unknown, or how many classes to name: %s",
			p.info.Folder, why)
	case s == nil:
		p.info.Notes = append(p.info.Notes, "probabilities are not calibrated, and nothing is called unknown: "+why)
	case c.Resolution() > s.Unknown && o.Unknown == 0:
		p.info.Notes = append(p.info.Notes, fmt.Sprintf("the learner is calibrated by %s, and nothing is called unknown with fewer than %d",
			count.Of(s.Samples, "sample"), CalibratedBy(s.Unknown)))
	case c.Resolution() > s.Unknown:
		return fmt.Errorf("predict: %s: %s are too few to call a share of %v unknown. Use %.3g or more, or teach it more pictures",
			p.info.Folder, count.Of(s.Samples, "sample"), s.Unknown, c.Resolution())
	}
	return nil
}

// Answer says what an image may be.
type Answer struct {
	Guesses []Guess // the best first
	Verdict
}

// Verdict says how sure the guesses for an image are.
type Verdict struct {
	// Familiarity is the share of images of known classes that look as strange as this one, in (0,1]; 0 where the learner
	// is not calibrated. It is at most Unknown of [Sureness] where the image is Unknown: it looks like none of the
	// classes.
	Familiarity float64
	Unknown     bool
	// Score is larger the more the image looks like the classes. It can be compared for images of one learner alone.
	Score float64
	// Set is how many of the first guesses must be named so that the right class is among them, with the Coverage that was
	// asked for; 0 where none was. It may be more than there are guesses.
	Set int
}

// Verdict is that of an image with these guesses and this score of familiarity. It is zero where c and s are nil: of a
// learner that is not calibrated.
func (s *Sureness) Verdict(c *learner.Calibration, guesses []Guess, score float64) (v Verdict) {
	if s == nil {
		return v
	}
	v.Score, v.Familiarity = score, c.Rank(score)
	v.Unknown = v.Familiarity <= s.Unknown
	if s.Coverage > 0 {
		floor := c.Floor(s.Coverage)
		for v.Set = 1; v.Set < len(guesses) && guesses[v.Set].Value >= floor; v.Set++ {
		}
	}
	return v
}

// answers are those of guesses [n,k], and of the familiarities [n] of the images; nil where nothing is calibrated.
func (p *Predictor) answers(guesses []Guess, familiar []float64, n int) []Answer {
	all, k := make([]Answer, n), len(guesses)/n
	for i := range all {
		a := Answer{Guesses: guesses[i*k : (i+1)*k : (i+1)*k]}
		if familiar != nil {
			a.Verdict = p.info.Sureness.Verdict(p.model.Calibration, a.Guesses, familiar[i])
		}
		all[i] = a
	}
	return all
}

// AnswerBatch is [Predictor.PredictBatch] with what the learner is sure of. It allocates the answers.
func (p *Predictor) AnswerBatch(images []uint8, n, top int) ([]Answer, error) {
	if n < 1 {
		return nil, fmt.Errorf("predict: %d images. Give 1 or more", n)
	}
	if top < 1 || top > p.info.Guesses {
		return nil, p.PredictBatch(nil, nil, top) // which says so
	}
	guesses, familiar := make([]Guess, n*top), p.room(n)
	if err := p.predictBatch(guesses, familiar, images, top, false); err != nil {
		return nil, err
	}
	return p.answers(guesses, familiar, n), nil
}

// AnswerFile is [Predictor.PredictFile] with what the learner is sure of, for the top best guesses.
func (p *Predictor) AnswerFile(ctx context.Context, file []byte, top int) (Answer, error) {
	if top < 1 || top > p.info.Guesses {
		return Answer{}, p.PredictBatch(nil, nil, top) // which says so
	}
	s, ok := p.slots.Take()
	if !ok {
		return Answer{}, ErrClosed
	}
	defer p.slots.Give(s)
	if err := p.Prepare(ctx, s.image, file); err != nil {
		return Answer{}, err
	}
	guesses, familiar := make([]Guess, top), p.room(1)
	if err := p.predict(s, guesses, familiar, s.image, top, false); err != nil {
		return Answer{}, err
	}
	return p.answers(guesses, familiar, 1)[0], nil
}

// room is room for the familiarities of n images; nil without a calibration.
func (p *Predictor) room(n int) []float64 {
	if p.model.Calibration == nil {
		return nil
	}
	return make([]float64, n)
}
