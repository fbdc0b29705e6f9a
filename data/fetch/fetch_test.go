package fetch

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

func md5Of(b []byte) string { s := md5.Sum(b); return hex.EncodeToString(s[:]) }

// server answers the first request with the first handler, and so on; the last one answers all that follow.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	handlers []http.HandlerFunc
	asked    []string // Range of each request
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
	s.asked = append(s.asked, r.Header.Get("Range"))
	s.mu.Unlock()
	s.handlers[min(n, len(s.handlers)-1)](w, r)
}

// wantRequests compares the ranges that were asked for.
func (s *server) wantRequests(t *testing.T, ranges ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.asked, ranges) {
		t.Errorf("requests %q, want %q", s.asked, ranges)
	}
}

// whole serves b as a good server does, with ranges.
func whole(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			http.Error(w, "net/http must not unpack", http.StatusBadRequest)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}
}

// sent announces length bytes, -1 for none, sends b, and then does what end says.
func sent(b []byte, length int, end func(*http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if length >= 0 {
			w.Header().Set("Content-Length", strconv.Itoa(length))
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write(b)
		w.(http.Flusher).Flush()
		end(r)
	}
}

func stays(*http.Request)   {}
func breaks(*http.Request)  { panic(http.ErrAbortHandler) }
func hangs(r *http.Request) { <-r.Context().Done() }

// endless sends bytes for as long as somebody takes them.
func endless(w http.ResponseWriter, _ *http.Request) {
	for err := error(nil); err == nil; {
		_, err = w.Write(make([]byte, 1<<16))
	}
}

// lies announces length bytes and sends all of b.
func lies(b []byte, length int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, err = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", length, b)
		}
		if err = errors.Join(err, conn.Close()); err != nil {
			log.Print(err)
		}
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// quick are options that make a test wait for milliseconds.
func quick(dir string) Options {
	return Options{Dir: dir, Progress: func(File, int64, int64) {}, Retrying: func(File, Retry) {},
		stall: 10 * time.Second, backoff: time.Millisecond, retries: 2}
}

// wantFile wants b in the file at path, and nothing else in its folder.
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

// wantError wants an error of one line with some parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, part)
		}
	}
}

