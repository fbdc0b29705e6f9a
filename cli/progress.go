package cli

import (
	"fmt"
	"io"
	"time"

	"ocl"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
)

// runsView shows how far the runs of an experiment are, with a line for each run at work, and where there is no
// terminal also at the end of each task.
type runsView struct {
	*screen
	runs  []*shownRun // in the order in which they began
	total int         // runs of the experiment
}

// shownRun is a run on the screen.
type shownRun struct {
	progress.Run
	method string // "er", of a run whose accuracies are drawn; "" of others, such as trials
	plan   experiment.Plan
	open   bool // the line for the end of the task is not printed yet
}

// newRunsView starts watching; stop ends it. With quiet only notes are printed.
func newRunsView(w io.Writer, quiet bool) *runsView {
	p := &runsView{}
	p.screen = newScreen(w, quiet, p.shown)
	p.last = func() []string { return p.curves(p.width() - 1) }
	p.start(nil)
	return p
}

// all are the runs, with those that have not begun.
func (p *runsView) all() []*progress.Run {
	all := make([]*progress.Run, max(p.total, len(p.runs)))
	for i := range all {
		if i < len(p.runs) {
			all[i] = &p.runs[i].Run
		} else {
			all[i] = &progress.Run{}
		}
	}
	return all
}

// shown is a line for each active run. A terminal has a line above them where there are several runs, and one for each
// method below them; elsewhere each line says it all.
func (p *runsView) shown() (lines []string) {
	runs, indent, width := p.all(), "", plainWidth
	n, left := progress.Count(runs), leftText(runs)
	if p.live {
		width = p.width() - 1
	}
	if p.live && p.total > 1 && n.Running > 0 {
		lines = append(lines, fit([]part{{n.Line("run"), 0}, {left, 0}}, width))
		left, indent = "", "  "
	}
	for _, r := range runs {
		if r.Phase == progress.Running {
			lines = append(lines, indent+fit(append(parts(r, ""), part{left, 0}), width-len(indent)))
		}
	}
	if p.live && len(lines) > 0 {
		lines = append(lines, p.curves(width)...)
	}
	return lines
}

// job are the observers of one run.
func (p *runsView) job(job experiment.Job) experiment.Events {
	return p.of(&shownRun{Run: progress.Run{Name: job.String()}, method: job.Name()},
		job.Total)
}

// named are the observers of a run called name, one among so many.
func (p *runsView) named(name string, total int) experiment.Events {
	return p.of(&shownRun{Run: progress.Run{Name: name}}, total)
}

// of are the observers of a run, one among so many.
func (p *runsView) of(r *shownRun, total int) experiment.Events {
	before := experiment.Events{
		TaskBegin: func(ocl.TaskInfo) { p.locked(func() { p.taskEnd(r) }) },
		End: func(_ experiment.Job, res *result.Result, err error) {
			p.locked(func() {
				if r.Phase == progress.Running && !r.plan.Kept {
					p.say(p.out, r.ending(p.now(), res, err))
				}
			})
		},
	}
	after := experiment.Events{
		Begin: func(_ experiment.Job, _ ocl.StreamInfo, plan experiment.Plan) {
			p.locked(func() {
				p.total, p.runs, r.plan = max(p.total, total), append(p.runs, r), plan
				if plan.StepsDone > 0 && !plan.Kept && !plan.Evaluating {
					p.say(p.out, continues(&r.Run))
				}
			})
		},
		TaskBegin: func(ocl.TaskInfo) {
			p.locked(func() {
				if r.open = true; r.plan.Evaluating { // the task is known now
					p.say(p.out, continues(&r.Run)+", with the evaluation after "+r.Place())
					r.plan.Evaluating = false
				}
			})
		},
		Evaluated: func(e experiment.Evaluated) {
			p.locked(func() {
				if !e.MidTask {
					p.taskEnd(r)
				}
			})
		},
		Note: func(text string) {
			p.locked(func() {
				if !r.plan.Kept || p.out != nil { // with --quiet, a run that was finished before needs no note
					p.say(p.notes, r.Name+"  "+text)
				}
			})
		},
	}
	return train.Tee(before, train.Tee(r.Events(p.now, p.locked), after))
}

// continues says where a resumed run goes on.
func continues(r *progress.Run) string { return r.Name + "  continues at " + r.StepText() }

// ending is the line that stays when the run has ended. A run that was interrupted or diverged has a result and no
// error, and has not made all its steps; the table after it says at which step a run diverged.
func (r *shownRun) ending(now time.Time, res *result.Result, err error) string {
	how := "finished"
	switch {
	case err != nil:
		return fmt.Sprintf("%s  failed: %v", r.Name, err)
	case res != nil && res.Outcome.State == result.Diverged:
		how = "diverged"
	case r.Progress.Step < r.Steps:
		how = "stopped at " + r.StepText()
	}
	return fit([]part{{r.Name, 0}, {how + " after " + duration(now.Sub(r.Began)), 0}, {seenText(&r.Run), 0}}, plainWidth)
}

// taskEnd prints a plain line once a task, when its evaluation is over or the next task begins.
func (p *runsView) taskEnd(r *shownRun) {
	if !r.open {
		return
	}
	r.open = false
	if p.out != nil && !p.live {
		place := r.Place()
		if name := taskName(&r.Run); name != "" {
			place += " (" + name + ")"
		}
		p.say(p.out, fit([]part{
			{r.Name, 0}, {place + " learned", 0}, {seenText(&r.Run), 0},
			{"after " + duration(p.now().Sub(r.Began)), 0},
		}, plainWidth))
	}
}
