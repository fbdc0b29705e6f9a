package api_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"ocl/serve/api"
)

// TestTokens: what each role may do, what it may not, and how many requests a token has.
func TestTokens(t *testing.T) {
	secrets := map[string]string{}
	var list []api.Token
	for name, role := range map[string]api.Role{"p": api.RolePredict, "l": api.RoleLabel, "a": api.RoleAdmin} {
		token, secret, err := api.NewToken(name, role, 0)
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = secret
		list = append(list, token)
	}
	slow, secret, err := api.NewToken("slow", api.RolePredict, 0.001)
	if err != nil {
		t.Fatal(err)
	}
	tokens := api.NewTokens(append(list, slow))
	r := start(t, daemonOptions(), api.Options{Tokens: tokens})
	r.token = secrets["l"]
	r.teach(3)
	for _, c := range []struct {
		method, path, kind string
		body               []byte
		least              string // of p, l and a
	}{
		{"POST", "/v1/predictions", raw, pixels(0, 0), "pla"},
		{"GET", "/v1/status", "", nil, "pla"},
		{"GET", "/v1/model", "", nil, "pla"},
		{"GET", "/metrics", "", nil, "pla"},
		{"POST", "/v1/predictions?remember=true", raw, pixels(0, 0), "la"},
		{"POST", "/v1/samples?label=a", raw, pixels(0, 0), "la"},
		{"GET", "/v1/samples/a1", "", nil, "la"},
		{"POST", "/v1/classes", jsonT, []byte(`{"name":"c"}`), "la"},
		{"POST", "/v1/tasks", "", nil, "a"},
		{"DELETE", "/v1/samples/a2", "", nil, "a"},
		{"POST", "/v1/forget", jsonT, []byte(`{"ids":["a1"]}`), "a"},
		{"POST", "/v1/versions", jsonT, []byte(`{"name":"x"}`), "a"},
		{"PATCH", "/v1/classes/a", jsonT, []byte(`{"name":"A"}`), "a"},
		{"DELETE", "/v1/classes/nobody", "", nil, "a"},
		{"POST", "/v1/rollback", jsonT, []byte(`{"version":1}`), "a"},
	} {
		for _, name := range []string{"p", "l", "a"} {
			r.token = secrets[name]
			answer, text := r.send(c.method, c.path, c.kind, c.body)
			if may := strings.Contains(c.least, name); may == (answer.StatusCode == http.StatusForbidden) || may &&
				answer.StatusCode >= 400 && answer.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s by %s: %d %s", c.method, c.path, name, answer.StatusCode, text)
			}
		}
		r.token = ""
		r.refused(http.StatusUnauthorized, "wants a token", c.method, c.path, c.kind, c.body)
		r.token = "ocl_wrong"
		r.refused(http.StatusUnauthorized, "not valid", c.method, c.path, c.kind, c.body)
	}
	r.token = secret
	r.want(http.StatusOK, "GET", "/v1/status", "", nil)
	answer, _ := r.send("GET", "/v1/status", "", nil)
	if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
		t.Errorf("the second request of a slow token: %s", answer.Status)
	}
	r.token = secrets["p"]
	tokens.Set(list[:0])
	r.refused(http.StatusUnauthorized, "not valid", "GET", "/v1/status", "", nil)
	r.token = ""
	r.want(http.StatusOK, "GET", "/livez", "", nil)
	r.want(http.StatusOK, "GET", "/readyz", "", nil)
}

// TestTheCookieIsASession: the page logs in with a cookie that no script reads.
func TestTheCookieIsASession(t *testing.T) {
	token, secret, err := api.NewToken("anna", api.RoleLabel, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, daemonOptions(), api.Options{Tokens: api.NewTokens([]api.Token{token})})
	r.refused(http.StatusUnauthorized, "not valid", "POST", "/v1/session", jsonT, []byte(`{"token":"x"}`))
	answer, _ := r.send("POST", "/v1/session", jsonT, []byte(`{"token":"`+secret+`"}`))
	if len(answer.Cookies) != 1 {
		t.Fatalf("%s with %d cookies", answer.Status, len(answer.Cookies))
	}
	c := answer.Cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %s", c)
	}
	r.want(http.StatusOK, "GET", "/v1/status", "", nil, "Cookie", c.Name+"="+c.Value)
	self := read[struct{ Name, Role string }](t, r.want(http.StatusOK, "GET", "/v1/session", "", nil, "Cookie",
		c.Name+"="+c.Value))
	if self.Name != "anna" || self.Role != "label" {
		t.Errorf("the cookie is that of %+v", self)
	}
	answer, _ = r.send("DELETE", "/v1/session", "", nil)
	if len(answer.Cookies) != 1 || answer.Cookies[0].MaxAge >= 0 {
		t.Errorf("logging out sets %v", answer.Cookies)
	}
}

