package fetch

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// content is a file of size bytes; another seed gives another file.
func content(seed uint64, size int) []byte {
	var key [32]byte
	key[0] = byte(seed)
	b := make([]byte, size)
	rand.NewChaCha8(key).Read(b)
	return b
}

func md5Of(b []byte) string    { s := md5.Sum(b); return hex.EncodeToString(s[:]) }
func sha256Of(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// server answers the first request with the first handler, and so on; the last one answers all that follow.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	handlers []http.HandlerFunc
	asked    []http.Header // of each request
}

func serve(t *testing.T, handlers ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{handlers: handlers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, r.Header.Clone())
	s.mu.Unlock()
	s.handlers[min(n, len(s.handlers)-1)](w, r)
}

// requests are the headers of all requests so far.
func (s *server) requests() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// whole serves b as a good server does, with ranges and an ETag.
func whole(b []byte, etag string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}
}

// cut announces b, sends n bytes of it and closes the connection.
func cut(b []byte, n int, etag string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if etag != "" {
			w.Header().Set("ETag", etag)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		w.Write(b[:n])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// streamed sends b without saying its length.
func streamed(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.Write(b)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// quick are options that make a test wait for milliseconds.
func quick(dir string) Options {
	return Options{Dir: dir, Stall: 10 * time.Second, Backoff: time.Millisecond, Retries: 2}
}

// wantFile holds the file at path to b, and its folder to having nothing else.
func wantFile(t *testing.T, path string, b []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, b) {
		t.Errorf("%s: %d bytes, %v; want the %d bytes served", path, len(got), err, len(b))
	}
	wantNames(t, filepath.Dir(path), filepath.Base(path))
}

func wantNames(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

// wantError holds an error to its parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has more than one line", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

func TestGetDownloadsOnce(t *testing.T) {
	b := content(1, 1_000_000)
	s := serve(t, whole(b, `"1"`))
	dir := filepath.Join(t.TempDir(), "new", "folder")
	list := []File{
		{URL: s.URL + "/a", Name: "one/a.gz", Bytes: int64(len(b)), SHA256: sha256Of(b), MD5: strings.ToUpper(md5Of(b))},
		{URL: s.URL + "/b", Name: "two/deep/b.gz"},
	}
	var last [2]int64
	o := quick(dir)
	o.Progress = func(f File, done, total int64) {
		if done > total && total != 0 {
			t.Errorf("%s: %d of %d bytes", f.Name, done, total)
		}
		last = [2]int64{done, total}
	}
	for range 2 {
		last = [2]int64{}
		if err := Get(t.Context(), list, o); err != nil {
			t.Fatal(err)
		}
		wantFile(t, filepath.Join(dir, "one", "a.gz"), b)
		wantFile(t, filepath.Join(dir, "two", "deep", "b.gz"), b)
		if last != [2]int64{1_000_000, 1_000_000} {
			t.Errorf("the last progress is %v, want all bytes", last)
		}
	}
	asked := s.requests()
	if len(asked) != 2 {
		t.Fatalf("%d requests, want one for each file and none the second time", len(asked))
	}
	if got := asked[0].Get("Accept-Encoding"); got != "identity" {
		t.Errorf("Accept-Encoding: %q, want identity: net/http must not unpack", got)
	}
}

func TestWrongFileIsReplaced(t *testing.T) {
	b := content(1, 1000)
	for name, c := range map[string]struct {
		there []byte
		md5   string
	}{"shorter": {b[:999], md5Of(b)}, "shorter, no checksum": {b[:999], ""}, "same size": {content(2, 1000), md5Of(b)}} {
		s := serve(t, whole(b, `"1"`))
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, c.there, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Get(t.Context(), []File{{URL: s.URL, Name: "a", Bytes: 1000, MD5: c.md5}}, quick(filepath.Dir(path))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantFile(t, path, b)
	}
}

// TestBrokenTransferIsResumed has servers that break off in several ways after half the file; the rest is asked for by
// Range, and If-Range has the validator of the first answer.
func TestBrokenTransferIsResumed(t *testing.T) {
	b := content(1, 100_000)
	half := b[:50_000]
	hang := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", "100000")
		w.Write(half)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	short := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		streamed(half)(w, r)
	}
	old := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		cut(b, 50_000, `W/"weak"`)(w, r)
	}
	modified := func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC), bytes.NewReader(b))
	}
	for name, c := range map[string]struct {
		first, second http.HandlerFunc
		file          File
		ifRange       string
	}{
		"closed":                {cut(b, 50_000, `"1"`), whole(b, `"1"`), File{}, `"1"`},
		"stalled":               {hang, whole(b, `"1"`), File{}, `"1"`},
		"ended, size published": {short, whole(b, `"1"`), File{Bytes: 100_000}, `"1"`},
		"weak ETag, time":       {old, modified, File{}, "Mon, 02 Jan 2006 15:04:05 GMT"},
		"checksum only":         {cut(b, 50_000, ""), whole(b, ""), File{MD5: md5Of(b)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.first, c.second)
			o := quick(t.TempDir())
			if name == "stalled" {
				o.Stall = 100 * time.Millisecond
			}
			c.file.URL, c.file.Name = s.URL, "a"
			if err := Get(t.Context(), []File{c.file}, o); err != nil {
				t.Fatal(err)
			}
			wantFile(t, filepath.Join(o.Dir, "a"), b)
			asked := s.requests()
			if len(asked) != 2 || asked[1].Get("Range") != "bytes=50000-" || asked[1].Get("If-Range") != c.ifRange {
				t.Errorf("requests %v, want a second one from byte 50000 if %q", asked, c.ifRange)
			}
		})
	}
}

