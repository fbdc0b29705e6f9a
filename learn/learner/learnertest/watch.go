package learnertest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ocl"
	"ocl/checkpoint"
)

// progress checks the calls that a learner makes to the function of ocl.Watched.
type progress struct {
	t           *testing.T
	done, total int // of the work under way; 0 if there is none
	pieces      int // that were finished
}

func (p *progress) tell(done, total int) {
	p.t.Helper()
	if done <= p.done || done > total || p.total > 0 && total != p.total {
		p.t.Fatalf("%d of %d steps are done, after %d of %d; want a number that rises to a total that stays", done, total,
			p.done, p.total)
	}
	if p.done, p.total = done, total; done == total {
		p.done, p.total = 0, 0
		p.pieces++
	}
}

// whole fails the test unless the last work was reported up to its end.
func (p *progress) whole(what string) {
	p.t.Helper()
	if p.done > 0 {
		p.t.Errorf("%s: the work ended at %d of %d steps", what, p.done, p.total)
	}
}

// watched checks that reported progress rises up to its total, and that watching changes no number.
func (c Case) watched(t *testing.T) {
	l, alone := c.New(t, 1), c.New(t, 1)
	p := &progress{t: t}
	l.(ocl.Watched).Watch(p.tell)
	batches := c.Batches(1, c.Steps, 5)
	for i := range batches {
		c.begin(t, l, i, len(batches))
		Observe(t, l, batches[i:i+1])
		p.whole("Observe")
		c.end(t, l, i, len(batches))
		p.whole("EndTask")
	}
	prepare(t, l)
	p.whole("Prepare")
	c.Learn(t, alone, batches, 0, c.Steps)
	prepare(t, alone)
	CheckSame(t, "a watched learner", State(t, l), State(t, alone))
	pieces := p.pieces
	l.(ocl.Watched).Watch(nil)
	c.Learn(t, l, batches, 0, c.Steps)
	prepare(t, l)
	if p.pieces != pieces || p.done > 0 {
		t.Error("it tells somebody who no longer watches")
	}
}

// pauses interrupts the long work of Observe at several points, at one or at all of them in a run. It continues with
// the same learner, and with one that loaded the saved state. Stats and state must equal those of an uninterrupted
// learner.
func (c Case) pauses(t *testing.T) {
	batches := c.Batches(1, 2*c.Steps, 5)
	steps := make([]int, len(batches)) // of the long work on each batch
	never := func(batch, done int) bool { steps[batch] = done; return false }
	want, state := c.learnPaused(t, batches, never, false)
	plain := c.New(t, 1)
	if stats := c.Learn(t, plain, batches, 0, len(batches)); !slices.Equal(stats, want) {
		t.Errorf("stats %v where it is watched, %v where it is not", want, stats)
	}
	CheckSame(t, "where it is watched", state, State(t, plain))
	first := slices.IndexFunc(steps, func(n int) bool { return n > 1 })
	if first < 0 {
		t.Fatalf("no Observe of %d tells of long work; want some in a learner that pauses", len(batches))
	}
	last := len(steps) - 1
	for steps[last] <= 1 {
		last--
	}
	stops := map[string]func(batch, done int) bool{
		"at every step":           func(int, int) bool { return true },
		"after the first step":    func(batch, done int) bool { return batch == first && done == 1 },
		"in the middle":           func(batch, done int) bool { return batch == last && done == steps[last]/2 },
		"before the last step":    func(batch, done int) bool { return batch == last && done == steps[last]-1 },
		"when all steps are done": func(batch, done int) bool { return batch == first && done == steps[first] },
	}
	for name, stop := range stops {
		for how, reload := range map[string]bool{"": false, ", loaded": true} {
			t.Run(name+how, func(t *testing.T) {
				got, end := c.learnPaused(t, batches, stop, reload)
				if !slices.Equal(got, want) {
					t.Errorf("stats %v, want %v", got, want)
				}
				CheckSame(t, "at the end", end, state)
			})
		}
	}
}

// learnPaused shows batches to a new learner and ends ctx when stop, given the batch and the steps done on it, returns
// true. If reload is set, another learner with the saved state continues after each pause. It returns the stats and the
// last state.
func (c Case) learnPaused(t *testing.T, batches []ocl.Batch, stop func(batch, done int) bool,
	reload bool) ([]ocl.StepStats, *checkpoint.Container) {
	t.Helper()
	l := c.New(t, 1).(ocl.Pausing)
	all := make([]ocl.StepStats, len(batches))
	for i, b := range batches {
		c.begin(t, l, i, len(batches))
		p := &progress{t: t}
		for {
			stats, err := c.observePaused(t, l, b, p, func(done int) bool { return stop(i, done) })
			if err == nil {
				all[i] = stats
				break
			}
			if !errors.Is(err, context.Canceled) || !l.Paused() {
				t.Fatalf("batch %d: error %v, paused %v; want one that wraps context.Canceled, from a learner that is paused", i,
					err, l.Paused())
			}
			if reload {
				l = c.reload(t, l)
			}
		}
		p.whole("Observe")
		if l.Paused() {
			t.Errorf("batch %d: paused after an Observe that ended well", i)
		}
		c.end(t, l, i, len(batches))
	}
	return all, State(t, l)
}

// observePaused calls Observe with a copy of b until it is learned or stop ends ctx, and then overwrites the copy.
func (c Case) observePaused(t *testing.T, l ocl.Pausing, b ocl.Batch, p *progress,
	stop func(done int) bool) (ocl.StepStats, error) {
	t.Helper()
	shown := b.Clone()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.Watch(func(done, total int) {
		if ctx.Err() != nil {
			t.Errorf("step %d of %d after ctx ended", done, total)
		}
		p.tell(done, total)
		if stop(done) {
			cancel()
		}
	})
	defer l.Watch(nil)
	stats, err := l.Observe(ctx, shown)
	wipe(shown)
	return stats, err
}

// reload returns a new learner that has loaded the state of a paused one from the bytes of a file.
func (c Case) reload(t *testing.T, l ocl.Pausing) ocl.Pausing {
	t.Helper()
	saved := throughFile(t, State(t, l))
	fresh := c.New(t, 1).(ocl.Pausing)
	load(t, fresh, saved)
	if !fresh.Paused() {
		t.Fatal("loaded from the state of a paused learner, and not paused")
	}
	CheckSame(t, "paused, just loaded", State(t, fresh), saved)
	return fresh
}
