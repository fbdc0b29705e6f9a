package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"ocl/serve/client"
)

// served is a client of a server that answers each request by its number, from 0.
func served(t *testing.T, o client.Options, answer func(n int, to http.ResponseWriter,
	r *http.Request)) (*client.Client, *[]string) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		answer(len(asked)-1, to, r)
	}))
	t.Cleanup(server.Close)
	o.Wait = time.Millisecond
	c, err := client.New(server.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

func refuse(to http.ResponseWriter, status int) {
	to.Header().Set("Content-Type", "application/problem+json")
	to.WriteHeader(status)
	fmt.Fprintf(to, `{"title":"x","status":%d,"detail":"Because."}`, status)
}

// TestWhatWasNotAnsweredIsSentAgain: after a lost answer, a full queue and an end of the daemon, a sample is sent again
// with its id.
func TestWhatWasNotAnsweredIsSentAgain(t *testing.T) {
	c, asked := served(t, client.Options{}, func(n int, to http.ResponseWriter, r *http.Request) {
		switch n {
		case 0:
			panic(http.ErrAbortHandler) // the connection is lost
		case 1:
			refuse(to, http.StatusTooManyRequests)
		case 2:
			refuse(to, http.StatusServiceUnavailable)
		case 3:
			to.WriteHeader(http.StatusBadGateway) // a proxy says nothing
		default:
			to.WriteHeader(http.StatusAccepted)
			fmt.Fprintf(to, `{"samples":[{"id":%q,"label":"a","state":"waiting"}]}`, r.URL.Query().Get("id"))
		}
	})
	s, err := c.Learn(t.Context(), []byte("picture"), "a", client.Learn{})
	if err != nil || s.ID == "" || s.State != "waiting" {
		t.Fatalf("%+v, %v", s, err)
	}
	if len(*asked) != 5 || len(slices.Compact(slices.Clone(*asked))) != 1 || !strings.Contains((*asked)[0], "id="+s.ID) {
		t.Errorf("it asked %q, want five times the same", *asked)
	}
}

// TestRefusalsAreNotSentAgain: what another try cannot change is an error at once, with the daemon's words.
func TestRefusalsAreNotSentAgain(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusConflict,
		http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		c, asked := served(t, client.Options{}, func(_ int, to http.ResponseWriter, _ *http.Request) { refuse(to, status) })
		_, err := c.Predict(t.Context(), nil, client.Predict{})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != status || refused.Detail != "Because." || len(*asked) != 1 {
			t.Errorf("%d: %v after %d requests", status, err, len(*asked))
		}
	}
	c, asked := served(t, client.Options{}, func(_ int, to http.ResponseWriter,
		_ *http.Request) {
		refuse(to, http.StatusServiceUnavailable)
	})
	if err := c.Task(t.Context()); err == nil || len(*asked) != 1 {
		t.Errorf("the end of a task is sent %d times: %v", len(*asked), err)
	}
}

// TestTriesEnd: after so many tries, and when the context ends.
func TestTriesEnd(t *testing.T) {
	full := func(_ int, to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Retry-After", "3000")
		refuse(to, http.StatusServiceUnavailable)
	}
	c, asked := served(t, client.Options{Tries: 1}, full)
	if err := c.Class(t.Context(), "a"); err == nil || len(*asked) != 1 {
		t.Errorf("%v after %d requests", err, len(*asked))
	}
	c, _ = served(t, client.Options{}, full)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.Class(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want that of the context", err)
	}
}

// TestStrangeAnswers: a server that is no daemon is an error, and no panic.
func TestStrangeAnswers(t *testing.T) {
	for _, text := range []string{"", "{}", "<html>", "[]", `{"predictions":[]}`} {
		c, _ := served(t, client.Options{Tries: 1}, func(_ int, to http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprint(to, text)
		})
		if _, err := c.Predict(t.Context(), nil, client.Predict{}); err == nil {
			t.Errorf("%q is taken as a prediction", text)
		}
		if _, _, err := c.Model(t.Context(), "ocl", "", nil); err == nil {
			t.Errorf("%q is taken as a model", text)
		}
	}
}

// TestAddresses: a token is not sent where others can read it.
func TestAddresses(t *testing.T) {
	for address, token := range map[string]string{"": "", "localhost:8100": "", "ftp://x": "", "http://": "",
		"http://a:b@x": "", "http://x?y": "", "http://cats.example": "t"} {
		if _, err := client.New(address, client.Options{Token: token}); err == nil {
			t.Errorf("%q with the token %q is taken", address, token)
		}
	}
	for _, address := range []string{"http://localhost:8100", "http://127.0.0.1:1/", "http://[::1]:8100",
		"https://cats.example"} {
		if _, err := client.New(address, client.Options{Token: "t"}); err != nil {
			t.Error(err)
		}
	}
}

// TestASampleIsAskedFor: by its id, also where that has signs of paths; one that is not known is an error with its
// status.
func TestASampleIsAskedFor(t *testing.T) {
	c, asked := served(t, client.Options{}, func(n int, to http.ResponseWriter, _ *http.Request) {
		if n > 0 {
			refuse(to, http.StatusNotFound)
			return
		}
		fmt.Fprint(to, `{"id":"a/b","label":"cat","state":"learned","time":"2026-11-29T15:00:00Z"}`)
	})
	if s, err := c.Sample(t.Context(), "a/b"); err != nil || s != (client.Sample{ID: "a/b", Label: "cat", State: "learned"}) {
		t.Errorf("%+v %v", s, err)
	}
	var refused *client.Error
	if _, err := c.Sample(t.Context(), "x"); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Error(err)
	}
	if want := []string{"GET /v1/samples/a%2Fb", "GET /v1/samples/x"}; !slices.Equal(*asked, want) {
		t.Errorf("asked %q, want %q", *asked, want)
	}
}

// TestClassesAreChangedOnce: a change of a class is sent once, with its name in the path.
func TestClassesAreChangedOnce(t *testing.T) {
	c, asked := served(t, client.Options{}, func(n int, to http.ResponseWriter, _ *http.Request) {
		if n == 4 {
			refuse(to, http.StatusServiceUnavailable)
		}
	})
	err := errors.Join(c.Rename(t.Context(), "a/b", "c"), c.Merge(t.Context(), "c", "d"), c.Remove(t.Context(), "e f"),
		c.Split(t.Context(), "h", "i", "s-1"))
	if again := c.Remove(t.Context(), "g"); err != nil || again == nil {
		t.Errorf("%v, and of a refusal %v", err, again)
	}
	want := []string{"PATCH /v1/classes/a%2Fb", "PATCH /v1/classes/c", "DELETE /v1/classes/e%20f", "POST /v1/classes/h/split",
		"DELETE /v1/classes/g"}
	if !slices.Equal(*asked, want) {
		t.Errorf("asked %q", *asked)
	}
}
