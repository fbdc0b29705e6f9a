package daemon

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"ocl/internal/spelling"
	"ocl/serve/journal"
)

// sample has the facts that the daemon knows about a picture.
type sample struct {
	ID      string    `json:"id"`
	Label   string    `json:"label,omitempty"`
	State   string    `json:"state"`
	Digest  string    `json:"digest"`
	Who     string    `json:"who,omitempty"`
	Time    time.Time `json:"time"`
	First   int64     `json:"first"`             // event by which it came
	Event   int64     `json:"event"`             // that has its pixels
	Learned int64     `json:"learned,omitempty"` // last cut that has it
	Out     bool      `json:"out,omitempty"`     // the sums of the learner do not have it under its label, or nobody knows
	Left    bool      `json:"left,omitempty"`    // weights or sums carry something of it that cannot be undone
	Guesses []Guess   `json:"guesses,omitempty"`
	Unknown bool      `json:"unknown,omitempty"`
	Version int64     `json:"version,omitempty"`
	Size    int       `json:"size,omitempty"`   // of the picture, where it is kept
	Places  []int64   `json:"places,omitempty"` // of tables of format 1
	Mark    string    `json:"mark,omitempty"`   // of one that is remembered
	Since   time.Time `json:"since,omitzero"`   // when it lost its label, and was remembered again

	picture []byte // as it is kept, of one that is remembered, waits or is held out
	pixels  []byte // of one that waits, where they need not be made of its file
	gone    bool   // it is in the list of those that may be let go of
}

// book is all that the daemon knows beside what its learner knows: a function of the events alone. The committer writes
// an event into it when the event is on the disk, and before it is acknowledged, so that whoever looks sees all that
// was acknowledged and nothing else. What an event asks of the learner waits in ops; neither when nor whether that is
// done changes anything else in the book.
type book struct {
	image    int // bytes of the pixels of a picture
	bounds   bounds
	last     int64 // number of the last event
	time     time.Time
	samples  map[string]*sample
	gone     []string // ids that may be let go of, in this order
	queue    []*sample
	waiting  []string           // remembered, the oldest first
	bytes    int64              // of those as they are kept
	own      map[string]holding // of those, by author
	held     map[string]int
	classes  map[string]bool
	outputs  int               // that classes have, those of classes that have gone too
	spelled  map[string]string // a class by the key by which names are compared
	versions []VersionInfo
	fresh    int            // pictures that were cut since the last of these
	unerased []string       // forgotten, and perhaps still in a file
	skip     map[int64]bool // cuts and ends of tasks that are set aside
	deeds    []Deed         // the last ones, the oldest first

	ops     []*op // for the learner, in this order
	cuts    int   // cuts among them
	lessons int   // pictures of those
}

func newBook(image int, b bounds) *book {
	return &book{image: image, bounds: b, samples: map[string]*sample{}, held: map[string]int{}, own: map[string]holding{},
		classes: map[string]bool{}, spelled: map[string]string{}, skip: map[int64]bool{}}
}

