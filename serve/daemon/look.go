package daemon

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"ocl/internal/limit"
	"ocl/live"
)

// look is what the daemon sees in a picture now. None of it belongs to the state.
type look struct {
	seen     []byte    // of live.Trainer.See
	features []float32 // where they are not those of seen
	guesses  []Guess
	unknown  bool  // it looks like none of the classes
	version  int64 // that guessed; 0 where nothing was learned yet
}

// looks are those at the pictures that people are shown, and at those that are held out.
type looks struct {
	mu    sync.Mutex
	of    map[string]*look // by id
	bytes int              // of what was seen and of the features
	full  bool             // there was no room for one
}

// get is the look at a picture; nil where nobody has looked yet.
func (l *looks) get(id string) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[id]
}

// put keeps a look, as long as there is room.
func (l *looks) put(id string, k *look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := func(k *look) int { return len(k.seen) + 4*len(k.features) }
	if was := l.of[id]; was != nil {
		l.bytes -= size(was)
		delete(l.of, id)
	}
	if l.full = l.bytes+size(k) > limit.ServeLooks; l.full {
		return
	}
	if l.of == nil {
		l.of = map[string]*look{}
	}
	l.of[id] = k
	l.bytes += size(k)
}

// keep lets go of the looks at pictures of which it is not said that they stay.
func (l *looks) keep(stays func(id string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, k := range l.of {
		if !stays(id) {
			delete(l.of, id)
			l.bytes -= len(k.seen) + 4*len(k.features)
			l.full = false
		}
	}
}

// room says whether there is room for more.
func (l *looks) room() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.full
}

// see is what the learner sees in a picture as it is kept. What was seen once is kept.
func (d *Daemon) see(ctx context.Context, id string, picture []byte) ([]byte, error) {
	if k := d.looks.get(id); k != nil && k.seen != nil {
		return k.seen, nil
	}
	pixels, err := drawn(ctx, d.trainer, picture)
	if err != nil {
		return nil, err
	}
	seen, err := d.trainer.See(pixels)
	if err == nil && d.trainer.Process().Backbone != "" {
		k := look{seen: seen}
		if was := d.looks.get(id); was != nil {
			k.guesses, k.unknown, k.version = was.guesses, was.unknown, was.version
		}
		d.looks.put(id, &k)
	}
	return seen, err
}

// lookLoop looks at the remembered pictures whenever somebody is shown some: what they are now guessed to be, and their
// features. It leaves half of the time to predictions.
func (d *Daemon) lookLoop(ctx context.Context) {
	for {
		select {
		case <-d.looked:
		case <-ctx.Done():
			return
		}
		for _, id := range d.stale() {
			began := time.Now()
			if err := d.lookAt(ctx, id...); err != nil && ctx.Err() == nil {
				d.o.Log.Warn("remembered pictures were not looked at", "error", err)
				break
			}
			select {
			case <-time.After(time.Since(began)):
			case <-ctx.Done():
				return
			}
		}
		d.state.mu.Lock()
		d.change()
		d.state.mu.Unlock()
	}
}

// stale are the remembered pictures at which the present version has not looked, in parts that are looked at together:
// first those at which nobody has.
func (d *Daemon) stale() [][]string {
	d.state.mu.Lock()
	version := d.version
	list := slices.Clone(d.state.waiting)
	d.looks.keep(func(id string) bool {
		m := d.state.samples[id]
		return m != nil && (m.State == StateRemembered || m.State == StateHeldOut)
	})
	d.state.mu.Unlock()
	var never, before []string
	for _, id := range list {
		if k := d.looks.get(id); k == nil && d.looks.room() {
			never = append(never, id)
		} else if k != nil && k.version < version {
			before = append(before, id)
		}
	}
	// what was never seen takes long where a pretrained network sees it
	parts := slices.Collect(slices.Chunk(never, 4))
	return slices.AppendSeq(parts, slices.Chunk(before, live.MaxPictures))
}

// lookAt looks at remembered pictures, at most live.MaxPictures.
func (d *Daemon) lookAt(ctx context.Context, ids ...string) error {
	d.state.mu.Lock()
	pictures := map[string][]byte{}
	for _, id := range ids {
		if m := d.state.samples[id]; m != nil && m.State == StateRemembered {
			pictures[id] = m.picture
		}
	}
	d.state.mu.Unlock()
	var there []string
	var seen [][]byte
	for _, id := range ids {
		if pictures[id] == nil {
			continue
		}
		one, err := d.see(ctx, id, pictures[id])
		if err != nil {
			return err
		}
		there, seen = append(there, id), append(seen, one)
	}
	if len(there) == 0 {
		return nil
	}
	pretrained := d.trainer.Process().Backbone != ""
	features := make([][]float32, len(there))
	a, err := d.trainer.PredictSeen(mostShown, seen)
	if err == nil && !pretrained {
		features, err = d.trainer.Features(seen)
	}
	if err != nil && !errors.Is(err, live.ErrNothing) {
		return err
	}
	for i, id := range there {
		k := &look{version: a.Version, features: features[i]}
		if pretrained {
			k.seen = seen[i]
		}
		if err == nil {
			k.guesses = Guesses(a.Guesses[i], d.Measure())
			k.unknown = a.Verdicts != nil && a.Verdicts[i].Unknown
		}
		d.looks.put(id, k)
	}
	return nil
}

// mostShown is the number of guesses of a picture that people are shown.
const mostShown = 5

// directions are the features of pictures at which somebody has looked, each of length 1, by id.
func (d *Daemon) directions(ids []string) (map[string][]float32, error) {
	all := map[string][]float32{}
	var of []string
	var seen [][]byte
	for _, id := range ids {
		k := d.looks.get(id)
		switch {
		case k == nil:
		case k.features != nil:
			all[id] = slices.Clone(k.features)
		case k.seen != nil:
			of, seen = append(of, id), append(seen, k.seen)
		}
	}
	for len(seen) > 0 {
		n := min(len(seen), live.MaxPictures)
		f, err := d.trainer.Features(seen[:n])
		if err != nil {
			return nil, err
		}
		for i := range f {
			all[of[i]] = f[i]
		}
		of, seen = of[n:], seen[n:]
	}
	for _, f := range all {
		if long := float32(math.Sqrt(dot(f, f))); long > 0 {
			for i := range f {
				f[i] /= long
			}
		}
	}
	return all, nil
}

func dot(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}
