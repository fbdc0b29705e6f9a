package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ocl"
	"ocl/live"
	"ocl/serve/journal"
)

// sample is what the daemon knows of a picture.
type sample struct {
	ID      string    `json:"id"`
	Label   string    `json:"label,omitempty"`
	State   string    `json:"state"`
	Digest  string    `json:"digest"`
	Who     string    `json:"who,omitempty"`
	Time    time.Time `json:"time"`
	Event   int64     `json:"event"`            // that brought its pixels
	Places  []int64   `json:"places,omitempty"` // in the learner, once for each time that it was learned
	Learned int64     `json:"learned,omitempty"`
	Guesses []Guess   `json:"guesses,omitempty"`
	Version int64     `json:"version,omitempty"`
	Size    int       `json:"size,omitempty"` // of its pixels, where they are kept

	pixels []byte // of one that is remembered, waits or is held out
}

// bounds of what is kept. They are part of the state, as who replays the journal need not know the options of those who wrote it.
type bounds struct {
	Count int           `json:"count"` // of remembered pictures
	Bytes int64         `json:"bytes"` // of their pixels
	Age   time.Duration `json:"age"`   // by the times of events
	IDs   int           `json:"ids"`
}

// bounds are those of the options.
func (o Options) bounds() bounds {
	return bounds{o.Remember.Count, o.Remember.Bytes, o.Remember.Age, o.IDs}
}

// state is a function of a snapshot and of the events after it. One goroutine changes it, and holds mu meanwhile, but not for a step of the learner; others
// hold mu to read it.
type state struct {
	mu      *sync.Mutex
	trainer *live.Trainer
	o       Options
	files   *journal.Files // of versions

	bounds   bounds
	last     int64 // number of the last event that was applied
	time     time.Time
	samples  map[string]*sample
	ids      []string // of samples in the order in which they came
	queue    []*sample
	waiting  []string // remembered, the oldest first
	bytes    int64    // of the pixels of those
	held     map[string]int
	learned  map[string]int64
	versions []VersionInfo
	unerased []string       // forgotten, and perhaps still in a file
	skip     map[int64]bool // cuts that are set aside
	removed  int            // samples that the last event took out of the memory of the learner

	learning time.Duration // time of learning since the last snapshot
	step     ocl.StepStats // of the last cut
	cut      []*sample     // its samples
}

func newState(t *live.Trainer, o Options, files *journal.Files) *state {
	return &state{mu: new(sync.Mutex), trainer: t, o: o, bounds: o.bounds(), files: files, samples: map[string]*sample{}, held: map[string]int{}, learned: map[string]int64{}, skip: map[int64]bool{}}
}

