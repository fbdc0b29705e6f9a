package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ocl"
	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/limit"
	"ocl/internal/spelling"
)

// CheckLabel is an error that wraps [ErrLabel] about a text that cannot name a class: names have 1 to 256 bytes of
// UTF-8 without control characters or space at their ends.
func CheckLabel(label string) error {
	why := spelling.Fault(label)
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w: %s: %s", ErrLabel, cause.Shown(label), why)
}

// learn puts an image into the queue, which fill draws.
func (l *Learner) learn(ctx context.Context, label string, fill func(dst []byte) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("live: the image is not learned: %w", err)
		}
	}()
	if err := l.callable(ctx); err != nil {
		return err
	}
	if err := CheckLabel(label); err != nil {
		return err
	}
	if err := l.wait(ctx); err != nil {
		return err
	}
	e := l.take()
	if err = fill(e.pixels); err == nil {
		err = l.accept(e, label)
	}
	if err != nil {
		<-l.tokens
		l.give(e)
	}
	return err
}

// callable refuses a zero Learner and a nil ctx, of which a call would never end.
func (l *Learner) callable(ctx context.Context) error {
	switch {
	case l.ended == nil:
		return errZero
	case ctx == nil:
		return errContext
	}
	return nil
}

// wait waits for room in the queue, and takes it.
func (l *Learner) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s wait to be learned, so the queue is full: %w", count.Of(l.process.Queue, "image"), ctx.Err())
	case <-l.failed:
		return l.Err()
	case <-l.closing:
		return ErrClosed
	}
}

// take returns an entry with room for an image.
func (l *Learner) take() *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		e := l.free[n-1]
		l.free = l.free[:n-1]
		return e
	}
	return &entry{pixels: make([]byte, l.t.preparation.Len())}
}

// give gives entries back that are not used any more.
func (l *Learner) give(list ...*entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, list...)
}

// accept puts an entry into the queue as one of the class called label.
func (l *Learner) accept(e *entry, label string) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if e.y, err = l.t.labelOf(l.t.called(label)); err != nil {
		return err
	}
	e.at = time.Now()
	l.queue = append(l.queue, e)
	l.look()
	return nil
}

// usable is the error of a learner that does not learn any more. The caller holds mu.
func (l *Learner) usable() error {
	switch {
	case l.ended == nil:
		return errZero
	case l.end.Begun():
		return ErrClosed
	}
	return l.err
}

// look wakes the goroutine that learns.
func (l *Learner) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// checkCapacity refuses heads that cannot be.
func checkCapacity(outputs int) error {
	if outputs < 1 || outputs > limit.KnownClasses {
		return fmt.Errorf("%w: a capacity of %s. Use 1 to %s", ErrBound, count.Of(outputs, "output"),
			count.Number(limit.KnownClasses))
	}
	return nil
}

// Boundary says that a task ends after all images that were given to Learn before. A method that uses tasks then does
// what it does at their end, such as a review of the memory, which may take long; the next image begins another task.
// Boundary does not wait for that; [Learner.Flush] does. The images before it that do not fill a batch are learned as a
// smaller one.
func (l *Learner) Boundary() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return fmt.Errorf("live: %w", err)
	}
	if n := len(l.queue); n > 0 && l.queue[n-1].boundary {
		return nil
	}
	l.queue = append(l.queue, &entry{boundary: true, at: time.Now()})
	l.look()
	return nil
}

// Flush waits until all images that were given to Learn before are learned, the last ones as a smaller batch if they do
// not fill one, and until predictions use what was learned. When ctx ends before that, its error is returned, and they
// are learned all the same.
func (l *Learner) Flush(ctx context.Context) error {
	if err := l.callable(ctx); err != nil {
		return fmt.Errorf("live: flush: %w", err)
	}
	l.mu.Lock()
	want := l.taken + int64(len(l.queue))
	l.flush = max(l.flush, want)
	l.look()
	for {
		err, shown, progress := l.usable(), l.shown >= want, l.progress
		l.mu.Unlock()
		if err == nil && shown {
			return nil
		}
		if err == nil {
			select {
			case <-progress:
			case <-l.closing:
				err = ErrClosed
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			return fmt.Errorf("live: flush: %w", err)
		}
		l.mu.Lock()
	}
}

// loop learns until the learner is closed.
func (l *Learner) loop(ctx context.Context) {
	defer close(l.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait, err := l.work(ctx)
		if err != nil && ctx.Err() == nil {
			l.fail(err)
		}
		timer.Reset(wait)
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.closing:
			return
		}
	}
}

