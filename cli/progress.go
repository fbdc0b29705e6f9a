package cli

import (
	"fmt"
	"io"
	"time"

	"ocl"
	"ocl/run/experiment"
	"ocl/run/result"
)

// progress shows how far the runs of an experiment are, with a line for each run at work, and where there is no
// terminal also at the end of each task.
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
	p.last = func() []string { return p.curves(p.width() - 1) }
	p.start(nil)
	return p
}

// shown is a line for each active run. A terminal has a line above them where there are several runs, and one for each
// method below them; elsewhere each line says it all.
func (p *progress) shown() (lines []string) {
	left, ended, indent, width := "", 0, "", plainWidth
	if d, ok := p.left(); ok {
		left = duration(d) + " left"
	}
	for _, r := range p.runs {
		if r.ended {
			ended++
		}
	}
	if p.live {
		width = p.width() - 1
	}
	if p.live && p.total > 1 && ended < len(p.runs) {
		lines = append(lines, fit([]part{{fmt.Sprintf("%d of %d done", ended, p.total), 0}, {left, 0}}, width))
		left, indent = "", "  "
	}
	for _, r := range p.runs {
		if !r.ended {
			lines = append(lines, indent+fit(append(r.parts(), part{left, 0}), width-len(indent)))
		}
	}
	if p.live && len(lines) > 0 {
		lines = append(lines, p.curves(width)...)
	}
	return lines
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

// job are the observers of one run.
func (p *progress) job(job experiment.Job) experiment.Events {
	return p.of(&runState{name: fmt.Sprintf("%s s%d", job.Name(), job.Seed), method: job.Name()}, job.Total)
}

// named are the observers of a run called name, one among so many.
func (p *progress) named(name string, total int) experiment.Events {
	return p.of(&runState{name: name}, total)
}

// of are the observers of a run, one among so many.
func (p *progress) of(r *runState, total int) experiment.Events {
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
			if res != nil {
				r.found(res)
			}
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
