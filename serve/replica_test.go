package serve_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ocl/serve"
	"ocl/serve/api"
	"ocl/serve/client"
)

// fetch is what a path says.
func fetch(t *testing.T, address string) (status int, text string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestAReplicaWithoutItsDaemonSaysSo: in the status, the metrics and readyz, as soon as it is missed; and no more when
// it is back.
func TestAReplicaWithoutItsDaemonSaysSo(t *testing.T) {
	leading := options(t)
	address, end := run(t, leading)
	learner, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := learner.Learn(t.Context(), picture(1), "class", client.Learn{Raw: true, Wait: true}); err != nil {
		t.Fatal(err)
	}
	o := options(t)
	var log lines
	o.Follow, o.Log = serve.Follow{URL: address, Every: time.Millisecond}, log.logged()
	there, stop := run(t, o)
	says := func(wrong bool) {
		t.Helper()
		for path, words := range map[string]string{"/v1/status": "has given no model since",
			"/readyz": "so the one here may be old", "/metrics": "\nocl_problem 1\n"} {
			if status, text := fetch(t, there+path); status != http.StatusOK || strings.Contains(text, words) != wrong {
				t.Errorf("%s: %d %s; want %q in it: %v", path, status, text, words, wrong)
			}
		}
	}
	says(false)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	log.wait(t, "the daemon gives no model", 1)
	says(true)
	leading.Listen = strings.TrimPrefix(address, "http://")
	run(t, leading)
	log.wait(t, "the daemon gives its model again", 1)
	says(false)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if text := log.text.String(); !strings.Contains(text, "level=WARN") ||
		strings.Count(text, `level=INFO msg="the daemon gives its model again"`) != 1 {
		t.Errorf("the log has\n%s", text)
	}
}

// TestAReplicaThatCannotFollow ends at once, and says what a person has to change.
func TestAReplicaThatCannotFollow(t *testing.T) {
	dir := t.TempDir()
	guarded := options(t)
	guarded.Tokens, guarded.Cert, guarded.Key = filepath.Join(dir, "tokens"), filepath.Join(dir, "cert.pem"),
		filepath.Join(dir, "key.pem")
	certificate(t, guarded.Cert, guarded.Key)
	token, _, err := api.NewToken("anna", api.RolePredict, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.AddToken(guarded.Tokens, token); err != nil {
		t.Fatal(err)
	}
	tls, _ := run(t, guarded)
	plain, _ := run(t, options(t))
	other := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/wrong") {
			http.NotFound(to, r)
			return
		}
		_, _ = io.WriteString(to, "<p>Welcome") // who asked may have gone
	}))
	t.Cleanup(other.Close)
	for _, c := range []struct {
		follow serve.Follow
		words  string
	}{
		{serve.Follow{URL: tls}, "unknown authority. Give the certificate"},
		{serve.Follow{URL: strings.Replace(tls, "127.0.0.1", "localhost", 1), CA: guarded.Cert},
			"and an address that it names"},
		{serve.Follow{URL: tls, CA: guarded.Cert}, "Set OCL_TOKEN"},
		{serve.Follow{URL: tls, CA: guarded.Cert, Token: "ocl_wrong"}, "Set OCL_TOKEN"},
		{serve.Follow{URL: strings.Replace(tls, "https", "http", 1)}, "its scheme"},
		{serve.Follow{URL: strings.Replace(plain, "http", "https", 1)}, "Use an http address"},
		{serve.Follow{URL: other.URL + "/wrong"}, "404 Not Found (404). Use the address of `ocl serve`"},
		{serve.Follow{URL: other.URL}, "none of `ocl serve`. Check the address"},
	} {
		o := options(t)
		c.follow.Every = time.Hour // who would ask again does not end the test
		o.Follow = c.follow
		if err := serve.Run(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "--follow: ") ||
			!strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v: %v, want %q", c.follow, err, c.words)
		}
	}
}

// lines is a log for which a test can wait.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed by the next line; nil where nobody waits
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.text.Write(p)
}

// logged is a log of text in l.
func (l *lines) logged() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// wait waits until the log has a text n times.
func (l *lines) wait(t *testing.T, text string, n int) {
	t.Helper()
	for {
		l.mu.Lock()
		has := strings.Count(l.text.String(), text) >= n
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		if has {
			return
		}
		select {
		case <-more:
		case <-t.Context().Done():
			t.Fatalf("the log has no %q: %s", text, l.text.String())
		}
	}
}

// TestAReplicaThatCannotFollowAnyLonger goes on with its model, says why in the status and by readyz, and logs it once.
func TestAReplicaThatCannotFollowAnyLonger(t *testing.T) {
	address, _ := run(t, options(t))
	learner, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := learner.Learn(t.Context(), picture(1), "class", client.Learn{Raw: true, Wait: true}); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var refuses atomic.Bool
	refused := make(chan struct{})
	proxy := httputil.NewSingleHostReverseProxy(at)
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if refuses.Load() {
			select {
			case refused <- struct{}{}:
			case <-r.Context().Done():
			case <-t.Context().Done():
			}
			to.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(to, r)
	}))
	t.Cleanup(server.Close)
	var log lines
	o := options(t)
	o.Follow, o.Log = serve.Follow{URL: server.URL, Every: time.Millisecond}, log.logged()
	there, end := run(t, o)
	refuses.Store(true)
	for range 5 { // of which the first was seen by the replica
		<-refused
	}
	for _, path := range []string{"/v1/status", "/readyz"} {
		if status, text := fetch(t, there+path); status != http.StatusOK || !strings.Contains(text, "Set OCL_TOKEN") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.text.String(), "Set OCL_TOKEN"); n != 1 {
		t.Errorf("the log says it %d times: %s", n, log.text.String())
	}
}

// TestTheModelOfAReplicaThatChanges: who asks for the model while another one takes its place gets one of them.
func TestTheModelOfAReplicaThatChanges(t *testing.T) {
	address, _ := run(t, options(t))
	learner, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	teach := func(i int) {
		if _, err := learner.Learn(t.Context(), picture(i), fmt.Sprint("class ", i%2),
			client.Learn{Raw: true, Wait: true}); err != nil {
			t.Error(err)
		}
	}
	teach(0)
	teach(1)
	o := options(t)
	o.Follow = serve.Follow{URL: address, Every: time.Millisecond}
	there, _ := run(t, o)
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, format := range []string{"ocl", "safetensors"} {
					answer, err := http.Get(there + "/v1/model?format=" + format)
					if err != nil {
						t.Error(err)
						return
					}
					text, _ := io.ReadAll(answer.Body)
					_ = answer.Body.Close()
					if answer.StatusCode != http.StatusOK {
						t.Errorf("%s: %s %s", format, answer.Status, text)
					}
				}
			}
		})
	}
	for i := range 20 {
		teach(2 + i)
	}
	close(stop)
	wait.Wait()
}
