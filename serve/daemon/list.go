package daemon

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"ocl/live"
)

// Filters of lists of samples.
const (
	FilterUnlabelled = "unlabelled" // pictures that wait for a label: the uncertain ones, mixed, first
	FilterSkipped    = "skipped"    // those of them that were skipped, the last one first
	FilterDeleted    = "deleted"    // or deleted
	FilterLabelled   = "labelled"   // samples with a label, the last one first
	FilterDoubted    = "doubted"    // of these, those that were guessed to be something else, the surest guess first
)

// Filters are all of them.
var Filters = []string{FilterUnlabelled, FilterSkipped, FilterDeleted, FilterLabelled, FilterDoubted}

// Query says which samples are listed.
type Query struct {
	Filter        string // "" is FilterUnlabelled
	Class         string // the label, or of those without one the best guess; "" is any
	Like          string // an id: those that wait for a label, the most like this one first
	Offset, Count int
}

// listed is a sample of a list.
type listed struct {
	Info
	order int64 // of its last event
	doubt float64
}

// Listing is a part of the samples that a query means.
type Listing struct {
	Samples []Info `json:"samples"`
	Total   int    `json:"total"` // that the query means
	Stale   int    `json:"stale"` // of the part, at which the version that answers has not looked yet
}

// List returns a part of the samples that a query means. The daemon looks at those that wait for a label afterwards, so
// a later list knows more of them.
func (d *Daemon) List(ctx context.Context, q Query) (l Listing, err error) {
	q.Filter = cmp.Or(q.Filter, FilterUnlabelled)
	if !slices.Contains(Filters, q.Filter) {
		return l, fmt.Errorf("daemon: there is no filter %.40q. Use one of %v", q.Filter, Filters)
	}
	select {
	case d.looked <- struct{}{}:
	default:
	}
	list := d.listed(q)
	switch {
	case q.Like != "":
		list, err = d.alike(ctx, q.Like, list)
	case q.Filter == FilterUnlabelled:
		slices.SortFunc(list, func(a, b listed) int {
			return cmp.Or(cmp.Compare(b.doubt, a.doubt), cmp.Compare(a.order, b.order))
		})
		err = d.mix(list, q.Offset+q.Count)
	case q.Filter == FilterDoubted:
		slices.SortFunc(list, func(a, b listed) int {
			return cmp.Or(cmp.Compare(a.doubt, b.doubt), cmp.Compare(b.order, a.order))
		})
	default:
		slices.SortFunc(list, func(a, b listed) int { return cmp.Compare(b.order, a.order) })
	}
	if err != nil {
		return l, err
	}
	l = Listing{[]Info{}, len(list), 0}
	version, room := d.Version(), d.looks.room()
	for _, one := range list[min(q.Offset, len(list)):min(q.Offset+q.Count, len(list))] {
		l.Samples = append(l.Samples, one.Info)
		k := d.looks.get(one.ID)
		if one.State == StateRemembered && version > 0 && (k == nil && room || k != nil && k.version < version) {
			l.Stale++
		}
	}
	return l, nil
}

// listed are the samples that a query means, in any order.
func (d *Daemon) listed(q Query) (list []listed) {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	add := func(m *sample) {
		l := listed{d.info(m), max(m.First, m.Event, m.Learned), 0}
		l.doubt = doubt(l.Guesses)
		class := m.Label
		if class == "" && len(l.Guesses) > 0 {
			class = l.Guesses[0].Class
		}
		if q.Class == "" || class == q.Class {
			list = append(list, l)
		}
	}
	mark := map[string]string{FilterSkipped: MarkSkipped, FilterDeleted: MarkDeleted}[q.Filter]
	switch q.Filter {
	case FilterLabelled, FilterDoubted:
		for _, m := range d.state.samples {
			if m.Label == "" || m.State == StateForgotten || m.State == StateErased {
				continue
			}
			if g := m.Guesses; q.Filter == FilterLabelled || len(g) > 0 && g[0].Class != m.Label {
				add(m)
			}
		}
	default:
		for _, id := range d.state.waiting {
			if m := d.state.samples[id]; m.Mark == mark {
				add(m)
			}
		}
	}
	return list
}

// mostMixed is how many of the least certain pictures are mixed. Beyond them the list goes by certainty alone.
const mostMixed = 256

// mix brings the first pictures of a list, the least certain first, into an order in which those that follow each other
// are unlike: each next one is that whose doubt times its distance to all before it is the greatest (farthest first).
// As many as are wanted are mixed.
func (d *Daemon) mix(list []listed, want int) error {
	list = list[:min(len(list), mostMixed)]
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.ID
	}
	features, err := d.directions(ids)
	if err != nil {
		return err
	}
	far := make([]float64, len(list)) // 1 less the cosine to the nearest before it
	for i := range far {
		far[i] = 2
	}
	for n := range min(want, len(list)) {
		best := n
		for i := n; i < len(list); i++ {
			if list[i].doubt*far[i] > list[best].doubt*far[best] {
				best = i
			}
		}
		// those between move by one, so that equals stay in their order
		l, f := list[best], far[best]
		copy(list[n+1:best+1], list[n:best])
		copy(far[n+1:best+1], far[n:best])
		list[n], far[n] = l, f
		if at := features[l.ID]; at != nil {
			for i := n + 1; i < len(list); i++ {
				if other := features[list[i].ID]; len(other) == len(at) {
					far[i] = min(far[i], max(0, 1-dot(at, other)))
				}
			}
		}
	}
	return nil
}