func TestGetDownloadsOnce(t *testing.T) {
	b := content(1, 1_000_000)
	s := serve(t, whole(b))
	dir := filepath.Join(t.TempDir(), "new", "folder")
	list := []File{
		{URL: s.URL + "/a", Name: "one/a.gz", Bytes: int64(len(b)), MD5: md5Of(b)},
		{URL: s.URL + "/b", Name: "two/deep/b.gz", MD5: strings.ToUpper(md5Of(b))},
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
	s.wantRequests(t, "", "")
	for _, there := range [][]byte{b[:999], content(2, 1_000_000)} { // another file in its place is replaced
		path := filepath.Join(dir, "one", "a.gz")
		if err := os.WriteFile(path, there, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Get(t.Context(), list, o); err != nil {
			t.Error(err)
		}
		wantFile(t, path, b)
	}
}

// TestTransfers has servers that break off in several ways, that lie, and that refuse, and parts that a killed process
// has left. The file is there in the end, or an error says why not.
func TestTransfers(t *testing.T) {
	b, other := content(1, 100_000), content(2, 100_000)
	half, rest := b[:50_000], "bytes=50000-"
	part := func(value string, b []byte) http.HandlerFunc { // whatever was asked for
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", value)
			w.WriteHeader(http.StatusPartialContent)
			w.Write(b)
		}
	}
	html := sent([]byte("<html>"), 6, stays)
	for name, c := range map[string]struct {
		handlers []http.HandlerFunc
		there    []byte // the part
		bytes    int64
		asked    []string
		fault    []string // nil where the file comes
		kept     int      // bytes of the part after a fault
	}{
		"closed": {handlers: []http.HandlerFunc{sent(half, 100_000, breaks), whole(b)},
			asked: []string{"", rest}},
		"stalled": {handlers: []http.HandlerFunc{sent(half, 100_000, hangs), whole(b)},
			asked: []string{"", rest}},
		"silent": {handlers: []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) { hangs(r) },
			whole(b)}, asked: []string{"", ""}},
		"ended, size published": {handlers: []http.HandlerFunc{sent(half, -1, stays), whole(b)}, bytes: 100_000,
			asked: []string{"", rest}},
		"nothing at all": {handlers: []http.HandlerFunc{sent(nil, -1, stays), whole(b)}, asked: []string{"", ""}},
		"Range is ignored": {handlers: []http.HandlerFunc{sent(half, 100_000, breaks), sent(b, -1, stays)},
			asked: []string{"", rest}},
		"Range begins elsewhere": {handlers: []http.HandlerFunc{sent(b[:60_000], 100_000, breaks),
			part("bytes 50000-99999/100000", b[50_000:]), whole(b)}, asked: []string{"", "bytes=60000-", ""}},
		"no Content-Range": {handlers: []http.HandlerFunc{sent(half, 100_000, breaks), part("", half), whole(b)},
			asked: []string{"", rest, ""}},
		"busy": {handlers: []http.HandlerFunc{status(503), status(429), whole(b)},
			asked: []string{"", "", ""}},
		"goes on": {handlers: []http.HandlerFunc{whole(b)}, there: b[:30_000],
			asked: []string{"bytes=30000-"}},
		"whole, size published": {handlers: []http.HandlerFunc{whole(b)}, there: b, bytes: 100_000},
		"whole, size unknown":   {handlers: []http.HandlerFunc{whole(b)}, there: b, asked: []string{"bytes=100000-"}},
		"longer than the file": {handlers: []http.HandlerFunc{whole(b)}, there: append(slices.Clone(b), 1),
			bytes: 100_000, asked: []string{""}},
		"of another version": {handlers: []http.HandlerFunc{whole(b)}, there: other[:50_000], asked: []string{rest},
			fault: []string{"has the MD5 ", ", and " + md5Of(b) + " is published", "run the same command again"}},
		"longer, size unknown": {handlers: []http.HandlerFunc{whole(b)}, there: append(slices.Clone(b), 1),
			asked: []string{"bytes=100001-"}, fault: []string{"The bytes were removed"}},
		"a page instead of a file": {handlers: []http.HandlerFunc{html}, there: half, bytes: 100_000, asked: []string{rest},
			fault: []string{`offers 6 bytes of type "text/html"`, "the file has 100,000 bytes"}, kept: 50_000},
		"too short, size unknown": {handlers: []http.HandlerFunc{html}, asked: []string{""},
			fault: []string{"has the MD5 "}},
		"too long": {handlers: []http.HandlerFunc{sent(b, -1, stays)}, bytes: 99_000, asked: []string{""},
			fault: []string{"sends more than 99,000 bytes", "The bytes were removed"}},
		"endless": {handlers: []http.HandlerFunc{endless}, asked: []string{""},
			fault: []string{"sends more than 300,000 bytes", "The bytes were removed"}},
		"announces too much": {handlers: []http.HandlerFunc{sent(half, 300_001, breaks)}, asked: []string{""},
			fault: []string{"sends more than 300,000 bytes"}},
		"sends more than announced": {handlers: []http.HandlerFunc{lies(b, 60_000)}, asked: []string{""},
			fault: []string{"has the MD5 "}},
		"never all of it": {handlers: []http.HandlerFunc{sent(half, 100_000, breaks)},
			asked: []string{"", rest, rest}, fault: []string{"the connection broke: unexpected EOF", "attempts in a row: 3",
				"continues after 50,000 of 100,000 bytes"}, kept: 50_000},
		"not found": {handlers: []http.HandlerFunc{status(404)}, asked: []string{""},
			fault: []string{"the server answers 404 Not Found.", "save it as"}},
		"no content": {handlers: []http.HandlerFunc{status(204)}, asked: []string{""},
			fault: []string{"the server answers 204 No Content."}},
		"busy for ever": {handlers: []http.HandlerFunc{status(500)}, asked: []string{"", "", ""},
			fault: []string{"the server answers 500 Internal Server Error (attempts in a row: 3)"}},
		"part nobody has asked for": {handlers: []http.HandlerFunc{part("bytes 0-99999/100000", b)}, asked: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.handlers...)
			o := quick(t.TempDir())
			o.longest = 300_000
			if name == "stalled" || name == "silent" {
				o.stall = 100 * time.Millisecond
			}
			path := filepath.Join(o.Dir, "a")
			if c.there != nil {
				if err := os.WriteFile(path+".part", c.there, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := Get(t.Context(), []File{{URL: s.URL, Name: "a", Bytes: c.bytes, MD5: md5Of(b)}}, o)
			s.wantRequests(t, c.asked...)
			switch {
			case c.fault == nil && err != nil:
				t.Error(err)
			case c.fault == nil:
				wantFile(t, path, b)
			case c.kept > 0:
				wantError(t, err, append(c.fault, "a from "+s.URL)...)
				wantNames(t, o.Dir, "a.part")
				if got, err := os.ReadFile(path + ".part"); len(got) != c.kept || err != nil {
					t.Errorf("%d bytes are kept (%v), want %d", len(got), err, c.kept)
				}
			default:
				wantError(t, err, append(c.fault, "a from "+s.URL)...)
				wantNames(t, o.Dir)
			}
		})
	}
}

