package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ocl"
	"ocl/checkpoint"
	"ocl/config"
	"ocl/learn/calibrate"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/run/metric"
	"ocl/run/result"
)

// mostTested is the largest number of test images by which a network is calibrated, or its probabilities are judged.
const mostTested = 4096

// sureness finds out, in the evaluation after the last task, what the probabilities of the first classifier are worth.
// A learner of sums has calibrated itself by samples that it has learned. A network is calibrated by half of the test
// images and judged by the other half, and the other way round.
type sureness struct {
	own     *learner.Calibration // of a learner that calibrates itself; nil for others
	every   int                  // each so-manieth test image is taken
	seen    int
	columns []int // the classes that can be predicted

	scores []float64 // [n,len(columns)]
	labels []int     // [n]: places in columns
	judged metric.Reliability
	before *metric.Reliability // of the scores as they are; nil where they are no logits
}

// newSureness prepares for total test images. It is nil where the first classifier has a rule that no scores show.
func newSureness(ctx context.Context, c *Classifiers, l ocl.Learner, classes, total int) (*sureness, error) {
	s := &sureness{every: (total + mostTested - 1) / mostTested}
	for k := range classes {
		s.columns = append(s.columns, k)
	}
	_, scored := l.(learner.Scored)
	switch means := c.means(0); {
	case means != nil:
		s.columns = s.columns[:0]
		for _, k := range means.Classes() {
			s.columns = append(s.columns, int(k))
		}
	case c.ByLogits(0):
		s.before = new(metric.Reliability)
		own, _, err := learner.CalibrationOf(ctx, l)
		if _, itself := l.(learner.Calibrated); err != nil || itself && own == nil {
			return nil, err
		}
		s.own = own
	case !scored:
		return nil, nil
	}
	return s, nil
}

// means are the class means that classifier i predicts by; nil where it does not.
func (c *Classifiers) means(i int) *learner.NCM {
	switch {
	case c.Names[i] == config.ClassifierNCM:
		return c.NCM
	case c.Open != nil:
		return c.Open.Parts().Means
	}
	return nil
}

// add takes its share of a batch of test images, for which the network gave out.
func (s *sureness) add(c *Classifiers, l ocl.Learner, b ocl.Batch, out nn.Outputs) error {
	var rows []int
	for i := range b.Y {
		if s.seen++; (s.seen-1)%s.every == 0 {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	scored, _ := l.(learner.Scored)
	var all []float64 // [len(rows),K] of scored
	if c.Open == nil && scored != nil {
		x := tensor.New(append([]int{len(rows)}, b.X.Shape[1:]...)...)
		for i, row := range rows {
			copy(x.Row(i), b.X.Row(row))
		}
		all = make([]float64, len(rows)*len(s.columns))
		if err := scored.Scores(all, x); err != nil {
			return err
		}
	}
	means := c.means(0)
	scores := make([]float64, len(s.columns))
	for i, row := range rows {
		switch {
		case means != nil:
			squares := make([]float64, 1+slices.Max(s.columns))
			if err := means.Squares(squares, out.Features.Row(row)); err != nil {
				return err
			}
			for j, k := range s.columns {
				scores[j] = -squares[k]
			}
		case all != nil:
			copy(scores, all[i*len(scores):])
		case s.own != nil:
			s.own.Scores(scores, out.Logits.Row(row), out.Features.Row(row))
		default:
			for k, v := range out.Logits.Row(row)[:len(scores)] {
				scores[k] = float64(v)
			}
		}
		y := slices.Index(s.columns, int(b.Y[row]))
		if s.before != nil {
			judge(s.before, &calibrate.Calibration{Temperature: 1, Slope: 1}, scores, y)
		}
		switch {
		case s.own != nil:
			judge(&s.judged, s.own.Calibration, scores, y)
		case y >= 0: // a class that cannot be predicted says nothing of the others
			s.scores, s.labels = append(s.scores, scores...), append(s.labels, y)
		}
	}
	return nil
}

// judge counts how confident an answer is, and whether it is right. It changes no score.
func judge(r *metric.Reliability, c *calibrate.Calibration, scores []float64, y int) {
	p := make([]float64, len(scores))
	c.Probabilities(p, scores)
	best := 0
	for k, v := range p {
		if v > p[best] {
			best = k
		}
	}
	r.Add(p[best], best == y)
}

// conclude is the calibration of the first classifier, and what the result says of it. Both are nil where too little
// was tested.
func (s *sureness) conclude() (*calibrate.Calibration, *result.Calibration, error) {
	if s.own != nil {
		return nil, resultOf(s.own.Calibration, result.LeftOut, &s.judged, s.before), nil
	}
	k := len(s.columns)
	for half := range 2 {
		var fit, rest []float64
		var fitLabels, restLabels []int
		for i, y := range s.labels {
			row := s.scores[i*k:][:k]
			if i%2 == half {
				fit, fitLabels = append(fit, row...), append(fitLabels, y)
			} else {
				rest, restLabels = append(rest, row...), append(restLabels, y)
			}
		}
		c, err := learner.EnergyCalibration(fit, fitLabels)
		if errors.Is(err, calibrate.ErrFew) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for i, y := range restLabels {
			judge(&s.judged, c.Calibration, rest[i*k:][:k], y)
		}
	}
	c, err := learner.EnergyCalibration(s.scores, s.labels)
	if err != nil {
		return nil, nil, err
	}
	return c.Calibration, resultOf(c.Calibration, result.Tested, &s.judged, s.before), nil
}

// resultOf is what a result says of a calibration.
func resultOf(c *calibrate.Calibration, by string, judged, before *metric.Reliability) *result.Calibration {
	r := &result.Calibration{By: by, Samples: len(c.Known), Temperature: c.Temperature, Slope: c.Slope, ECE: judged.ECE()}
	if before != nil {
		e := before.ECE()
		r.Before = &e
	}
	for i, b := range judged {
		if b.N > 0 {
			r.Bins = append(r.Bins, result.CalibrationBin{Bin: i, N: b.N, Confidence: b.Confidence / float64(b.N),
				Accuracy: float64(b.Right) / float64(b.N)})
		}
	}
	return r
}

// ReadCalibration reads the calibration that a network got from test images, from the checkpoint of its run. It is nil
// where there is none.
func ReadCalibration(d *checkpoint.Decoder) (c *calibrate.Calibration, err error) {
	if err = (checkpoint.Parts{calibrate.Parts(&c)}).LoadState(d.Sub("record")); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return c, nil
}

// calibrated measures what the probabilities are worth, where all is measured: after the last task.
func (r *run) calibrated(ctx context.Context) (err error) {
	r.tests.sure = nil
	info := r.Stream.Info()
	if r.at.Task != len(info.Tasks)-1 {
		return nil
	}
	total := 0
	for _, set := range testSets(info, r.Job.Config.Eval, r.at.Task) {
		total += info.Tasks[set].Test
	}
	r.tests.sure, err = newSureness(ctx, &r.tests.classifiers, r.learner, r.net.Info().Classes, total)
	return err
}

// concluded keeps what was measured of the probabilities.
func (r *run) concluded() (err error) {
	if s := r.tests.sure; s != nil {
		r.found.calibration, r.found.Calibration, err = s.conclude()
		r.tests.sure = nil
	}
	return err
}
