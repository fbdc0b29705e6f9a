package study

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ocl"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/train"
)

// heartbeat follows a run and tells the store that it lives.
type heartbeat struct {
	claim Claim
	note  func(string)
	job   Job

	mu    sync.Mutex
	run   progress.Run
	stops bool // the process was asked to end

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
		at := p.run.Progress
		at.Stopping = p.stops
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

// events are the observers of a run: the worker's own, and those of the caller.
func (p *heartbeat) events(ev experiment.Events) experiment.Events {
	own := train.Tee(p.run.Events(time.Now, p.locked), experiment.Events{
		Begin:     func(experiment.Job, ocl.StreamInfo, experiment.Plan) { p.soon() },
		TaskBegin: func(ocl.TaskInfo) { p.soon() },
		Evaluated: func(experiment.Evaluated) { p.soon() },
	})
	return train.Tee(own, ev)
}

// stopping notes that the process was asked to end.
func (p *heartbeat) stopping() { p.locked(func() { p.stops = true }) }

// soon asks for a beat soon.
func (p *heartbeat) soon() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *heartbeat) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}