// Digest is the SHA-256 of pixels, as [Which].Digest states it.
func Digest(pixels []byte) string {
	sum := sha256.Sum256(pixels)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// enter writes an event into the book, and returns what it asks of the learner; nil is nothing. The pixels are those of
// the file in the event, or nil. An error says that the journal is damaged: nothing that a request can bring is one.
func (k *book) enter(e journal.Event, pixels []byte) (o *op, err error) {
	if e.Number != k.last+1 {
		return nil, fmt.Errorf("daemon: event %d comes after event %d. Put a good copy of the folder in its place", e.Number,
			k.last)
	}
	switch {
	case e.Erased && (e.Kind == kindSample || e.Kind == kindRemember):
		if k.samples[e.ID] == nil { // what forgets it comes later
			k.samples[e.ID] = &sample{ID: e.ID, State: StateForgotten, Time: e.Time, First: e.Number}
		}
	case !e.Erased:
		b, err := bodyOf(e)
		if err == nil {
			o, err = k.write(e, b)
		}
		if err != nil {
			return nil, err
		}
		if m := k.samples[e.ID]; m != nil && m.State == StateWaiting {
			m.pixels = pixels
		}
	}
	k.last = e.Number
	if e.Time.After(k.time) {
		k.time = e.Time
	}
	k.expire()
	if o != nil {
		o.Number, o.Kind = e.Number, e.Kind
		k.ops = append(k.ops, o)
		if o.Kind == kindCut {
			k.cuts, k.lessons = k.cuts+1, k.lessons+len(o.Lessons)
		}
	}
	return o, nil
}

// did takes the first op away, as the learner is done with it.
func (k *book) did() {
	o := k.ops[0]
	k.ops[0], k.ops = nil, k.ops[1:]
	if o.Kind == kindCut {
		k.cuts, k.lessons = k.cuts-1, k.lessons-len(o.Lessons)
	}
}

func (k *book) write(e journal.Event, b body) (*op, error) {
	switch e.Kind {
	case kindClass:
		k.addClass(b.Label)
		k.done(e, b, "")
		return &op{Label: b.Label}, nil
	case kindRename, kindMerge, kindRemove:
		if !k.classes[b.Label] || k.classes[b.Into] == (e.Kind == kindRename) && b.Into != "" {
			return nil, k.misfit(e, b)
		}
		k.done(e, body{Label: b.Into}, b.Label)
		k.reclass(e.Kind, b.Label, b.Into)
		if e.Kind != kindRename {
			k.versions = nil // their weights are of the classes of before
		}
		return &op{Label: b.Label, Into: b.Into}, nil
	case kindSplit:
		if !k.classes[b.Label] || k.classes[b.Into] {
			return nil, k.misfit(e, b)
		}
		k.addClass(b.Into)
		k.done(e, body{Label: b.Into}, b.Label)
		return &op{Label: b.Label, Into: b.Into}, nil
	case kindSample:
		m, err := k.add(e, b)
		if err != nil {
			return nil, err
		}
		k.addClass(b.Label)
		if m.State = StateWaiting; b.Held {
			m.State = StateHeldOut
			k.held[m.Label]++
			return nil, nil
		}
		k.queue = append(k.queue, m)
	case kindRemember:
		m, err := k.add(e, b)
		if err != nil {
			return nil, err
		}
		m.State = StateRemembered
		k.waiting = append(k.waiting, m.ID)
		k.remembers(m)
	case kindLabel:
		return k.relabel(e, b)
	case kindUnlabel:
		return k.unlabel(e, b)
	case kindMark:
		if m := k.samples[e.ID]; m != nil && m.State == StateRemembered {
			k.done(e, b, m.Mark)
			m.Mark = b.Label
		}
	case kindCut:
		return k.cut(e.Number, b.N), nil
	case kindBoundary:
		return &op{}, nil
	case kindUndo:
		return k.undo(e)
	case kindForget:
		return k.forget(b.IDs, b.N > 0), nil
	case kindErased:
		for _, id := range b.IDs {
			if m := k.samples[id]; m != nil && m.State == StateForgotten {
				m.State = StateErased
				k.goes(m)
			}
		}
		k.unerased = without(k.unerased, b.IDs)
	case kindVersion:
		if b.Label != "" {
			k.done(e, b, "")
		}
		return k.version(e, b), nil
	case kindRollback:
		k.done(e, b, "")
		for _, m := range k.samples {
			if m.Learned > b.Number {
				m.Out, m.Left = true, true
			}
		}
		return &op{Version: b.Number}, nil
	case kindBounds:
		if b.Bounds != nil {
			k.bounds = *b.Bounds
		}
	case kindSkip:
		k.skip[b.Number] = true
		for _, m := range k.samples {
			if m.State == StateLearned && m.Learned == b.Number {
				m.State = StateSetAside
			}
		}
	default:
		return nil, fmt.Errorf("daemon: event %d is of the kind %.40q, which this ocl does not know. Use the ocl that wrote it",
			e.Number, e.Kind)
	}
	return nil, nil
}

// misfit is the error about an event on other classes than there are.
func (k *book) misfit(e journal.Event, b body) error {
	return fmt.Errorf("daemon: event %d (%s) is about the classes %.40q and %.40q, which does not fit those that are there. Put a good copy of the folder in its place",
		e.Number, e.Kind, b.Label, b.Into)
}

// without are the ids that are not among some.
func without(ids, some []string) []string {
	drop := map[string]bool{}
	for _, id := range some {
		drop[id] = true
	}
	return slices.DeleteFunc(ids, func(id string) bool { return drop[id] })
}

// addClass adds a class, unless it is there.
func (k *book) addClass(name string) {
	if !k.classes[name] {
		k.outputs++
		k.name(name)
	}
}

// reclass gives the samples of a class the name of another one, or of the class that it becomes a part of. One that is
// removed has none.
func (k *book) reclass(kind, name, into string) {
	for _, m := range k.samples {
		if m.Label == name {
			m.Label = into
		}
	}
	if n := k.held[name]; n > 0 {
		k.held[into] += n
	}
	delete(k.held, name)
	k.nameless(name)
	if kind == kindRename {
		k.name(into)
	}
}

// name adds the name of a class.
func (k *book) name(into string) {
	k.classes[into] = true
	if key := spelling.Key(into); k.spelled[key] == "" {
		k.spelled[key] = into
	}
}

// nameless takes the name of a class away.
func (k *book) nameless(name string) {
	delete(k.classes, name)
	key := spelling.Key(name)
	if k.spelled[key] != name {
		return
	}
	delete(k.spelled, key)
	for _, other := range slices.Sorted(maps.Keys(k.classes)) {
		if spelling.Key(other) == key {
			k.spelled[key] = other
			return
		}
	}
}

// called is the class that a label means: one that is there and has its name, in any case and spelling of Unicode, or
// the label in the spelling that names are kept in.
func (k *book) called(label string) string {
	of := spelling.Of(label)
	switch {
	case k.classes[label]:
		return label
	case k.classes[of]:
		return of
	}
	return cmp.Or(k.spelled[spelling.Key(of)], of)
}

// add adds the sample of an event.
func (k *book) add(e journal.Event, b body) (*sample, error) {
	// its id had been let go of, which is later where all is learned again
	if m := k.samples[e.ID]; m != nil && m.State == StateErased {
		k.gone = without(k.gone, []string{e.ID})
	} else if m != nil {
		return nil, fmt.Errorf("daemon: event %d brings the sample %.80q, which is there already. Put a good copy of the folder in its place",
			e.Number, e.ID)
	}
	if err := k.fits(e); err != nil {
		return nil, err
	}
	digest := b.Digest
	if digest == "" { // an older ocl wrote it
		digest = Digest(e.Pixels)
	}
	m := &sample{ID: e.ID, Label: b.Label, Digest: digest, Who: e.Who, Time: e.Time, First: e.Number, Event: e.Number,
		Guesses: b.Guesses, Unknown: b.Unknown, Version: b.Version, picture: e.Pixels}
	k.samples[m.ID] = m
	return m, nil
}

// fits refuses what no [arrival] keeps.
func (k *book) fits(e journal.Event) error {
	if n := len(e.Pixels); n != k.image && (n == 0 || 2*n > k.image) {
		return fmt.Errorf("daemon: event %d has a picture of %d bytes, and the learner takes pixels of %d or a file of at most half of that. Put a good copy of the folder in its place",
			e.Number, n, k.image)
	}
	return nil
}

// relabel gives a sample a label: a remembered one goes to the queue, one that waits changes, and one that was cut is
// corrected in the memory of the learner, and learned once more where its pixels came with the event. A method that is
// a sum lets go of what it has learned of the old label. One whose id was let go of is corrected and learned too.
func (k *book) relabel(e journal.Event, b body) (o *op, err error) {
	m := k.samples[e.ID]
	if m != nil && (m.State == StateForgotten || m.State == StateErased || m.State == StateExpired) {
		return nil, nil
	}
	k.addClass(b.Label)
	was := ""
	if m != nil {
		was = m.Label
	}
	k.done(e, b, was)
	learned := m == nil || m.State == StateLearned
	if learned {
		o = &op{Label: b.Label, IDs: []string{e.ID}}
		if m != nil && b.Undoes == UndoesAll && !m.Out && len(e.Pixels) > 0 {
			o.takesBack(m, e.Pixels)
		}
	}
	if m == nil {
		if b.Digest == "" {
			return o, nil // an older ocl wrote it
		}
		m = &sample{ID: e.ID, State: StateLearned, Digest: b.Digest, Time: e.Time, First: e.Number, Event: e.Number,
			Learned: e.Number}
		k.samples[m.ID] = m
		k.goes(m)
	}
	if learned && b.Undoes != "" {
		m.Left = m.Left || len(o.Lessons) == 0
		m.Out = true
	}
	switch {
	case learned && len(e.Pixels) > 0:
		if err := k.fits(e); err != nil {
			return nil, err
		}
		m.State, m.picture, m.Event = StateWaiting, e.Pixels, e.Number
		k.queue = append(k.queue, m)
	case m.State == StateRemembered:
		k.unremember(m)
		m.State, m.Mark = StateWaiting, ""
		if len(e.Pixels) > 0 { // those that it has, so that the journal keeps them as long as the label can be undone
			m.Event = e.Number
		}
		k.queue = append(k.queue, m)
	case m.State == StateHeldOut:
		k.held[m.Label]--
		k.held[b.Label]++
	}
	m.Label, m.Who = b.Label, e.Who
	return o, nil
}

// unlabel takes the label of a sample away, which waits for another one then: out of the queue, of what is held out,
// and of what was learned as far as that can be undone. The picture of one that was cut comes with the event.
func (k *book) unlabel(e journal.Event, b body) (o *op, err error) {
	m := k.samples[e.ID]
	switch {
	case m == nil && len(e.Pixels) == 0:
		return nil, nil
	case m == nil: // its id was let go of on the way to the disk
		m = &sample{ID: e.ID, State: StateLearned, Label: b.Label, Digest: b.Digest, Time: e.Time, First: e.Number,
			Learned: e.Number, Out: true, Left: true}
		k.samples[m.ID] = m
	case m.State == StateWaiting:
		k.queue = slices.DeleteFunc(slices.Clone(k.queue), func(other *sample) bool { return other == m })
	case m.State == StateHeldOut:
		k.held[m.Label]--
	case m.State != StateLearned && m.State != StateSetAside || len(e.Pixels) == 0:
		return nil, nil
	}
	k.done(e, body{}, m.Label)
	if len(e.Pixels) > 0 {
		if err := k.fits(e); err != nil {
			return nil, err
		}
		m.picture, m.Event = e.Pixels, e.Number
	}
	if m.Learned > 0 {
		o = &op{IDs: []string{e.ID}}
		if b.Undoes == UndoesAll && !m.Out && m.State == StateLearned {
			o.takesBack(m, e.Pixels)
		}
		m.Left = m.Left || m.State == StateLearned && len(o.Lessons) == 0
		m.Out = true
	}
	m.State, m.Label, m.Who, m.Since, m.pixels = StateRemembered, "", e.Who, e.Time, nil
	k.waiting = append(k.waiting, m.ID)
	k.remembers(m)
	return o, nil
}

// mostDeeds bounds the deeds that are known.
const mostDeeds = 1000

// done notes what an event does for somebody: its label, or what it is about, and what was there before.
func (k *book) done(e journal.Event, b body, was string) {
	k.deeds = append(k.deeds[max(0, len(k.deeds)-mostDeeds+1):], Deed{Number: e.Number, Time: e.Time, Who: e.Who,
		Kind: e.Kind, ID: e.ID, Label: b.Label, Was: was, Of: b.Number})
}

// undo takes a learned sample out of the sums of the learner.
func (k *book) undo(e journal.Event) (*op, error) {
	m := k.samples[e.ID]
	if m == nil || m.State != StateLearned || m.Out {
		return nil, nil
	}
	if err := k.fits(e); err != nil {
		return nil, err
	}
	m.Out = true
	o := new(op)
	o.takesBack(m, e.Pixels)
	return o, nil
}

// takesBack lets an op undo what was learned of a sample.
func (o *op) takesBack(m *sample, picture []byte) {
	o.Cut, o.Lessons = m.Learned, []*lesson{{ID: m.ID, Label: m.Label, Digest: m.Digest, Who: m.Who, Time: m.Time,
		Event: m.Event, picture: picture}}
}

// cut gives the first samples of the queue to the learner.
func (k *book) cut(number int64, n int) *op {
	n = min(n, len(k.queue))
	if n == 0 {
		return nil
	}
	o := new(op)
	for _, m := range k.queue[:n] {
		l := &lesson{ID: m.ID, Label: m.Label, Digest: m.Digest, Who: m.Who, Time: m.Time, Event: m.Event,
			Again: m.Learned > 0, picture: m.picture, pixels: m.pixels}
		if len(m.Guesses) > 0 {
			l.Said = m.Guesses[0].Class
		}
		o.Lessons = append(o.Lessons, l)
		m.State, m.Learned, m.Out, m.picture, m.pixels = StateLearned, number, false, nil, nil
		k.goes(m)
	}
	k.queue = slices.Clone(k.queue[n:])
	k.fresh += n
	return o
}

// Versions that are kept: the last ones, and those with names.
const (
	mostVersions = 10
	mostNamed    = 100
)

// version adds a version of the weights. The oldest without a name go.
func (k *book) version(e journal.Event, b body) *op {
	k.fresh = 0
	k.versions = append(slices.DeleteFunc(slices.Clone(k.versions),
		func(v VersionInfo) bool { return v.Number == b.Number }), VersionInfo{b.Number, e.Time, b.Label})
	over := k.unnamed() - mostVersions
	k.versions = slices.DeleteFunc(k.versions, func(v VersionInfo) bool {
		goes := v.Name == "" && over > 0
		if goes {
			over--
		}
		return goes
	})
	o := &op{Version: b.Number}
	for _, v := range k.versions {
		o.Keep = append(o.Keep, v.Number)
	}
	return o
}

// unnamed is the number of versions without a name.
func (k *book) unnamed() (n int) {
	for _, v := range k.versions {
		if v.Name == "" {
			n++
		}
	}
	return n
}

// forget takes samples away from everything but the weights. sweep is as in [op].
func (k *book) forget(ids []string, sweep bool) *op {
	queued := false
	erased := map[string]bool{}
	for _, id := range ids {
		erased[id] = true
		k.unerased = append(k.unerased, id)
		m := k.samples[id]
		if m == nil { // its id was let go of, and the journal or the memory of the learner has it still
			continue
		}
		switch m.State {
		case StateRemembered:
			k.unremember(m)
		case StateHeldOut:
			k.held[m.Label]--
		case StateWaiting:
			queued = true
		}
		*m = sample{ID: id, State: StateForgotten, Time: m.Time, First: m.First, gone: m.gone}
	}
	k.deeds = slices.DeleteFunc(slices.Clone(k.deeds), func(d Deed) bool { return erased[d.ID] })
	if queued {
		k.queue = slices.DeleteFunc(slices.Clone(k.queue), func(m *sample) bool { return m.State == StateForgotten })
	}
	return &op{IDs: ids, Sweep: sweep}
}

// sorted are the samples in the order in which they came.
func (k *book) sorted() []*sample {
	return slices.SortedFunc(maps.Values(k.samples), func(a, b *sample) int { return cmp.Compare(a.First, b.First) })
}