// idle is the time that the loop waits when nothing is due.
const idle = time.Hour

// work does one thing that is due, and says how long to wait for the next one.
func (l *Learner) work(ctx context.Context) (wait time.Duration, err error) {
	l.step.Lock()
	defer l.step.Unlock()
	now := time.Now()
	l.mu.Lock()
	more := len(l.queue) > 0
	l.mu.Unlock()
	at, publish := l.t.PublishDue(more)
	wait = idle
	if publish {
		wait = at.Sub(now)
		publish = wait <= 0
	}
	var cut []*entry
	l.mu.Lock()
	taken, ended := l.taken, l.err != nil
	publish = publish || l.flush > l.shown && l.flush <= taken
	if !publish && !ended {
		var due time.Duration
		cut, due = l.cut(now)
		wait = min(wait, due)
	}
	l.mu.Unlock()
	switch {
	case ended:
		return idle, nil
	case publish:
		return 0, l.publish(ctx, taken)
	case len(cut) > 0:
		return 0, l.learnCut(ctx, cut)
	}
	return wait, nil
}

// publish lets predictions use what was learned of so many entries. The caller holds step.
func (l *Learner) publish(ctx context.Context, taken int64) error {
	if err := l.t.run(func() error { return l.t.publish(ctx, taken) }); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown = taken
	l.advance()
	return nil
}

// cut takes the next batch or the next boundary from the queue if it is due, and otherwise says how long until it is.
// The caller holds mu.
func (l *Learner) cut(now time.Time) (cut []*entry, wait time.Duration) {
	n := 0
	for n < len(l.queue) && n < l.process.Batch && !l.queue[n].boundary {
		n++
	}
	flush := l.flush > l.taken // somebody waits for entries that are in the queue
	if flush {
		n = min(n, int(l.flush-l.taken))
	}
	wait = idle
	due := n == l.process.Batch || flush || n < len(l.queue) // what follows is a boundary
	if age := l.process.Age; !due && n > 0 && age > 0 {
		wait = age - now.Sub(l.queue[0].at)
		due = wait <= 0
	}
	if !due {
		return nil, wait
	}
	n = max(n, 1) // a boundary
	cut = slices.Clone(l.queue[:n])
	l.queue = slices.Delete(l.queue, 0, n)
	l.taken += int64(n)
	return cut, 0
}

// learnCut learns a batch, or ends a task.
func (l *Learner) learnCut(ctx context.Context, cut []*entry) error {
	if cut[0].boundary {
		return l.t.run(func() error { return l.t.boundary(ctx) })
	}
	defer func() {
		for range cut {
			<-l.tokens
		}
		l.give(cut...)
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	y, pixels := make([]ocl.Label, len(cut)), make([]byte, 0, len(cut)*l.t.preparation.Len())
	for i, e := range cut {
		y[i] = e.y
		pixels = append(pixels, e.pixels...)
	}
	return l.t.run(func() error {
		_, err := l.t.observe(pixels, y)
		return err
	})
}

// fail ends learning with an error. Predictions go on.
func (l *Learner) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	after := fmt.Sprintf("learning has ended after %s: ", count.Of(l.t.Stats().Batches, "batch"))
	if errors.Is(err, ocl.ErrDiverged) {
		l.err = fmt.Errorf("%s%w. Predictions go on with the last good weights. Open the last saved file to go on from there",
			after, err)
	} else {
		l.err = fmt.Errorf("%s%w. Predictions go on. Open the last saved file to go on from there", after, err)
	}
	close(l.failed)
	l.advance()
}

// advance wakes those that wait for progress. The caller holds mu.
func (l *Learner) advance() {
	close(l.progress)
	l.progress = make(chan struct{})
}
