package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// insideKey is the key of the author of a request of this process in its context. No request from outside has one.
type insideKey struct{}

// insider is the author of a request of this process.
func insider(r *http.Request) (who string, ok bool) {
	who, ok = r.Context().Value(insideKey{}).(string)
	return who, ok
}

// Inside carries requests of this process to a handler of a daemon, by the same ways as those that come over the
// network. They need no token, may do everything, and have the author who.
func Inside(h http.Handler, who string) http.RoundTripper { return inside{h, who} }

type inside struct {
	h   http.Handler
	who string
}

// RoundTrip implements [http.RoundTripper].
func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(context.WithValue(r.Context(), insideKey{}, i.who))
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	to := &written{header: http.Header{}, status: http.StatusOK}
	i.h.ServeHTTP(to, in)
	return &http.Response{
		StatusCode: to.status, Status: http.StatusText(to.status), Header: to.header, Body: io.NopCloser(&to.body),
		ContentLength: int64(to.body.Len()), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
	}, nil
}

// written is an answer in memory.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (w *written) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *written) WriteHeader(status int) { w.status = status }

// Write implements [http.ResponseWriter].
func (w *written) Write(p []byte) (int, error) { return w.body.Write(p) }
