package api

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/limit"
	"ocl/live"
	"ocl/predict"
	"ocl/serve/daemon"
)

// prediction is the answer about one picture.
type prediction struct {
	ID         string         `json:"id"`
	Remembered bool           `json:"remembered"` // kept for its label
	Guesses    []daemon.Guess `json:"guesses"`    // the best first
	// Of a model that is calibrated: the share of pictures of known classes that look as strange, in (0,1]; and whether
	// that is so small that the picture looks like none of the classes.
	Familiarity *float64 `json:"familiarity,omitempty"`
	Unknown     *bool    `json:"unknown,omitempty"`
	// Set is how many of the first guesses must be named so that the right one is among them, where --coverage says how
	// often.
	Set int `json:"set,omitempty"`
}

// predictions is the answer to a request of them.
type predictions struct {
	Version     int64           `json:"version"` // of the model that answered: the steps that it has learned
	Measure     predict.Measure `json:"measure"`
	Predictions []prediction    `json:"predictions"`
}

// newID is an id that nobody guesses.
func newID() string {
	return strings.ToLower(rand.Text())
}

// defaultGuesses is k where a request does not say it.
const defaultGuesses = 5

// number reads a number of the query.
func number(r *http.Request, name string, otherwise, least, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, bad("%s cannot be %.40q. Use a whole number from %d to %d.", name, text, least, most)
	}
	return n, nil
}

// truth reads true or false of the query.
func truth(r *http.Request, name string) (bool, error) {
	switch text := r.URL.Query().Get(name); text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, bad("%s cannot be %.40q. Use true or false.", name, text)
	}
}

// query refuses parameters that nobody reads: a slip would change what is meant.
func query(r *http.Request, names ...string) error {
next:
	for name, values := range r.URL.Query() {
		for _, known := range names {
			if name == known {
				if len(values) > 1 {
					return bad("%s is given %d times. Give it once.", name, len(values))
				}
				continue next
			}
		}
		return bad("There is no parameter %.60q here. Use %s.", name, strings.Join(names, ", "))
	}
	return nil
}

// predict answers POST /v1/predictions.
func (s *server) predict(to http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := query(r, "k", "remember"); err != nil {
		return 0, nil, err
	}
	k, err := number(r, "k", defaultGuesses, 1, limit.ServeGuesses)
	if err != nil {
		return 0, nil, err
	}
	remember, err := truth(r, "remember")
	if err != nil {
		return 0, nil, err
	}
	if remember {
		if s.daemon == nil {
			return 0, nil, problem(http.StatusMisdirectedRequest,
				"This is a replica, which remembers nothing. Send this to %.200s, which learns.", s.o.Upstream)
		}
		if !s.may(r, RoleLabel) {
			return 0, nil, problem(http.StatusForbidden,
				"remember=true needs a token that may label. Use another token, or leave it out.")
		}
	}
	body, memory, err := s.readBody(to, r, s.o.Limits.Body)
	if err != nil {
		return 0, nil, err
	}
	defer memory.back()
	list, err := s.readPictures(r, body, memory)
	if err != nil {
		return 0, nil, err
	}
	for i, p := range list {
		if p.label != "" {
			return 0, nil, bad("%s has a label. Send pictures with labels to /v1/samples.", where(i, len(list)))
		}
		if err := checkID(p.id); err != nil {
			return 0, nil, err
		}
	}
	pixels, err := s.pixels(r, list, memory)
	if err != nil {
		return 0, nil, err
	}
	a, err := s.ask(r, pixels, k)
	if remember && errors.Is(err, live.ErrNothing) { // labels come before the first lesson
		a, err = live.Answer{Guesses: make([][]predict.Guess, len(pixels))}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	out := &predictions{Version: a.Version, Measure: s.model.Measure(), Predictions: make([]prediction, len(list))}
	for i, p := range list {
		out.Predictions[i] = prediction{ID: p.id, Remembered: remember, Guesses: daemon.Guesses(a.Guesses[i], out.Measure)}
		if p.id == "" {
			out.Predictions[i].ID = newID()
		}
		if a.Verdicts != nil {
			v, one := &a.Verdicts[i], &out.Predictions[i]
			one.Familiarity, one.Unknown, one.Set = &v.Familiarity, &v.Unknown, v.Set
		}
	}
	if !remember {
		return http.StatusOK, out, nil
	}
	kept := make([]daemon.Remembered, len(list))
	for i, p := range out.Predictions {
		kept[i] = daemon.Remembered{ID: p.ID, Pixels: pixels[i], File: list[i].file, Guesses: a.Guesses[i],
			Unknown: a.Verdicts != nil && a.Verdicts[i].Unknown, Version: a.Version}
	}
	if _, err := s.daemon.Remember(r.Context(), kept, who(r)); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, out, nil
}

// ask predicts pictures, part by part: a request of many does not keep another one waiting.
func (s *server) ask(r *http.Request, pixels [][]byte, k int) (all live.Answer, err error) {
	var verdicts []predict.Verdict
	for part := range slices.Chunk(pixels, live.MaxPictures) {
		if err := s.asking.take(r.Context(), who(r), len(part)); err != nil {
			return all, err
		}
		a, err := s.model.Predict(r.Context(), part, k)
		s.asking.back(len(part))
		if err != nil {
			return all, err
		}
		if all.Version == 0 || a.Version < all.Version { // another one may be published between two parts
			all.Version = a.Version
		}
		all.Guesses = append(all.Guesses, a.Guesses...)
		verdicts = append(verdicts, a.Verdicts...)
	}
	if len(verdicts) == len(all.Guesses) { // or the model was calibrated between two parts
		all.Verdicts = verdicts
	}
	return all, nil
}
