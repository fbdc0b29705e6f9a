package study

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ocl"
	"ocl/run/experiment"
)

// heartbeat follows a run and tells the store that it lives.
type heartbeat struct {
	claim Claim
	note  func(string)
	job   Job

	mu   sync.Mutex
	at   Progress
	base int // steps of the trials before the run under way, or before the trial
	news chan struct{}
}

// leastBeat is the least time between two beats: news waits for so long.
const leastBeat = time.Second

// beat tells the store until stopped is closed: at once when the process is asked to end, soon after other news, and
// else every [BeatEvery]. The end of the study ends the run, and so does lose, once another process has the job.
func (p *heartbeat) beat(stopped, asked <-chan struct{}, cancelled func() bool, end func(), lose func(error)) {
	tick := time.NewTicker(BeatEvery)
	defer tick.Stop()
	quiet := ""
	for {
		select {
		case <-stopped:
			return
		case <-tick.C:
		case <-asked:
			p.stopping()
			asked = nil
		case <-p.news:
			select {
			case <-stopped:
				return
			case <-asked:
				p.stopping()
				asked = nil
			case <-time.After(leastBeat):
			}
			tick.Reset(BeatEvery)
		}
		if cancelled() {
			end()
		}
		p.mu.Lock()
		at := p.at
		p.mu.Unlock()
		err := p.claim.Beat(at)
		if errors.Is(err, ErrLost) {
			lose(err)
			return
		}
		if err != nil && err.Error() != quiet {
			quiet = err.Error()
			p.note(fmt.Sprintf("%s  %v. The job goes on", p.job, err))
		}
	}
}

// save hands over what the run has saved, until stopped is closed.
func (p *heartbeat) save(ctx context.Context, stopped <-chan struct{}) {
	tick := time.NewTicker(SaveEvery)
	defer tick.Stop()
	for {
		select {
		case <-stopped:
			return
		case <-tick.C:
		}
		if err := p.claim.Save(ctx); err != nil && ctx.Err() == nil {
			p.note(fmt.Sprintf("%s  what it has saved cannot be handed over: %v. The job goes on", p.job, err))
		}
	}
}

// events are the observers of a run: those of the caller, and the worker's own.
func (p *heartbeat) events(ev experiment.Events) experiment.Events {
	begin, task, step, working, tested, evaluated := ev.Begin, ev.TaskBegin, ev.StepEnd, ev.Working, ev.Tested,
		ev.Evaluated
	var first int
	ev.Begin = func(j experiment.Job, info ocl.StreamInfo, plan experiment.Plan) {
		p.set(func(at *Progress) {
			if at.Tasks > 0 { // a trial has ended
				p.base = at.Step
			}
			at.Trial, at.Trials = p.job.Trial(j)
			at.Tasks, at.Task, at.Step, at.Working, at.Seen = len(info.Tasks), 0, p.base+plan.StepsDone, 0, nil
		})
		p.soon()
		if len(info.Tasks) > 0 {
			first = info.Tasks[0].Index
		}
		if begin != nil {
			begin(j, info, plan)
		}
	}
	ev.TaskBegin = func(t ocl.TaskInfo) {
		p.set(func(at *Progress) { at.Task, at.Working = t.Index-first+1, 0 })
		p.soon()
		if task != nil {
			task(t)
		}
	}
	ev.StepEnd = func(n int, s ocl.StepStats) {
		p.set(func(at *Progress) { at.Step, at.Working = p.base+n, 0 })
		if step != nil {
			step(n, s)
		}
	}
	ev.Working = func(done, total int) {
		p.set(func(at *Progress) { at.Working = float64(done) / float64(total) })
		if working != nil {
			working(done, total)
		}
	}
	ev.Tested = func(done, total int) {
		p.set(func(at *Progress) { at.Working = 0 })
		if tested != nil {
			tested(done, total)
		}
	}
	ev.Evaluated = func(e experiment.Evaluated) {
		sum, n := 0.0, 0
		for j, a := range e.Accuracy {
			if a != nil && j <= e.Task {
				sum += *a
				n++
			}
		}
		if n > 0 {
			seen := sum / float64(n)
			p.set(func(at *Progress) { at.Seen = &seen })
			p.soon()
		}
		if evaluated != nil {
			evaluated(e)
		}
	}
	return ev
}

// stopping notes that the process was asked to end.
func (p *heartbeat) stopping() { p.set(func(at *Progress) { at.Stopping = true }) }

// soon asks for a beat soon.
func (p *heartbeat) soon() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *heartbeat) set(f func(*Progress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.at)
}