// TestStallBeforeTheHeaders has a server that accepts the connection and says nothing.
func TestStallBeforeTheHeaders(t *testing.T) {
	b := content(1, 1000)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, whole(b, `"1"`))
	o := quick(t.TempDir())
	o.Stall = 100 * time.Millisecond
	if err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, o); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(o.Dir, "a"), b)
}

// TestSlowServerDoesNotStall sends a byte every few milliseconds, for longer than a stall in all.
func TestSlowServerDoesNotStall(t *testing.T) {
	b := content(1, 30)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range b {
			w.Write(b[i : i+1])
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	o := quick(t.TempDir())
	o.Stall = 200 * time.Millisecond
	if err := Get(t.Context(), []File{{URL: s.URL, Name: "a", Bytes: 30, MD5: md5Of(b)}}, o); err != nil {
		t.Fatal(err)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestUnresumableStartsAnew has servers from which the rest of a file cannot be had, and files that change between two
// attempts. The file on the disk is the one that the last answer is of, never a mixture.
func TestUnresumableStartsAnew(t *testing.T) {
	before, b := content(1, 100_000), content(2, 100_000)
	part := func(total int, etag string) http.HandlerFunc { // whatever If-Range says
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", etag)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 50000-99999/%d", total))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(b[50_000:])
		}
	}
	for name, c := range map[string]struct {
		first, second http.HandlerFunc
		attempts      int
	}{
		"Range is ignored":                     {cut(b, 50_000, `"2"`), streamed(b), 2},
		"changed":                              {cut(before, 50_000, `"1"`), whole(b, `"2"`), 2},
		"changed, If-Range is ignored":         {cut(before, 50_000, `"1"`), part(100_000, `"2"`), 3},
		"changed size, If-Range is ignored":    {cut(before, 50_000, `"1"`), part(200_000, ""), 3},
		"Range begins elsewhere":               {cut(before, 60_000, `"1"`), part(100_000, `"1"`), 3},
		"no validator, no checksum":            {cut(before, 50_000, ""), whole(b, ""), 2},
		"range not satisfiable":                {cut(b, 50_000, `"2"`), status(http.StatusRequestedRangeNotSatisfiable), 3},
		"partial answer without Content-Range": {cut(b, 50_000, `"2"`), status(http.StatusPartialContent), 3},
		"partial answer that nobody asked for": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-99999/100000")
			w.WriteHeader(http.StatusPartialContent)
			w.Write(before)
		}, whole(b, `"2"`), 2},
		"nothing at all, then the whole answer": {streamed(nil), whole(b, `"2"`), 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.first, c.second, whole(b, `"2"`))
			dir := t.TempDir()
			if err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, quick(dir)); err != nil {
				t.Fatal(err)
			}
			wantFile(t, filepath.Join(dir, "a"), b)
			if n := len(s.requests()); n != c.attempts {
				t.Errorf("%d attempts, want %d", n, c.attempts)
			}
		})
	}
}