// TestSlowServerDoesNotStall sends a byte every few milliseconds, for longer than a stall in all.
func TestSlowServerDoesNotStall(t *testing.T) {
	b := content(1, 30)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range b {
			w.Write(b[i : i+1])
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	})
	o := quick(t.TempDir())
	o.stall = 2 * time.Second // twenty times as long as a byte takes, for a machine that does other things too
	if err := Get(t.Context(), []File{{URL: s.URL, Name: "a", Bytes: 30, MD5: md5Of(b)}}, o); err != nil {
		t.Fatal(err)
	}
	s.wantRequests(t, "")
}

// TestProgressRenewsTheRetries has a line that breaks far more often than the retries allow, each time a little later.
func TestProgressRenewsTheRetries(t *testing.T) {
	b := content(1, 20_000)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-19999/20000", from))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(b[from:min(from+1000, 20_000)])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	var retries []string
	o := quick(t.TempDir())
	o.Retrying = func(f File, r Retry) {
		retries = append(retries, fmt.Sprintf("%s %d of %d from %d after %v, %v", f.Name, r.Attempt, r.Of, r.From, r.Wait,
			r.Why))
	}
	if err := Get(t.Context(), []File{{URL: s.URL, Name: "a", Bytes: 20_000, MD5: md5Of(b)}}, o); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(o.Dir, "a"), b)
	if n := len(retries); n < 19 || retries[0] != "a 2 of 3 from 1000 after 1ms, the connection broke: unexpected EOF" {
		t.Errorf("retries %q", retries)
	}
}

// TestEndOfContextKeepsThePart ends ctx at several moments. What is there stays, and the next Get goes on from it.
func TestEndOfContextKeepsThePart(t *testing.T) {
	b := content(1, 100_000)
	enough := errors.New("the user had enough")
	for name, end := range map[string]func(*http.Request){"while bytes are awaited": hangs,
		"while waiting to try again": breaks} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, sent(b[:50_000], 100_000, end), whole(b))
			ctx, cancel := context.WithCancelCause(t.Context())
			o := quick(t.TempDir())
			o.backoff = time.Hour
			o.Progress = func(_ File, done, _ int64) {
				if done == 50_000 {
					time.AfterFunc(50*time.Millisecond, func() { cancel(enough) })
				}
			}
			f := []File{{URL: s.URL, Name: "a", MD5: md5Of(b)}}
			err := Get(ctx, f, o)
			wantError(t, err, s.URL, "stopped after 50,000 of 100,000 bytes", "continues with "+filepath.Join(o.Dir, "a.part"))
			if !errors.Is(err, enough) {
				t.Errorf("error %v does not wrap the cause", err)
			}
			wantNames(t, o.Dir, "a.part")
			if err := Get(t.Context(), f, quick(o.Dir)); err != nil {
				t.Fatal(err)
			}
			wantFile(t, filepath.Join(o.Dir, "a"), b)
			s.wantRequests(t, "", "bytes=50000-")
		})
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	dir := t.TempDir()
	for _, name := range []string{"a", "a.part"} { // while it is checked
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
		err := Get(ended, []File{{URL: "http://127.0.0.1:1", Name: name, Bytes: 100_000, MD5: md5Of(b)}}, quick(dir))
		if !errors.Is(err, enough) {
			t.Errorf("%s: error %v, want the cause", name, err)
		}
	}
}

// TestRedirectsStaySecure has a server with https that sends the client to one without.
func TestRedirectsStaySecure(t *testing.T) {
	plain := serve(t, whole(content(1, 10)))
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer secure.Close()
	client.Transport = secure.Client().Transport
	defer func() { client.Transport = transport() }()
	err := Get(t.Context(), []File{{URL: secure.URL, Name: "a", MD5: md5Of(content(1, 10))}}, quick(t.TempDir()))
	wantError(t, err, "redirects from https to http:", "save it as")
	plain.wantRequests(t)
}

// TestRedirectsElsewhere has servers that send the client to what is no web page. None is asked again.
func TestRedirectsElsewhere(t *testing.T) {
	for _, to := range []string{"file:///etc/passwd", "ftp://127.0.0.1/a", "gopher://127.0.0.1/a"} {
		s := serve(t, http.RedirectHandler(to, http.StatusFound).ServeHTTP)
		wantError(t, Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, quick(t.TempDir())),
			"the server redirects from http to "+to)
		s.wantRequests(t, "")
	}
}

