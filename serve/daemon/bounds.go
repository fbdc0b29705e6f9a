package daemon

import (
	"slices"
	"time"
)

// bounds of what is kept. They are part of the state, as who replays the journal need not know the options of those who
// wrote it.
type bounds struct {
	Count int           `json:"count"` // of remembered pictures
	Bytes int64         `json:"bytes"` // of them as they are kept
	Age   time.Duration `json:"age"`   // by the times of events
	IDs   int           `json:"ids"`
}

// bounds returns the bounds of the book that the options set.
func (o Options) bounds() bounds {
	return bounds{o.Remember.Count, o.Remember.Bytes, o.Remember.Age, o.IDs}
}

// holding is the part of a bound that one author uses.
type holding struct {
	pictures int
	bytes    int64
}

// remembers counts a picture among those that wait for their labels.
func (k *book) remembers(m *sample) {
	k.bytes += int64(len(m.picture))
	of := k.own[m.Who]
	k.own[m.Who] = holding{of.pictures + 1, of.bytes + int64(len(m.picture))}
}

// unremember takes a picture out of those that wait for their labels. The picture stays with its sample.
func (k *book) unremember(m *sample) {
	if k.waiting[0] == m.ID {
		k.waiting = k.waiting[1:]
	} else {
		k.waiting = slices.DeleteFunc(k.waiting, func(id string) bool { return id == m.ID })
	}
	k.bytes -= int64(len(m.picture))
	of := k.own[m.Who]
	k.own[m.Who] = holding{of.pictures - 1, of.bytes - int64(len(m.picture))}
	if of.pictures == 1 {
		delete(k.own, m.Who)
	}
}

// goes notes that nobody needs the id of a sample any more: it is let go of when there are too many.
func (k *book) goes(m *sample) {
	if !m.gone {
		m.gone = true
		k.gone = append(k.gone, m.ID)
	}
}

// aged says whether a remembered picture is too old at a time.
func (k *book) aged(m *sample, now time.Time) bool {
	at := m.Time
	if m.Since.After(at) {
		at = m.Since
	}
	return now.Sub(at) > k.bounds.Age
}

// surplus is the remembered picture that goes before others: the oldest of those who have most, so that nobody pushes
// those of others out.
func (k *book) surplus() *sample {
	size := func(h holding) int64 { return h.bytes }
	if len(k.waiting) > k.bounds.Count {
		size = func(h holding) int64 { return int64(h.pictures) }
	}
	most := int64(0)
	for _, h := range k.own {
		most = max(most, size(h))
	}
	i := slices.IndexFunc(k.waiting, func(id string) bool { return size(k.own[k.samples[id].Who]) == most })
	return k.samples[k.waiting[i]]
}

// expire lets go of what is beyond the bounds: remembered pictures, and ids that nobody needs any more. Age is by the
// time of events.
func (k *book) expire() {
	for len(k.waiting) > 0 {
		m := k.samples[k.waiting[0]]
		if !k.aged(m, k.time) {
			if len(k.waiting) <= k.bounds.Count && k.bytes <= k.bounds.Bytes {
				break
			}
			m = k.surplus()
		}
		k.unremember(m)
		m.State, m.picture, m.Guesses, m.Mark = StateExpired, nil, nil, ""
		k.goes(m)
	}
	for len(k.samples) > k.bounds.IDs && len(k.gone) > 0 {
		m := k.samples[k.gone[0]]
		k.gone = k.gone[1:]
		switch m.State {
		case StateLearned, StateSetAside, StateExpired, StateErased:
			delete(k.samples, m.ID)
		default: // it waits again, or is not erased yet
			m.gone = false
		}
	}
}
