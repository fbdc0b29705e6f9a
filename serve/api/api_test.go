package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"ocl/live"
	"ocl/serve/api"
	"ocl/serve/daemon"
)

// size is the side of the pictures of the tests.
const size = 8

// rig is a daemon behind its handler on a port of this machine. Every request and answer is held to the document.
type rig struct {
	dir    string // of the daemon
	t      *testing.T
	daemon *daemon.Daemon
	url    string
	bare   string // the same handler, to which bodies go as they come
	token  string
	ending chan struct{}
}

// daemonOptions are those of a daemon that learns in microseconds.
func daemonOptions() daemon.Options {
	return daemon.Options{
		Live: live.Options{Method: "er", Memory: 20, Size: size,
			Set: []string{"network.name=mlp", "network.hidden=8", "optimizer.lr=0.05"}},
		Batch: 2, Age: time.Millisecond, Queue: 100, Remember: daemon.Remember{Count: 50, Bytes: 1 << 20, Age: time.Hour},
		NewClasses: true,
	}
}

func start(t *testing.T, do daemon.Options, o api.Options) *rig {
	t.Helper()
	dir := t.TempDir()
	d, err := daemon.Open(dir, do)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, dir: dir, daemon: d, ending: make(chan struct{})}
	o.Decoder, o.Ending, o.Release = d, r.ending, "test"
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	handler, err := api.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(held(t, handler))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(r.ending) })
	bare := httptest.NewServer(handler)
	t.Cleanup(bare.Close)
	r.url, r.bare = server.URL, bare.URL
	return r
}

// document is the router of the document that the daemon serves.
func document(t testing.TB) routers.Router {
	t.Helper()
	loader := openapi3.NewLoader()
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := loader.LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return router
}

func init() {
	for _, kind := range []string{"image/png", "image/jpeg", "image/*", "application/octet-stream",
		"application/x-www-form-urlencoded"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.FileBodyDecoder)
	}
	for _, kind := range []string{"text/plain", "application/yaml"} {
		openapi3filter.RegisterBodyDecoder(kind, func(b io.Reader, _ http.Header, _ *openapi3.SchemaRef,
			_ openapi3filter.EncodingFn) (any, error) {
			text, err := io.ReadAll(b)
			return string(text), err
		})
	}
}

// held holds every request that is answered with success, and every answer, to the document.
func held(t testing.TB, next http.Handler) http.Handler {
	router := document(t)
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2") || r.URL.Path == "/v1/events" || r.ContentLength < 0 ||
			r.ContentLength > 1<<20 {
			next.ServeHTTP(to, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		// a broken body is the handler's to refuse
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), iotest.ErrReader(cmp.Or(err, io.EOF))))
		asked := r.Clone(r.Context())
		asked.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			to.Header()[name] = values
		}
		to.WriteHeader(answer.Code)
		_, _ = to.Write(answer.Body.Bytes())

		route, params, err := router.FindRoute(asked)
		if err != nil {
			if answer.Code < 400 {
				t.Errorf("%s %s is answered with %d and is not in the document: %v", r.Method, r.URL.Path, answer.Code, err)
			}
			return
		}
		options := &openapi3filter.Options{IncludeResponseStatus: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
		if asked.Header.Get("Content-Type") == "" && len(body) > 0 {
			asked.Header.Set("Content-Type", "image/png")
		}
		in := &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route, Options: options}
		if strings.HasPrefix(asked.Header.Get("Content-Type"), "multipart/") {
			options.ExcludeRequestBody = true // the validator wants a schema for each part
		}
		if answer.Code < 400 {
			if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
				t.Errorf("%s %s is answered with %d, and its request is not as the document says: %v", r.Method, r.URL, answer.Code,
					err)
			}
		}
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: answer.Code,
			Header: answer.Header(), Options: options}
		out.SetBodyBytes(answer.Body.Bytes())
		if answer.Code == http.StatusNotModified || answer.Code == http.StatusNoContent || r.Method == http.MethodHead {
			return
		}
		if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
			t.Errorf("%s %s: the answer %d %.300s is not as the document says: %v", r.Method, r.URL, answer.Code, answer.Body,
				err)
		}
	})
}

// reply is an answer that was read to its end.
type reply struct {
	StatusCode int
	Status     string
	Header     http.Header
	Cookies    []*http.Cookie
}

// send sends a request and returns the answer with its body.
func (r *rig) send(method, path, kind string, body []byte, header ...string) (reply, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{answer.StatusCode, answer.Status, answer.Header, answer.Cookies()}, text
}

// want sends a request whose answer has a status, and returns its body.
func (r *rig) want(status int, method, path, kind string, body []byte, header ...string) []byte {
	r.t.Helper()
	answer, text := r.send(method, path, kind, body, header...)
	if answer.StatusCode != status {
		r.t.Fatalf("%s %s: %d %s, want %d", method, path, answer.StatusCode, text, status)
	}
	return text
}

// refused sends a request that is refused with a status and a detail that has some words.
func (r *rig) refused(status int, words, method, path, kind string, body []byte, header ...string) {
	r.t.Helper()
	answer, text := r.send(method, path, kind, body, header...)
	var p api.Problem
	if err := json.Unmarshal(text, &p); err != nil {
		r.t.Errorf("%s %.80s: %d %.200s: %v", method, path, answer.StatusCode, text, err)
		return
	}
	if answer.StatusCode != status || p.Status != status || !strings.Contains(p.Detail, words) {
		r.t.Errorf("%s %.80s: %d %s, want %d with %q", method, path, answer.StatusCode, text, status, words)
	}
	if got := answer.Header.Get("Content-Type"); got != "application/problem+json" {
		r.t.Errorf("%s %.80s: the type is %s", method, path, got)
	}
}

// read decodes JSON.
func read[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// pixels are those of a picture of one of two kinds: dark or bright at the left.
func pixels(kind, n int) []byte {
	p := make([]byte, 3*size*size)
	for i := range p {
		if (i%size < size/2) == (kind == 0) {
			p[i] = byte(200 + n%50)
		}
	}
	return p
}

// pngOf is a picture file, w pixels on a side.
func pngOf(t testing.TB, w int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, w, w))
	for x := range w {
		for y := range w {
			img.Set(x, y, color.RGBA{byte(x * 8), byte(y * 8), 100, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, w, h)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	raw   = "application/octet-stream"
	jsonT = "application/json"
)

// taught is a rig that has learned a few pictures of two classes, a and b.
func taught(t *testing.T, do daemon.Options, o api.Options) *rig {
	t.Helper()
	r := start(t, do, o)
	r.teach(4)
	return r
}

func (r *rig) teach(n int) {
	r.t.Helper()
	for i := range n {
		for kind, label := range []string{"a", "b"} {
			wait := ""
			if i == n-1 {
				wait = "&wait=learned"
			}
			want := http.StatusAccepted
			if wait != "" {
				want = http.StatusOK
			}
			r.want(want, "POST", fmt.Sprintf("/v1/samples?label=%s&id=%s%d%s", label, label, i, wait), raw, pixels(kind, i))
		}
	}
}
