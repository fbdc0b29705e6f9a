package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ocl"
	"ocl/data"
	"ocl/data/embed"
	"ocl/internal/lifecycle"
	"ocl/learn/learner"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/predict"
	"ocl/run/train"
)

// model is a published copy of what a trainer predicts with. Nobody changes it while it is current or has readers.
type model struct {
	predict.Model
	sure    atomic.Pointer[sureness] // nil where it is not calibrated; may be set while the model is current
	order   []ocl.Label              // of a learner that orders its outputs otherwise
	guesses int                      // that there are for an image at most
	batches int64                    // learned before it
	tasks   int                      // that had ended
	version int64                    // that the caller of Publish gave it; changes while it is current
	readers int
}

// publisher has the copy that predictions use, and the slots that they run in. The goroutine that learns makes copies
// and publishes them; any number of goroutines predict meanwhile.
type publisher struct {
	// The goroutine that learns uses these alone.
	stale  bool          // the learner has learned something since the last copy
	last   time.Time     // when the last copy was begun
	took   time.Duration // what it took
	reads  *slot         // checks copies before they are published
	probed bool          // reads has an image of the last batch

	slots *lifecycle.Pool[*slot] // of predictions; nil in a zero Trainer

	mu      sync.Mutex
	measure predict.Measure // of current, or of the next model
	current *model          // nil before anything was learned
	spare   []*model
}

// slot has the workspace and the buffers of one prediction. One goroutine at a time uses it.
type slot struct {
	ws       *nn.Workspace
	outputs  int // of the networks that ws is for
	easel    *data.Easel
	x        *tensor.Tensor // [1,C,H,W], or of as many images as are predicted together
	by       ocl.Encoding   // makes inputs of bytes
	image    []byte         // [C,H,W]
	desk     *embed.Desk    // nil where the learner takes the images themselves
	embedded []byte         // of one image
	scores   []float64
}

func (t *Trainer) newSlot() *slot {
	shape := t.inputs.shape()
	return &slot{easel: t.preparation.Easel(), x: tensor.New(1, shape[0], shape[1], shape[2]), by: t.stream.Encoding(),
		image: make([]byte, t.inputs.bytes())}
}

// begin makes the slots of a trainer: one for each prediction AtOnce, and one that checks copies.
func (p *publisher) begin(t *Trainer) {
	p.measure = predict.Probability
	if t.core.means() != nil && t.core.tested == nil {
		p.measure = predict.Distance
	}
	p.reads = t.newSlot()
	var slots []*slot
	for range t.process.AtOnce {
		s := t.newSlot()
		if t.embedder != nil {
			s.desk, s.embedded = t.embedder.newDesk(), make([]byte, t.stream.Encoding().Bytes(t.inputs.features))
		}
		slots = append(slots, s)
	}
	p.slots = lifecycle.NewPool(slots)
}

// close waits for the predictions that are at work, and frees the slots. Further predictions return ErrClosed.
func (p *publisher) close() {
	p.slots.Close()
	for _, s := range append(p.slots.All(), p.reads) {
		s.fit(nil)
		if s.desk != nil {
			s.desk.Close()
		}
	}
}

// fit makes the workspace of the slot one for networks like net, unless it is; nil frees it.
func (s *slot) fit(net *nn.Network) {
	outputs := 0
	if net != nil {
		outputs = net.Info().Capacity
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
func (p *publisher) probe(b ocl.Batch) {
	copy(p.reads.x.Data, b.X.Row(0))
	p.probed = true
}

// forget drops the image of the last batch.
func (p *publisher) forget() {
	clear(p.reads.x.Data)
	p.probed = false
}

// publishEvery is the least time between two copies of the weights.
const publishEvery = 100 * time.Millisecond

// prepareCostFactor bounds the cost of preparing: while more images wait, a copy is made only this many times its own
// duration after the last one, so that learning has nine tenths of the time.
const prepareCostFactor = 10

// PublishDue says whether something was learned that predictions do not use yet, and the earliest time to publish it:
// 100 ms after the last copy was begun. While more images wait to be learned, the time is later where the preparation
// of a copy, such as class means, takes long: it then has a tenth of the time.
func (t *Trainer) PublishDue(more bool) (at time.Time, due bool) {
	every := publishEvery
	if more {
		every = max(every, prepareCostFactor*t.publisher.took)
	}
	return t.publisher.last.Add(every), t.publisher.stale
}

// Publish makes what was learned so far the copy that predictions use, and gives it the caller's version, which
// [Trainer.Predict] returns. If nothing was learned since the last Publish, the present copy gets the version. If
// nothing was learned at all, or a method that predicts by class means stores nothing any more, predictions return
// ErrNothing.
//
// Weights that are not finite, or that give an image of the last batch an output that is not finite, are an error that
// wraps [ocl.ErrDiverged] and ends learning. Predictions then keep the copy that was published before. If ctx ends
// while the copy is prepared, its error is returned, and nothing has changed.
func (t *Trainer) Publish(ctx context.Context, version int64) error {
	return t.change("publish", func() error {
		if ctx == nil {
			return errContext
		}
		return t.publish(ctx, version)
	})
}

func (t *Trainer) publish(ctx context.Context, version int64) error {
	p, k := &t.publisher, t.core
	switch {
	case p.stale && !k.predicts():
		p.show(nil, version)
		p.stale = false
	case p.stale:
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
		sure, err := k.calibration(ctx)
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return err
			}
			return t.ended(err)
		}
		took := time.Since(began)
		m := p.room(k)
		if err := m.take(t, sure); err != nil {
			return err
		}
		if err := p.check(m); err != nil {
			return t.ended(err)
		}
		p.show(m, version)
		p.stale, p.last, p.took = false, began, took
	default:
		p.mark(version)
	}
	t.mu.Lock()
	t.stats.Published = k.batches
	t.mu.Unlock()
	return nil
}

