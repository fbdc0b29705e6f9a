package watch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ocl/config"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/experiment"
	"ocl/run/identity"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/sweep/study"
	"ocl/view/report"
)

// State is the content of a folder at one time.
type State struct {
	Kind    string // "study", "experiment", "run" or "folder"; "" where there is none
	Problem string // why there is nothing to show, or what of it cannot be read: sentences
	Jobs    []*progress.Run

	found   []report.Found
	left    []report.LeftOut
	notes   []string
	version string // of what the page shows; the strip changes more often
}

// Results says whether there is the result of a run that has ended.
func (s *State) Results() bool {
	return slices.ContainsFunc(s.found, func(f report.Found) bool { return f.Result.Outcome.State != result.Running })
}

// Over says that there are jobs and that all have ended or failed.
func (s *State) Over() bool { return progress.Count(s.Jobs).Over() }

// Idle says that nobody is at work.
func (s *State) Idle() bool { return progress.Count(s.Jobs).Running == 0 }

// reader reads a folder again and again. It keeps what it has read of files that do not change. One goroutine at a time
// uses it.
type reader struct {
	dir      string
	now      func() time.Time
	results  map[string]kept
	follows  map[string]*follow
	inactive map[string]inactivity
	config   struct {
		stamp string
		runs  int
		err   error
	}
	jobs struct {
		stamp   string
		entries []study.Entry
		err     error
	}
	store *study.Folder
	idle  map[string]stateThen // jobs of the study that nobody is at work on, by folder
}

// kept is a result that was read, or the error of reading it.
type kept struct {
	stamp  string
	result *result.Result
	err    error
}

// inactivity says since when the events of a run have not grown, when its lock was asked last, and whether the lock was
// free then.
type inactivity struct {
	since, asked time.Time
	free         bool
}

func newReader(dir string, now func() time.Time) *reader {
	return &reader{dir: dir, now: now, results: map[string]kept{}, follows: map[string]*follow{},
		inactive: map[string]inactivity{}, idle: map[string]stateThen{}}
}

// stamp changes when a file does; "" is none.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), " ", info.Mode().Type())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Check is an error about a path that can never be the folder of a run, because something else is there.
func Check(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("watch: %s is %s and not a folder. Give the folder of a run, of an experiment or of a study", dir,
			input.Kind(info))
	}
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && !exists(dir)) {
		return fmt.Errorf("watch: %s cannot be read: %w. Give the folder of a run, of an experiment or of a study", dir,
			cause.Of(err))
	}
	return nil
}

// read looks at the folder.
func (r *reader) read() *State {
	s := &State{}
	info, err := os.Stat(r.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Problem = fmt.Sprintf("%s does not exist. The page shows the first run that begins there.", r.dir)
		return s
	case err != nil:
		s.Problem = fmt.Sprintf("%s cannot be read: %v. The page goes on when it can be.", r.dir, cause.Of(err))
		return s
	case !info.IsDir():
		s.Problem = fmt.Sprintf("%s is %s and not a folder. Give the folder of a run, of an experiment or of a study.", r.dir,
			input.Kind(info))
		return s
	}
	switch has := func(name string) bool { return exists(filepath.Join(r.dir, name)) }; {
	case has(study.StudyFile):
		s.Kind = "study"
		r.study(s)
	case has(experiment.RunConfigFile) || has(experiment.EventsFile) || has(experiment.ResultFile):
		s.Kind = "run"
		r.run(s, r.dir)
	default:
		s.Kind = "folder"
		if has(experiment.ConfigFile) {
			s.Kind = "experiment"
		}
		r.experiment(s)
	}
	s.finish()
	return s
}

// finish makes the version of what was read.
func (s *State) finish() {
	var b strings.Builder
	for _, f := range s.found {
		fmt.Fprintf(&b, "%s %s %d %d %p;", f.Folder, f.Result.Outcome.State, len(f.Result.Accuracy),
			len(f.Result.Evaluations), measured(f.Result))
	}
	for _, l := range s.left {
		fmt.Fprintf(&b, "%s %s;", l.Path, l.Reason)
	}
	s.version = b.String()
	progress.Sort(s.Jobs)
}

// measured is the identity of the last row of a result, which is another one when it was measured again.
func measured(r *result.Result) any {
	if n := len(r.Accuracy); n > 0 && len(r.Accuracy[n-1]) > 0 {
		return &r.Accuracy[n-1][0]
	}
	return nil
}

