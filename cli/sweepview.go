package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"ocl"
	"ocl/internal/count"
	"ocl/run/experiment"
	"ocl/run/result"
	"ocl/sweep/study"
)

// lookEvery is the least time between two looks at what others have done.
const lookEvery = 10 * time.Second

// mostRunning is how many jobs at work are shown.
const mostRunning = 12

// sweepView shows how far a study is, and which jobs are at work.
type sweepView struct {
	*screen
	store study.Store

	jobs   []study.Job
	states []study.State
	place  map[string]int       // of a job, by folder
	own    map[string]*runState // at work in this process
	begun  time.Time
	first  float64 // work that was done when it began
}

func newSweepView(w io.Writer, quiet, status bool, store study.Store, jobs []study.Job) *sweepView {
	v := &sweepView{store: store, jobs: jobs, states: make([]study.State, len(jobs)), place: map[string]int{},
		own: map[string]*runState{}}
	v.screen = newScreen(w, quiet, v.shown)
	for i, j := range jobs {
		v.place[j.Folder] = i
	}
	v.look()
	v.begun, v.first = v.now(), v.worked()
	next := v.now().Add(lookEvery)
	v.start(func() {
		if began := v.now(); (!quiet || status) && began.After(next) {
			v.look()
			ended := v.now()
			next = ended.Add(max(lookEvery, 20*ended.Sub(began))) // for a large study, at most a twentieth of the time
		}
	})
	return v
}

// look asks the store for the state of the jobs that are not done.
func (v *sweepView) look() {
	v.mu.Lock()
	var open []int
	for i, st := range v.states {
		if st.Phase != study.Done && v.own[v.jobs[i].Folder] == nil {
			open = append(open, i)
		}
	}
	v.mu.Unlock()
	for _, i := range open {
		st := v.store.State(v.jobs[i].Entry)
		v.mu.Lock()
		if v.own[v.jobs[i].Folder] == nil && v.states[i].Phase != study.Done {
			v.states[i] = st
		}
		v.mu.Unlock()
	}
}

// shown is what the screen shows: where there is no terminal, all in one line.
func (v *sweepView) shown() []string {
	lines := v.overview(v.width() - 1)
	if v.live {
		return lines
	}
	rest := strings.Join(lines[1:], "; ")
	return []string{fit([]part{{lines[0], 0}, {strings.Join(strings.Fields(rest), " "), 1}}, plainWidth*2)}
}

// overview says how far the study is, then the jobs at work, first those of this process.
func (v *sweepView) overview(width int) []string {
	var n phaseCounts
	var here, elsewhere []string
	for i, st := range v.states {
		j := v.jobs[i]
		if r := v.own[j.Folder]; r != nil {
			n.add(study.State{Phase: study.Running})
			here = append(here, "  "+fit(r.parts(), width-2))
			continue
		}
		n.add(st)
		if st.Phase == study.Running {
			if st.Progress.Host == study.HostName() {
				st.Progress.Host = fmt.Sprintf("process %d", st.Progress.PID)
			}
			elsewhere = append(elsewhere, "  "+fit(newJobStatus(j.Entry, st).parts(j.String()), width-2))
		}
	}
	parts := []part{{fmt.Sprintf("%s of %s done", count.Number(n.Done), count.Of(n.Jobs, "job")), 0},
		{fmt.Sprintf("%d running", n.Running), 1}}
	if n.Failed > 0 {
		parts = append(parts, part{fmt.Sprintf("%d failed", n.Failed), 0})
	}
	if n.Diverged > 0 {
		parts = append(parts, part{fmt.Sprintf("%d diverged", n.Diverged), 2})
	}
	if left, ok := v.left(); ok {
		parts = append(parts, part{duration(left) + " left", 0})
	}
	all := append(here, elsewhere...)
	if len(all) > mostRunning {
		all = append(all[:mostRunning-1], fmt.Sprintf("  and %d more", len(all)-mostRunning+1))
	}
	return append([]string{fit(parts, width)}, all...)
}

// worked is the work of the study that is done, in floating-point operations.
func (v *sweepView) worked() (sum float64) {
	for i, st := range v.states {
		j := v.jobs[i]
		switch r := v.own[j.Folder]; {
		case r != nil && j.Tuned:
			sum += j.FLOPs * float64(r.ahead+r.step) / float64(max(j.Steps, 1))
		case r != nil && r.total > 0:
			sum += j.FLOPs * r.work() / r.total
		case st.Phase == study.Done:
			sum += j.FLOPs
		default:
			sum += j.FLOPs * float64(st.Progress.Step) / float64(max(j.Steps, 1))
		}
	}
	return sum
}

// left estimates the time until the last job is done, by the speed since the view began.
func (v *sweepView) left() (time.Duration, bool) {
	all := 0.0
	for i, j := range v.jobs {
		if v.states[i].Phase != study.Failed {
			all += j.FLOPs
		}
	}
	worked, spent := v.worked(), v.now().Sub(v.begun).Seconds()
	if spent < 2 || worked <= v.first || all <= worked {
		return 0, false
	}
	return seconds((all - worked) / (worked - v.first) * spent), true
}

// watch are the observers of a job that this process does.
func (v *sweepView) watch(j study.Job) experiment.Events {
	r := &runState{name: j.String()}
	ev := v.events(r)
	ev.Begin = func(run experiment.Job, info ocl.StreamInfo, plan experiment.Plan) {
		v.locked(func() {
			n, trials := j.Trial(run)
			*r = runState{name: j.String(), ahead: r.ahead + r.step}
			if n > 0 {
				r.name += fmt.Sprintf(" trial %d/%d", n, trials)
			}
			r.begin(v.now(), info, plan)
			v.own[j.Folder] = r
			if plan.StepsDone > 0 && !plan.Kept {
				v.say(v.out, r.continues())
			}
		})
	}
	ev.Working = func(done, total int) {
		v.locked(func() { v.first -= r.workedOn(float64(done)/float64(total)) / max(r.total, 1) * j.FLOPs })
	}
	ev.Note = func(text string) { v.note(r.name + "  " + text) }
	ev.End = func(experiment.Job, *result.Result, error) {
		v.locked(func() {
			delete(v.own, j.Folder)
			v.states[v.place[j.Folder]] = study.State{Phase: study.Begun, Progress: study.Progress{Step: r.ahead + r.step}}
		})
	}
	return ev
}

// changed is called for each job that has ended, here or elsewhere.
func (v *sweepView) changed(j study.Job, st study.State) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.place[j.Folder]
	before := v.states[i].Phase
	v.states[i] = st
	if before == st.Phase {
		return
	}
	switch {
	case st.Phase == study.Failed:
		v.say(v.notes, fmt.Sprintf("%s  failed: %s", j, study.Problem(st.Error)))
	case st.Accuracy != nil:
		v.say(v.out, fmt.Sprintf("%s  %s  average accuracy %s", j, st.Outcome, percent(*st.Accuracy)))
	default:
		v.say(v.out, fmt.Sprintf("%s  %s", j, st.Outcome))
	}
}