// Digest is what [Which].Digest compares: the SHA-256 of pixels.
func Digest(pixels []byte) string {
	sum := sha256.Sum256(pixels)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// apply changes the state by an event. An error that wraps ocl.ErrDiverged is about the batch of a cut; any other one ends the daemon.
func (s *state) apply(ctx context.Context, e journal.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Number != s.last+1 {
		return fmt.Errorf("daemon: event %d comes after event %d. Put a good copy of the folder in its place", e.Number, s.last)
	}
	if !e.Erased {
		b, err := bodyOf(e)
		if err == nil {
			err = s.do(ctx, e, b)
		}
		if err != nil {
			return err
		}
	}
	s.last = e.Number
	if e.Time.After(s.time) {
		s.time = e.Time
	}
	s.expire()
	return nil
}

func (s *state) do(ctx context.Context, e journal.Event, b body) error {
	switch e.Kind {
	case kindClass:
		_, err := s.trainer.AddClass(b.Label)
		return err
	case kindSample:
		m, err := s.add(e, b)
		if err != nil {
			return err
		}
		if m.State = StateWaiting; b.Held {
			m.State = StateHeldOut
			s.held[m.Label]++
			return nil
		}
		s.queue = append(s.queue, m)
	case kindRemember:
		m, err := s.add(e, b)
		if err != nil {
			return err
		}
		m.State = StateRemembered
		s.waiting = append(s.waiting, m.ID)
		s.bytes += int64(len(m.pixels))
	case kindLabel:
		return s.relabel(e, b)
	case kindCut:
		return s.observe(ctx, e, b)
	case kindBoundary:
		if s.skip[e.Number] {
			return nil
		}
		began := time.Now()
		defer func() { s.learning += time.Since(began) }()
		return s.apart(func() error { return s.trainer.Boundary(ctx) })
	case kindForget:
		return s.forget(b.IDs)
	case kindErased:
		for _, id := range b.IDs {
			if m := s.samples[id]; m != nil {
				m.State = StateErased
			}
		}
		s.unerased = slices.DeleteFunc(s.unerased, func(id string) bool { return slices.Contains(b.IDs, id) })
	case kindVersion:
		return s.keep(e, b)
	case kindRollback:
		c, err := s.files.Read(b.Number)
		if err != nil {
			return err
		}
		return s.trainer.SetWeights(c.Decoder())
	case kindBounds:
		if b.Bounds != nil {
			s.bounds = *b.Bounds
		}
	case kindSkip:
		s.skip[b.Number] = true
	default:
		return fmt.Errorf("daemon: event %d is of the kind %.40q, which this ocl does not know. Use the ocl that wrote it", e.Number, e.Kind)
	}
	return nil
}

// add adds the sample of an event.
func (s *state) add(e journal.Event, b body) (*sample, error) {
	if s.samples[e.ID] != nil {
		return nil, fmt.Errorf("daemon: event %d brings the sample %.80q, which is there already. Put a good copy of the folder in its place", e.Number, e.ID)
	}
	if err := s.fits(e); err != nil {
		return nil, err
	}
	m := &sample{ID: e.ID, Label: b.Label, Digest: Digest(e.Pixels), Who: e.Who, Time: e.Time, Event: e.Number, Guesses: b.Guesses, Version: b.Version, pixels: e.Pixels}
	s.samples[m.ID] = m
	s.ids = append(s.ids, m.ID)
	return m, nil
}

// fits refuses pixels that are no picture of the learner.
func (s *state) fits(e journal.Event) error {
	if c, h, w := s.trainer.Shape(); len(e.Pixels) != c*h*w {
		return fmt.Errorf("daemon: event %d has %d bytes of pixels, and the learner takes %d. Put a good copy of the folder in its place", e.Number, len(e.Pixels), c*h*w)
	}
	return nil
}

// relabel gives a sample a label: a remembered one goes to the queue, one that waits changes, and a learned one is learned once more where its
// pixels came with the event.
func (s *state) relabel(e journal.Event, b body) error {
	m := s.samples[e.ID]
	if m == nil {
		return nil
	}
	switch m.State {
	case StateForgotten, StateErased:
		return nil
	case StateRemembered:
		s.unremember(m)
		m.State = StateWaiting
		s.queue = append(s.queue, m)
	case StateHeldOut:
		s.held[m.Label]--
		s.held[b.Label]++
	case StateLearned:
		if err := s.correct(m, b.Label); err != nil {
			return err
		}
		if len(e.Pixels) > 0 {
			if err := s.fits(e); err != nil {
				return err
			}
			m.State, m.pixels, m.Event = StateWaiting, e.Pixels, e.Number
			s.queue = append(s.queue, m)
		}
	}
	m.Label, m.Who = b.Label, e.Who
	return nil
}

// correct changes the label of a picture in the memory of the learner. A method that cannot do that goes on with the old one.
func (s *state) correct(m *sample, label string) error {
	y, err := s.trainer.AddClass(label)
	for _, place := range m.Places {
		if err == nil {
			_, err = s.trainer.Relabel(place, y)
		}
	}
	if errors.Is(err, live.ErrMethod) {
		return nil
	}
	return err
}

// observe learns the first samples of the queue.
func (s *state) observe(ctx context.Context, e journal.Event, b body) error {
	cut := s.queue[:min(b.N, len(s.queue))]
	if len(cut) == 0 {
		return nil
	}
	aside := s.skip[e.Number]
	if !aside {
		s.cut, s.step = cut, ocl.StepStats{}
		var pixels []byte
		y := make([]ocl.Label, len(cut))
		for i, m := range cut {
			var err error
			if y[i], err = s.trainer.AddClass(m.Label); err != nil {
				return err
			}
			pixels = append(pixels, m.pixels...)
		}
		place, began := s.trainer.Place(), time.Now()
		if err := s.apart(func() (err error) {
			s.step, err = s.trainer.Observe(ctx, pixels, y)
			return err
		}); err != nil {
			return err
		}
		s.learning += time.Since(began)
		for i, m := range cut {
			m.Places = append(m.Places, place+int64(i))
			s.learned[m.Label]++
		}
	}
	for _, m := range cut {
		if m.State, m.Learned, m.pixels = StateLearned, e.Number, nil; aside {
			m.State = StateSetAside
		}
	}
	s.queue = slices.Clone(s.queue[len(cut):])
	return nil
}

// lastCut is the number of the last cut that was learned since the snapshot, 0 where there is none.
func (s *state) lastCut() int64 {
	if s.step.Samples == 0 || len(s.cut) == 0 {
		return 0
	}
	return s.cut[0].Learned
}

// apart does what takes long while others may read the state.
func (s *state) apart(do func() error) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	return do()
}

