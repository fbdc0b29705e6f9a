package main

import (
	"fmt"
	"io"
	"time"

	"ocl/internal/count"
)

// opening shows how far long work is outside of runs, such as decoding images into a cache, or a download. On a terminal it
// redraws one line; elsewhere it prints a line every ten seconds. Work of less than a second shows nothing.
type opening struct {
	out   io.Writer
	live  bool
	words func(n int64) string // an amount of work
	now   func() time.Time

	what  string // the work under way
	begun time.Time
	from  int64 // done when it began
	last  int64
	next  time.Time
	shown bool // since it began
	ended bool // and shown
	open  bool // the line on the terminal has no end yet
}

func newOpening(w io.Writer) *opening {
	return &opening{out: w, live: isTerminal(w), words: count.Number[int64], now: time.Now}
}

// work is what data.Spec and experiment.Options call.
func (o *opening) work(what string, done, total int) { o.tell(what, int64(done), int64(total)) }

// tell is called with the progress of each piece of work. A total of 0 is unknown. The clock starts again when another piece
// begins, or the same one from its start.
func (o *opening) tell(what string, done, total int64) {
	now := o.now()
	if what != o.what || done < o.last {
		o.end()
		o.what, o.begun, o.from, o.next = what, now, done, now.Add(time.Second)
		o.shown, o.ended = false, false
	}
	o.last = done
	ended := total > 0 && done >= total
	if o.ended || now.Before(o.next) && !(ended && o.shown) {
		return
	}
	text := what + ": " + o.words(done)
	if total > 0 {
		text += " of " + o.words(total)
	}
	if done > o.from && done < total {
		left := time.Duration(float64(now.Sub(o.begun)) / float64(done-o.from) * float64(total-done))
		text += ", " + duration(left) + " left"
	}
	o.shown, o.ended, o.next = true, ended, now.Add(plainEvery)
	if !o.live {
		fmt.Fprintln(o.out, text)
		return
	}
	o.open, o.next = true, now.Add(redrawEvery)
	fmt.Fprintf(o.out, "\r%s\x1b[K", text)
	if ended {
		o.end()
	}
}

// end ends the line on the terminal, so that a message does not stand behind it.
func (o *opening) end() {
	if o.open {
		fmt.Fprintln(o.out)
	}
	o.open = false
}
