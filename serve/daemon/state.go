package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/live"
	"ocl/serve/journal"
)

// state is a book and its learner: together a function of a snapshot and of the events after it, once all ops of the
// book are done. mu guards both. The committer alone changes the book, but for the ops, which the applier takes away as
// it does them.
type state struct {
	mu sync.Mutex
	o  Options
	*book
	learner
}

// newState is a state without a learner, which load gives it, or with one that knows nothing of the samples.
func newState(t *live.Trainer, o Options, versions *journal.Files) *state {
	s := &state{o: o, book: newBook(0, o.bounds())}
	s.learner = learner{mu: &s.mu, o: o, files: versions, stored: map[string]*stored{}, learned: map[string]int64{}}
	if t != nil {
		s.learns(t)
	}
	return s
}

// learns gives the state its trainer.
func (s *state) learns(t *live.Trainer) {
	s.trainer = t
	c, h, w := t.Shape()
	s.image = c * h * w
	names, gone := t.Classes(), t.Gone()
	for y, name := range names {
		if !slices.Contains(gone, ocl.Label(y)) {
			s.addClass(name)
		}
	}
	s.outputs = len(names)
	for _, o := range s.ops { // which the trainer has not done yet
		switch o.Kind {
		case kindClass:
			s.addClass(o.Label)
		case kindSplit:
			s.addClass(o.Into)
		case kindRename:
			s.nameless(o.Label)
			s.name(o.Into)
		case kindMerge, kindRemove:
			s.nameless(o.Label)
		}
	}
}

// next is the first op, and whether it is set aside.
func (s *state) next() (o *op, aside bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ops) == 0 {
		return nil, false
	}
	o = s.ops[0]
	return o, s.skip[o.Number] || s.skip[o.Cut] // what was set aside cannot be undone
}

// drain does all ops.
func (s *state) drain(ctx context.Context) error {
	for {
		o, aside := s.next()
		if o == nil {
			return nil
		}
		if err := s.do(ctx, o, aside); err != nil {
			return err
		}
		s.mu.Lock()
		s.did()
		s.mu.Unlock()
	}
}

// replay applies the events of a journal up to a number, and does what they ask of the learner. Cuts that were set
// aside are known before they come. After an error that wraps ocl.ErrDiverged the first op is the one that it is about.
func (s *state) replay(ctx context.Context, j journal.Journal, last int64) error {
	from := s.book.last + 1
	if first := j.First(); first > from {
		return fmt.Errorf("daemon: the snapshot ends at event %d, and the journal begins at event %d. Put a good copy of the folder in its place",
			s.book.last, first)
	}
	if err := j.Read(from, func(e journal.Event) error {
		if e.Kind == kindSkip {
			b, err := bodyOf(e)
			s.skip[b.Number] = true
			return err
		}
		return nil
	}); err != nil {
		return err
	}
	if err := s.drain(ctx); err != nil { // those of the snapshot
		return err
	}
	return j.Read(from, func(e journal.Event) error {
		if e.Number > last {
			return nil
		}
		s.mu.Lock()
		_, err := s.enter(e, nil)
		s.mu.Unlock()
		if err != nil {
			return err
		}
		return s.drain(ctx)
	})
}

// spoiled says whether the learner has learned something that was set aside later, as nobody could see before that it
// makes weights that are no numbers.
func (s *state) spoiled(j journal.Journal) (bad bool, err error) {
	err = j.Read(max(s.book.last+1, j.First()), func(e journal.Event) error {
		if e.Kind != kindSkip {
			return nil
		}
		b, err := bodyOf(e)
		bad = bad || b.Number <= s.learner.last && !s.skip[b.Number]
		return err
	})
	return bad, err
}

// tables are the part of a state beside the trainer, as JSON.
type tables struct {
	Format   int           `json:"v"`
	Bounds   bounds        `json:"bounds"`
	Last     int64         `json:"last"`
	Time     time.Time     `json:"time"`
	Samples  []*sample     `json:"samples"` // in the order in which they came
	Queue    []string      `json:"queue"`
	Waiting  []string      `json:"waiting"`
	Gone     []string      `json:"gone"`
	Versions []VersionInfo `json:"versions"`
	Fresh    int           `json:"fresh"`
	Unerased []string      `json:"unerased"`
	Skip     []int64       `json:"skip"`
	Ops      []*op         `json:"ops"`
	Deeds    []Deed        `json:"deeds,omitempty"`

	Done    int64              `json:"done"` // event of the last op that was done
	Stored  map[string]*stored `json:"stored"`
	Learned map[string]int64   `json:"learned"`
}

