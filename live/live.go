// Package live learns from images that come one at a time, from a camera, a queue or a request, and predicts meanwhile.
//
//	l, err := live.New(live.Options{Method: "er", Memory: 2000})
//	err = l.Learn(ctx, img, "cat")      // an image.Image of any size; a new name is a new class
//	guesses, err := l.Predict(img, 3)   // any number of goroutines, while Learn goes on
//	err = l.Save("cats.ocl")
//	err = l.Close()
//
// A [Learner] is one of the methods of `ocl methods` with one goroutine that learns; a [Trainer] is what it has inside,
// for programs that keep images and cut batches themselves. [Learner.Learn] puts an image into a queue. Images are
// learned in batches, which are cut when [Process].Batch images wait, or when the first of them has waited for
// [Process].Age. Each image is learned once.
//
// Predictions use a copy of the network. A new copy is published at most every 100 milliseconds, and after
// [Learner.Flush]. So no prediction waits for a step, and an image that was learned changes predictions a little later.
// Methods that predict by class means (iCaRL, and the trick ncm) find them again for each copy, by a pass over the
// memory. They publish less often, so that this takes a tenth of the time at most.
//
// Classes have names, and get the outputs of the network in the order in which they come. The network has outputs for
// classes to come, which change no other number before their class is there. Another [Options].Capacity is another draw
// of the first weights, so other numbers. When all are taken, the head doubles. [Learner.Boundary] tells a method that
// uses tasks where one ends; other methods ignore it. GDumb, Offline and CN-DPM cannot learn so, and [New] says why.
//
// [Learner.Save] writes all of a learner, with the images that wait, and [Open] continues it to the same bits, if
// batches are cut by size. [Open] also takes the folder of a run of `ocl run`. What was learned since the last Save is
// lost when the process ends.
//
// If the loss becomes a number that is none, learning ends with an error that wraps [ocl.ErrDiverged]. Predictions go
// on with the last good weights, and the file of the last Save stays as it was. A panic in a method or a network of
// another module ends learning in the same way.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"sync"
	"time"

	"ocl"
	"ocl/internal/lifecycle"
	"ocl/predict"
)

// Learner learns and predicts: a queue around a [Trainer] with the goroutine that learns. All methods may be called by
// any number of goroutines. [New] and [Open] make one; a zero Learner refuses all calls.
type Learner struct {
	process Process

	step sync.Mutex // of t: held for a step, and while the state is copied
	t    *Trainer

	saving sync.Mutex // held for a Save: of two, the later state must not be replaced by the earlier one

	mu       sync.Mutex
	queue    []*entry
	free     []*entry
	taken    int64         // entries that have left the queue
	flush    int64         // entries that somebody wants learned, counted as taken is
	shown    int64         // entries behind the published copy
	progress chan struct{} // closed and made anew when taken, shown or failed change
	err      error         // that has ended learning

	tokens  chan struct{} // one for each image that waits
	wake    chan struct{} // the goroutine that learns looks again
	failed  chan struct{} // closed with err
	closing chan struct{} // closed by Close
	ended   chan struct{} // closed when the goroutine that learns has ended
	stop    context.CancelFunc
	end     lifecycle.End
}

// Stats say how far a learner is.
type Stats struct {
	Classes    int     // that have been learned
	Capacity   int     // outputs of the head
	Parameters int     // of the network
	Bytes      int64   // that the learner holds at least when its memory and queue are full
	Batches    int64   // learned
	Images     int64   // learned; of a run that was opened, those since then
	Waiting    int     // images
	Stored     int     // images in the memory
	Tasks      int     // that have ended, of a method that uses tasks
	Loss       float64 // of the last batch; 0 before the first
	// images of the last batch that were predicted right before they were learned; -1 of a method that does not say
	Correct   int
	Published int64 // batches behind the copy that predicts
}

// New makes a learner that knows no class. A panic in a method or network of another module is an error too.
func New(o Options) (*Learner, error) { return begun(NewTrainer(o)) }

