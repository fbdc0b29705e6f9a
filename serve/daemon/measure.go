package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"ocl/live"
	"ocl/predict"
	"ocl/run/metric"
)

// measureEvery is the number of samples that are learned between two tests on the held-out ones.
const measureEvery = 1000

// fewHeldOut pictures say nothing alone of how far probabilities are right.
const fewHeldOut = 5

// heldOut has the samples that are held out, as pictures that are kept.
type heldOut struct {
	ids, labels []string
	pictures    [][]byte
}

// heldOut returns the samples that are held out now, in the order in which they came.
func (d *Daemon) heldOut() (h heldOut) {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	if len(d.state.held) == 0 {
		return h
	}
	for _, m := range d.state.sorted() {
		if m.State == StateHeldOut {
			h.ids, h.labels, h.pictures = append(h.ids, m.ID), append(h.labels, m.Label), append(h.pictures, m.picture)
		}
	}
	return h
}

// tested counts the samples that are held out, and of these those that a trainer predicts right, by class; and how far
// its probabilities are right. It returns the version that has predicted.
func (d *Daemon) tested(ctx context.Context, t *live.Trainer, h heldOut) (right, all map[string]int,
	sure metric.Reliability, version int64, err error) {
	right, all = map[string]int{}, map[string]int{}
	for i := 0; i < len(h.ids); i += live.MaxPictures {
		var seen [][]byte
		for k := i; k < min(i+live.MaxPictures, len(h.ids)); k++ {
			one, err := d.see(ctx, h.ids[k], h.pictures[k])
			if err != nil {
				return nil, nil, sure, 0, err
			}
			seen = append(seen, one)
		}
		a, err := t.PredictSeen(1, seen)
		if err != nil {
			return nil, nil, sure, 0, err
		}
		version = a.Version
		for k, g := range a.Guesses {
			all[h.labels[i+k]]++
			if t.Measure() == predict.Probability {
				sure.Add(g[0].Value, g[0].Name == h.labels[i+k])
			}
			if g[0].Name == h.labels[i+k] {
				right[h.labels[i+k]]++
			}
		}
	}
	return right, all, sure, version, nil
}

// measure looks at the held-out samples, if that is due: after many samples, and of each version when nothing else is
// to be done. The applier calls it after it has published.
func (d *Daemon) measure(ctx context.Context, idle bool) {
	learned, version := d.trainer.Stats().Images, d.Version()
	h := d.heldOut()
	d.gauge.Lock()
	due := len(h.ids) > 0 && (d.kept.HeldOut == nil || idle && d.uncalibrated(len(h.ids)) ||
		idle && d.kept.HeldOut.Version != version ||
		learned-d.kept.HeldAt >= max(measureEvery, 20*int64(len(h.ids))))
	d.gauge.Unlock()
	if !due {
		return
	}
	right, all, sure, version, err := d.tested(ctx, d.trainer, h)
	if err != nil {
		return
	}
	defer d.calibrate(ctx, h.pictures, h.labels) // when the gauge is let go
	d.gauge.Lock()
	defer d.gauge.Unlock()
	if d.kept.Classes == nil {
		d.kept.Classes = map[string]*ClassInfo{}
	}
	d.kept.HeldOut, d.kept.HeldAt = &HeldOut{Version: version, Samples: len(h.ids)}, learned
	sum := 0
	for name, n := range all {
		c := d.kept.Classes[name]
		if c == nil {
			c = new(ClassInfo)
			d.kept.Classes[name] = c
		}
		now := float64(right[name]) / float64(n)
		best := now
		if c.Best != nil {
			best = max(best, *c.Best)
		}
		lost := best - now
		c.Accuracy, c.Best, c.Forgetting = &now, &best, &lost
		d.kept.HeldOut.Forgetting += lost / float64(len(all))
		sum += right[name]
	}
	d.kept.HeldOut.Accuracy = float64(sum) / float64(len(h.ids))
	if ece := sure.ECE(); !math.IsNaN(ece) {
		d.kept.HeldOut.ECE = &ece
	}
	for _, b := range sure.Joined(fewHeldOut) {
		n := float64(b.N)
		d.kept.HeldOut.Reliability = append(d.kept.HeldOut.Reliability,
			ReliabilityBin{b.N, b.Confidence / n, float64(b.Right) / n})
	}
}

// uncalibrated says whether the held-out pictures, of which there are n, may calibrate the learner and have not yet.
// The applier calls it.
func (d *Daemon) uncalibrated(n int) bool {
	return n != d.calibratedBy && d.trainer.Sureness() == nil
}

// calibrate lets the learner find out by held-out pictures how sure it may be.
func (d *Daemon) calibrate(ctx context.Context, pictures [][]byte, labels []string) {
	d.calibratedBy = len(labels)
	err := d.trainer.Calibrate(func(yield func([]byte, string) bool) {
		for i, picture := range pictures {
			if pixels, err := drawn(ctx, d.trainer, picture); err == nil && !yield(pixels, labels[i]) {
				return
			}
		}
	})
	if err != nil && !errors.Is(err, live.ErrFew) {
		d.o.Log.Warn("the learner does not know how sure it may be", "error", err)
	}
}

// Accuracy is what a version predicts of the samples that are held out now.
type Accuracy struct {
	Version  int64           `json:"version"`
	Samples  int             `json:"samples"`
	Accuracy *float64        `json:"accuracy"` // nil where none is held out
	Classes  []ClassAccuracy `json:"classes"`
}

// ClassAccuracy is the part of one class in an Accuracy.
type ClassAccuracy struct {
	Name     string  `json:"name"`
	Samples  int     `json:"samples"`
	Accuracy float64 `json:"accuracy"`
}

// Test lets a version that is kept predict the samples that are held out now; 0 is the one that answers. So versions
// can be compared: each sees the same pictures. One version is tested at a time.
func (d *Daemon) Test(ctx context.Context, version int64) (a Accuracy, err error) {
	select {
	case d.testing <- struct{}{}:
		defer func() { <-d.testing }()
	case <-d.closing:
		return a, ErrDraining
	case <-ctx.Done():
		return a, ctx.Err()
	}
	t := d.trainer
	if version != 0 {
		c, err := d.readVersion(version)
		if err != nil {
			return a, err
		}
		if t, err = live.ReadTrainer(c.Decoder(), func(p *live.Process) { *p = d.trainer.Process() }); err != nil {
			return a, fmt.Errorf("daemon: version %d: %w", version, err)
		}
		defer t.Close()
		if err := t.Publish(ctx, version); err != nil {
			return a, fmt.Errorf("daemon: version %d: %w", version, err)
		}
	}
	h := d.heldOut()
	right, all, _, answered, err := d.tested(ctx, t, h)
	if err != nil {
		return a, err
	}
	a = Accuracy{Version: cmp.Or(version, answered, d.Version()), Samples: len(h.ids), Classes: []ClassAccuracy{}}
	sum := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a.Classes = append(a.Classes, ClassAccuracy{name, all[name], float64(right[name]) / float64(all[name])})
		sum += right[name]
	}
	if len(h.ids) > 0 {
		share := float64(sum) / float64(len(h.ids))
		a.Accuracy = &share
	}
	return a, nil
}
