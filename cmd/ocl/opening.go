package main

import (
	"fmt"
	"io"
	"time"
)

// opening shows how far long work is that comes before the first run, such as decoding images into a cache. On a
// terminal it redraws one line; elsewhere it prints a line every ten seconds. Work of less than a second shows nothing.
type opening struct {
	out   io.Writer
	live  bool
	begun time.Time
	next  time.Time
	shown bool
}

func newOpening(w io.Writer) *opening { return &opening{out: w, live: isTerminal(w)} }

// work is what data.Spec and experiment.Options call.
func (o *opening) work(what string, done, total int) {
	now := time.Now()
	if o.begun.IsZero() {
		o.begun, o.next = now, now.Add(time.Second)
	}
	if now.Before(o.next) && (done < total || !o.shown) {
		return
	}
	text := fmt.Sprintf("%s: %s of %s", what, thousands(int64(done)), thousands(int64(total)))
	if done > 0 && done < total {
		left := time.Duration(float64(now.Sub(o.begun)) / float64(done) * float64(total-done))
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	o.shown, o.next = true, now.Add(plainEvery)
	if !o.live {
		fmt.Fprintln(o.out, text)
		return
	}
	o.next = now.Add(redrawEvery)
	fmt.Fprintf(o.out, "\r%s\x1b[K", text)
	if done >= total {
		fmt.Fprintln(o.out)
	}
}
