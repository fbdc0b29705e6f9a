package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// rawKind is the content type of pixels as the network sees them.
const rawKind = "application/octet-stream"

// fed is how many pictures a request of a feed has, and pause how long a feed waits after it was refused: far less than
// a queue lasts.
const (
	fed   = 10
	pause = 50 * time.Millisecond
)

// errRefused says that the server has enough to do (429).
var errRefused = errors.New("the server's queue is full")

// predict asks for a prediction.
func (l *loader) predict(ctx context.Context, n int) error {
	_, err := l.post(ctx, "/v1/predictions", l.kind, l.bodies[n%len(l.bodies)])
	return err
}

// label sends a labelled picture with an id of its own. It returns when that is durable.
func (l *loader) label(ctx context.Context, n int) error {
	q := url.Values{"label": {className(n % classes)}, "id": {fmt.Sprint(l.id, l.number.Add(1))}}
	_, err := l.post(ctx, "/v1/samples?"+q.Encode(), rawKind, l.raw[n%len(l.raw)])
	return err
}

// feed sends labelled pictures, one request after the other, as long as the server takes them.
func (l *loader) feed(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		begun := time.Now()
		if !begun.Before(l.until) {
			return
		}
		err := l.give(ctx, n)
		if !begun.Before(l.from) && ctx.Err() == nil {
			l.labels.record(begun, err)
		}
		if err != nil {
			sleep(ctx, time.Now().Add(pause))
		}
	}
}

// give sends some pictures of a class at once.
func (l *loader) give(ctx context.Context, n int) error {
	q := url.Values{"label": {className(n % classes)}}
	_, err := l.post(ctx, "/v1/samples?"+q.Encode(), rawKind, bytes.Repeat(l.raw[n%len(l.raw)], fed))
	return err
}

// flooding is how many requests of a flood are under way: enough that the server never waits for one.
const flooding = 4

// flood asks for predictions, one request after the other.
func (l *loader) flood(ctx context.Context, k int) {
	for n := k; ctx.Err() == nil; n += flooding {
		begun := time.Now()
		if !begun.Before(l.until) {
			return
		}
		err := l.predict(ctx, n)
		if !begun.Before(l.from) && ctx.Err() == nil {
			l.predictions.record(begun, err)
		}
		if err != nil {
			sleep(ctx, time.Now().Add(pause))
		}
	}
}

// status asks how far the server is.
func (l *loader) status(ctx context.Context) (s Status, err error) {
	text, err := l.send(ctx, http.MethodGet, "/v1/status", "", nil)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

func (l *loader) post(ctx context.Context, path, kind string, body []byte) ([]byte, error) {
	return l.send(ctx, http.MethodPost, path, kind, body)
}

// most is how much of an answer is read, in bytes.
const most = 16 << 20

// send sends a request once and reads the whole answer.
func (l *loader) send(ctx context.Context, method, path, kind string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, l.o.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if l.o.Token != "" {
		r.Header.Set("Authorization", "Bearer "+l.o.Token)
	}
	answer, err := l.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusTooManyRequests:
		return nil, errRefused
	case answer.StatusCode/100 != 2:
		return nil, fmt.Errorf("answered %s: %.300s", answer.Status, text)
	}
	return text, nil
}
