package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnOpenPageKeepsTheDaemon: while a request is open, such as the stream of a page, nobody is missed; after it the
// time counts.
func TestAnOpenPageKeepsTheDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		g.let(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Hour) }))
		began := time.Now()
		over := g.idle(t.Context(), time.Hour)
		go g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/events", nil))
		<-over
		if took := time.Since(began); took < 6*time.Hour || took > 7*time.Hour {
			t.Errorf("it ends after %v, want an hour after a page that was open for five", took)
		}
	})
}
