package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestRedirects(t *testing.T) {
	b := content(1, 1000)
	plain := serve(t, whole(b, `"1"`))
	secure := httptest.NewTLSServer(nil)
	t.Cleanup(secure.Close)
	secure.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/down":
			http.Redirect(w, r, plain.URL+"/a", http.StatusFound)
		case "/same":
			http.Redirect(w, r, "/a", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		default:
			whole(b, `"1"`)(w, r)
		}
	})
	up := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, secure.URL+"/a", http.StatusFound) })
	for address, fault := range map[string]string{
		secure.URL + "/a":    "",
		secure.URL + "/same": "",
		up.URL:               "",
		secure.URL + "/down": "the server leads from https to " + plain.URL,
		secure.URL + "/file": "the server leads from https to file:",
		secure.URL + "/loop": "redirects 10 times",
	} {
		dir := t.TempDir()
		o := quick(dir)
		o.Client = secure.Client()
		err := Get(t.Context(), []File{{URL: address, Name: "a"}}, o)
		switch {
		case fault != "":
			wantError(t, err, address, fault, "by hand")
			wantNames(t, dir)
		case err != nil:
			t.Errorf("%s: %v", address, err)
		default:
			wantFile(t, filepath.Join(dir, "a"), b)
		}
	}
	if n := len(plain.requests()); n != 0 {
		t.Errorf("the server without https got %d requests, want none", n)
	}
}

// TestGivenClientDecidesOnRedirects holds that a client's own rule is asked, and that the client stays as it was.
func TestGivenClientDecidesOnRedirects(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	no := errors.New("not there")
	for _, answer := range []error{no, http.ErrUseLastResponse} {
		o := quick(t.TempDir())
		o.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return answer }}
		err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, o)
		if errors.Is(answer, no) && !errors.Is(err, no) {
			t.Errorf("error %v, want that of the client", err)
		}
		if errors.Is(answer, http.ErrUseLastResponse) {
			wantError(t, err, "302 Found")
		}
		if !errors.Is(o.Client.CheckRedirect(nil, nil), answer) {
			t.Error("the given client was changed")
		}
	}
	if n := len(s.requests()); n != 2 {
		t.Errorf("%d requests, want one for each Get", n)
	}
}

func TestUnknownCertificate(t *testing.T) {
	secure := httptest.NewUnstartedServer(whole(content(1, 10), `"1"`))
	secure.Config.ErrorLog = silent
	secure.StartTLS()
	t.Cleanup(secure.Close)
	err := Get(t.Context(), []File{{URL: secure.URL, Name: "a"}}, quick(t.TempDir()))
	wantError(t, err, secure.URL, "the server cannot prove who it is", "Check the clock")
}

// answers is a transport that gives one answer after another and notes when it was asked, by the clock of a bubble.
type answers struct {
	list  []http.Response
	asked []time.Duration
	began time.Time
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	if len(a.asked) == 0 {
		a.began = time.Now()
	}
	a.asked = append(a.asked, time.Since(a.began))
	if len(a.asked) > len(a.list) {
		return nil, errors.New("cut")
	}
	r := a.list[len(a.asked)-1]
	if r.Body == nil {
		r.Body = http.NoBody
	}
	return &r, nil
}

// TestWaits holds the waits between attempts, by a clock that a test need not wait for.
func TestWaits(t *testing.T) {
	asks := func(code int, wait string) http.Response {
		return http.Response{StatusCode: code, Header: http.Header{"Retry-After": {wait}}}
	}
	const s = time.Second
	for name, c := range map[string]struct {
		o    Options
		list []http.Response
		want []time.Duration
	}{
		"by default":     {Options{}, nil, []time.Duration{0, 1 * s, 3 * s, 7 * s, 15 * s, 31 * s}},
		"at most 30 s":   {Options{Backoff: 20 * s, Retries: 3}, nil, []time.Duration{0, 20 * s, 50 * s, 80 * s}},
		"as asked":       {Options{Retries: 2}, []http.Response{asks(429, "60"), asks(503, "1")}, []time.Duration{0, 60 * s, 62 * s}},
		"until a time":   {Options{Retries: 1}, []http.Response{asks(503, "Sat, 01 Jan 2000 00:00:50 GMT")}, []time.Duration{0, 50 * s}},
		"time in a past": {Options{Retries: 1}, []http.Response{asks(503, "Fri, 31 Dec 1999 00:00:00 GMT")}, []time.Duration{0, s}},
		"nonsense":       {Options{Retries: 1}, []http.Response{asks(408, "-7 or so")}, []time.Duration{0, s}},
		"too long":       {Options{}, []http.Response{asks(429, "3600")}, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Dir = t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				line := &answers{list: c.list}
				c.o.Client = &http.Client{Transport: line}
				err := Get(t.Context(), []File{{URL: "http://host/a", Name: "a"}}, c.o)
				if !slices.Equal(line.asked, c.want) {
					t.Errorf("asked at %v, want %v", line.asked, c.want)
				}
				if name == "too long" {
					wantError(t, err, "429 Too Many Requests and asks to wait for 1h0m0s", "then")
				} else {
					wantError(t, err, fmt.Sprintf("attempts in a row: %d", len(c.want)))
				}
			})
		})
	}
}

// TestStallByDefault holds that silence ends an attempt after 30 s, and that time spent on the disk is not silence.
func TestStallByDefault(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		silentBody := func(first string) http.Response {
			r, w := io.Pipe()
			go func() {
				io.WriteString(w, first)
				time.Sleep(time.Hour)
				w.Close()
			}()
			return http.Response{StatusCode: http.StatusOK, ContentLength: 10, Header: http.Header{}, Body: r}
		}
		line := &answers{list: []http.Response{silentBody("12345"), {StatusCode: http.StatusOK, ContentLength: 10, Header: http.Header{},
			Body: io.NopCloser(bytes.NewReader([]byte("1234567890")))}}}
		slow := func(_ File, done, _ int64) { // as a disk may be
			if done > 0 {
				time.Sleep(time.Minute)
			}
		}
		o := Options{Dir: dir, Client: &http.Client{Transport: ended{line}}, Progress: slow}
		if err := Get(t.Context(), []File{{URL: "http://host/a", Name: "a", Bytes: 10}}, o); err != nil {
			t.Fatal(err)
		}
		// A minute for the first bytes, 30 s of silence, a minute before the wait of 1 s is over and the next attempt begins.
		if want := []time.Duration{0, 151 * time.Second}; !slices.Equal(line.asked, want) {
			t.Errorf("asked at %v, want %v", line.asked, want)
		}
		time.Sleep(2 * time.Hour) // let the bodies end
	})
	wantFile(t, filepath.Join(dir, "a"), []byte("1234567890"))
}

// ended closes the body of an answer when its request ends, as a real transport does.
type ended struct{ http.RoundTripper }

func (e ended) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := e.RoundTripper.RoundTrip(r)
	if err == nil {
		go func() {
			<-r.Context().Done()
			answer.Body.Close()
		}()
	}
	return answer, err
}
