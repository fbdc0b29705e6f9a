package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

const jsonKind = "application/json"

// ErrAnswer is about an answer that is none of a daemon.
var ErrAnswer = errors.New("client: the answer is none of `ocl serve`. Check the address")

// Guess is a class that a picture may have.
type Guess struct {
	Class       string  `json:"class"`
	Probability float64 `json:"probability,omitempty"`
	Distance    float64 `json:"distance,omitempty"` // in place of it, of a method that predicts by class means
}

// Prediction is what the daemon says of a picture.
type Prediction struct {
	ID         string  `json:"id"`
	Remembered bool    `json:"remembered"` // its label may come later, by [Client.Label]
	Guesses    []Guess `json:"guesses"`    // the best first
	// Familiarity is the share of pictures of known classes that look as strange, in (0,1]; 0 where the model is not
	// calibrated. If it is small, Unknown says that the picture looks like none of the classes. Set is how many of the
	// first guesses must be named so that the right one is among them; 0 where the daemon has no --coverage.
	Familiarity float64 `json:"familiarity"`
	Unknown     bool    `json:"unknown"`
	Set         int     `json:"set"`
	Version     int64   `json:"-"` // of the model that answered
	Measure     string  `json:"-"` // "probability" or "distance"
}

// Sample is what the daemon says of a sample that it has taken.
type Sample struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	State string `json:"state"`
}

// Predict says how a picture is predicted. The zero value is five guesses, and nothing is kept.
type Predict struct {
	K        int  // guesses; 0 is 5
	Remember bool // keep the picture for its label
	Raw      bool // the picture is uint8 [C,H,W] at the size of training, and no file
}

// kindOf is the content type of a picture; the daemon looks at the bytes of a file.
func kindOf(raw bool) string {
	if raw {
		return "application/octet-stream"
	}
	return ""
}

// Predict asks what a picture shows.
func (c *Client) Predict(ctx context.Context, picture []byte, o Predict) (Prediction, error) {
	q := url.Values{}
	if o.K > 0 {
		q.Set("k", strconv.Itoa(o.K))
	}
	if o.Remember {
		q.Set("remember", "true")
	}
	var out struct {
		Version     int64        `json:"version"`
		Measure     string       `json:"measure"`
		Predictions []Prediction `json:"predictions"`
	}
	if err := c.do(ctx, request{http.MethodPost, "/v1/predictions", q, kindOf(o.Raw), picture}, &out); err != nil {
		return Prediction{}, err
	}
	if len(out.Predictions) != 1 {
		return Prediction{}, ErrAnswer
	}
	p := out.Predictions[0]
	p.Version, p.Measure = out.Version, out.Measure
	return p, nil
}

// Learn says how a sample is sent. The zero value lets the client choose an id, and waits until the sample is durable.
type Learn struct {
	ID   string // the caller's; the same id twice is one sample. "" is a new one
	Raw  bool   // see [Predict]
	Wait bool   // until the published model has learned it
}

// Learn sends a picture with its label.
func (c *Client) Learn(ctx context.Context, picture []byte, label string, o Learn) (Sample, error) {
	if o.ID == "" {
		o.ID = NewID()
	}
	q := url.Values{"label": {label}, "id": {o.ID}}
	if o.Wait {
		q.Set("wait", "learned")
	}
	var out struct {
		Samples []Sample `json:"samples"`
	}
	if err := c.do(ctx, request{http.MethodPost, "/v1/samples", q, kindOf(o.Raw), picture}, &out); err != nil {
		return Sample{}, err
	}
	if len(out.Samples) != 1 {
		return Sample{}, ErrAnswer
	}
	return out.Samples[0], nil
}

// put sends v as JSON.
func (c *Client) put(ctx context.Context, method, path string, v, out any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.do(ctx, request{method, path, nil, jsonKind, body}, out)
}

// Label gives a remembered picture its label, or corrects a label.
func (c *Client) Label(ctx context.Context, id, label string) (out Sample, err error) {
	err = c.put(ctx, http.MethodPut, "/v1/samples/"+url.PathEscape(id)+"/label", map[string]string{"label": label}, &out)
	return out, err
}

