package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ocl/serve/api"
)

func pngBase64(t testing.TB) string { return base64.StdEncoding.EncodeToString(pngOf(t, 9)) }

// TestBadPictures: truncated, huge, lying and empty ones are refused, and the daemon goes on.
func TestBadPictures(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{Limits: api.Limits{Pixels: 4_100_000}})
	file := pngOf(t, 20)
	bomb := jpegOf(t, 16, 16)
	at := bytes.Index(bomb, []byte("\xff\xc0")) // the header of the frame, with height and width
	copy(bomb[at+5:], "\x1f\x40\x1f\x40")
	lying := bytes.Clone(file)
	binary.BigEndian.PutUint32(lying[16:], 60000) // the width in IHDR, whose checksum is wrong now
	for _, c := range []struct {
		name   string
		status int
		words  string
		kind   string
		body   []byte
	}{
		{"truncated", http.StatusUnprocessableEntity, "cannot be read", "", file[:len(file)/2]},
		{"of another kind", http.StatusUnprocessableEntity, "no JPEG, PNG", "image/png", []byte("<svg/>")},
		{"lying", http.StatusUnprocessableEntity, "cannot be read", "", lying},
		{"a bomb", http.StatusUnprocessableEntity, "pixels, but its file has", "", bomb},
		{"of many pixels", http.StatusRequestEntityTooLarge, "Make it smaller", "", jpegOf(t, 2100, 2000)},
		{"empty", http.StatusBadRequest, "The body is empty", "", nil},
		{"raw of another size", http.StatusBadRequest, "a raw picture here has 3×8×8 = 192", raw, pixels(0, 0)[:100]},
		{"raw and empty", http.StatusBadRequest, "a raw picture", raw, nil},
		{"of an unknown type", http.StatusUnsupportedMediaType, "are not read", "text/html", file},
		{"of a broken type", http.StatusUnsupportedMediaType, "cannot be read", "image/;;=", file},
		{"with a label", http.StatusBadRequest, "to /v1/samples", jsonT,
			fmt.Appendf(nil, `{"pictures":[{"data":%q,"label":"x"}]}`, pngBase64(t))},
		{"many", http.StatusRequestEntityTooLarge, "at most 1000", raw, make([]byte, 1001*3*size*size)},
		{"one of many", http.StatusUnprocessableEntity, "Picture 2 of 2 cannot be read", jsonT,
			fmt.Appendf(nil, `{"pictures":[{"data":%q},{"data":"AAAA"}]}`, pngBase64(t))},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := *r
			own.t = t
			own.refused(c.status, c.words, "POST", "/v1/predictions", c.kind, c.body)
		})
	}
	r.refused(http.StatusUnsupportedMediaType, "Content-Encoding", "POST", "/v1/predictions", "", file, "Content-Encoding",
		"gzip")
	r.want(http.StatusOK, "POST", "/v1/predictions", "", file)
}

// TestBadJSON: deep, with NaN, of unknown keys, cut off, twice, and of other bytes than UTF-8.
func TestBadJSON(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{})
	for _, c := range []struct{ body, words string }{
		{"", "Send JSON"},
		{"{", "ends in its middle"},
		{`{"pictures":[{"data":NaN}]}`, "wrong at byte"},
		{`{"pictures":` + strings.Repeat("[", 100000), "max depth"},
		{`{"pictures":[{"data":"%%%"}]}`, "base64"},
		{`{"pictures":[{"data":"data:image/png,%89PNG"}]}`, "a data URI has no base64"},
		{`{"pictures":[{"data":1}]}`, "cannot be a number"},
		{`{"picture":[]}`, "unknown field"},
		{`{"pictures":[]}`, "no picture"},
		{`{"pictures":[{}]}`, "must have either data"},
		{`{"pictures":[{"data":"AAAA","raw":"AAAA"}]}`, "must have either data"},
		{`{"pictures":[]}{}`, "something after"},
		{"{\"pictures\":[{\"raw\":\"AA\",\"id\":\"\xff\"}]}", "UTF-8"},
		{`{"pictures":[],"pictures":[]}`, `the key "pictures" twice`},
		{`{"pictures":[{"raw":"AAAA"},{"label":"a","raw":"AAAA","l\u0061bel":"b"}]}`, `the key "label" twice`},
		{`[]`, "cannot be a array"},
		{`null`, "no picture"},
	} {
		r.refused(http.StatusBadRequest, c.words, "POST", "/v1/samples?label=a", jsonT, []byte(c.body))
	}
}

