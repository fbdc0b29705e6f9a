package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"ocl/data/embed"
	"ocl/internal/count"
	"ocl/internal/escape"
	"ocl/run/progress"
)

const (
	redrawEvery = 100 * time.Millisecond // on a terminal
	plainEvery  = 10 * time.Second       // elsewhere
	longestName = 24                     // characters of the name of a task
)

// screen shows how far work is. On a terminal it redraws some lines; elsewhere it prints them every ten seconds. No
// work waits for it longer than for a lock.
type screen struct {
	out    io.Writer // nil prints notes only
	notes  io.Writer
	live   bool // on a terminal
	width  func() int
	height func() int // of the terminal in lines, 0 if unknown
	now    func() time.Time
	lines  func() []string // what there is to show now; called with the lock
	last   func() []string // what stays on a terminal at the end; nil is nothing

	mu         sync.Mutex
	drawn      int // lines on the terminal that are redrawn
	quit, done chan struct{}
	once       sync.Once
}

// newScreen is a screen that shows lines once it is started. With quiet only notes are printed.
func newScreen(w io.Writer, quiet bool, lines func() []string) *screen {
	s := &screen{out: w, notes: w, live: isTerminal(w), now: time.Now, lines: lines, quit: make(chan struct{}),
		done: make(chan struct{})}
	s.width = func() int { return terminalWidth(w) }
	s.height = func() int { return terminalHeight(w) }
	if quiet {
		s.out, s.live = nil, false
	}
	return s
}

// start draws again and again until stop. It calls before, if that is not nil, without the lock before each drawing.
func (s *screen) start(before func()) {
	every := plainEvery
	if s.live {
		every = redrawEvery
	}
	go func() {
		defer close(s.done)
		clock := time.NewTicker(every)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				if before != nil {
					before()
				}
				s.locked(s.draw)
			case <-s.quit:
				return
			}
		}
	}()
}

// stop ends the display and takes the live lines away. It may be called again.
func (s *screen) stop() {
	s.once.Do(func() { close(s.quit) })
	<-s.done
	s.locked(func() {
		s.clear()
		if s.live && s.out != nil && s.last != nil {
			for _, line := range s.last() {
				s.say(s.out, line)
			}
		}
		s.out = nil
	})
}

func (s *screen) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *screen) clear() {
	if s.drawn > 0 {
		fmt.Fprintf(s.notes, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// say prints a line for good, above the live ones. Without w it prints nothing.
func (s *screen) say(w io.Writer, text string) {
	if w != nil {
		s.clear()
		fmt.Fprintln(w, escape.Line(text))
	}
}

// note prints lines whatever is shown otherwise.
func (s *screen) note(lines ...string) {
	s.locked(func() {
		for _, text := range lines {
			s.say(s.notes, text)
		}
	})
}

func (s *screen) draw() {
	if s.out == nil {
		return
	}
	lines := s.lines()
	if !s.live {
		for _, line := range lines {
			fmt.Fprintln(s.out, line)
		}
		return
	}
	if most := s.height() - 1; most > 0 && len(lines) > most { // what has left the top cannot be drawn again
		lines = lines[:most]
	}
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.drawn)
	}
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	fmt.Fprint(s.out, b.String()+"\x1b[J")
	s.drawn = len(lines)
}

// parts are the pieces of the line of a run at work. host is where, if it is not here.
func parts(r *progress.Run, host string) []part {
	p := r.Progress
	parts := []part{{r.Name, 0}}
	if p.Trial > 0 {
		parts = append(parts, part{r.Note(), 0})
	}
	if p.Task > 0 {
		parts = append(parts, part{r.Place(), 0}, part{taskName(r), 4})
	}
	parts = append(parts, part{r.StepText(), 2})
	switch {
	case r.Evaluating:
		parts = append(parts, part{"testing " + percent(r.EvalShare), 1})
	case p.Working > 0:
		parts = append(parts, part{"working " + percent(p.Working), 1})
	}
	if r.Loss.Known() {
		parts = append(parts, part{fmt.Sprintf("loss %.2f", r.Loss.Value), 4})
	}
	if r.Online.Known() {
		parts = append(parts, part{"running " + percent(r.Online.Value), 5})
	}
	parts = append(parts, part{seenText(r), 1})
	if r.Rate > 0 && p.Working == 0 { // the speed of steps says nothing about the speed of long work
		parts = append(parts, part{count.Number(int64(r.Rate+0.5)) + " img/s", 3})
	}
	return append(parts, part{host, 1})
}

func seenText(r *progress.Run) string {
	if r.Progress.Seen == nil {
		return ""
	}
	return "seen " + percent(*r.Progress.Seen)
}

// taskName is the name of the task under way, cut to what a line can take; "" where it has none.
func taskName(r *progress.Run) string {
	name := []rune(r.TaskName())
	if len(name) > longestName {
		name = append(name[:longestName-1], '…')
	}
	return string(name)
}

// leftText is the time until runs have ended; "" where it is not known.
func leftText(runs []*progress.Run) string {
	if len(runs) == 0 {
		return ""
	}
	left := progress.Left(runs...)
	if _, todo := progress.Todo(runs); left == 0 && todo > 0 {
		return ""
	}
	return duration(left) + " left"
}

// part is a piece of a line; the larger drop, the sooner it is left out.
type part struct {
	text string
	drop int
}

// fit joins the parts that fit into width.
func fit(parts []part, width int) string {
	for drop := 9; ; drop-- {
		var texts []string
		for _, s := range parts {
			if s.text != "" && s.drop <= drop {
				texts = append(texts, s.text)
			}
		}
		line := strings.Join(texts, "  ")
		if columns(line) <= width {
			return line
		}
		if drop == 0 {
			return string([]rune(line)[:max(width, 0)])
		}
	}
}

// opening shows how far long work is outside of runs, such as decoding images into a cache, or a download. On a
// terminal it redraws one line; elsewhere it prints a line every ten seconds. Work of less than a second shows nothing.
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

// newOpening shows progress on w, or nowhere.
func newOpening(w io.Writer, quiet bool) *opening {
	if quiet {
		w = io.Discard
	}
	return &opening{out: w, live: isTerminal(w), words: count.Number[int64], now: time.Now}
}

// work is the progress function of data.Spec and experiment.Options.
func (o *opening) work(what string, done, total int) { o.tell(what, int64(done), int64(total)) }

// tell is called with the progress of each piece of work. A total of 0 is unknown. The clock starts again when another
// piece begins, or the same one from its start.
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

// embedding is called before embeddings are made, and says how many, how long it will take and how much room.
func (o *opening) embedding(w embed.Work) error {
	o.end()
	_, err := fmt.Fprintf(o.out, "%s through %s: about %s on %s, %s in %s\n", count.Of(w.Images, "image"),
		escape.Line(w.By), duration(max(w.Time(), time.Second)),
		count.Of(w.Cores, "core"), count.Bytes(w.Bytes), escape.Line(w.Folder))
	return err
}

// end ends the line on the terminal, so that a message does not stand behind it.
func (o *opening) end() {
	if o.open {
		fmt.Fprintln(o.out)
	}
	o.open = false
}