// TestTheCookieIsOfOneDaemon: a proxy has several on one host, each with a prefix, and a browser that has logged in at
// one has not at another.
func TestTheCookieIsOfOneDaemon(t *testing.T) {
	tokens, secret, _ := two(t)
	r := start(t, daemonOptions(), api.Options{Tokens: tokens})
	at, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy, mux := httputil.NewSingleHostReverseProxy(at), http.NewServeMux()
	for _, prefix := range []string{"/cats", "/dogs"} {
		mux.Handle(prefix+"/", http.StripPrefix(prefix, proxy))
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	browser := server.Client()
	if browser.Jar, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
	answer, err := browser.Post(server.URL+"/cats/v1/session", jsonT, strings.NewReader(`{"token":"`+secret+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		t.Fatal(answer.Status)
	}
	for path, want := range map[string]int{"/cats/v1/status": http.StatusOK,
		"/cats/v1/samples/x/picture": http.StatusNotFound, "/dogs/v1/status": http.StatusUnauthorized} {
		answer, err := browser.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, answer.Status, want)
		}
	}
}

// TestStrangePagesAreRefused: a name that is not the daemon's, and a page of another origin.
func TestStrangePagesAreRefused(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{Hosts: []string{"cats.example"}})
	for host, status := range map[string]int{
		"localhost:8100": http.StatusOK, "127.0.0.1": http.StatusOK, "[::1]:8100": http.StatusOK,
		"CATS.example:1": http.StatusOK, "evil.example": http.StatusForbidden,
	} {
		r.want(status, "GET", "/v1/status", "", nil, "Host", host)
	}
	r.refused(http.StatusForbidden, "another origin", "POST", "/v1/samples?label=a", raw, pixels(0, 0), "Origin",
		"https://evil.example", "Sec-Fetch-Site", "cross-site")
	r.want(http.StatusAccepted, "POST", "/v1/samples?label=a", raw, pixels(0, 0), "Origin", r.url, "Sec-Fetch-Site",
		"same-origin")
}

// TestTokenFiles: what a file of tokens may say.
func TestTokenFiles(t *testing.T) {
	token, secret, err := api.NewToken("anna", api.RoleAdmin, 2.5)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(token.Line(), secret) {
		t.Errorf("the line %s has the secret", token.Line())
	}
	list, err := api.ParseTokens([]byte("# of the lab\n\n" + token.Line()))
	if err != nil || len(list) != 1 || list[0] != token {
		t.Errorf("%+v, %v, want %+v", list, err, token)
	}
	for text, words := range map[string]string{
		"":                                    "there is no token",
		"anna admin 0":                        "line 1: there are 3 words",
		"anna root 0 sha256:" + token.Hash:    "no role",
		"anna admin -1 sha256:" + token.Hash:  "the rate",
		"anna admin NaN sha256:" + token.Hash: "the rate",
		"anna admin x sha256:" + token.Hash:   "no rate",
		"anna admin 0 " + token.Hash:          "the hash",
		"anna admin 0 sha256:12":              "the hash",
		"a/b admin 0 sha256:" + token.Hash:    "the name",
		token.Line() + token.Line():           "line 2: there are two tokens",
	} {
		if _, err := api.ParseTokens([]byte(text)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", text, err, words)
		}
	}
	if _, _, err := api.NewToken("two words", api.RoleAdmin, 0); err == nil {
		t.Error("a name of two words is taken")
	}
}

// TestARevokedTokenHearsNoMore: its stream of events ends when the tokens are set, and that of another one goes on.
func TestARevokedTokenHearsNoMore(t *testing.T) {
	tokens, a, b := two(t)
	r := start(t, daemonOptions(), api.Options{Tokens: tokens})
	listen := func(secret string) io.Reader {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(&http.Cookie{Name: "ocl_session", Value: secret})
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status)
		}
		return answer.Body
	}
	of, stays := listen(a), listen(b)
	other, _, err := api.NewToken("a", api.RoleAdmin, 0)
	if err != nil {
		t.Fatal(err)
	}
	tokens.Set([]api.Token{other, tokenOf(t, "b", b)})
	if _, err := io.Copy(io.Discard, of); err != nil { // without an end the test does not end
		t.Error(err)
	}
	r.token = b
	r.want(http.StatusAccepted, "POST", "/v1/classes", jsonT, []byte(`{"name":"new"}`))
	for lines := bufio.NewScanner(stays); ; {
		if !lines.Scan() {
			t.Fatalf("the stream of the other token has ended: %v", lines.Err())
		}
		if lines.Text() == "event: class" {
			break
		}
	}
}

// tokenOf is the token of a secret.
func tokenOf(t *testing.T, name, secret string) api.Token {
	t.Helper()
	return api.Token{Name: name, Role: api.RoleAdmin, Hash: fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))}
}
