package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"ocl/nn/tensor"
)

// predictFor is how long a round repeats each measurement of one size; once at least.
const predictFor = 300 * time.Millisecond

// PredictReport is what [Predict] measured, medians over all repetitions.
type PredictReport struct {
	Kernel      string       `json:"kernel"`
	Convolution string       `json:"convolution"`
	Workers     int          `json:"workers"`
	Predict     []Prediction `json:"predict"`
}

// Prediction is the speed of one image size: a single image at a time, and 200 images at a time. The least times are
// those of the moments in which nothing else ran.
type Prediction struct {
	Size         int     `json:"size"`
	OneMS        float64 `json:"one_ms"`
	OneLeastMS   float64 `json:"one_least_ms"`
	BatchMS      float64 `json:"batch_ms"`
	BatchLeastMS float64 `json:"batch_least_ms"`
	// ImagesPerSecond is that of the batch.
	ImagesPerSecond float64 `json:"images_per_second"`
}

// Predict measures how fast the survey's network predicts, in rounds over all sizes until the rounds or the budget are
// used up. Of the options it reads Sizes, Workers, Rounds, Budget and Round. An error of ctx ends it without a report.
func Predict(ctx context.Context, o Options) (*PredictReport, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if len(o.Sizes) == 0 {
		return nil, fmt.Errorf("%w: none is given. Give at least one", ErrSize)
	}
	if err := fit(o.Sizes, 1); err != nil {
		return nil, err
	}
	type timed struct {
		*rig
		one, batch []float64
	}
	var all []*timed
	for _, size := range o.Sizes {
		r, err := newRig(size, o.Workers)
		if err != nil {
			return nil, fmt.Errorf("%w: %d: %w", ErrSize, size, err)
		}
		defer r.close()
		r.net.Predict(r.ws, r.test) // buffers are made
		r.net.Predict(r.ws, r.test.Rows(0, 1))
		all = append(all, &timed{rig: r})
	}
	if _, err := inRounds(o.Rounds, o.Budget, o.Round, func() error {
		for _, t := range all {
			t.one = append(t.one, t.repeated(t.test.Rows(0, 1))...)
			t.batch = append(t.batch, t.repeated(t.test)...)
		}
		return ctx.Err()
	}); err != nil {
		return nil, err
	}
	rep := &PredictReport{Kernel: all[0].net.Info().Engine.Kernel, Convolution: all[0].net.ConvolutionsUsed(),
		Workers: o.Workers}
	for _, t := range all {
		one, batch := median(t.one), median(t.batch) // which sorts
		rep.Predict = append(rep.Predict, Prediction{t.size, 1e3 * one, 1e3 * t.one[0], 1e3 * batch, 1e3 * t.batch[0],
			evaluated / batch})
	}
	return rep, nil
}

// repeated are the seconds of predictions of x.
func (r *rig) repeated(x *tensor.Tensor) (seconds []float64) {
	for begin := time.Now(); len(seconds) == 0 || time.Since(begin) < predictFor; {
		t := time.Now()
		r.net.Predict(r.ws, x)
		seconds = append(seconds, time.Since(t).Seconds())
	}
	return seconds
}
