package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"ocl/internal/count"
	"ocl/live"
	"ocl/run/train"
	"ocl/serve/daemon"
)

// Problem is why a request was refused, as RFC 9457 has it: an answer of type application/problem+json.
type Problem struct {
	Title  string `json:"title"`  // the words of the status
	Status int    `json:"status"` // HTTP's
	Detail string `json:"detail"` // what is wrong, and how to mend it
	// Nearest is the known class with a name like the unknown one; "" where none is like it.
	Nearest string `json:"nearest,omitempty"`
	// Message is Detail where the Open Inference Protocol looks for it, on its paths.
	Message string `json:"error,omitempty"`

	after time.Duration // when to try again; 0 is never
	close bool          // the connection cannot be used any longer
	allow string        // the methods that the path has, for 405
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// problem is a refusal with a status of its own.
func problem(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, Detail: fmt.Sprintf(format, args...)}
}

// later says when to send a request again.
func (p *Problem) later(after time.Duration) *Problem {
	p.after = after
	return p
}

// bad is a request that cannot be read.
func bad(format string, args ...any) *Problem {
	return problem(http.StatusBadRequest, format, args...)
}

// problemOf gives an error its status.
func problemOf(err error) *Problem {
	var (
		own     *Problem
		large   *http.MaxBytesError
		full    *daemon.FullError
		unknown *daemon.UnknownClassError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &large):
		return &Problem{Status: http.StatusRequestEntityTooLarge, close: true,
			Detail: fmt.Sprintf("The body has more than %s, which is the most here. Send less at once.",
				count.Of(large.Limit, "byte"))}
	case errors.As(err, &full):
		return problem(http.StatusTooManyRequests,
			"So many pictures wait to be learned that there is no room for these. Send them again after the time of Retry-After.").
			later(full.After)
	case errors.As(err, &unknown):
		p := problem(http.StatusUnprocessableEntity, "There is no class %.80q. %s", unknown.Name,
			"Make it by POST /v1/classes first, or start the daemon with --new-classes allow.")
		if p.Nearest = unknown.Nearest; p.Nearest != "" {
			p.Detail = fmt.Sprintf("There is no class %.80q. Did you mean %.80q? POST /v1/classes makes a class.", unknown.Name,
				unknown.Nearest)
		}
		return p
	}
	for _, such := range []struct {
		is     error
		status int
		after  time.Duration
	}{
		{daemon.ErrNoRoom, http.StatusInsufficientStorage, 10 * time.Second},
		{daemon.ErrConflict, http.StatusConflict, 0},
		{daemon.ErrSameName, http.StatusConflict, 0},
		{daemon.ErrSameClass, http.StatusConflict, 0},
		{daemon.ErrOneClass, http.StatusUnprocessableEntity, 0},
		{daemon.ErrLastClass, http.StatusConflict, 0},
		{daemon.ErrOtherClass, http.StatusConflict, 0},
		{daemon.ErrNoSamples, http.StatusUnprocessableEntity, 0},
		{daemon.ErrNotFound, http.StatusNotFound, 0},
		{daemon.ErrNobody, http.StatusNotFound, 0},
		{daemon.ErrPutAside, http.StatusConflict, 0},
		{daemon.ErrUnerased, http.StatusInsufficientStorage, 10 * time.Second},
		{daemon.ErrNoVersion, http.StatusNotFound, 0},
		{daemon.ErrSpoilt, http.StatusNotFound, 0},
		{daemon.ErrExpired, http.StatusGone, 0},
		{daemon.ErrNoPicture, http.StatusGone, 0},
		{daemon.ErrLabelled, http.StatusConflict, 0},
		{daemon.ErrForgotten, http.StatusGone, 0},
		{daemon.ErrErased, http.StatusGone, 0},
		{daemon.ErrDraining, http.StatusServiceUnavailable, 10 * time.Second},
		{daemon.ErrStopped, http.StatusServiceUnavailable, 10 * time.Second},
		{daemon.ErrBroken, http.StatusServiceUnavailable, 10 * time.Second},
		{daemon.ErrFault, http.StatusServiceUnavailable, 10 * time.Second},
		{live.ErrMethod, http.StatusUnprocessableEntity, 0},
		{live.ErrLabel, http.StatusUnprocessableEntity, 0},
		{live.ErrBound, http.StatusUnprocessableEntity, 0},
		{live.ErrNothing, http.StatusConflict, 0},
		{live.ErrClosed, http.StatusServiceUnavailable, 10 * time.Second},
	} {
		if errors.Is(err, such.is) {
			return problem(such.status, "%s", sentence(err)).later(such.after)
		}
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Problem{Status: http.StatusRequestTimeout,
			Detail: "The body did not come in time. Send it again, or send less at once.", close: true}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Problem{Status: http.StatusServiceUnavailable,
			Detail: "The request ended before its answer was ready. Send it again.", close: true, after: time.Second}
	}
	return problem(http.StatusInternalServerError, "%s", sentence(err))
}

