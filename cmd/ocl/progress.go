package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"ocl"
	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/internal/count"
)

// progress shows how far the runs of an experiment are. On a terminal it redraws one line; elsewhere it prints a line
// for each run every ten seconds and at the end of each task. No run waits for it longer than for a lock.
type progress struct {
	out   io.Writer // nil prints notes only
	notes io.Writer
	live  bool
	width func() int
	now   func() time.Time

	mu     sync.Mutex
	runs   []*runState // in the order in which they began
	begun  time.Time   // of the first run
	total  int         // runs of the experiment
	shown  bool        // a live line is on the screen
	ticker *ticker
}

// newProgress starts watching; stop ends it. With quiet only notes are printed.
func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{out: w, notes: w, live: isTerminal(w), now: time.Now}
	p.width = func() int { return terminalWidth(w) }
	if quiet {
		p.out, p.live = nil, false
	}
	p.ticker = startTicker(p.live, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.draw()
	})
	return p
}

// stop ends the display and takes the live line away. It may be called again.
func (p *progress) stop() {
	p.ticker.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.out = nil
}

// say prints a line for good, above the live line.
func (p *progress) say(w io.Writer, text string) {
	if w == nil {
		return
	}
	p.clear()
	fmt.Fprintln(w, text)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.notes, "\r\x1b[K")
		p.shown = false
	}
}

// draw shows the state: redraws the live line, or prints a line for each active run.
func (p *progress) draw() {
	if p.out == nil {
		return
	}
	var active []*runState
	for _, r := range p.runs {
		if !r.ended {
			active = append(active, r)
		}
	}
	switch {
	case len(active) == 0:
	case p.live:
		fmt.Fprintf(p.out, "\r%s\x1b[K", p.line(active, p.width()-1))
		p.shown = true
	default:
		for _, r := range active {
			fmt.Fprintln(p.out, p.line([]*runState{r}, plainWidth))
		}
	}
}

// line is the state of the active runs in at most width columns; what matters least is left out first.
func (p *progress) line(active []*runState, width int) string {
	left := ""
	if d, ok := p.left(); ok {
		left = duration(d) + " left"
	}
	var parts []part
	if len(active) == 1 {
		if p.total > 1 {
			parts = append(parts, part{fmt.Sprintf("%d/%d", active[0].number, p.total), 2})
		}
		parts = append(parts, active[0].parts(rateText(active))...)
	} else {
		parts = append(parts, part{fmt.Sprintf("%d of %d done", p.ended(), p.total), 2})
		for _, r := range active {
			parts = append(parts, part{r.short(), 0})
		}
		parts = append(parts, part{rateText(active), 3})
	}
	return fit(append(parts, part{left, 0}), width)
}

// part is a piece of the line; the larger drop, the sooner it is left out.
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

func (p *progress) ended() int {
	n := 0
	for _, r := range p.runs {
		if r.ended {
			n++
		}
	}
	return n
}

// left estimates the time until the last run ends: the work left, divided by the speed so far. Work is counted in
// floating-point operations of steps and predictions. Runs that have not begun are taken to be like the others.
func (p *progress) left() (time.Duration, bool) {
	todo, done, known := 0.0, 0.0, 0
	for _, r := range p.runs {
		total := r.work()
		if r.total > 0 {
			known++
		}
		done += total - r.before
		if !r.ended {
			todo += r.total - total
		}
	}
	if known == 0 || done <= 0 {
		return 0, false
	}
	all := 0.0
	for _, r := range p.runs {
		all += r.total
	}
	todo += all / float64(known) * float64(p.total-len(p.runs))
	spent := p.now().Sub(p.begun).Seconds()
	if spent < 1 {
		return 0, false
	}
	return time.Duration(todo / done * spent * float64(time.Second)), true
}

func rateText(active []*runState) string {
	rate := 0.0
	for _, r := range active {
		if r.working == 0 { // the steps before long work say nothing of it
			rate += r.rate
		}
	}
	if rate == 0 {
		return ""
	}
	return count.Number(int64(rate+0.5)) + " img/s"
}

// events are the observers of one run.
func (p *progress) events(job experiment.Job) experiment.Events {
	return p.named(fmt.Sprintf("%s s%d", job.Name(), job.Seed), job.Index, job.Total)
}

// named are the observers of a run called name, the one with an index among so many.
func (p *progress) named(name string, index, total int) experiment.Events {
	r := &runState{name: name, number: index + 1}
	locked := func(f func()) {
		p.mu.Lock()
		defer p.mu.Unlock()
		f()
	}
	return experiment.Events{
		Begin: func(_ experiment.Job, info ocl.StreamInfo, plan experiment.Plan) {
			locked(func() {
				if len(p.runs) == 0 {
					p.begun = p.now()
				}
				p.total = max(p.total, total)
				p.runs = append(p.runs, r)
				r.begin(p.now(), info, plan)
				if plan.StepsDone > 0 && !plan.Kept && !plan.Evaluating {
					p.say(p.out, r.continues())
				}
			})
		},
		TaskBegin: func(t ocl.TaskInfo) {
			locked(func() {
				p.taskEnd(r)
				first := r.task == 0
				r.taskBegin(t)
				if first && r.plan.Evaluating { // the task is known now
					p.say(p.out, r.continues()+", with the evaluation after "+r.place())
				}
			})
		},
		StepEnd: func(step int, s ocl.StepStats) { locked(func() { r.stepEnd(p.now(), step, s) }) },
		Working: func(done, total int) {
			locked(func() { r.workedOn(float64(done) / float64(total)) })
		},
		Tested: func(done, total int) { locked(func() { r.testing, r.toTest = done, total }) },
		Evaluated: func(e experiment.Evaluated) {
			locked(func() {
				r.evaluated(e)
				if !e.MidTask {
					p.taskEnd(r)
				}
			})
		},
		End: func(_ experiment.Job, res *result.Result, err error) {
			locked(func() {
				if !r.ended && !r.plan.Kept && !r.began.IsZero() {
					p.say(p.out, r.last(p.now(), res, err))
				}
				r.ended = true
			})
		},
		Note: func(text string) {
			locked(func() {
				if !r.plan.Kept || p.out != nil { // that a run is kept is nothing unexpected
					p.say(p.notes, r.name+"  "+text)
				}
			})
		},
	}
}

// taskEnd prints a plain line once a task, when its evaluation is over or the next task begins.
func (p *progress) taskEnd(r *runState) {
	if !r.open {
		return
	}
	r.open = false
	if p.out != nil && !p.live {
		place := r.place()
		if name := r.taskName(); name != "" {
			place += " (" + name + ")"
		}
		fmt.Fprintln(p.out, fit([]part{
			{r.name, 0}, {place + " learned", 0}, {r.seenText(), 0},
			{"after " + duration(p.now().Sub(r.began)), 0},
		}, plainWidth))
	}
}

// note prints a line whatever is shown otherwise.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say(p.notes, text)
}