// Sample asks for a sample. One that the daemon does not know is an [Error] of the status 404.
func (c *Client) Sample(ctx context.Context, id string) (out Sample, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/samples/" + url.PathEscape(id)}, &out)
	return out, err
}

// Forget has a sample erased everywhere.
func (c *Client) Forget(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: "/v1/samples/" + url.PathEscape(id)}, nil)
}

// Class makes a class, if it is not there.
func (c *Client) Class(ctx context.Context, name string) error {
	return c.put(ctx, http.MethodPost, "/v1/classes", map[string]string{"name": name}, nil)
}

// Rename gives a class another name. It is sent once, as Merge, Split and Remove are: of a lost answer nobody knows
// whether the class is still there.
func (c *Client) Rename(ctx context.Context, class, name string) error {
	return c.change(ctx, http.MethodPatch, "/v1/classes/"+url.PathEscape(class), map[string]any{"name": name})
}

// Merge makes a class a part of another one.
func (c *Client) Merge(ctx context.Context, class, into string) error {
	return c.change(ctx, http.MethodPatch, "/v1/classes/"+url.PathEscape(class), map[string]any{"into": into})
}

// Split makes a new class of samples of a class.
func (c *Client) Split(ctx context.Context, class, name string, ids ...string) error {
	return c.change(ctx, http.MethodPost, "/v1/classes/"+url.PathEscape(class)+"/split",
		map[string]any{"name": name, "ids": ids})
}

// Remove has the pictures of a class erased everywhere, and removes the class.
func (c *Client) Remove(ctx context.Context, class string) error {
	return c.change(ctx, http.MethodDelete, "/v1/classes/"+url.PathEscape(class), nil)
}

// change changes a class.
func (c *Client) change(ctx context.Context, method, path string, v map[string]any) error {
	r := request{method: method, path: path}
	if v != nil {
		body, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("client: %w", err)
		}
		r.kind, r.body = jsonKind, body
	}
	answer, err := c.send(ctx, r, nil)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return answer.Body.Close()
}

// Task says that a task ends. It is sent once: two ends would be two tasks.
func (c *Client) Task(ctx context.Context) error {
	answer, err := c.send(ctx, request{method: http.MethodPost, path: "/v1/tasks"}, nil)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return answer.Body.Close()
}

// Rollback goes back to the weights of a version.
func (c *Client) Rollback(ctx context.Context, version int64) error {
	return c.put(ctx, http.MethodPost, "/v1/rollback", map[string]int64{"version": version}, nil)
}

// Status writes the daemon's status into out, a pointer that encoding/json takes.
func (c *Client) Status(ctx context.Context, out any) error {
	return c.do(ctx, request{method: http.MethodGet, path: "/v1/status"}, out)
}

// Model is which model there is.
type Model struct {
	Tag     string // by which [Client.Model] asks for another one
	Version int64
}

// Model copies the model in a format, ocl, safetensors or onnx, to w, unless it has the tag that the caller knows. It
// returns which one there is, and whether it was copied. It asks once. What a failed call has written to w is of no
// use.
func (c *Client) Model(ctx context.Context, format, known string, w io.Writer) (m Model, changed bool, err error) {
	header := http.Header{}
	if known != "" {
		header.Set("If-None-Match", known)
	}
	answer, err := c.send(ctx, request{method: http.MethodGet, path: "/v1/model", query: url.Values{"format": {format}}},
		header)
	if err != nil {
		return m, false, fmt.Errorf("client: %w", err)
	}
	defer answer.Body.Close()
	m.Tag = answer.Header.Get("ETag")
	if m.Version, err = strconv.ParseInt(answer.Header.Get("Ocl-Version"), 10, 64); err != nil {
		return m, false, ErrAnswer
	}
	if answer.StatusCode == http.StatusNotModified {
		return m, false, nil
	}
	if _, err = io.Copy(w, answer.Body); err != nil {
		return m, false, fmt.Errorf("client: %w", err)
	}
	return m, true, nil
}