// TestBadForms: parts of other names, of other numbers, and forms that are cut off.
func TestBadForms(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{})
	file := pngOf(t, 9)
	for _, c := range []struct {
		words string
		parts []part
	}{
		{"is called", []part{{"file", "a.png", file}}},
		{"2 ids", []part{{"picture", "a.png", file}, {"id", "", []byte("1")}, {"id", "", []byte("2")}}},
		{"3 pictures and 2 labels", []part{{"picture", "a.png", file}, {"picture", "a.png", file}, {"picture", "a.png", file},
			{"label", "", []byte("1")}, {"label", "", []byte("2")}}},
		{"no picture", nil},
		{"has no label", []part{{"picture", "a.png", file}}},
	} {
		body, kind := formOf(t, c.parts)
		r.refused(http.StatusBadRequest, c.words, "POST", "/v1/samples", kind, body)
	}
	body, kind := formOf(t, []part{{"picture", "a.png", file}})
	r.refused(http.StatusBadRequest, "", "POST", "/v1/samples", kind, body[:len(body)-20])
	r.refused(http.StatusBadRequest, "boundary", "POST", "/v1/samples", "multipart/form-data", body)
}

// TestNamesOfAnyBytes: an id or a class is taken as it is, or refused; two names never become one.
func TestNamesOfAnyBytes(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{})
	for _, id := range []string{"%00", "%ff", "%0a", "%20x", "..", "%2e", strings.Repeat("a", 129), "%7f", "a%1b[31m"} {
		r.refused(http.StatusBadRequest, "The id ", "POST", "/v1/samples?label=a&id="+id, raw, pixels(0, 0))
	}
	for _, id := range []string{"a%2fb", "%C3%BC%E2%9C%93", "a%20b", "a%22%3C%3E%27", "%25", strings.Repeat("a", 128)} {
		r.want(http.StatusAccepted, "POST", "/v1/samples?label=a&id="+id, raw, pixels(0, 0))
		r.want(http.StatusOK, "GET", "/v1/samples/"+id, "", nil)
	}
	for _, label := range []string{"%00", "%ff", "%20", strings.Repeat("a", 257), "a%0d%0ab"} {
		r.refused(http.StatusUnprocessableEntity, "", "POST", "/v1/samples?label="+label, raw, pixels(0, 0))
	}
	for _, label := range []string{"%F0%9F%90%88", "%3Cscript%3E", "%22", "..", "a%2fb"} {
		r.want(http.StatusAccepted, "POST", "/v1/samples?label="+label, raw, pixels(0, 0))
	}
	r.refused(http.StatusBadRequest, "given 2 times", "POST", "/v1/samples?label=a&label=b", raw, pixels(0, 0))
}

// endless is a body without end.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(rand.Uint32()) //nolint:gosec // any bytes
	}
	e.read.Add(int64(len(b)))
	return len(b), nil
}

// TestEndlessBodies: the daemon reads no more of a body than the limit, whatever its length says.
func TestEndlessBodies(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{Limits: api.Limits{Body: 100_000}})
	for _, kind := range []string{"", raw, jsonT, "multipart/form-data; boundary=x"} {
		for _, says := range []int64{-1, 1 << 40} {
			body := &endless{}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/samples?label=a", body)
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = says
			req.Header.Set("Content-Type", kind)
			answer, err := http.DefaultClient.Do(req)
			if err == nil {
				if answer.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s: %s", kind, answer.Status)
				}
				_ = answer.Body.Close()
			} // the connection may be closed while the client still sends
			if n := body.read.Load(); n > 50_000_000 {
				t.Errorf("%s: %d bytes were taken", kind, n)
			}
		}
	}
	r.refused(http.StatusRequestEntityTooLarge, "100,000 bytes", "POST", "/v1/samples?label=a", raw, make([]byte, 100_001))
}

// TestSlowAndBrokenBodies: a body that does not come, or ends early, is refused, and its connection is closed.
func TestSlowAndBrokenBodies(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{})
	dial := func() net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := dial()
	fmt.Fprintf(c, "POST /v1/samples?label=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\nabc")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(c) // the server may close it at once
	if answer := string(text); answer != "" && !strings.Contains(answer, " 400 ") {
		t.Errorf("a body that ends early: %s", answer)
	}
	_ = c.Close()
	c = dial()
	fmt.Fprintf(c, "POST /v1/samples?label=a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n")
	text, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(text), " 400 ") {
		t.Errorf("broken chunks: %s, %v", text, err)
	}
	_ = c.Close()
	if s := read[struct{ Classes []struct{} }](t,
		r.want(http.StatusOK, "GET", "/v1/classes", "", nil)); len(s.Classes) != 0 {
		t.Errorf("%d classes came of broken bodies", len(s.Classes))
	}
}