// tablesFormat is that of tables. Those of format 1 have no ops, as an event was applied when the learner had done all
// before it, and the places in their samples.
const tablesFormat = 2

// Sections of a snapshot.
const (
	tablesSection  = "daemon/tables"
	pixelsSection  = "daemon/pixels"
	trainerSection = "daemon/trainer"
)

// copied is a copy of the tables, and the pixels that belong to them. The one that does the ops calls it.
func (s *state) copied() (t tables, pixels [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A list that is empty is written as one, however it came so: the digest is that of the text.
	t = tables{Format: tablesFormat, Bounds: s.bounds, Last: s.book.last, Time: s.time, Samples: []*sample{},
		Queue: []string{}, Waiting: append([]string{}, s.waiting...), Gone: append([]string{}, s.gone...),
		Versions: append([]VersionInfo{}, s.versions...), Fresh: s.fresh, Unerased: append([]string{}, s.unerased...),
		Skip: []int64{}, Ops: []*op{}, Deeds: slices.Clone(s.deeds),
		Done: s.learner.last, Stored: map[string]*stored{}, Learned: map[string]int64{}}
	for cut := range s.skip {
		t.Skip = append(t.Skip, cut)
	}
	slices.Sort(t.Skip)
	for _, m := range s.queue {
		t.Queue = append(t.Queue, m.ID)
	}
	keep := func(size *int, p []byte) {
		if *size = len(p); len(p) > 0 {
			pixels = append(pixels, p)
		}
	}
	for _, m := range s.sorted() {
		m := *m
		keep(&m.Size, m.picture)
		t.Samples = append(t.Samples, &m)
	}
	for _, o := range s.ops {
		o := *o
		o.Lessons = slices.Clone(o.Lessons)
		for i, l := range o.Lessons {
			l := *l
			keep(&l.Size, l.picture)
			o.Lessons[i] = &l
		}
		t.Ops = append(t.Ops, &o)
	}
	for id, m := range s.stored {
		m := *m
		m.Places = slices.Clone(m.Places)
		t.Stored[id] = &m
	}
	for name, n := range s.learned {
		t.Learned[name] = n
	}
	return t, pixels
}

// container is a copy of the state, and the number of the last event in it. The one that does the ops calls it. The
// pixels are copied without the lock, for which requests would wait.
func (s *state) container() (*checkpoint.Container, int64, error) {
	t, parts := s.copied()
	pixels := slices.Concat(parts...)
	c := checkpoint.NewContainer()
	return c, t.Last, checkpoint.Parts{checkpoint.JSON(tablesSection, &t), checkpoint.Bytes(pixelsSection, &pixels),
		checkpoint.Sub(trainerSection, s.trainer)}.SaveState(c.Encoder())
}

// digest is the SHA-256 of the whole state, which has no ops.
func (s *state) digest() (string, error) {
	c, _, err := s.container()
	if err == nil { // a replay does not calibrate
		c, err = live.Without(c, trainerSection+"/"+live.TestedSections)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if _, err := c.WriteTo(sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// load takes a state from a snapshot. Without a trainer it makes one; predictions of one that is there go on.
func (s *state) load(c *checkpoint.Container) error {
	var t tables
	var pixels []byte
	d := c.Decoder()
	if err := (checkpoint.Parts{checkpoint.JSON(tablesSection, &t),
		checkpoint.Bytes(pixelsSection, &pixels)}).LoadState(d); err != nil {
		return err
	}
	if t.Format < 1 || t.Format > tablesFormat {
		return fmt.Errorf("it has format %d, and this ocl reads %d. Use the ocl that wrote it", t.Format, tablesFormat)
	}
	next, err := t.state(s, pixels)
	if err != nil {
		return err
	}
	trainer := s.trainer
	if trainer != nil {
		err = trainer.LoadState(d.Sub(trainerSection))
	} else {
		trainer, err = live.ReadTrainer(d.Sub(trainerSection), s.o.process())
	}
	if err != nil {
		return err
	}
	next.learns(trainer)
	s.take(next)
	return nil
}

// take takes the book and the learner of another state.
func (s *state) take(next *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book, s.learner = next.book, next.learner
	s.learner.mu = &s.mu
}

// state makes a state of the tables, with the options and files of another state, and without a trainer.
func (t *tables) state(of *state, pixels []byte) (*state, error) {
	next := newState(nil, of.o, of.files)
	next.bounds, next.book.last, next.time, next.waiting, next.versions, next.unerased, next.learner.last,
		next.fresh = t.Bounds, t.Last, t.Time, t.Waiting, t.Versions, t.Unerased, t.Done, t.Fresh
	next.deeds = t.Deeds
	for name, n := range t.Learned {
		next.learned[name] = n
	}
	for _, cut := range t.Skip {
		next.skip[cut] = true
	}
	misfit := fmt.Errorf("section %s does not fit section %s. Use a snapshot that ocl wrote", pixelsSection, tablesSection)
	take := func(size *int) (p []byte, ok bool) {
		if *size < 0 || *size > len(pixels) {
			return nil, false
		}
		if *size > 0 {
			p, pixels = pixels[:*size:*size], pixels[*size:]
		}
		*size = 0
		return p, true
	}
	for i, m := range t.Samples {
		if m == nil || next.samples[m.ID] != nil {
			return nil, misfit
		}
		p, ok := take(&m.Size)
		if !ok {
			return nil, misfit
		}
		m.picture = p
		next.samples[m.ID] = m
		if m.State == StateHeldOut {
			next.held[m.Label]++
		}
		if t.Format == 1 {
			if m.First = int64(i); len(m.Places) > 0 {
				next.stored[m.ID] = &stored{m.Places, m.Label, m.Digest, m.Who, m.Time, m.Event}
				m.Places = nil
			}
			switch m.State {
			case StateLearned, StateSetAside, StateExpired, StateErased:
				t.Gone = append(t.Gone, m.ID)
			}
		}
	}
	for _, id := range t.Queue {
		m := next.samples[id]
		if m == nil || m.State != StateWaiting {
			return nil, fmt.Errorf("section %s has a queue of samples that do not wait. Use a snapshot that ocl wrote",
				tablesSection)
		}
		next.queue = append(next.queue, m)
	}
	for _, id := range t.Waiting {
		m := next.samples[id]
		if m == nil || m.State != StateRemembered {
			return nil, fmt.Errorf("section %s remembers samples that are not. Use a snapshot that ocl wrote", tablesSection)
		}
		next.remembers(m)
	}
	for _, id := range t.Gone {
		m := next.samples[id]
		if m == nil || m.gone {
			return nil, fmt.Errorf("section %s lets go of samples that are not there. Use a snapshot that ocl wrote",
				tablesSection)
		}
		next.goes(m)
	}
	for _, o := range t.Ops {
		if o == nil || slices.Contains(o.Lessons, nil) {
			return nil, misfit
		}
		for _, l := range o.Lessons {
			var ok bool
			if l.picture, ok = take(&l.Size); !ok {
				return nil, misfit
			}
		}
		next.ops = append(next.ops, o)
		if o.Kind == kindCut {
			next.cuts, next.lessons = next.cuts+1, next.lessons+len(o.Lessons)
		}
	}
	for id, m := range t.Stored {
		if m == nil {
			return nil, misfit
		}
		next.stored[id] = m
	}
	if t.Format == 1 {
		next.learner.last = t.Last
	}
	next.learning, next.step, next.learner.cut = 0, ocl.StepStats{}, nil
	return next, nil
}

// from loads a snapshot.
func (s *state) from(files *journal.Files, number int64) error {
	c, err := files.Read(number)
	if err == nil {
		err = s.load(c)
	}
	return err
}

// lookup is what is known of an id. The caller holds mu.
func (s *state) lookup(id string) (m sample, there bool) {
	if m := s.samples[id]; m != nil {
		return *m, true
	}
	if slices.Contains(s.unerased, id) {
		return sample{ID: id, State: StateForgotten}, true
	}
	// Its id was let go of, and the memory of the learner may have it, or the learner is about to learn it or to correct
	// its label.
	if l := s.stored[id]; l != nil {
		m, there = sample{ID: id, Label: l.Label, State: StateLearned, Digest: l.Digest, Who: l.Who, Time: l.Time,
			Event: l.Event}, true
	}
	for _, o := range s.ops {
		for _, l := range o.Lessons {
			if o.Kind == kindCut && l.ID == id {
				m, there = sample{ID: id, Label: l.Label, State: StateLearned, Digest: l.Digest, Who: l.Who, Time: l.Time,
					Event: l.Event, Learned: o.Number}, true
			}
		}
		if there && o.Kind == kindLabel && slices.Contains(o.IDs, id) {
			m.Label = o.Label
		}
		if (o.Kind == kindRename || o.Kind == kindMerge) && there && m.Label == o.Label {
			m.Label = o.Into
		}
		if o.Kind == kindUnlabel && slices.Contains(o.IDs, id) {
			m, there = sample{}, false
		}
	}
	return m, there
}
