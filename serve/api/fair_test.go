package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ocl/serve/api"
)

// two are tokens of a and b, who may label, with their secrets.
func two(t *testing.T) (tokens *api.Tokens, a, b string) {
	t.Helper()
	var list []api.Token
	var secrets []string
	for _, name := range []string{"a", "b"} {
		token, secret, err := api.NewToken(name, api.RoleAdmin, 0)
		if err != nil {
			t.Fatal(err)
		}
		list, secrets = append(list, token), append(secrets, secret)
	}
	return api.NewTokens(list), secrets[0], secrets[1]
}

// begin sends the head of a request with one byte of its body, and waits until the daemon asks for the rest.
func (r *rig) begin(head string, length int, token string) net.Conn {
	r.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.bare, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		head, token, length)
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	first := make([]byte, len("HTTP/1.1 100"))
	if _, err := io.ReadFull(c, first); err != nil {
		r.t.Fatalf("%s: %q, %v", head, first, err)
	}
	if string(first) != "HTTP/1.1 100" {
		r.t.Fatalf("%s is answered with %s before its body is read", head, first)
	}
	fmt.Fprint(c, "{")
	return c
}

// TestNobodyIsInTheWay: bodies that are said to come and do not are none in memory, neither of strangers nor of one who
// has a token.
func TestNobodyIsInTheWay(t *testing.T) {
	tokens, a, b := two(t)
	r := start(t, daemonOptions(), api.Options{Tokens: tokens, Limits: api.Limits{Requests: 80}})
	r.token = b
	r.teach(1)
	for range 30 {
		r.begin("POST /v1/session", 4000, "")
		r.begin("POST /v1/samples?label=a", 9_999_999, a)
	}
	r.want(http.StatusOK, "POST", "/v1/predictions", raw, pixels(0, 0))
	r.want(http.StatusNoContent, "POST", "/v1/session", jsonT, []byte(`{"token":"`+b+`"}`))
	r.refused(http.StatusRequestEntityTooLarge, "4,096 bytes", "POST", "/v1/session", jsonT, make([]byte, 5000))
	r.refused(http.StatusRequestEntityTooLarge, "4,096 bytes", "POST", "/v1/classes", jsonT, make([]byte, 5000))
	for range 10 { // half of the places
		r.begin("POST /v1/samples?label=a", 9_999_999, a)
	}
	r.token = a
	r.refused(http.StatusServiceUnavailable, "no place", "POST", "/v1/predictions", raw, pixels(0, 0))
	r.want(http.StatusOK, "GET", "/metrics", "", nil)
	r.want(http.StatusOK, "GET", "/livez", "", nil)
	r.want(http.StatusOK, "GET", "/readyz", "", nil)
	r.token = b
	r.want(http.StatusOK, "POST", "/v1/predictions", raw, pixels(0, 0))
}

// TestAQueueIsShared: one who fills the queue has a part of it as soon as another one sends something; alone, all of
// it.
func TestAQueueIsShared(t *testing.T) {
	o := daemonOptions()
	o.Batch, o.Age, o.Queue, o.Remember.Count = 100, -1, 100, 100 // it learns when a task ends
	tokens, a, b := two(t)
	r := start(t, o, api.Options{Tokens: tokens})
	bring := func(status int, token string, n int) {
		t.Helper()
		r.token = token
		r.want(status, "POST", "/v1/samples?label=cat", raw, make([]byte, n*3*size*size))
	}
	classes := 0
	learn := func() {
		t.Helper()
		r.want(http.StatusAccepted, "POST", "/v1/tasks", "", nil)
		classes++
		if err := r.daemon.AddClass(t.Context(), fmt.Sprint("class ", classes), ""); err != nil { // which is done after them
			t.Fatal(err)
		}
	}
	bring(http.StatusAccepted, a, 99)
	bring(http.StatusTooManyRequests, b, 2)
	learn()
	bring(http.StatusTooManyRequests, a, 51)
	bring(http.StatusAccepted, a, 49)
	bring(http.StatusTooManyRequests, a, 2)
	bring(http.StatusAccepted, b, 50)
	learn()
	bring(http.StatusAccepted, a, 50)
	learn()
	bring(http.StatusAccepted, b, 1)
	r.token = a
	var out struct{ Predictions []struct{ ID string } }
	if err := json.Unmarshal(r.want(http.StatusOK, "POST", "/v1/predictions?remember=true", raw,
		make([]byte, 51*3*size*size)), &out); err != nil {
		t.Fatal(err)
	}
	for i, p := range out.Predictions { // labels bring pictures too
		want := http.StatusAccepted
		if i == 50 {
			want = http.StatusTooManyRequests
		}
		r.want(want, "PUT", "/v1/samples/"+p.ID+"/label", jsonT, []byte(`{"label":"cat"}`))
	}
	bring(http.StatusAccepted, b, 49)
}

// TestMoreThanTheQueueHolds: what can never be taken is not to be sent again.
func TestMoreThanTheQueueHolds(t *testing.T) {
	o := daemonOptions()
	o.Queue = 20
	r := start(t, o, api.Options{})
	r.refused(http.StatusRequestEntityTooLarge, "21 pictures, and 20 may wait", "POST", "/v1/samples?label=a", raw,
		make([]byte, 21*3*size*size))
	r.want(http.StatusAccepted, "POST", "/v1/samples?label=a", raw, make([]byte, 20*3*size*size))
}

// TestALearnerOfFullBatchesIsNotWaitedFor: with a negative age nobody knows when the next picture comes.
func TestALearnerOfFullBatchesIsNotWaitedFor(t *testing.T) {
	o := daemonOptions()
	o.Age = -1
	r := start(t, o, api.Options{})
	r.refused(http.StatusBadRequest, "wait for ever", "POST", "/v1/samples?label=a&wait=learned", raw, pixels(0, 0))
	r.want(http.StatusAccepted, "POST", "/v1/samples?label=a&id=1", raw, pixels(0, 0))
	r.refused(http.StatusBadRequest, "wait for ever", "PUT", "/v1/samples/1/label?wait=learned", jsonT,
		[]byte(`{"label":"b"}`))
}
