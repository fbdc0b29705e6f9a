package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAProblemIsTold: where requests are served and something is wrong, readyz and the metrics say so.
func TestAProblemIsTold(t *testing.T) {
	h := NewReplica(still{}, Options{})
	for path, words := range map[string]string{"/readyz": `{"ready":true,"problem":"The disk is full."}`, "/metrics": "\nocl_problem 1\n"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s: %d without %s", path, w.Code, words)
		}
	}
}