// forget takes samples away from everything but the weights.
func (s *state) forget(ids []string) error {
	s.removed = 0
	var places []int64
	for _, id := range ids {
		m := s.samples[id]
		if m == nil { // its id was let go of, and the journal has it still
			s.unerased = append(s.unerased, id)
			continue
		}
		switch m.State {
		case StateRemembered:
			s.unremember(m)
		case StateHeldOut:
			s.held[m.Label]--
		}
		s.queue = slices.DeleteFunc(s.queue, func(q *sample) bool { return q == m })
		places = append(places, m.Places...)
		*m = sample{ID: id, State: StateForgotten, Time: m.Time}
		s.unerased = append(s.unerased, id)
	}
	if len(places) == 0 {
		return nil
	}
	var err error
	s.removed, err = s.trainer.Forget(places)
	return err
}

// unremember takes a picture out of those that wait for their labels. Its pixels stay with it.
func (s *state) unremember(m *sample) {
	s.waiting = slices.DeleteFunc(s.waiting, func(id string) bool { return id == m.ID })
	s.bytes -= int64(len(m.pixels))
}

// mostVersions is how many versions of the weights are kept.
const mostVersions = 10

// keep writes the weights into a file, for going back to them.
func (s *state) keep(e journal.Event, b body) error {
	c, err := s.trainer.Weights()
	if errors.Is(err, live.ErrNothing) || errors.Is(err, live.ErrMethod) {
		return nil
	}
	if err != nil {
		return err
	}
	// The state must not depend on the disk: a version whose file could not be written is in the list, and Rollback says that it is not there.
	s.versions = append(s.versions, VersionInfo{b.Number, e.Time})
	s.versions = slices.Clone(s.versions[max(0, len(s.versions)-mostVersions):])
	first := s.versions[0].Number
	if err := s.apart(func() error { return errors.Join(s.files.Write(b.Number, c), s.files.RemoveBelow(first)) }); err != nil {
		s.o.Log.Error("a version of the weights is not kept", "version", b.Number, "error", err)
	}
	return nil
}

// expire lets go of what is beyond the bounds: remembered pictures, and ids that nobody needs any more. Age is by the time of events.
func (s *state) expire() {
	r := s.bounds
	for len(s.waiting) > 0 {
		m := s.samples[s.waiting[0]]
		if len(s.waiting) <= r.Count && s.bytes <= r.Bytes && s.time.Sub(m.Time) <= r.Age {
			break
		}
		s.unremember(m)
		m.State, m.pixels, m.Guesses = StateExpired, nil, nil
	}
	i := 0
	for looks := len(s.ids); looks > 0 && len(s.ids) > r.IDs; looks-- {
		m := s.samples[s.ids[i]]
		switch {
		case m.State == StateLearned && slices.ContainsFunc(m.Places, s.trainer.Stores): // it can be forgotten as long as the memory has it
			s.ids = append(slices.Delete(s.ids, i, i+1), m.ID)
		case m.State == StateLearned, m.State == StateSetAside, m.State == StateExpired, m.State == StateErased:
			delete(s.samples, m.ID)
			s.ids = slices.Delete(s.ids, i, i+1)
		default:
			i++
		}
	}
}
