package watch

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"ocl/internal/limit"
	"ocl/internal/listen"
	"ocl/view/report"
)

// Options of a watcher.
type Options struct {
	Report report.Options
	Host   string // name by which the page may be asked for beside localhost and addresses; may be ""
	// Idle ends Serve after nobody has been at work for so long; 0 is never.
	Idle time.Duration
	// Told is called for each new problem; may be nil. Calls do not overlap.
	Told func(problem string)
	Now  func() time.Time // nil is time.Now
}

func (o Options) now() func() time.Time {
	if o.Now == nil {
		return time.Now
	}
	return o.Now
}

const (
	// lookEvery is the time between two looks at a folder.
	lookEvery = time.Second
	// pauseFactor bounds the load on a disk: after a look at the folder, nothing is read for this many times as long as
	// the look took.
	pauseFactor = 10
	// lastPageTimeout is how long Serve waits for browsers to load the last page.
	lastPageTimeout = 5 * time.Second
	// shutdownTimeout is how long requests may go on after Serve has ended; then they are cut off.
	shutdownTimeout = 300 * time.Millisecond
)

// Serve answers browsers on a listener, which it closes, and looks at the folder every second. It returns when ctx
// ends, when all runs have ended, or when nothing was at work for Options.Idle. It returns the last state that it read.
// The error is that of the listener.
func (w *Watcher) Serve(ctx context.Context, on net.Listener, o Options) (*State, error) {
	failed, stop := serve(on, w.Handler())
	s, err := w.follow(ctx, o, failed)
	w.end()
	stop()
	return s, err
}

// serve answers browsers on a listener until stop is called, which closes it. failed has the error of the listener.
func serve(on net.Listener, handler http.Handler) (failed <-chan error, stop func()) {
	failed, end := listen.Serve(&http.Server{
		Handler: handler, ConnContext: listen.ConnContext, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 14, ErrorLog: log.New(io.Discard, "", 0),
	}, listen.Crowd(on, limit.WatchConnections, limit.WatchConnections))
	return failed, func() { end(shutdownTimeout) }
}

// follow looks at the folder again and again.
func (w *Watcher) follow(ctx context.Context, o Options, failed <-chan error) (*State, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	now, said := o.now(), ""
	busy := now()
	var s *State
	for {
		select {
		case <-ctx.Done():
			return s, nil
		case err := <-failed:
			return s, err
		case <-timer.C:
		}
		began := now()
		s = w.Look()
		ended := now()
		if s.Problem != said && o.Told != nil && s.Problem != "" {
			o.Told(s.Problem)
		}
		said = s.Problem
		if !s.Idle() {
			busy = ended
		}
		if s.Over() || o.Idle > 0 && ended.Sub(busy) >= o.Idle {
			w.finish()
			w.wave(ctx)
			return s, nil
		}
		timer.Reset(max(lookEvery, pauseFactor*ended.Sub(began)))
	}
}

// wave waits until the browsers have loaded the last page and closed their streams.
func (w *Watcher) wave(ctx context.Context) {
	late := time.NewTimer(lastPageTimeout)
	defer late.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for w.watched() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			return
		case <-look.C:
		}
	}
}