// TestNothingIsWrittenThroughLinks: what lies in the place of the part is not written to unless it is a file.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	s := serve(t, whole(content(1, 1000)))
	o := quick(t.TempDir())
	mine := filepath.Join(o.Dir, "mine")
	if err := errors.Join(os.WriteFile(mine, []byte("mine"), 0o644),
		os.Mkdir(filepath.Join(o.Dir, "b.part"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("mine", filepath.Join(o.Dir, "a.part")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"a", "b"} {
		wantError(t, Get(t.Context(), []File{{URL: s.URL, Name: name, MD5: md5Of(content(1, 1000))}}, o),
			name+".part is not a file")
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
		t.Errorf("the file has %d bytes, %v", len(text), err)
	}
}

// TestLongAnswers: a message quotes the beginning of what a server says, which may have megabytes.
func TestLongAnswers(t *testing.T) {
	long := strings.Repeat("z", 100_000)
	for name, handler := range map[string]http.HandlerFunc{
		"an address": http.RedirectHandler("ftp://a/"+long, http.StatusFound).ServeHTTP,
		"a line": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, err = fmt.Fprintf(conn, "%s\r\n\r\n", long)
			}
			if err = errors.Join(err, conn.Close()); err != nil {
				log.Print(err)
			}
		},
	} {
		s := serve(t, handler)
		err := Get(t.Context(), []File{{URL: s.URL, Name: "a"}}, quick(t.TempDir()))
		if err == nil || !strings.Contains(err.Error(), "zzz") || len(err.Error()) > 1000 {
			t.Errorf("%s of %d bytes: %.2000v", name, len(long), err)
		}
	}
}

// TestRedirectsEnd has a server that sends the client to itself. It is asked ten times, and not again.
func TestRedirectsEnd(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	}))
	defer s.Close()
	err := Get(t.Context(), []File{{URL: s.URL, Name: "a", MD5: md5Of(content(1, 10))}}, quick(t.TempDir()))
	wantError(t, err, "the server redirects 10 times", "Get the file by hand")
	if asked != 10 {
		t.Errorf("the server was asked %d times, wanted 10", asked)
	}
}

// TestFirstFaultEndsGet: files before it stay.
func TestFirstFaultEndsGet(t *testing.T) {
	b := content(1, 10)
	s := serve(t, whole(b), status(404))
	dir := t.TempDir()
	first := File{URL: s.URL, Name: "a", MD5: md5Of(b)}
	second := first
	second.Name = "b"
	wantError(t, Get(t.Context(), []File{first, second, first}, quick(dir)), "fetch: b from", "404")
	wantFile(t, filepath.Join(dir, "a"), b)
}

// TestPlacesThatCannotBeWritten has a file where a folder must be, folders where a file must be, and links that lead
// out.
func TestPlacesThatCannotBeWritten(t *testing.T) {
	b := content(1, 10)
	s := serve(t, whole(b))
	for _, c := range []struct{ there, dir, name, want string }{
		{"D", "D", "a", "D"},
		{"sub", ".", "sub/a", "sub"},
		{"a.part/", ".", "a", "a.part"},
		{"a/", ".", "a", "a is not a file, and the download would replace it"},
		{"@sub", ".", "sub/a", "escapes"},
		{"@a.part", ".", "a", "a.part is not a file"},
	} {
		root, outside := t.TempDir(), t.TempDir()
		path := filepath.Join(root, strings.Trim(c.there, "@/"))
		var err error
		switch {
		case c.there[0] == '@':
			err = os.Symlink(outside, path)
		case strings.HasSuffix(c.there, "/"):
			err = os.Mkdir(path, 0o755)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = Get(t.Context(), []File{{URL: s.URL, Name: c.name, MD5: md5Of(b)}}, quick(filepath.Join(root, c.dir)))
		wantError(t, err, c.want, "--data-dir")
		wantNames(t, outside)
	}
	s.wantRequests(t)
}

// TestDiskFull writes to Linux's device that is always full.
func TestDiskFull(t *testing.T) {
	device, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	d := &download{Options: quick("D"), path: "D/a", part: device, size: 1000, total: 5000}
	clock := time.AfterFunc(time.Hour, func() {})
	defer clock.Stop()
	err = d.receive(t.Context(), bytes.NewReader(content(1, 4000)), clock)
	wantError(t, err, "fetch: D/a.part: no space left on device. Free space")
	if errors.As(err, &temporary{}) {
		t.Error("a full disk is tried again")
	}
}

// TestNoAnswer: of a server that is not there, and of one that cannot prove who it is.
func TestNoAnswer(t *testing.T) {
	secure := httptest.NewUnstartedServer(whole(nil))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	file := File{URL: secure.URL, Name: "a", MD5: md5Of(nil)}
	wantError(t, Get(t.Context(), []File{file}, quick(t.TempDir())), secure.URL, "the server cannot prove who it is",
		"Check the clock")
	gone := serve(t, whole(nil))
	gone.Close()
	file.URL = gone.URL
	wantError(t, Get(t.Context(), []File{file}, quick(t.TempDir())), "no answer", "attempts in a row: 3")
}
