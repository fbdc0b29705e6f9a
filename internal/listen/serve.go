package listen

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Serve answers on a listener, with TLS where the server has a config of it, until stop is called, which closes the
// listener. failed gets the error of the listener. stop waits for requests at work, but cuts them off after a time, and
// returns when nothing answers any more. It may be called again.
func Serve(s *http.Server, on net.Listener) (failed <-chan error, stop func(most time.Duration)) {
	fault, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		serve := s.Serve
		if s.TLSConfig != nil {
			serve = func(on net.Listener) error { return s.ServeTLS(on, "", "") }
		}
		if err := serve(on); !errors.Is(err, http.ErrServerClosed) {
			fault <- err
		}
	}()
	return fault, func(most time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), most)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close() // the last requests are not waited for
		}
		_ = on.Close() // a server that was stopped before its goroutine began does not know its listener
		<-ended
	}
}
