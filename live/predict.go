package live

import (
	"context"
	"fmt"
	"image"
	"sync"
	"time"

	"ocl"
	"ocl/data"
	"ocl/learner"
	"ocl/nn"
	"ocl/predict"
	"ocl/tensor"
)

// model is a published copy of what predicts. Nobody changes it while it is current or somebody reads it.
type model struct {
	net     *nn.Network
	means   *learner.NCM // nil where the largest logit decides
	names   []string     // of its classes
	guesses int          // that there are for an image at most
	readers int
}

// desk has the published copy, and what predictions work with.
type desk struct {
	measure predict.Measure

	// The goroutine that learns uses these alone.
	stale  bool      // the learner has learned something since the last copy
	next   time.Time // when the next copy is made at the earliest
	reads  *slot     // checks copies before they are published
	probed bool      // reads has an image of the last batch

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
	ws      *nn.Workspace
	outputs int // of the networks that ws is for
	easel   *data.Easel
	x       *tensor.Tensor // [1,C,H,W]
	image   []byte         // [C,H,W]
	scores  []float64
}

func (l *Learner) newSlot() *slot {
	c, h, w := l.Shape()
	return &slot{easel: l.preparation.Easel(), x: tensor.New(1, c, h, w), image: make([]byte, c*h*w)}
}

// begin makes room for predictions of a learner.
func (d *desk) begin(l *Learner) {
	d.measure = predict.Probability
	if l.core.means() != nil {
		d.measure = predict.Distance
	}
	d.freed = sync.NewCond(&d.mu)
	d.reads = l.newSlot()
	for range l.process.AtOnce {
		d.free = append(d.free, l.newSlot())
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

// publish makes a copy of what the learner predicts with, by the state after so many entries, and lets predictions use it. A copy that gives no
// numbers is an error that wraps ErrDiverged, and predictions keep the one that they have. The caller holds step.
func (l *Learner) publish(ctx context.Context, taken int64) error {
	d := &l.desk
	if d.stale || d.current == nil && l.core.classes > 0 {
		began := time.Now()
		if err := l.core.prepare(ctx); err != nil {
			return err
		}
		every := max(publishEvery, shareOfMeans*time.Since(began))
		m := d.room(l.core)
		m.take(l)
		if err := d.check(m); err != nil {
			return err
		}
		d.show(m)
		d.stale, d.next = false, began.Add(every)
	}
	l.mu.Lock()
	l.stats.Published = l.core.batches
	l.shown = taken
	l.advance()
	l.mu.Unlock()
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
		if m.net.Capacity() == k.net.Capacity() {
			return m
		}
		break
	}
	m := &model{net: k.net.Clone()}
	if k.means() != nil {
		m.means = &learner.NCM{}
	}
	return m
}

// take copies what the learner predicts with.
func (m *model) take(l *Learner) {
	k := l.core
	m.net.CopyFrom(k.net)
	m.net.SetActive(k.classes)
	m.guesses = k.classes
	if m.means != nil {
		m.means.CopyFrom(k.means())
		m.guesses = len(m.means.Classes())
	}
	l.mu.Lock()
	m.names = l.names[:k.classes:k.classes]
	l.mu.Unlock()
}

// check lets a model predict an image of the last batch: a step may have made weights of which the loss was not computed yet.
func (d *desk) check(m *model) error {
	for _, list := range [][]float32{m.net.Params(), m.net.Running()} {
		sum := float32(0)
		for _, v := range list {
			sum += v - v // 0, but NaN where v is not finite
		}
		if sum != 0 {
			return fmt.Errorf("%w: the last step made weights that are NaN or infinite. Use a smaller learning rate", ocl.ErrDiverged)
		}
	}
	if !d.probed {
		return nil
	}
	_, err := d.reads.judge(m, make([]predict.Guess, 1))
	return err
}

// show makes a model the current one.
func (d *desk) show(m *model) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		d.spare = append(d.spare, d.current)
	}
	d.current = m
}

