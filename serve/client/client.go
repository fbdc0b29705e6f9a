// Package client talks to a daemon of `ocl serve`. It sends again what was not answered, and nothing is learned twice
// by that: a sample keeps its id.
//
//	c, err := client.New("http://localhost:8100", client.Options{})
//	sent, err := c.Learn(ctx, file, "cat", client.Learn{})  // the bytes of a picture; durable when it returns
//	said, err := c.Predict(ctx, file, client.Predict{})  // said.Guesses[0].Class
//
// Any number of goroutines may use a [Client].
package client

import (
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options of a client. The zero value is for a daemon of this machine.
type Options struct {
	Token string        // "" is none
	HTTP  *http.Client  // nil is one with a limit of a minute a request
	Tries int           // of a request that was not answered, or was put off; 0 is 6
	Wait  time.Duration // before the second try; it doubles with each. 0 is 200 ms
}

// Client is a connection to one daemon.
type Client struct {
	base string
	o    Options
}

// New is a client of the daemon at an address such as http://localhost:8100.
func New(address string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("client: %.200q is no address of a daemon. Use one such as http://localhost:8100", address)
	}
	if o.Token != "" && u.Scheme == "http" && !loopback(u.Hostname()) {
		return nil, errors.New("client: a token would be sent where others can read it. Use an https address")
	}
	o.HTTP = cmp.Or(o.HTTP, &http.Client{Timeout: time.Minute})
	o.Tries, o.Wait = cmp.Or(o.Tries, 6), cmp.Or(o.Wait, 200*time.Millisecond)
	return &Client{strings.TrimRight(address, "/"), o}, nil
}

// loopback says whether a name stays on this machine.
func loopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// Error is a refusal of the daemon.
type Error struct {
	Status int    // HTTP's
	Detail string // what is wrong, and how to mend it
	After  time.Duration
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Detail, e.Status) }

// again says whether a later try may be answered in another way.
func (e *Error) again() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		http.StatusInsufficientStorage, http.StatusRequestTimeout:
		return true
	}
	return false
}

// NewID is an id that nobody else has.
func NewID() string {
	return strings.ToLower(crand.Text())
}

// most is the size of an answer that is read into memory, in bytes.
const most = 64 << 20

// request is what is sent, each time anew.
type request struct {
	method, path string
	query        url.Values
	kind         string // content type; "" leaves it out
	body         []byte
}

// do sends a request until it is answered, and returns the answer.
func (c *Client) do(ctx context.Context, r request, out any) error {
	return c.tried(ctx, func() error {
		answer, err := c.send(ctx, r, nil)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(io.LimitReader(answer.Body, most))
		if err != nil {
			return err
		}
		if out == nil || len(text) == 0 {
			return nil
		}
		return json.Unmarshal(text, out)
	})
}

// tried calls send until it succeeds, fails for good, or was tried often enough.
func (c *Client) tried(ctx context.Context, send func() error) error {
	wait := c.o.Wait
	for n := 1; ; n++ {
		err := send()
		var refused *Error
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("client: %w", ctx.Err())
		case errors.As(err, &refused) && !refused.again(), n >= c.o.Tries:
			return fmt.Errorf("client: %w", err)
		}
		pause := wait/2 + rand.N(wait) // so that many clients do not come back together
		if refused != nil {
			pause = max(pause, refused.After)
		}
		wait *= 2
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("client: %w", errors.Join(ctx.Err(), err))
		case <-timer.C:
		}
	}
}

// send sends a request once. An answer that is no success is an [Error].
func (c *Client) send(ctx context.Context, r request, header http.Header) (*http.Response, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if c.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Token)
	}
	answer, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < 300 || answer.StatusCode == http.StatusNotModified {
		return answer, nil
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<16)) // of a proxy it may be anything
	var problem struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(text, &problem) != nil || problem.Detail == "" {
		problem.Detail = "the daemon, or something before it, answered " + answer.Status
	}
	refused := &Error{Status: answer.StatusCode, Detail: problem.Detail}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		refused.After = time.Duration(min(seconds, 3600)) * time.Second
	}
	return nil, refused
}
