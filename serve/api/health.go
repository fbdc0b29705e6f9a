package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// livez answers that the process lives. A failed disk ends it.
func (s *server) livez(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, map[string]bool{"live": true}, nil
}

// readyz answers whether requests are served.
func (s *server) readyz(http.ResponseWriter, *http.Request) (int, any, error) {
	if err := s.model.Ready(); err != nil {
		p := problemOf(err)
		if p.Status != http.StatusServiceUnavailable {
			p = problem(http.StatusServiceUnavailable, "%s", sentence(err))
		}
		return 0, nil, p
	}
	return http.StatusOK, struct {
		Ready   bool   `json:"ready"`
		Problem string `json:"problem,omitempty"`
	}{true, cmp.Or(s.model.Problem(), s.o.LabelStudio.Problem())}, nil
}

// Starting answers while the folder is being opened, or a replica waits for its daemon: the process lives and is not
// ready.
func Starting(replica bool) http.Handler {
	if replica {
		return closed("The replica waits for the first model of its daemon. Send this again after the time of Retry-After.")
	}
	return closed("The daemon is making its state again from the journal. Send this again after the time of Retry-After.")
}

// Draining answers while the daemon ends.
func Draining() http.Handler {
	return closed("The daemon is ending. Send this again after the time of Retry-After.")
}

// closed answers everything but livez with 503.
func closed(why string) http.Handler {
	s := &server{log: slog.New(slog.DiscardHandler)}
	mux := http.NewServeMux()
	for _, path := range []string{"GET /livez", "GET /v2/health/live"} {
		mux.HandleFunc(path, s.answers(s.livez))
	}
	mux.HandleFunc("/", s.answers(func(http.ResponseWriter, *http.Request) (int, any, error) {
		return 0, nil, problem(http.StatusServiceUnavailable, "%s", why).later(2 * time.Second)
	}))
	return mux
}