// TestDataURIs: what FileReader and canvas of browsers make of a picture is read wherever base64 is.
func TestDataURIs(t *testing.T) {
	r := taught(t, daemonOptions(), api.Options{})
	for _, head := range []string{"data:image/png;base64,", "DATA:image/png;name=a.png;BASE64,", "data:;base64,", ""} {
		uri := head + pngBase64(t)
		r.want(http.StatusOK, "POST", "/v1/predictions", jsonT,
			fmt.Appendf(nil, `{"pictures":[{"data":%q},{"raw":%q}]}`, uri,
				head+base64.StdEncoding.EncodeToString(make([]byte, 192))))
		r.want(http.StatusOK, "POST", "/v2/models/ocl/infer", jsonT,
			fmt.Appendf(nil, `{"inputs":[{"name":"file","datatype":"BYTES","shape":[1],"data":[%q]}]}`, uri))
	}
}

// TestNothingIsLeftOut: what cannot be read of a request, or would be read as something else, is refused, and nothing
// is learned or forgotten.
func TestNothingIsLeftOut(t *testing.T) {
	r := start(t, daemonOptions(), api.Options{})
	for _, c := range []struct{ words, method, path, kind, body string }{
		{"Write % as %25", "POST", "/v1/samples?label=cat&id=50%", raw, string(pixels(0, 0))},
		{"The query", "POST", "/v1/samples?label=cat;id=5", raw, string(pixels(0, 0))},
		{"The query", "POST", "/v1/predictions?k=%zz", raw, string(pixels(0, 0))},
		{"The query", "DELETE", "/v1/samples/a?%", "", ""},
		{`\ud800 at byte 10`, "POST", "/v1/classes", jsonT, `{"name":"a\ud800"}`},
		{`\udc00 at byte 9`, "POST", "/v1/classes", jsonT, `{"name":"\udc00\ud800"}`},
		{`\uD800 at byte 9`, "POST", "/v1/classes", jsonT, `{"name":"\uD800\u0041"}`},
		{`\ud800`, "POST", "/v2/models/ocl/infer", jsonT, `{"id":"\ud800"}`},
		{"no UTF-8", "POST", "/v2/models/ocl/infer", jsonT, "{\"id\":\"\xff\"}"},
		{"before any sample", "POST", "/v1/forget", jsonT, `{"who":"anybody","to":"0001-01-01T00:00:00Z"}`},
		{"before any sample", "POST", "/v1/forget", jsonT, `{"from":"0001-01-01T00:00:00Z"}`},
		{"before any sample", "POST", "/v1/forget", jsonT, `{"from":"0001-01-01T00:00:00+01:00"}`},
		{"to is before from", "POST", "/v1/forget", jsonT, `{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`},
		{"The id ", "POST", "/v1/predictions?remember=true", jsonT, `{"pictures":[{"raw":"AAAA","id":"a\u0000"}]}`},
		{"The id ", "POST", "/v1/samples?label=cat&id=a%E2%80%AEb", raw, string(pixels(0, 0))},
		{"The id ", "POST", "/v1/samples?label=cat&id=%EF%BB%BFa", raw, string(pixels(0, 0))},
		{"The id ", "POST", "/v1/samples?label=cat&id=a%C2%85", raw, string(pixels(0, 0))},
	} {
		r.refused(http.StatusBadRequest, c.words, c.method, c.path, c.kind, []byte(c.body))
	}
	if s := r.daemon.Status(); len(s.Classes) != 0 || s.Samples.Waiting+int(s.Samples.Learned) != 0 {
		t.Errorf("%d classes and %+v came of requests that were refused", len(s.Classes), s.Samples)
	}
	r.want(http.StatusAccepted, "POST", "/v1/classes", jsonT, []byte(`{"name":"\ud83d\udc08 \\ud800 \""}`))
	if names := r.daemon.Names(); len(names) != 1 || names[0] != `🐈 \ud800 "` {
		t.Errorf("the classes are %q", names)
	}
	r.want(http.StatusAccepted, "POST", "/v1/samples?label=cat&id=50%25", raw, pixels(0, 0))
	r.want(http.StatusOK, "POST", "/v1/forget", "Application/JSON; charset=utf-8", []byte(`{"ids":["50%"]}`))
}
