package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"ocl/internal/listen"
)

const (
	// statusEvery is the time between two statuses in a stream of events.
	statusEvery = time.Second
	// retryAfter is when a browser asks again after a stream has ended, in milliseconds.
	retryAfter = 2000
)

// published says that a new version answers.
type published struct {
	Time      time.Time `json:"time"`
	Version   int64     `json:"version"`
	Learned   int64     `json:"learned"`
	Answering int64     `json:"answering"` // of these, in the version that answers
}

// events answers GET /v1/events: server-sent events, one for each notice of the daemon, and each second a status if it
// has changed, after one of the kind published where another version answers. A client that reads slowly loses notices
// and never holds up the daemon.
func (s *server) events(to http.ResponseWriter, r *http.Request) (int, any, error) {
	if _, ok := s.streams.try(who(r), 1); !ok {
		return 0, nil, problem(http.StatusServiceUnavailable, "No more than %d streams of events are open at once, and no token has more than half of them. Close one, or ask for /v1/status now and then.",
			s.o.Limits.Streams).later(10 * time.Second)
	}
	defer s.streams.back(who(r), 1)
	s.stream(to, r)
	return 0, nil, nil
}

// stream sends events until the client goes, or may not read them any longer.
func (s *server) stream(to http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	notices := s.daemon.Subscribe(ctx)
	stream, ok := listen.NewEvents(to, writeTime, retryAfter)
	if !ok || r.Method == http.MethodHead {
		return
	}
	send := func(kind string, v any) bool {
		text, err := json.Marshal(v)
		if err != nil {
			return stream.Beat() // a number that JSON does not have
		}
		return stream.Send(kind, text)
	}
	others := s.o.Tokens.next()
	if !s.may(r, RolePredict) { // since it was let in
		return
	}
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	var last []byte
	var version int64
	for quiet := 0; ; {
		status := s.now()
		if now, err := json.Marshal(status); err == nil && !bytes.Equal(now, last) {
			if last != nil && status.Version != version &&
				!send("published", published{time.Now(), status.Version, status.Samples.Learned, status.Samples.Answering}) {
				return
			}
			version = status.Version
			if !stream.Send("status", now) {
				return
			}
			last, quiet = now, 0
		} else if quiet++; quiet%15 == 0 && !stream.Beat() {
			return
		}
		for waits := true; waits; {
			select {
			case n, more := <-notices:
				if !more {
					return
				}
				if !send(n.Kind, n) {
					return
				}
			case <-others:
				if others = s.o.Tokens.next(); !s.may(r, RolePredict) {
					return
				}
			case <-tick.C:
				waits = false
			case <-r.Context().Done():
				return
			case <-s.o.Ending:
				return
			}
		}
	}
}
