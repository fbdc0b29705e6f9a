package listen

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestStopAtOnce: who stops serving before its goroutine has begun finds the listener closed too.
func TestStopAtOnce(t *testing.T) {
	for range 100 {
		on, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		failed, stop := Serve(&http.Server{Handler: http.NotFoundHandler()}, on)
		stop(time.Minute)
		stop(time.Minute)
		if err := on.(*net.TCPListener).SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) || len(failed) > 0 {
			t.Fatalf("somebody listens still: %v", err)
		}
	}
}
