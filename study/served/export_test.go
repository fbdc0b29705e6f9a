package served

import (
	"time"

	"ocl/study"
)

// Die lets a process of a store die: its locks and its connection are gone, and nothing is given back.
func Die(s study.Store) {
	d := s.(*store)
	d.mu.Lock()
	for _, c := range d.mine {
		c.unlock()
		c.unlock = func() {}
	}
	d.mu.Unlock()
	d.close()
}

// Expire removes claims that are older than their age would be if so much more time had passed, as the server does by itself.
func (h *Holder) Expire(older func(key string) bool) {
	ctx, cancel := op()
	defer cancel()
	keys, err := h.store.claims.Keys(ctx)
	if err != nil {
		return // there are none
	}
	for _, k := range keys {
		if older(k) {
			_ = h.store.claims.Purge(ctx, k)
		}
	}
}

// Restart ends the embedded server and starts it again.
func (h *Holder) Restart(between func()) error {
	h.server.stop()
	between()
	return h.server.start()
}

// MaxAge is how long a claim lasts.
const MaxAge time.Duration = maxAge
