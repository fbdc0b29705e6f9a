package daemon

import (
	"context"
	"fmt"
	"time"

	"ocl/live"
	"ocl/predict"
)

// ask is one request for predictions.
type ask struct {
	pixels [][]byte
	k      int
	answer chan outcome
}

// asks are requests that are answered in one pass.
type asks []*ask

type outcome struct {
	live.Answer
	err error
}

// Predict predicts 1 to live.MaxPictures pictures, uint8 [C,H,W] each, with at most k guesses of each. Pictures of
// several requests that wait are predicted together. Before anything was learned it returns live.ErrNothing.
func (d *Daemon) Predict(ctx context.Context, pixels [][]byte, k int) (live.Answer, error) {
	began := time.Now()
	if n := len(pixels); n < 1 || n > live.MaxPictures {
		return live.Answer{}, fmt.Errorf("daemon: there are %d pictures. Give 1 to %d", n, live.MaxPictures)
	}
	for _, p := range pixels {
		if err := d.checkPixels(p); err != nil {
			return live.Answer{}, err
		}
	}
	a := &ask{pixels, k, make(chan outcome, 1)}
	select {
	case d.asks <- a:
	case <-d.closing:
		return live.Answer{}, ErrDraining
	case <-ctx.Done():
		return live.Answer{}, ctx.Err()
	}
	select {
	case r := <-a.answer:
		if r.err != nil {
			return live.Answer{}, r.err
		}
		d.predicted(len(pixels), time.Since(began))
		d.answered(pixels, r.Answer)
		return r.Answer, nil
	case <-d.stopped:
		return live.Answer{}, ErrDraining
	case <-ctx.Done():
		return live.Answer{}, ctx.Err()
	}
}

// gather waits for a request, and returns it with the requests that wait already, up to the pictures that a trainer
// takes in one pass. It waits for no further ones. It returns none when ctx ends.
func (d *Daemon) gather(ctx context.Context) (group asks) {
	d.gathering.Lock()
	defer d.gathering.Unlock()
	if d.carried == nil {
		select {
		case d.carried = <-d.asks:
		case <-ctx.Done():
			return nil
		}
	}
	for n := 0; d.carried != nil && n+len(d.carried.pixels) <= live.MaxPictures; {
		group, n = append(group, d.carried), n+len(d.carried.pixels)
		d.carried = nil
		if n == live.MaxPictures {
			break
		}
		select {
		case d.carried = <-d.asks:
		default:
		}
	}
	return group
}

// predictLoop answers requests until ctx ends. Several loops do so at the same time, one a core.
func (d *Daemon) predictLoop(ctx context.Context) {
	for {
		group := d.gather(ctx)
		if group == nil {
			return
		}
		group.reply(d.trainer.Predict)
	}
}

// reply answers requests together, and where that fails each alone: what one request meets, such as a panic of the
// network, is not of the others.
func (group asks) reply(predict func(k int, pixels [][]byte) (live.Answer, error)) {
	var pixels [][]byte
	k := 0
	for _, a := range group {
		pixels, k = append(pixels, a.pixels...), max(k, a.k)
	}
	all, err := predict(k, pixels)
	if err != nil && len(group) > 1 {
		for i := range group {
			group[i:][:1].reply(predict)
		}
		return
	}
	for _, a := range group {
		r := outcome{err: err}
		if err == nil {
			r.Version, r.Guesses = all.Version, all.Guesses[:len(a.pixels):len(a.pixels)]
			all.Guesses = all.Guesses[len(a.pixels):]
			if all.Verdicts != nil {
				r.Verdicts, all.Verdicts = all.Verdicts[:len(a.pixels):len(a.pixels)], all.Verdicts[len(a.pixels):]
			}
			for i, g := range r.Guesses {
				r.Guesses[i] = g[:min(len(g), a.k)]
			}
		}
		a.answer <- r
	}
}

// Guesses are guesses by a measure as events and JSON have them.
func Guesses(list []predict.Guess, by predict.Measure) []Guess {
	all := make([]Guess, 0, len(list))
	for _, g := range list {
		v, one := g.Value, Guess{Class: g.Name}
		if by == predict.Distance {
			one.Distance = &v
		} else {
			one.Probability = &v
		}
		all = append(all, one)
	}
	return all
}

// Version is the version of the model that predicts now.
func (d *Daemon) Version() int64 {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	return d.version
}