// alike are those of a list that were looked at, the most like the picture of an id first.
func (d *Daemon) alike(ctx context.Context, id string, list []listed) (like []listed, err error) {
	if k := d.looks.get(id); k == nil || k.seen == nil && k.features == nil { // nothing was learned when it was looked at
		d.state.mu.Lock()
		m, there := d.state.lookup(id)
		d.state.mu.Unlock()
		switch {
		case !there:
			return nil, ErrNotFound
		case m.State != StateRemembered:
			return nil, fmt.Errorf("daemon: %w", ErrLabelled)
		}
		if err := d.lookAt(ctx, id); err != nil {
			return nil, err
		}
	}
	ids := []string{id}
	for _, l := range list {
		ids = append(ids, l.ID)
	}
	features, err := d.directions(ids)
	if err != nil {
		return nil, err
	}
	at := features[id]
	if at == nil {
		return nil, fmt.Errorf("daemon: %w", live.ErrNothing)
	}
	for _, l := range list {
		if other := features[l.ID]; len(other) == len(at) {
			near := math.Min(1, dot(at, other))
			l.Likeness = &near
			like = append(like, l)
		}
	}
	slices.SortFunc(like, func(a, b listed) int {
		return cmp.Or(cmp.Compare(*b.Likeness, *a.Likeness), cmp.Compare(a.order, b.order))
	})
	return like, nil
}

// doubt says how unsure guesses are, in [0,1]; less is more certain. It is 1 less the margin between the best two
// probabilities, or the quotient of the least two distances.
func doubt(guesses []Guess) float64 {
	second := 0.0
	switch {
	case len(guesses) == 0:
		return 1
	case guesses[0].Probability != nil:
		if len(guesses) > 1 {
			second = *guesses[1].Probability
		}
		return 1 - *guesses[0].Probability + second
	case len(guesses) > 1 && guesses[1].Distance != nil && *guesses[1].Distance > 0:
		return *guesses[0].Distance / *guesses[1].Distance
	}
	return 0
}

// Sample returns the facts about a sample; there says whether the daemon knows its id.
func (d *Daemon) Sample(id string) (i Info, there bool) {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	m, there := d.state.lookup(id)
	return d.info(&m), there
}

// info returns the facts about a sample for people. Of one that waits for its label the guesses are those of now. The
// caller holds mu.
func (d *Daemon) info(m *sample) Info {
	i := Info{ID: m.ID, State: d.shown(m), Label: m.Label, Mark: m.Mark, Who: m.Who, Guesses: m.Guesses,
		Unknown: m.Unknown, Version: m.Version, Time: m.Time}
	if k := d.looks.get(m.ID); m.State == StateRemembered && k != nil && k.version > i.Version {
		i.Guesses, i.Unknown, i.Version = k.guesses, k.unknown, k.version
	}
	return i
}

// Kept returns the picture of a sample as it is kept, and whether that is the file that came; else it is uint8 [C,H,W]
// as the network sees it. One that was learned is kept as long as the journal has it. nil is none.
func (d *Daemon) Kept(id string) (picture []byte, file bool) {
	d.state.mu.Lock()
	m, there := d.state.lookup(id)
	image := d.state.image
	d.state.mu.Unlock()
	if picture = m.picture; there && picture == nil && m.State == StateLearned {
		picture = d.pictureOf(id, m.Event)
	}
	return picture, len(picture) != image
}

// Pixels returns the pixels of a picture that is kept, uint8 [C,H,W]; nil for another one.
func (d *Daemon) Pixels(ctx context.Context, id string) ([]byte, error) {
	picture, _ := d.Kept(id)
	if picture == nil {
		return nil, nil
	}
	pixels, err := drawn(ctx, d.trainer, picture)
	return slices.Clone(pixels), err
}

// History returns at most n of the last deeds, the last one first, before the event of a number; 0 is all. It knows the
// last 1,000.
func (d *Daemon) History(n int, before int64) []Deed {
	d.state.mu.Lock()
	defer d.state.mu.Unlock()
	later := map[string]bool{}
	list := []Deed{}
	for _, deed := range slices.Backward(d.state.deeds) {
		if deed.ID != "" {
			m, there := d.state.lookup(deed.ID)
			deed.Last = there && !later[deed.ID] && m.State != StateExpired
			later[deed.ID] = true
		}
		if (before == 0 || deed.Number < before) && len(list) < n {
			list = append(list, deed)
		}
	}
	return list
}