// TestLongerBodyIsCutOff follows the part by a second name: no byte beyond the published size gets to the disk.
func TestLongerBodyIsCutOff(t *testing.T) {
	b := content(1, 300_000)
	s := serve(t, streamed(b))
	o := quick(t.TempDir())
	other := filepath.Join(t.TempDir(), "link")
	o.Progress = func(_ File, done, _ int64) {
		if done == 0 {
			if err := os.Link(filepath.Join(o.Dir, "a.part"), other); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := Get(t.Context(), []File{{URL: s.URL, Name: "a", Bytes: 200_000, MD5: md5Of(b[:200_000])}}, o)
	wantError(t, err, "a from "+s.URL, "more than the 200,000 bytes", filepath.Join(o.Dir, "a"))
	wantNames(t, o.Dir)
	if written, err := os.ReadFile(other); err != nil || !bytes.Equal(written, b[:200_000]) {
		t.Errorf("%d bytes were written, %v; want 200000", len(written), err)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1: the file does not get shorter", n)
	}
}

func TestLyingLengths(t *testing.T) {
	b := content(1, 1000)
	lying := func(length int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(length))
			w.Header().Set("Content-Type", "text/html")
			w.Write(b[:min(length, 1000)])
		}
	}
	for name, c := range map[string]struct {
		length   int
		file     File
		requests int
		parts    []string
	}{
		"longer than the body":            {2000, File{}, 3, []string{"unexpected EOF", "attempts in a row: 3", "continues after 1,000 of 2,000 bytes"}},
		"shorter than the file, checksum": {600, File{MD5: md5Of(b)}, 1, []string{md5Of(b[:600]), md5Of(b)}},
		"not that of the file, longer":    {1000, File{Bytes: 999}, 1, []string{`offers 1,000 bytes of type "text/html"`, "the file has 999 bytes"}},
		"not that of the file, shorter":   {600, File{Bytes: 1000}, 1, []string{"offers 600 bytes", "the file has 1,000 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, lying(c.length))
			c.file.URL, c.file.Name = s.URL, "a"
			dir := t.TempDir()
			err := Get(t.Context(), []File{c.file}, quick(dir))
			wantError(t, err, append(c.parts, s.URL, "a from")...)
			if n := len(s.requests()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file is there: %v", err)
			}
		})
	}
}

func TestWrongChecksumRemovesThePart(t *testing.T) {
	b, other := content(1, 1000), content(2, 1000)
	for name, f := range map[string]File{
		"SHA-256":              {SHA256: sha256Of(other), MD5: md5Of(b)},
		"MD5":                  {MD5: strings.ToUpper(md5Of(other))},
		"MD5 beside a SHA-256": {SHA256: sha256Of(b), MD5: md5Of(other)},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, whole(b, `"1"`))
			f.URL, f.Name = s.URL, "a"
			dir := t.TempDir()
			want, got := md5Of(other), md5Of(b)
			if name == "SHA-256" {
				want, got = sha256Of(other), sha256Of(b)
			}
			wantError(t, Get(t.Context(), []File{f}, quick(dir)), s.URL, "has the "+name[:3], got+", and "+want+" is published", "run the same command again")
			wantNames(t, dir)
		})
	}
}

func TestStatuses(t *testing.T) {
	b := content(1, 1000)
	for _, code := range []int{204, 304, 400, 401, 403, 404, 410} {
		s := serve(t, status(code))
		dir := t.TempDir()
		err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, quick(dir))
		wantError(t, err, s.URL, fmt.Sprintf("the server answers %d %s.", code, http.StatusText(code)), filepath.Join(dir, "a"))
		if n := len(s.requests()); n != 1 {
			t.Errorf("%d: %d requests, want 1", code, n)
		}
		wantNames(t, dir)
	}
	for _, code := range []int{408, 429, 500, 502, 503, 504} {
		s := serve(t, status(code), status(code), whole(b, `"1"`))
		dir := t.TempDir()
		if err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, quick(dir)); err != nil {
			t.Errorf("%d twice: %v", code, err)
		}
		s = serve(t, status(code))
		err := Get(t.Context(), []File{{URL: s.URL, Name: "b"}}, quick(dir))
		wantError(t, err, fmt.Sprintf("the server answers %d", code), "attempts in a row: 3", "Run the same command again")
		if n := len(s.requests()); n != 3 {
			t.Errorf("%d for ever: %d requests, want 3", code, n)
		}
		wantFile(t, filepath.Join(dir, "a"), b)
	}
}

