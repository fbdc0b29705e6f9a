package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ocl"
	"ocl/data"
	"ocl/data/embed"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/predict"
	"ocl/run/train"
	"ocl/run/trained"
)

// model is a published copy of what predicts. Nobody changes it while it is current or somebody reads it.
type model struct {
	predict.Model
	order   []ocl.Label // of a learner that orders its outputs otherwise
	guesses int         // that there are for an image at most
	batches int64       // learned before it
	tasks   int         // that had ended
	version int64       // that the caller of Publish gave it; changes while it is current
	readers int
}

// desk has the published copy, and what predictions work with.
type desk struct {
	measure predict.Measure

	// The goroutine that learns uses these alone.
	stale  bool          // the learner has learned something since the last copy
	last   time.Time     // when the last copy was begun
	took   time.Duration // what it took
	reads  *slot         // checks copies before they are published
	probed bool          // reads has an image of the last batch

	mu      sync.Mutex
	freed   *sync.Cond
	current *model // nil before anything was learned
	spare   []*model
	free    []*slot
	slots   int // that are in use or free
	closed  bool
}

// slot is what one prediction works with.
type slot struct {
	ws       *nn.Workspace
	outputs  int // of the networks that ws is for
	easel    *data.Easel
	x        *tensor.Tensor // [1,C,H,W], or of as many images as are predicted together
	by       ocl.Encoding   // makes inputs of bytes
	image    []byte         // [C,H,W]
	eyes     *embed.Desk    // nil where the learner takes the images themselves
	embedded []byte         // of one image
	scores   []float64
}

func (t *Trainer) newSlot() *slot {
	shape := t.inputs.shape()
	return &slot{easel: t.preparation.Easel(), x: tensor.New(1, shape[0], shape[1], shape[2]), by: t.stream.Encoding(), image: make([]byte, t.inputs.bytes())}
}

// begin makes room for predictions of a trainer.
func (d *desk) begin(t *Trainer) {
	d.measure = predict.Probability
	if t.core.means() != nil {
		d.measure = predict.Distance
	}
	d.freed = sync.NewCond(&d.mu)
	d.reads = t.newSlot()
	for range t.process.AtOnce {
		s := t.newSlot()
		if t.eyes != nil {
			s.eyes, s.embedded = t.eyes.desk(), make([]byte, t.stream.Encoding().Bytes(t.inputs.features))
		}
		d.free = append(d.free, s)
	}
	d.slots = len(d.free)
}

// close waits for the predictions that are at work; further ones return ErrClosed.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.freed.Broadcast()
	for len(d.free) < d.slots {
		d.freed.Wait()
	}
	for _, s := range append(d.free, d.reads) {
		s.fit(nil)
		if s.eyes != nil {
			s.eyes.Close()
		}
	}
}

// fit makes the workspace of the slot one for networks like net; nil is none.
func (s *slot) fit(net *nn.Network) {
	outputs := 0
	if net != nil {
		outputs = net.Capacity()
	}
	if outputs == s.outputs {
		return
	}
	if s.ws != nil {
		s.ws.Close()
		s.ws = nil
	}
	if net != nil {
		s.ws = net.NewWorkspace(1)
	}
	s.outputs = outputs
}

// probe keeps the first image of a batch, by which the next copy is checked.
func (d *desk) probe(b ocl.Batch) {
	copy(d.reads.x.Data, b.X.Row(0))
	d.probed = true
}

// forget drops the image of the last batch.
func (d *desk) forget() {
	clear(d.reads.x.Data)
	d.probed = false
}

// publishEvery is how often a new copy of the weights is published at most.
const publishEvery = 100 * time.Millisecond

// shareOfMeans is how many times longer than to find class means it takes until they are found again while more waits to be learned.
const shareOfMeans = 10

// PublishDue says whether something was learned that predictions do not use yet, and when it should be published at the earliest: 100 ms after the last time. While
// more waits to be learned, it is so late that what comes before predictions, such as finding class means, takes a tenth of the time.
func (t *Trainer) PublishDue(more bool) (at time.Time, due bool) {
	every := publishEvery
	if more {
		every = max(every, shareOfMeans*t.desk.took)
	}
	return t.desk.last.Add(every), t.desk.stale
}

// Publish lets predictions use what was learned so far, and gives that the caller's version, which [Trainer.Predict] returns. If nothing was learned since the last
// Publish, what predictions use gets the version. If nothing was learned at all, or a method that predicts by class means stores nothing any more, there is nothing
// to predict with.
//
// Weights that are not finite, or that give no numbers for an image of the last batch, are an error that wraps [ocl.ErrDiverged] and ends learning. Predictions then
// go on with what was published before. ctx ends the search for class means, and nothing has changed then.
func (t *Trainer) Publish(ctx context.Context, version int64) error {
	return t.change("publish", func() error {
		if ctx == nil {
			return errContext
		}
		return t.publish(ctx, version)
	})
}

