package live

import (
	"iter"
	"slices"

	"ocl/learn/learner"
	"ocl/predict"
)

// Sureness says how sure the published copy may be; nil where nobody knows: before there are enough images, of a method
// that answers by distances, and of a network until [Trainer.Calibrate].
func (t *Trainer) Sureness() *predict.Sureness {
	m, _, err := t.publisher.hold()
	if err != nil {
		return nil
	}
	defer t.publisher.drop(m)
	if s := m.sure.Load(); s != nil {
		return s.Sureness
	}
	return nil
}

// Calibrate finds out how sure a network may be, by images, uint8 [C,H,W], that it has not learned, and the names of
// their classes; those of classes that are not published are passed over. It is what the published copy says of them,
// and that copy uses it at once. Other methods know it by themselves, or answer by distances: for them it does nothing,
// and asks for no image. The sequence must not call what changes the trainer. Too few images are an error that wraps
// [ErrFew].
func (t *Trainer) Calibrate(images iter.Seq2[[]byte, string]) error {
	return t.change("calibrate", func() error {
		k := t.core
		if _, itself := k.learner.(learner.Calibrated); itself || k.means() != nil {
			return nil
		}
		s, m, _, err := t.publisher.acquire()
		if err != nil {
			return err
		}
		defer t.publisher.release(s, m)
		s.fit(m.Net)
		s.load(1)
		var scores []float64
		var labels []int
		for pixels, name := range images {
			y := slices.Index(m.Names, name)
			if y < 0 {
				continue
			}
			if err := t.checkPixels(pixels); err != nil {
				return err
			}
			if err := s.see(0, pixels); err != nil {
				return err
			}
			for _, v := range m.Net.Predict(s.ws, s.x).Logits.Row(0) {
				scores = append(scores, float64(v))
			}
			labels = append(labels, y)
		}
		c, err := learner.EnergyCalibration(scores, labels)
		if err != nil {
			return err
		}
		k.tested = c.Calibration
		return m.calibrate(c, t.process)
	})
}

// sureness says how sure the answers of a model may be.
type sureness struct {
	*learner.Calibration
	*predict.Sureness
}

// calibrate gives the model a calibration; nil is none.
func (m *model) calibrate(c *learner.Calibration, p Process) error {
	s, err := predict.NewSureness(c, p.Unknown, p.Coverage)
	switch {
	case err != nil:
		return err
	case s == nil:
		m.sure.Store(nil)
	default:
		m.sure.Store(&sureness{c, s})
	}
	return nil
}

// measure says what the values of its guesses are.
func (m *model) measure() predict.Measure {
	if m.Means != nil && m.sure.Load() == nil {
		return predict.Distance
	}
	return predict.Probability
}