// experiment reads the folders of the runs in a folder.
func (r *reader) experiment(s *State) {
	entries, err := input.ReadDir(r.dir)
	if err != nil {
		s.Problem = fmt.Sprintf("%s cannot be read: %v. The page goes on when it can be.", r.dir, cause.Of(err))
		return
	}
	for _, e := range entries {
		folder := filepath.Join(r.dir, e.Name())
		if !e.IsDir() || !exists(filepath.Join(folder, experiment.EventsFile)) &&
			!exists(filepath.Join(folder, experiment.ResultFile)) {
			continue
		}
		r.run(s, folder)
	}
	if s.Kind != "experiment" {
		if len(s.Jobs) == 0 {
			s.Problem = fmt.Sprintf("%s has no run yet. The page shows the first one that begins there.", r.dir)
		}
		return
	}
	total, err := r.planned()
	if err != nil {
		s.Problem = fmt.Sprintf("%v. The runs that it names and that have not begun are not counted.", err)
	}
	for range total - len(s.Jobs) {
		s.Jobs = append(s.Jobs, &progress.Run{State: progress.State{Phase: progress.Waiting}})
	}
}

// planned returns the number of runs of the experiment, and an error if its config cannot be read.
func (r *reader) planned() (int, error) {
	path := filepath.Join(r.dir, experiment.ConfigFile)
	if now := stamp(path); now != r.config.stamp || now == "" {
		r.config.stamp, r.config.runs = now, 0
		text, err := input.ReadFile(path, input.Want{Most: limit.Config})
		var c config.Config
		if err == nil {
			c, err = experiment.Schema().Parse(path, text)
		}
		if err == nil {
			err = experiment.Schema().Validate(c)
		}
		if err == nil {
			r.config.runs = len(experiment.Schema().Runs(c))
		} else {
			err = fmt.Errorf("%s cannot be read: %s", path, strings.TrimRight(cause.Line(cause.Of(err).Error()), "."))
		}
		r.config.err = err
	}
	return r.config.runs, r.config.err
}

// run reads the folder of a run.
func (r *reader) run(s *State, folder string) {
	j, last := r.result(s, folder)
	if j == nil {
		f := r.events(s, folder)
		one := f.run
		j, one.Name, one.Phase = &one, filepath.Base(folder), progress.Begun
		if f.made != nil {
			one.Name = nameOf(f.made)
		}
		if f.fault != nil {
			one.Error = f.fault.Error()
		}
		if f.measured == 0 && last != nil { // its events say too little
			s.found = append(s.found, report.Found{Result: last, Folder: folder})
			one.Name, one.Progress.Step = nameOf(last), last.Outcome.Step
		}
		if r.atWork(folder) {
			one.Phase = progress.Running
		} else {
			s.notes = append(s.notes,
				fmt.Sprintf("Nobody is at work on %s: %s.", folder, result.Pending(folder)))
		}
	}
	s.Jobs = append(s.Jobs, j)
}

// result takes the result of a run that has ended; j is nil where it has not. Of a run that was interrupted it only
// returns the result.
func (r *reader) result(s *State, folder string) (j *progress.Run, last *result.Result) {
	path := ""
	for _, name := range []string{experiment.ResultFile, "result" + result.Packed} {
		if p := filepath.Join(folder, name); path == "" && exists(p) {
			path = p
		}
	}
	if path == "" {
		return nil, nil
	}
	now := stamp(path)
	k, there := r.results[path]
	if !there || k.stamp != now {
		k = kept{stamp: now}
		k.result, k.err = identity.Usable(experiment.Schema(), path, identity.Want{Foreign: true})
		r.results[path] = k
	}
	switch {
	case errors.Is(k.err, fs.ErrNotExist):
		return nil, nil
	case k.err != nil:
		s.left = append(s.left, report.LeftOut{Path: path, Reason: k.err.Error()})
		return &progress.Run{Name: filepath.Base(folder),
			State: progress.State{Phase: progress.Done, Error: "its result cannot be read"}}, nil
	case k.result.Outcome.State == result.Interrupted:
		return nil, k.result
	}
	s.found = append(s.found, report.Found{Result: k.result, Folder: folder})
	j = &progress.Run{Name: nameOf(k.result),
		Work: float64(k.result.Resources.FLOPsPerStep) * float64(k.result.Outcome.Step)}
	j.End(k.result, nil)
	j.Progress.Seen = k.result.Metrics.AverageAccuracy
	return j, nil
}

