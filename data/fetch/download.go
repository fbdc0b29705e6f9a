package fetch

import (
	"context"
	"errors"
	"time"
)

const (
	longestBackoff = 30 * time.Second
	longestWait    = 2 * time.Minute // that a server may ask for; a person should know of a longer one
)

// temporary is a fault that another attempt may not meet.
type temporary struct {
	error
	wait time.Duration // that the server asks for
}

func (t temporary) Unwrap() error { return t.error }

// download makes attempts until the part is whole. An attempt counts as a failure unless it makes the part longer than
// it ever was, so a long file over a bad line arrives, and a server that always begins anew does not keep Get for ever.
func (g *getter) download(ctx context.Context, f File, p *part) error {
	longest, failures, wait := p.size, 0, g.Backoff
	for {
		g.Progress(f, p.size, p.total(f))
		err := g.attempt(ctx, f, p)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return g.stopped(ctx, f, p)
		}
		var again temporary
		if !errors.As(err, &again) {
			return err
		}
		if p.size > longest {
			longest, failures, wait = p.size, 0, g.Backoff
		}
		if failures >= g.Retries {
			return f.errorf("%w (attempts in a row: %d). Run the same command again later: it continues after %s",
				again.error, failures+1, p.soFar(f))
		}
		failures++
		pause := max(wait, again.wait)
		g.Retrying(f, Retry{Why: again.error, Attempt: failures + 1, Of: g.Retries + 1, From: p.size, Wait: pause})
		if !sleep(ctx, pause) {
			return g.stopped(ctx, f, p)
		}
		wait = min(2*wait, longestBackoff)
	}
}

// sleep waits; false where ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
