// Package bench measures the engine on the machine it runs on: the survey's training step, batched evaluation, and
// the machine's own FMA peak. All measurements are interleaved in one process, so that shares of the peak are
// meaningful although the clock of the machine changes. It also measures what a step of each method costs beside its
// passes. It knows nothing of data sets or files. Start at [Engine] and [Methods].
package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"ocl/nn/arch"
)

const (
	// batch is the number of incoming and, separately, of replayed images of a survey step (survey §5).
	batch = 10
	// evaluated is the number of images of one evaluation, as in docs/benchmarks.md.
	evaluated = 200
	// classes is the number of outputs of the network, those of CIFAR-100.
	classes = 100
	// width is nf of the reduced ResNet-18.
	width = 20
	// leastRounds keeps a median a median when one round takes longer than the whole budget.
	leastRounds = 3

	// SmallestSize and LargestSize bound the side of an image in pixels: what the strides allow, and what fits in
	// memory.
	SmallestSize, LargestSize = arch.LeastSide, 512
)

// Options say what [Engine] measures.
type Options struct {
	Sizes   []int         // sides of the square images in pixels, each at least 25
	Workers int           // goroutines of a step, and threads of the peak; 0: the processors Go uses
	Rounds  int           // rounds over all measurements; 0: as many as fit into Budget, at least three
	Budget  time.Duration // wall time of all rounds together when Rounds is 0
	AtOnce  int           // also measure so many runs at once with one worker each; 0: no
	Layers  bool          // also break a step down by layer
	Round   func(round int, left time.Duration)
}

// Report is what [Engine] measured: medians over all rounds. Shares are fractions of PeakGFLOPS.
type Report struct {
	Kernel      string       `json:"kernel"`
	Convolution string       `json:"convolution"` // algorithm, one of nn.Convolutions
	Workers     int          `json:"workers"`
	PeakGFLOPS  float64      `json:"peak_gflops"` // of all workers together; 0 where it cannot be measured
	Steps       []Step       `json:"steps"`
	Evaluation  []Evaluation `json:"evaluation"`
	AtOnce      []AtOnce     `json:"at_once,omitempty"`
	Layers      []Layers     `json:"layers,omitempty"`
}

// Step is a survey step: forward and backward on 10 incoming and, separately, on 10 replayed images, one SGD update.
// GFLOPS counts 2 a multiply-add and three forward passes an image.
type Step struct {
	Size      int     `json:"size"`
	MS        float64 `json:"ms"`
	GFLOPS    float64 `json:"gflops"`
	PeakShare float64 `json:"peak_share"`
}

// Evaluation is the prediction of 200 images.
type Evaluation struct {
	Size            int     `json:"size"`
	ImagesPerSecond float64 `json:"images_per_second"`
	PeakShare       float64 `json:"peak_share"`
}

// AtOnce compares the throughput of Runs independent runs at once, one worker each, with that of one run alone.
type AtOnce struct {
	Size       int     `json:"size"`
	Runs       int     `json:"runs"`
	Throughput float64 `json:"throughput"` // survey steps of all runs together over those of one run in the same time
}

// Layers is where the time of a step goes. The parts add up to the time between the first forward and the last backward
// layer; the rest of a step is loss, update and packing.
type Layers struct {
	Size  int         `json:"size"`
	Parts []LayerPart `json:"parts"`
}

// LayerPart is the time of one kind of work of one layer. GFLOPS and PeakShare are there for the products of
// convolutions and linear layers alone.
type LayerPart struct {
	Layer     string  `json:"layer"`
	Work      string  `json:"work"`
	MS        float64 `json:"ms"`
	Share     float64 `json:"share"` // of the time of all parts
	GFLOPS    float64 `json:"gflops,omitempty"`
	PeakShare float64 `json:"peak_share,omitempty"`
}

// ErrSize says that a size cannot be measured.
var ErrSize = errors.New("bench: size")

