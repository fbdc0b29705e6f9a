package daemon

import (
	"errors"
	"testing"

	"ocl/live"
	"ocl/predict"
)

// TestAFaultIsOfOneRequest: of requests that are answered together, one that the network cannot answer fails alone.
func TestAFaultIsOfOneRequest(t *testing.T) {
	fault := errors.New("panic: no such row")
	answer := func(_ int, pixels [][]byte) (a live.Answer, err error) {
		for _, p := range pixels {
			if p[0] == 13 {
				return live.Answer{}, fault
			}
			a.Guesses = append(a.Guesses, []predict.Guess{{Class: int(p[0])}})
		}
		return a, nil
	}
	var group asks
	for _, p := range []byte{1, 13, 2} {
		group = append(group, &ask{[][]byte{{p}, {p}}, 1, make(chan outcome, 1)})
	}
	group.reply(answer)
	for _, a := range group {
		r, p := <-a.answer, int(a.pixels[0][0])
		if p == 13 && !errors.Is(r.err, fault) || p != 13 &&
			(r.err != nil || len(r.Guesses) != 2 || r.Guesses[0][0].Class != p) {
			t.Errorf("%d: %+v", p, r)
		}
	}
}