// begun makes a learner of a trainer, and begins to learn what waits. It closes the trainer after an error.
func begun(t *Trainer, err error) (*Learner, error) {
	if err != nil {
		return nil, err
	}
	p := t.process
	l := &Learner{
		process: p, t: t,
		progress: make(chan struct{}), tokens: make(chan struct{}, p.Queue), wake: make(chan struct{}, 1),
		failed:  make(chan struct{}),
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	now := time.Now()
	for _, w := range t.waiting {
		l.queue = append(l.queue, &entry{boundary: w.Boundary, pixels: w.Pixels, y: w.Label, at: now})
		if !w.Boundary {
			l.tokens <- struct{}{}
		}
	}
	t.waiting = nil
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	if err := t.run(func() error { return t.publish(ctx, 0) }); err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("live: %w", err), t.Close())
	}
	go l.loop(ctx)
	return l, nil
}

// nobody is the trainer of a zero Learner.
var nobody Trainer

func (l *Learner) trainer() *Trainer { return cmp.Or(l.t, &nobody) }

// Stats say how far the learner is.
func (l *Learner) Stats() Stats {
	s := l.trainer().Stats()
	s.Waiting = len(l.tokens)
	return s
}

// Classes are the names of the classes, also of those that wait to be learned, in the order in which they came.
func (l *Learner) Classes() []string { return l.trainer().Classes() }

// Shape is the shape of the network's images: C, H, W. [Learner.LearnPixels] and [Learner.PredictPixels] take such
// images.
func (l *Learner) Shape() (c, h, w int) { return l.trainer().Shape() }

// Measure says how to read the values of guesses: as probabilities, or as distances of a method that predicts by class
// means.
func (l *Learner) Measure() predict.Measure { return l.trainer().Measure() }

// Notes are sentences for a person about the file or run that was opened, such as that this machine has other kernels.
func (l *Learner) Notes() []string { return l.trainer().Notes() }

// Err is the error that has ended learning, such as one that wraps [ocl.ErrDiverged] or is about a panic; nil where
// learning goes on.
func (l *Learner) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		return errZero
	}
	return l.err
}

// Close ends the learner after the step and the predictions that are at work. Images that wait are not learned;
// [Learner.Flush] before it learns them. Nothing is saved. Other calls then return [ErrClosed], also those that wait.
// Closing twice is harmless.
func (l *Learner) Close() error {
	if l.ended == nil {
		return fmt.Errorf("live: close: %w", errZero)
	}
	return l.end.Do(func() error {
		l.mu.Lock() // nothing comes into the queue any more
		close(l.closing)
		l.mu.Unlock()
		l.stop()
		<-l.ended
		l.step.Lock() // a Save may be at work
		defer l.step.Unlock()
		return l.t.Close()
	})
}

// entry is an image that waits, or the end of a task.
type entry struct {
	boundary bool
	pixels   []byte // [C,H,W]
	y        ocl.Label
	at       time.Time
}

// Learn puts an image of any size into the queue to be learned as one of the class of that name; a new name is a new
// class. The image is made as large as the network sees images, as `ocl predict` does it. Learn waits while the queue
// is full, until ctx ends. It does not wait for the image to be learned; [Learner.Flush] does. The image may be changed
// afterwards.
//
// A label has 1 to 256 bytes of UTF-8 without control characters or space at its ends; others are an error that wraps
// [ErrLabel]. A class beyond a bound of the options is one that wraps [ErrBound]. After an error the image is not
// learned, and nothing has changed. A ctx that ends when the image has its place in the queue comes too late: Learn
// returns nil.
func (l *Learner) Learn(ctx context.Context, img image.Image, label string) error {
	return l.learn(ctx, label, func(dst []byte) error { return l.t.draw(dst, img) })
}

// LearnPixels is [Learner.Learn] for an image of the size that the network sees: uint8 [C,H,W], see [Learner.Shape].
func (l *Learner) LearnPixels(ctx context.Context, pixels []byte, label string) error {
	return l.learn(ctx, label, func(dst []byte) error {
		if err := l.t.checkPixels(pixels); err != nil {
			return err
		}
		copy(dst, pixels)
		return nil
	})
}