// TestProgressRenewsTheRetries has a line that breaks far more often than the retries allow, each time a little later; and a
// server that begins anew each time and never gets further.
func TestProgressRenewsTheRetries(t *testing.T) {
	b := content(1, 20_000)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-19999/20000", from))
		}
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", strconv.Itoa(20_000-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(b[from:min(from+1000, 20_000)])
	})
	dir := t.TempDir()
	var told []string
	o := quick(dir)
	o.Retrying = func(f File, r Retry) {
		told = append(told, fmt.Sprintf("%s %d of %d from %d after %v", f.Name, r.Attempt, r.Of, r.From, r.Wait))
		if r.Why == nil {
			t.Error("a retry without a reason")
		}
	}
	if err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, o); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(dir, "a"), b)
	if len(told) != 19 || told[0] != "a 2 of 3 from 1000 after 1ms" || told[18] != "a 2 of 3 from 19000 after 1ms" {
		t.Errorf("retries are told as %q", told)
	}

	s, told = serve(t, cut(b, 7000, `"1"`)), nil
	wantError(t, Get(t.Context(), []File{{URL: s.URL, Name: "b"}}, o), "attempts in a row: 3", "7,000 of 20,000 bytes")
	if want := []string{"b 2 of 3 from 7000 after 1ms", "b 3 of 3 from 7000 after 2ms"}; !slices.Equal(told, want) {
		t.Errorf("retries are told as %q, want %q", told, want)
	}
	if n := len(s.requests()); n != 3 {
		t.Errorf("%d requests, want 3: one that brings bytes, and two retries that bring nothing new", n)
	}
}

func TestNoAnswer(t *testing.T) {
	s := serve(t, status(200))
	s.Close()
	dir := t.TempDir()
	o := quick(dir)
	o.Retries = -1
	err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, o)
	wantError(t, err, s.URL, "no answer", "attempts in a row: 1")
	if strings.Count(err.Error(), s.URL) != 1 {
		t.Errorf("error %q names the address twice", err)
	}
	wantNames(t, dir)
}

