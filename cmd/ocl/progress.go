package main

import (
	"fmt"
	"io"
	"time"

	"ocl"
	"ocl/experiment"
	"ocl/experiment/result"
	"ocl/internal/count"
)

// progress shows how far the runs of an experiment are: on a terminal in one line, elsewhere in a line for each run, and at the
// end of each task.
type progress struct {
	*screen
	runs  []*runState // in the order in which they began
	begun time.Time   // of the first run
	total int         // runs of the experiment
}

// newProgress starts watching; stop ends it. With quiet only notes are printed.
func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{}
	p.screen = newScreen(w, quiet, p.shown)
	p.start(nil)
	return p
}

// shown is one line about all active runs, or where there is no terminal a line for each.
func (p *progress) shown() (lines []string) {
	var active []*runState
	for _, r := range p.runs {
		if !r.ended {
			active = append(active, r)
		}
	}
	switch {
	case len(active) == 0:
	case p.live:
		lines = []string{p.line(active, p.width()-1)}
	default:
		for _, r := range active {
			lines = append(lines, p.line([]*runState{r}, plainWidth))
		}
	}
	return lines
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
	todo, done, all, known := 0.0, 0.0, 0.0, 0
	for _, r := range p.runs {
		total := r.work()
		if r.total > 0 {
			known++
		}
		all += r.total
		done += total - r.before
		if !r.ended {
			todo += r.total - total
		}
	}
	spent := p.now().Sub(p.begun).Seconds()
	if known == 0 || done <= 0 || spent < 1 {
		return 0, false
	}
	todo += all / float64(known) * float64(p.total-len(p.runs))
	return seconds(todo / done * spent), true
}

func rateText(active []*runState) string {
	rate := 0.0
	for _, r := range active {
		if r.working == 0 { // the speed of steps says nothing about the speed of long work
			rate += r.rate
		}
	}
	if rate == 0 {
		return ""
	}
	return count.Number(int64(rate+0.5)) + " img/s"
}

// job are the observers of one run.
func (p *progress) job(job experiment.Job) experiment.Events {
	return p.named(fmt.Sprintf("%s s%d", job.Name(), job.Seed), job.Index, job.Total)
}

// named are the observers of a run called name, the one with an index among so many.
func (p *progress) named(name string, index, total int) experiment.Events {
	r := &runState{name: name, number: index + 1}
	ev := p.events(r)
	ev.Begin = func(_ experiment.Job, info ocl.StreamInfo, plan experiment.Plan) {
		p.locked(func() {
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
	}
	ev.TaskBegin = func(t ocl.TaskInfo) {
		p.locked(func() {
			p.taskEnd(r)
			first := r.task == 0
			r.taskBegin(t)
			if first && r.plan.Evaluating { // the task is known now
				p.say(p.out, r.continues()+", with the evaluation after "+r.place())
			}
		})
	}
	ev.Evaluated = func(e experiment.Evaluated) {
		p.locked(func() {
			r.evaluated(e)
			if !e.MidTask {
				p.taskEnd(r)
			}
		})
	}
	ev.End = func(_ experiment.Job, res *result.Result, err error) {
		p.locked(func() {
			if !r.ended && !r.plan.Kept && !r.began.IsZero() {
				p.say(p.out, r.last(p.now(), res, err))
			}
			r.ended = true
		})
	}
	ev.Note = func(text string) {
		p.locked(func() {
			if !r.plan.Kept || p.out != nil { // with --quiet, a run that was finished before needs no note
				p.say(p.notes, r.name+"  "+text)
			}
		})
	}
	return ev
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
		p.say(p.out, fit([]part{
			{r.name, 0}, {place + " learned", 0}, {r.seenText(), 0},
			{"after " + duration(p.now().Sub(r.began)), 0},
		}, plainWidth))
	}
}