// Engine measures until the rounds or the budget are used up. A round measures the peak, then for each size the peak
// again, some steps and an evaluation, so every median covers the same period. If ctx ends early, it returns what was
// measured together with ctx's error, or only the error if not even one round is complete.
func Engine(ctx context.Context, o Options) (*Report, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if len(o.Sizes) == 0 {
		return nil, fmt.Errorf("%w: none is given. Give at least one", ErrSize)
	}
	rigsOfSize := 1
	if o.AtOnce > 1 {
		rigsOfSize += o.AtOnce + 1
	}
	if err := fit(o.Sizes, rigsOfSize); err != nil {
		return nil, err
	}
	var rigs []*rig
	for _, size := range o.Sizes {
		r, err := newRig(size, o.Workers)
		if err != nil {
			return nil, fmt.Errorf("%w: %d: %w", ErrSize, size, err)
		}
		defer r.close()
		r.once() // buffers are made
		r.net.Predict(r.ws, r.test)
		rigs = append(rigs, r)
	}
	m := &measured{}
	done, err := inRounds(o.Rounds, o.Budget, o.Round, func() error {
		m.peak = append(m.peak, fmaPeak(o.Workers))
		for _, r := range rigs {
			r.measure()
			m.peak = append(m.peak, fmaPeak(o.Workers))
			if o.AtOnce > 1 {
				r.measureAtOnce(o.AtOnce)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if done == 0 {
		return nil, err
	}
	rep := m.report(o, rigs)
	if err != nil {
		return rep, err
	}
	if o.Layers {
		for _, r := range rigs {
			rep.Layers = append(rep.Layers, r.layers(rep.PeakGFLOPS))
		}
	}
	return rep, nil
}

// inRounds does work in rounds, or as many as fit into a budget and at least three, until it fails. It shows each round
// that is done and how long the rest will take, and returns how many were.
func inRounds(rounds int, budget time.Duration, show func(round int, left time.Duration), work func() error) (done int,
	err error) {
	for begin, left := time.Now(), time.Duration(1); left > 0; {
		if err := work(); err != nil {
			return done, err
		}
		done++
		left = remaining(time.Since(begin), budget, done, rounds)
		if show != nil {
			show(done, left)
		}
	}
	return done, nil
}

// remaining is how long further rounds will take after so many were made in the time spent; 0 where they are enough.
func remaining(spent, budget time.Duration, round, rounds int) time.Duration {
	each := spent / time.Duration(round)
	if rounds > 0 {
		return each * time.Duration(max(rounds-round, 0))
	}
	return max(budget-spent, each*time.Duration(leastRounds-round), 0)
}

// measured holds the samples that belong to no size.
type measured struct {
	peak []float64 // GFLOP/s of all workers together
}

func (m *measured) report(o Options, rigs []*rig) *Report {
	rep := &Report{Kernel: rigs[0].net.Info().Engine.Kernel, Convolution: rigs[0].net.ConvolutionsUsed(),
		Workers:    o.Workers,
		PeakGFLOPS: median(m.peak)}
	for _, r := range rigs {
		step, eval := median(r.step), median(r.eval)
		gflops := float64(r.net.Info().FLOPs) * 3 * 2 * batch / step / 1e9
		rep.Steps = append(rep.Steps, Step{r.size, 1e3 * step, gflops, shareOf(gflops, rep.PeakGFLOPS)})
		rate := evaluated / eval
		rep.Evaluation = append(rep.Evaluation, Evaluation{r.size, rate,
			shareOf(rate*float64(r.net.Info().FLOPs)/1e9, rep.PeakGFLOPS)})
		if len(r.atOnce) > 0 {
			rep.AtOnce = append(rep.AtOnce, AtOnce{r.size, o.AtOnce, median(r.atOnce)})
		}
	}
	return rep
}

// median of at least one value; v is sorted.
func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}