// acquire waits for a free slot, and takes the current model.
func (d *desk) acquire() (*slot, *model, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freed == nil {
		return nil, nil, errZero
	}
	for len(d.free) == 0 && !d.closed {
		d.freed.Wait()
	}
	switch {
	case d.closed:
		return nil, nil, ErrClosed
	case d.current == nil:
		return nil, nil, ErrNothing
	}
	last := len(d.free) - 1
	s := d.free[last]
	d.free = d.free[:last]
	d.current.readers++
	return s, d.current, nil
}

func (d *desk) release(s *slot, m *model) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m.readers--
	d.free = append(d.free, s)
	d.freed.Broadcast()
}

// Predict returns the best guesses for an image of any size, at most k, the best first. There are fewer where fewer classes were learned. Of a
// method that predicts by logits their values are probabilities, and of one that predicts by class means distances, of which less is better
// ([Learner.Measure]). It allocates the guesses alone.
//
// Before anything was learned it returns [ErrNothing].
func (l *Learner) Predict(img image.Image, k int) ([]predict.Guess, error) {
	if k < 1 {
		return nil, fmt.Errorf("live: predict: %d guesses. Ask for 1 or more", k)
	}
	return l.guess(nil, k, img, nil)
}

// PredictInto is [Learner.Predict] with the guesses in dst: it returns dst[:n], with n = len(dst) or fewer, and allocates nothing.
func (l *Learner) PredictInto(dst []predict.Guess, img image.Image) ([]predict.Guess, error) {
	return l.guess(dst, len(dst), img, nil)
}

// PredictPixels is [Learner.PredictInto] for an image of the size that the network sees: uint8 [C,H,W], see [Learner.Shape].
func (l *Learner) PredictPixels(dst []predict.Guess, pixels []byte) ([]predict.Guess, error) {
	if err := l.checkPixels(pixels); err != nil {
		return nil, fmt.Errorf("live: predict: %w", err)
	}
	return l.guess(dst, len(dst), nil, pixels)
}

// guess predicts an image, or pixels where they are not nil, into dst, which it makes if it is nil.
func (l *Learner) guess(dst []predict.Guess, k int, img image.Image, pixels []byte) ([]predict.Guess, error) {
	if k < 1 {
		return nil, fmt.Errorf("live: predict: there is room for no guess. Give room for 1 or more")
	}
	s, m, err := l.desk.acquire()
	if err != nil {
		return nil, fmt.Errorf("live: predict: %w", err)
	}
	defer l.desk.release(s, m)
	if pixels == nil {
		if err := s.easel.Draw(s.image, img); err != nil {
			return nil, fmt.Errorf("live: predict: %w", err)
		}
		pixels = s.image
	}
	l.pixels.Write(s.x.Data, pixels)
	k = min(k, m.guesses)
	if dst == nil {
		dst = make([]predict.Guess, k)
	}
	dst, err = s.judge(m, dst[:k])
	if err != nil {
		return nil, fmt.Errorf("live: predict: %w", err)
	}
	return dst, nil
}

// judge fills dst with the best guesses of a model for the input of the slot.
func (s *slot) judge(m *model, dst []predict.Guess) ([]predict.Guess, error) {
	s.fit(m.net)
	if n := len(m.names); cap(s.scores) < n {
		s.scores = make([]float64, n, 2*n)
	}
	s.scores = s.scores[:len(m.names)]
	if m.means != nil {
		if err := m.means.Squares(s.scores, m.net.PredictFeatures(s.ws, s.x).Row(0)); err != nil {
			return nil, err
		}
		predict.Distances(dst, s.scores, m.names)
		return dst, nil
	}
	for k, v := range m.net.Predict(s.ws, s.x).Row(0) {
		if v-v != 0 {
			return nil, fmt.Errorf("%w: the network gives %.40q a logit of %v. Use a smaller learning rate", ocl.ErrDiverged, m.names[k], v)
		}
		s.scores[k] = float64(v)
	}
	predict.Probabilities(dst, s.scores, m.names)
	return dst, nil
}
