package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"ocl/serve/client"
)

// TestRequestsOfTheProcess: they go through the handler without a token, and have their author and an answer as others
// have; what they cannot do is refused in the same way.
func TestRequestsOfTheProcess(t *testing.T) {
	s := newServer(still{}, nil, Options{Decoder: still{}, Tokens: NewTokens(nil)})
	h := s.guarded(s.allowed(RoleAdmin, s.answers(func(_ http.ResponseWriter, r *http.Request) (int, any, error) {
		if !s.may(r, RoleAdmin) {
			t.Error("it may not do everything")
		}
		if r.URL.Path == "/v1/samples/no" {
			return 0, nil, problem(http.StatusConflict, "No.")
		}
		body, err := io.ReadAll(r.Body)
		return http.StatusOK, map[string]string{"id": who(r), "label": string(body)}, err
	})))
	c, err := client.New("http://localhost", client.Options{HTTP: &http.Client{Transport: Inside(h, "me")}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Label(t.Context(), "x", "cat"); err != nil || got.ID != "me" || got.Label != `{"label":"cat"}` {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := c.Sample(t.Context(), "no"); err == nil || err.Error() != "client: No. (409)" {
		t.Error(err)
	}
	to := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	if h.ServeHTTP(to, r); to.Code != http.StatusUnauthorized {
		t.Errorf("from outside: %d", to.Code)
	}
}