func nameOf(r *result.Result) string {
	return fmt.Sprintf("%s s%d", strings.Join(append([]string{r.Method.Name}, r.Method.Tricks...), "+"), r.Config.Seed)
}

// events takes what a run that has not ended has measured.
func (r *reader) events(s *State, folder string) *follow {
	f := r.follows[folder]
	if f == nil {
		f = &follow{folder: folder}
		r.follows[folder] = f
	}
	if f.look() || r.inactive[folder].since.IsZero() {
		r.inactive[folder] = inactivity{since: r.now()}
	}
	if res := f.result(); res != nil && f.measured > 0 {
		s.found = append(s.found, report.Found{Result: res, Folder: folder})
	}
	return f
}

const (
	// patience is how long the events of a run may stand still before its lock is asked. A lock that is asked is held for
	// a moment, in which a run that begins would find it taken.
	patience = 20 * time.Second
	// askEvery is the time between two such questions.
	askEvery = 30 * time.Second
)

// atWork says whether a process is at work on a run: its events grow, or it holds the lock.
func (r *reader) atWork(folder string) bool {
	q, now := r.inactive[folder], r.now()
	last := time.Time{}
	if f := r.follows[folder]; f != nil {
		last = f.last
	}
	if now.Sub(last) < patience {
		return true
	}
	if q.asked.IsZero() || now.Sub(q.asked) >= askEvery || q.since.After(q.asked) {
		q.asked, q.free = now, true
		if exists(filepath.Join(folder, experiment.LockFile)) { // otherwise it would be made
			lock, err := train.LockFolder(folder, experiment.LockFile, train.Together)
			lock.Unlock()
			q.free = !errors.Is(err, experiment.ErrBusy)
		}
		r.inactive[folder] = q
	}
	return !q.free
}

// study reads the jobs of a study.
func (r *reader) study(s *State) {
	path := filepath.Join(r.dir, "jobs.jsonl")
	if now := stamp(path); now != r.jobs.stamp || now == "" {
		r.jobs.stamp = now
		r.jobs.entries, r.jobs.err = study.ReadJobs(r.dir)
	}
	if r.jobs.err != nil {
		s.Problem = fmt.Sprintf("The jobs of the study cannot be read: %s.", strings.TrimRight(cause.Line(r.jobs.err.Error()), "."))
		return
	}
	if r.store == nil {
		r.store = study.OpenFolder(r.dir)
	}
	for _, e := range r.jobs.entries {
		s.Jobs = append(s.Jobs, r.job(s, e))
	}
}

// stateThen is the state of a job as it was when its folder had the stamp.
type stateThen struct {
	stamp string
	asked time.Time
	progress.State
}

// state is the state of a job. To tell whether the worker of a job has died, the store holds the job's lock for a
// moment, and a worker that begins would find it taken. So it is asked again only when a file has come or gone in the
// folder, as when a worker begins, or after some time.
func (r *reader) state(e study.Entry, folder string) progress.State {
	now, at := r.now(), stamp(folder)
	if then, idle := r.idle[folder]; idle && then.stamp == at && now.Sub(then.asked) < askEvery {
		return then.State
	}
	st := r.store.State(e)
	if delete(r.idle, folder); st.Phase == progress.Begun || st.Phase == progress.Waiting {
		r.idle[folder] = stateThen{at, now, st}
	}
	return st
}

// job reads a job of a study.
func (r *reader) job(s *State, e study.Entry) *progress.Run {
	folder := filepath.Join(r.dir, e.Folder)
	st := r.state(e, folder)
	j := progress.Run{State: st}
	switch st.Phase {
	case progress.Done:
		if ended, _ := r.result(s, folder); ended != nil {
			j = *ended
		} else {
			j.State = progress.State{Phase: progress.Waiting}
		}
	case progress.Begun, progress.Running:
		if f := r.events(s, folder); !e.Tuned { // a tuned job makes trials before its own run
			j = f.run
			at, p := j.Progress, st.Progress
			p.Step, p.Task, p.Tasks = max(p.Step, at.Step), cmp.Or(p.Task, at.Task), cmp.Or(p.Tasks, at.Tasks)
			p.Seen = cmp.Or(p.Seen, at.Seen)
			j.State, j.Progress = st, p
		}
	}
	j.Name, j.Steps, j.Work = e.String(), e.Steps, e.FLOPs
	return &j
}
