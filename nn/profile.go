package nn

import "time"

// LayerTime is the time one layer spent on one kind of work since profiling began.
type LayerTime struct {
	Layer, Work string
	Time        time.Duration
}

// profile records the time of layers; a nil profile records nothing.
type profile struct {
	last  time.Time
	index map[[2]string]int
	times []LayerTime
	parts int // so many profiles run at once
}

func newProfile(parts int) *profile { return &profile{index: map[[2]string]int{}, parts: parts} }

// beside returns a profile for one of parts passes that run at the same time, or nil if p is nil.
func (p *profile) beside(parts int) *profile {
	if p == nil {
		return nil
	}
	return newProfile(parts)
}

func (p *profile) start() {
	if p != nil {
		p.last = time.Now()
	}
}

// mark adds the time since the last mark to a layer's.
func (p *profile) mark(layer, work string) {
	if p == nil {
		return
	}
	now := time.Now()
	p.book(layer, work, now.Sub(p.last))
	p.last = now
}

func (p *profile) book(layer, work string, d time.Duration) {
	key := [2]string{layer, work}
	i, ok := p.index[key]
	if !ok {
		i = len(p.times)
		p.index[key] = i
		p.times = append(p.times, LayerTime{Layer: layer, Work: work})
	}
	p.times[i].Time += d
}

// add adds all times of q, divided by the number of passes that ran at the same time.
func (p *profile) add(q *profile) {
	for _, t := range q.times {
		p.book(t.Layer, t.Work, t.Time/time.Duration(q.parts))
	}
}