func TestPartOfAKilledProcess(t *testing.T) {
	b := content(1, 100_000)
	sum := md5Of(b)
	for name, c := range map[string]struct {
		part        []byte
		origin      string // %s is the address
		file        File
		asked       string // Range of the first request; "none" for no request
		wantIfRange string
	}{
		"goes on":                     {b[:30_000], `{"url":"%s","etag":"\"1\"","bytes":100000}`, File{}, "bytes=30000-", `"1"`},
		"origin lost, checksum":       {b[:30_000], "", File{MD5: sum}, "bytes=30000-", ""},
		"origin lost, no checksum":    {b[:30_000], "", File{}, "", ""},
		"origin damaged":              {b[:30_000], `{"url":"%s","etag":"\"1\`, File{}, "", ""},
		"origin would break a header": {b[:30_000], `{"url":"%s","etag":"\"1\r\n\"","bytes":100000}`, File{}, "", ""},
		"its time would break one":    {b[:30_000], `{"url":"%s","last_modified":"1\r\n","bytes":100000}`, File{}, "", ""},
		"of another address":          {b[:30_000], `{"url":"%s/x","etag":"\"1\"","bytes":100000}`, File{}, "", ""},
		"whole":                       {b, `{"url":"%s","etag":"\"1\"","bytes":100000}`, File{}, "none", ""},
		"whole, size published":       {b, "", File{Bytes: 100_000, MD5: sum}, "none", ""},
		"longer than the file":        {append(b[:99_999:99_999], 1, 2), "", File{Bytes: 100_000, MD5: sum}, "", ""},
		"longer than it was":          {append(b[:99_999:99_999], 1, 2), `{"url":"%s","etag":"\"1\"","bytes":100000}`, File{}, "", ""},
		"longer, unknown before":      {append(b[:99_999:99_999], 1, 2), `{"url":"%s","etag":"\"1\""}`, File{}, "bytes=100001-", `"1"`},
		"empty":                       {nil, `{"url":"%s","etag":"\"1\"","bytes":100000}`, File{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, whole(b, `"1"`))
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.part"), c.part, 0o644); err != nil {
				t.Fatal(err)
			}
			if c.origin != "" {
				text := strings.ReplaceAll(c.origin, "%s", s.URL)
				if err := os.WriteFile(filepath.Join(dir, "a.part.json"), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			c.file.URL, c.file.Name = s.URL, "a"
			if err := Get(t.Context(), []File{c.file}, quick(dir)); err != nil {
				t.Fatal(err)
			}
			wantFile(t, filepath.Join(dir, "a"), b)
			asked := s.requests()
			if c.asked == "none" {
				if len(asked) != 0 {
					t.Errorf("requests %v, want none", asked)
				}
				return
			}
			if len(asked) == 0 || asked[0].Get("Range") != c.asked || asked[0].Get("If-Range") != c.wantIfRange {
				t.Errorf("requests %v, want Range %q and If-Range %q", asked, c.asked, c.wantIfRange)
			}
		})
	}
}

// TestEndOfContextKeepsThePart ends ctx at several moments. What is there stays, and the next Get goes on from it.
func TestEndOfContextKeepsThePart(t *testing.T) {
	b := content(1, 100_000)
	half := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", "100000")
		w.Write(b[:50_000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	cause := errors.New("the user had enough")
	for name, first := range map[string]http.HandlerFunc{"while bytes are awaited": half, "while waiting to try again": cut(b, 50_000, `"1"`)} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, first, whole(b, `"1"`))
			ctx, cancel := context.WithCancelCause(t.Context())
			o := quick(t.TempDir())
			o.Retries = -1
			if name == "while waiting to try again" {
				o.Retries, o.Backoff = 2, time.Hour
			}
			o.Progress = func(_ File, done, _ int64) {
				if done == 50_000 {
					time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
				}
			}
			f := []File{{URL: s.URL, Name: "a"}}
			err := Get(ctx, f, o)
			wantError(t, err, s.URL, "stopped after 50,000 of 100,000 bytes", "continues with "+filepath.Join(o.Dir, "a.part"))
			if !errors.Is(err, cause) {
				t.Errorf("error %v does not wrap the cause", err)
			}
			wantNames(t, o.Dir, "a.part", "a.part.json")
			if err := Get(t.Context(), f, quick(o.Dir)); err != nil {
				t.Fatal(err)
			}
			wantFile(t, filepath.Join(o.Dir, "a"), b)
			if asked := s.requests(); len(asked) != 2 || asked[1].Get("Range") != "bytes=50000-" {
				t.Errorf("requests %v, want a second one from byte 50000", asked)
			}
		})
	}
	t.Run("while a file is checked", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		dir := t.TempDir()
		f := File{URL: "http://127.0.0.1:1", Name: "a", Bytes: 100_000, MD5: md5Of(b)}
		for _, name := range []string{"a", "a.part"} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := Get(ctx, []File{f}, quick(dir)); !errors.Is(err, cause) || !strings.Contains(err.Error(), "stopped") {
				t.Errorf("%s: error %v, want the cause", name, err)
			}
			os.Remove(filepath.Join(dir, "a"))
		}
		wantNames(t, dir, "a.part")
		if fault, err := f.fault(ctx, unread{t}); !errors.Is(err, cause) {
			t.Errorf("%q, %v, want the cause", fault, err)
		}
	})
}

// unread must not be read.
type unread struct{ t *testing.T }

func (u unread) ReadAt(b []byte, _ int64) (int, error) {
	u.t.Errorf("%d bytes are read after the end of ctx", len(b))
	return 0, io.EOF
}

func TestEmptyDir(t *testing.T) {
	wantError(t, Get(t.Context(), nil, Options{}), "--data-dir")
}

// TestFirstFaultEndsGet holds that files before it stay, and that all are checked before one is asked for.
func TestFirstFaultEndsGet(t *testing.T) {
	b := content(1, 100)
	s := serve(t, whole(b, `"1"`), status(404))
	dir := t.TempDir()
	list := []File{{URL: s.URL, Name: "a"}, {URL: s.URL, Name: "b"}, {URL: s.URL, Name: "c"}}
	wantError(t, Get(t.Context(), list, quick(dir)), "fetch: b from", "404")
	wantFile(t, filepath.Join(dir, "a"), b)
	if err := Get(t.Context(), append(list[2:], File{URL: s.URL, Name: "../d"}), quick(dir)); err == nil || len(s.requests()) != 2 {
		t.Errorf("error %v after %d requests, want a refusal before any", err, len(s.requests()))
	}
}

func TestProgressOfAnUnknownSize(t *testing.T) {
	b := content(1, 1000)
	s := serve(t, streamed(b))
	o := quick(t.TempDir())
	var told []int64
	o.Progress = func(_ File, done, total int64) { told = append(told, done, total) }
	if err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, o); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told, []int64{0, 0, 1000, 0}) {
		t.Errorf("progress %v, want 0 and 1000 of 0", told)
	}
}

// TestDiskFull writes to Linux's device that is always full.
func TestDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /dev/full")
	}
	device, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	g := &getter{Options: quick("D").filled()}
	clock := time.AfterFunc(time.Hour, func() {})
	defer clock.Stop()
	f := File{URL: "http://host/a", Name: "a", Bytes: 5000}
	err = g.receive(t.Context(), f, &part{file: device, size: 1000}, io.LimitReader(bytes.NewReader(content(1, 5000)), 4000), clock)
	wantError(t, err, "a from http://host/a", "the disk is full after 1,000 of 5,000 bytes", "Free space", filepath.Join("D", "a.part"))
	var again temporary
	if errors.As(err, &again) {
		t.Error("a full disk is tried again")
	}
}
