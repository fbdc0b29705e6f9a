package page_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ocl/internal/browsertest"
	"ocl/serve/page"
)

// TestPolicy: the page comes with a policy under which nothing from elsewhere loads and no other script runs.
func TestPolicy(t *testing.T) {
	to := httptest.NewRecorder()
	page.Handler().ServeHTTP(to, httptest.NewRequest(http.MethodGet, "/", nil))
	answer := to.Result()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	policy := answer.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "script-src 'sha256-", "style-src 'sha256-",
		"frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	for _, not := range []string{`src="http`, `href="http`, `src="/`, `href="/`, "url(", "@import", " style="} {
		if strings.Contains(string(text), not) {
			t.Errorf("the page has %s, which its policy forbids", not)
		}
	}
}

// TestScript runs the tests of the page's script.
func TestScript(t *testing.T) { browsertest.Scripts(t, "*.test.mjs", page.Script()) }
