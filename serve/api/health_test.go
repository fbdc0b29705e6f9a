package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"ocl/serve/api"
)

// TestStartingAndDraining: the process lives, and is not ready.
func TestStartingAndDraining(t *testing.T) {
	for name, h := range map[string]http.Handler{"starting": api.Starting(false), "waiting": api.Starting(true),
		"draining": api.Draining()} {
		for path, want := range map[string]int{"/livez": http.StatusOK, "/v2/health/live": http.StatusOK,
			"/readyz": http.StatusServiceUnavailable, "/v1/samples": http.StatusServiceUnavailable} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != want || want != http.StatusOK && w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: %s is %d with Retry-After %q, want %d", name, path, w.Code, w.Header().Get("Retry-After"), want)
			}
		}
	}
}
