package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ocl/live"
	"ocl/run/train"
	"ocl/serve/daemon"
)

// panicked is a model whose network panics.
type panicked struct{ still }

func (panicked) Predict(context.Context, [][]byte, int) (live.Answer, error) {
	return live.Answer{}, train.Panicked("no such row")
}

// TestAPanicIsAProblem: the answer says what happened, and the log where.
func TestAPanicIsAProblem(t *testing.T) {
	var log bytes.Buffer
	r, w := httptest.NewRequest(http.MethodPost, "/v1/predictions", bytes.NewReader(make([]byte, 48))),
		httptest.NewRecorder()
	r.Host = "localhost"
	r.Header.Set("Content-Type", typeRaw)
	NewReplica(panicked{}, Options{Decoder: still{}, Log: slog.New(slog.NewTextHandler(&log, nil))}).ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"detail":"Panic: no such row`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "api.panicked.Predict") {
		t.Errorf("the log has no stack: %s", log.String())
	}
}

// TestAProblemIsTold: where requests are served and something is wrong, readyz and the metrics say so.
func TestAProblemIsTold(t *testing.T) {
	h := NewReplica(still{}, Options{})
	for path, words := range map[string]string{"/readyz": `{"ready":true,"problem":"The disk is full."}`,
		"/metrics": "\nocl_problem 1\n"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s: %d without %s", path, w.Code, words)
		}
	}
}

// TestRefusedOnAFullDisk: the daemon logs a full disk, with the number of requests that it refused; so a request that
// is refused there has no line of its own, as one that failed has.
func TestRefusedOnAFullDisk(t *testing.T) {
	for err, lines := range map[error]int{daemon.ErrNoRoom: 0, daemon.ErrUnerased: 0, errors.New("a fault"): 1} {
		var log strings.Builder
		s := &server{log: slog.New(slog.NewTextHandler(&log, nil))}
		s.refuse(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/samples", nil), err)
		if n := strings.Count(log.String(), "\n"); n != lines {
			t.Errorf("%v: %d lines: %s", err, n, &log)
		}
	}
}