// sentence is an error as a sentence that begins with a capital letter and ends with a full stop.
func sentence(err error) string {
	text := strings.TrimSpace(strings.ToValidUTF8(err.Error(), "�"))
	for _, package_ := range []string{"daemon: ", "live: ", "journal: ", "data: ", "labelstudio: "} {
		text = strings.TrimPrefix(text, package_)
	}
	if text == "" {
		return "The request failed. The daemon's log may say why."
	}
	if c := text[0]; c >= 'a' && c <= 'z' {
		text = string(c-'a'+'A') + text[1:]
	}
	if !strings.ContainsRune(".?!", rune(text[len(text)-1])) {
		text += "."
	}
	return text
}

// refuse answers with the problem that an error is.
func (s *server) refuse(to http.ResponseWriter, r *http.Request, err error) {
	p := *problemOf(err)
	p.Title = http.StatusText(p.Status)
	if strings.HasPrefix(r.URL.Path, "/v2") {
		p.Message = p.Detail
	}
	h := to.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "ETag", "Last-Modified",
		"Inference-Header-Content-Length"} {
		h.Del(name)
	}
	if p.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(min(3600, max(1, math.Ceil(p.after.Seconds()))))))
	}
	if p.close {
		h.Set("Connection", "close")
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="ocl"`)
	}
	// The daemon logs when its disk is full, and how many requests were refused meanwhile.
	if p.Status >= http.StatusInternalServerError && p.Status != http.StatusServiceUnavailable &&
		p.Status != http.StatusInsufficientStorage {
		log := s.log
		if panicked := new(train.PanicError); errors.As(err, &panicked) {
			log = log.With("stack", string(panicked.Stack))
		}
		log.WarnContext(r.Context(), "a request failed", "method", r.Method, "path", r.URL.Path, "status", p.Status, "error",
			p.Detail)
	}
	write(to, "application/problem+json", p.Status, p)
}

// does what a request asks for. It returns the status and the JSON of the answer, or no JSON where it has answered.
type does func(to http.ResponseWriter, r *http.Request) (status int, v any, err error)

// answers is the handler that does something. Its errors are problems.
func (s *server) answers(do does) http.HandlerFunc {
	return func(to http.ResponseWriter, r *http.Request) {
		if status, v, err := do(to, r); err != nil {
			s.refuse(to, r, err)
		} else if v != nil {
			answer(to, status, v)
		}
	}
}

// answer writes JSON.
func answer(to http.ResponseWriter, status int, v any) { write(to, "application/json", status, v) }

func write(to http.ResponseWriter, kind string, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // a number that JSON does not have
		kind, status = "application/problem+json", http.StatusInternalServerError
		text = []byte(`{"title":"Internal Server Error","status":500,"detail":"The answer has a number that JSON cannot hold. Report this fault."}`)
	}
	to.Header().Set("Content-Type", kind)
	to.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	to.WriteHeader(status)
	_, _ = to.Write(append(text, '\n')) // who asked may have gone
}