func (t *Trainer) publish(ctx context.Context, version int64) error {
	d, k := &t.desk, t.core
	switch {
	case d.stale && !k.predicts():
		d.show(nil, version)
		d.stale = false
	case d.stale:
		began := time.Now()
		if err := k.prepare(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return err
			}
			return t.ended(err)
		}
		if err := k.finite(); err != nil { // of a state that was loaded, or of what was prepared
			return t.ended(err)
		}
		took := time.Since(began)
		m := d.room(k)
		m.take(t)
		if err := d.check(m); err != nil {
			return t.ended(err)
		}
		d.show(m, version)
		d.stale, d.last, d.took = false, began, took
	default:
		d.mark(version)
	}
	t.mu.Lock()
	t.stats.Published = k.batches
	t.mu.Unlock()
	return nil
}

// room returns a model that nobody reads, with a network like that of the core.
func (d *desk) room(k *core) *model {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, m := range d.spare {
		if m.readers > 0 {
			continue
		}
		d.spare = append(d.spare[:i], d.spare[i+1:]...)
		if m.Net.Capacity() == k.net.Capacity() {
			return m
		}
		break
	}
	m := &model{Model: predict.Model{Net: k.net.Clone()}}
	if k.means() != nil {
		m.Means = &learner.NCM{}
	}
	return m
}

// take copies what the learner predicts with.
func (m *model) take(t *Trainer) {
	k := t.core
	m.Net.CopyFrom(k.net)
	m.Net.SetActive(k.classes)
	m.guesses, m.batches, m.tasks = k.classes, k.batches, k.tasks
	if m.Means != nil {
		m.Means.CopyFrom(k.means())
		m.guesses = len(m.Means.Classes())
	}
	if o, ordered := k.learner.(trained.Ordered); ordered {
		m.order = o.Order()
	}
	t.mu.Lock()
	m.Names = t.names[:k.classes:k.classes]
	t.mu.Unlock()
}

// check lets a model predict an image of the last batch: a step may have made weights of which the loss was not computed yet. That they are finite is known.
func (d *desk) check(m *model) error {
	if !d.probed {
		return nil
	}
	return d.reads.judge(m, make([]predict.Guess, 1), 1)
}

// show makes a model the current one; nil is none.
func (d *desk) show(m *model, version int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		d.spare = append(d.spare, d.current)
	}
	d.current = m
	if m != nil {
		m.version = version
	}
}

// mark gives the current model another version.
func (d *desk) mark(version int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		d.current.version = version
	}
}

// acquire waits for a free slot, and takes the current model with its version.
func (d *desk) acquire() (*slot, *model, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freed == nil {
		return nil, nil, 0, errZero
	}
	for len(d.free) == 0 && !d.closed {
		d.freed.Wait()
	}
	if err := d.shown(); err != nil {
		return nil, nil, 0, err
	}
	last := len(d.free) - 1
	s := d.free[last]
	d.free = d.free[:last]
	d.current.readers++
	return s, d.current, d.current.version, nil
}

// shown is an error where nothing is published. The caller holds mu.
func (d *desk) shown() error {
	switch {
	case d.closed:
		return ErrClosed
	case d.current == nil:
		return ErrNothing
	}
	return nil
}

func (d *desk) release(s *slot, m *model) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m.readers--
	d.free = append(d.free, s)
	d.freed.Broadcast()
}

// hold takes the current model without a slot. Closing does not wait for it.
func (d *desk) hold() (*model, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freed == nil {
		return nil, 0, errZero
	}
	if err := d.shown(); err != nil {
		return nil, 0, err
	}
	d.current.readers++
	return d.current, d.current.version, nil
}

// drop gives a model back that hold took.
func (d *desk) drop(m *model) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m.readers--
}

// load makes the inputs of n images, which the caller writes row by row.
func (s *slot) load(n int) { s.x.Resize(n, s.x.Shape[1], s.x.Shape[2], s.x.Shape[3]) }

// see makes input i of the slot of an image, uint8 [C,H,W].
func (s *slot) see(i int, image []byte) error {
	if s.eyes != nil {
		if err := s.eyes.Embed(s.embedded, image); err != nil {
			return err
		}
		image = s.embedded
	}
	s.by.Write(s.x.Row(i), image)
	return nil
}

// judge fills dst with the k best guesses of a model for each input of the slot, in one pass. A panic is an error, and the slot gets another workspace.
func (s *slot) judge(m *model, dst []predict.Guess, k int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.ws, s.outputs = nil, 0 // what it is after it is not known
			err = train.Panicked(v)
		}
	}()
	s.fit(m.Net)
	if n := len(m.Names); cap(s.scores) < n {
		s.scores = make([]float64, n, 2*n)
	}
	s.scores = s.scores[:len(m.Names)]
	if err := m.Judge(s.ws, dst, k, s.x, s.scores); errors.Is(err, ocl.ErrDiverged) {
		return fmt.Errorf("%w. Use a smaller learning rate", err)
	} else if err != nil {
		return err
	}
	return nil
}
