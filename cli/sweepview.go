package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ocl"
	"ocl/internal/cause"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/sweep/study"
	watching "ocl/view/watch"
)

// lookEvery is the least time between two looks at what others have done.
const lookEvery = 10 * time.Second

// mostRunning is how many jobs at work are shown.
const mostRunning = 12

// sweepView shows how far a study is, and which jobs are at work.
type sweepView struct {
	*screen
	dir   string
	store study.Store

	jobs  []study.Job
	runs  []*progress.Run // of the jobs
	place map[string]int  // of a job, by folder
	own   map[string]bool // at work in this process, by folder
}

func newSweepView(w io.Writer, quiet, status bool, dir string, store study.Store, jobs []study.Job) *sweepView {
	v := &sweepView{dir: dir, store: store, place: map[string]int{}, own: map[string]bool{}}
	v.screen = newScreen(w, quiet, v.shown)
	for _, j := range jobs {
		v.add(j)
	}
	v.look()
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

// add adds a job.
func (v *sweepView) add(j study.Job) {
	v.place[j.Folder] = len(v.jobs)
	v.jobs = append(v.jobs, j)
	v.runs = append(v.runs, &progress.Run{Name: j.String(), Steps: j.Steps, Work: j.FLOPs})
}

// look asks the store for the state of the jobs that are not done.
func (v *sweepView) look() {
	open := func(i int) bool { return v.runs[i].Phase != progress.Done && !v.own[v.jobs[i].Folder] }
	for i, j := range v.jobs {
		v.mu.Lock()
		ask := open(i)
		v.mu.Unlock()
		if !ask {
			continue
		}
		st := v.store.State(j.Entry)
		v.locked(func() {
			if open(i) {
				v.runs[i].Told(v.now(), st)
			}
		})
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
	var here, elsewhere []string
	for i, r := range v.runs {
		switch host := r.Progress.Host; {
		case r.Phase != progress.Running:
		case v.own[v.jobs[i].Folder]:
			here = append(here, "  "+fit(parts(r, ""), width-2))
		default:
			if host == study.HostName() {
				host = fmt.Sprintf("process %d", r.Progress.PID)
			}
			elsewhere = append(elsewhere, "  "+fit(parts(r, host), width-2))
		}
	}
	all := append(here, elsewhere...)
	if len(all) > mostRunning {
		all = append(all[:mostRunning-1], fmt.Sprintf("  and %d more", len(all)-mostRunning+1))
	}
	return append([]string{fit([]part{{progress.Count(v.runs).Line("job"), 0}, {leftText(v.runs), 0}}, width)}, all...)
}

// watch are the observers of a job that this process does.
func (v *sweepView) watch(j study.Job) experiment.Events {
	r := v.runs[v.place[j.Folder]]
	v.locked(func() {
		phase := progress.Waiting // until its data are read
		if r.Progress.Step > 0 {
			phase = progress.Begun
		}
		r.Told(v.now(), progress.State{Phase: phase,
			Progress: progress.Progress{Host: study.HostName(), PID: os.Getpid(), Step: r.Progress.Step}})
	})
	return train.Tee(r.Events(v.now, v.locked), experiment.Events{
		Begin: func(_ experiment.Job, _ ocl.StreamInfo, plan experiment.Plan) {
			v.locked(func() {
				v.own[j.Folder] = true
				if plan.StepsDone > 0 && !plan.Kept {
					v.say(v.out, continues(r))
				}
			})
		},
		Note: func(text string) { v.note(j.String() + "  " + text) },
		End: func(experiment.Job, *result.Result, error) {
			v.locked(func() { // the store says how the job ends, and a trial is not its end
				delete(v.own, j.Folder)
				r.Phase, r.Outcome, r.Error = progress.Begun, "", ""
			})
		},
	})
}

// changed is called for each job that has ended, here or elsewhere.
func (v *sweepView) changed(j study.Job, st progress.State) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.runs[v.place[j.Folder]]
	before := r.Phase
	r.Told(v.now(), st)
	if before == st.Phase {
		return
	}
	switch {
	case st.Phase == progress.Failed:
		v.say(v.notes, fmt.Sprintf("%s  failed: %s", j, cause.Line(st.Error)))
	case st.Accuracy != nil:
		v.say(v.out, fmt.Sprintf("%s  %s  average accuracy %s", j, st.Outcome, percent(*st.Accuracy)))
	default:
		v.say(v.out, fmt.Sprintf("%s  %s", j, st.Outcome))
	}
}

// checkStatus refuses what is no address.
func (f *sweepFlags) checkStatus() error {
	if _, _, err := net.SplitHostPort(f.status); f.status != "" && err != nil {
		return fmt.Errorf("--status cannot be %q. Use a port with a colon, such as :8080, or an address and a port", f.status)
	}
	return nil
}

// servePage serves the page of the study until the returned function is called. address is such as :8080, which only
// this machine reaches.
func (v *sweepView) servePage(ctx context.Context, address string, stderr io.Writer, quiet bool) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	host, port, _ := net.SplitHostPort(address) // checkStatus has seen it
	on, err := listenForPage(ctx, stderr, cmp.Or(host, "127.0.0.1"), port)
	if err != nil {
		return nil, fmt.Errorf("sweep: --status: %w", err)
	}
	if !quiet {
		fmt.Fprintf(stderr, "http://%s/ shows how far the study is\n", on.Addr())
	}
	return watching.ServeBoard(on, host, v.board, func() []byte {
		var text bytes.Buffer
		if err := printJSON(&text, v.status()); err != nil {
			panic("sweep: the state of a study: " + err.Error()) // it has texts and finite numbers
		}
		return text.Bytes()
	}), nil
}

// board is the page.
func (v *sweepView) board() []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	return watching.Board(filepath.Base(v.dir), study.Entries(v.jobs), v.runs)
}

// status is the JSON that `ocl sweep status --json` prints, as far as the view knows: what others do is looked at every
// ten seconds.
func (v *sweepView) status() studyStatus {
	cancelled := v.store.Cancelled()
	v.mu.Lock()
	defer v.mu.Unlock()
	return newStudyStatus(v.dir, cancelled, study.Entries(v.jobs), v.runs)
}