// room returns a model that nobody reads, with a network like that of the core.
func (p *publisher) room(k *core) *model {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, m := range p.spare {
		if m.readers > 0 {
			continue
		}
		p.spare = append(p.spare[:i], p.spare[i+1:]...)
		if m.Net.Info().Capacity == k.net.Info().Capacity {
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

// take copies the weights, the class means and the names from the learner of t into m, with its calibration.
func (m *model) take(t *Trainer, sure *learner.Calibration) error {
	k := t.core
	if err := m.calibrate(sure, t.process); err != nil {
		return err
	}
	m.Net.CopyFrom(k.net)
	m.Net.SetActive(k.classes)
	m.guesses, m.batches, m.tasks = k.classes, k.batches, k.tasks
	if m.Means != nil {
		m.Means.CopyFrom(k.means())
		m.guesses = len(m.Means.Classes())
	}
	if o, ordered := k.learner.(learner.Ordered); ordered {
		m.order = o.Order()
	}
	t.mu.Lock()
	m.Names = t.names[:k.classes:k.classes]
	if m.Means == nil { // classes that have gone come last
		m.guesses -= len(t.gone)
	}
	t.mu.Unlock()
	return nil
}

// check lets a model predict an image of the last batch, and returns the error of the prediction. A last step may have
// made finite weights whose outputs are not finite, and no later loss has shown it yet.
func (p *publisher) check(m *model) error {
	if !p.probed {
		return nil
	}
	_, err := p.reads.judge(m, make([]predict.Guess, 1), 1, false)
	return err
}

// show makes a model the current one, with a version; nil withdraws the current one.
func (p *publisher) show(m *model, version int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.spare = append(p.spare, p.current)
	}
	p.current = m
	if m != nil {
		m.version, p.measure = version, m.measure()
	}
}

// mark gives the current model another version.
func (p *publisher) mark(version int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.version = version
	}
}

// acquire waits for a free slot, and returns it with the current model and its version. It fails with ErrClosed, or
// with ErrNothing while nothing is published. The caller releases both.
func (p *publisher) acquire() (*slot, *model, int64, error) {
	if p.slots == nil {
		return nil, nil, 0, errZero
	}
	s, ok := p.slots.Take()
	if !ok {
		return nil, nil, 0, ErrClosed
	}
	m, version, err := p.hold()
	if err != nil {
		p.slots.Give(s)
	}
	return s, m, version, err
}

func (p *publisher) release(s *slot, m *model) {
	p.drop(m)
	p.slots.Give(s)
}

// hold returns the current model and its version without a slot, and fails as acquire does. The caller drops the model.
// close does not wait for it.
func (p *publisher) hold() (*model, int64, error) {
	if p.slots == nil {
		return nil, 0, errZero
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.slots.Closed():
		return nil, 0, ErrClosed
	case p.current == nil:
		return nil, 0, ErrNothing
	}
	p.current.readers++
	return p.current, p.current.version, nil
}

// drop gives back a model of hold.
func (p *publisher) drop(m *model) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.readers--
}

// load makes room for n inputs, which the caller writes row by row.
func (s *slot) load(n int) { s.x.Resize(n, s.x.Shape[1], s.x.Shape[2], s.x.Shape[3]) }

// see writes input i of the slot from an image, uint8 [C,H,W]. It fails if no embedding can be made of the image.
func (s *slot) see(i int, image []byte) error {
	if s.desk != nil {
		if err := s.desk.Embed(s.embedded, image); err != nil {
			return err
		}
		image = s.embedded
	}
	s.by.Write(s.x.Row(i), image)
	return nil
}

// judge writes the k best guesses of a model for each input of the slot to dst, in one pass. It returns a verdict for
// each input where they are wanted and the model is calibrated. A logit that is not finite is an error that wraps
// [ocl.ErrDiverged]. A panic becomes an error, and the slot gets another workspace.
func (s *slot) judge(m *model, dst []predict.Guess, k int, want bool) (verdicts []predict.Verdict, err error) {
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
	of, sure := m.Model, m.sure.Load()
	var familiar []float64
	if sure != nil {
		of.Calibration = sure.Calibration
		if want {
			familiar = make([]float64, s.x.Dim(0))
		}
	}
	if err := of.Judge(s.ws, dst, k, s.x, s.scores, familiar); errors.Is(err, ocl.ErrDiverged) {
		return nil, fmt.Errorf("%w. Use a smaller learning rate", err)
	} else if err != nil {
		return nil, err
	}
	for i, f := range familiar {
		verdicts = append(verdicts, sure.Verdict(sure.Calibration, dst[i*k:][:k], f))
	}
	return verdicts, nil
}
