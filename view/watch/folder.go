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
	"ocl/run/result"
	"ocl/run/train"
	"ocl/sweep/study"
	"ocl/view/report"
)

// Phases of a job.
const (
	Waiting = "waiting" // nobody has begun it
	Working = "at work"
	Stopped = "stopped" // it has begun, and nobody is at work on it
	Ended   = "ended"
	Failed  = "failed"
)

// Job is a run as the strip shows it.
type Job struct {
	Name        string // "er s1"
	Phase       string
	Share       float64 // of the work that is done, in [0,1]
	Task, Tasks int     // under way, from 1; 0 before the first
	Step, Steps int
	Seen        *float64      // mean accuracy over the tasks learned, in [0,1]
	Left        time.Duration // 0 where it is not known
	Note        string        // what else there is to say, such as why it failed

	work float64 // of the whole job, to weigh jobs by
}

// State is the content of a folder at one time.
type State struct {
	Kind    string // "study", "experiment", "run" or "folder"; "" where there is none
	Problem string // why there is nothing to show, or what of it cannot be read: sentences
	Jobs    []Job

	found   []report.Found
	left    []report.LeftOut
	notes   []string
	version string // of what the page shows; the strip changes more often
}

// Count is the number of jobs in a phase.
func (s *State) Count(phase string) (n int) {
	for _, j := range s.Jobs {
		if j.Phase == phase {
			n++
		}
	}
	return n
}

// Results says whether there is the result of a run that has ended.
func (s *State) Results() bool {
	return slices.ContainsFunc(s.found, func(f report.Found) bool { return f.Result.Outcome.State != result.Running })
}

// Over says that there are jobs and that all have ended or failed.
func (s *State) Over() bool {
	return len(s.Jobs) > 0 && s.Count(Ended)+s.Count(Failed) == len(s.Jobs)
}

// Idle says that nobody is at work.
func (s *State) Idle() bool { return s.Count(Working) == 0 }

// Left is the time until the last job ends, if as many stay at work as are now and those that wait are like the others;
// 0 where it is not known.
func (s *State) Left() time.Duration {
	working, speed, todo := 0, 0.0, 0.0
	longest := time.Duration(0)
	for _, j := range s.Jobs {
		switch j.Phase {
		case Working:
			rest := (1 - j.Share) * j.work
			todo += rest
			if j.Left > 0 {
				working++
				speed += rest / j.Left.Seconds()
				longest = max(longest, j.Left)
			}
		case Waiting, Stopped:
			todo += (1 - j.Share) * j.work
		}
	}
	if working == 0 || speed <= 0 {
		return 0
	}
	return max(longest, time.Duration(todo/speed*float64(time.Second)))
}

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
	order := []string{Working, Failed, Stopped, Ended, Waiting}
	slices.SortStableFunc(s.Jobs, func(a, b Job) int {
		return cmp.Compare(slices.Index(order, a.Phase),
			slices.Index(order, b.Phase))
	})
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
		s.Jobs = append(s.Jobs, Job{Phase: Waiting})
	}
	s.weigh()
}

// weigh lets jobs that are not known yet be like the others.
func (s *State) weigh() {
	sum, n := 0.0, 0
	for _, j := range s.Jobs {
		if j.work > 0 {
			sum += j.work
			n++
		}
	}
	for i := range s.Jobs {
		if s.Jobs[i].work <= 0 {
			s.Jobs[i].work = sum / float64(max(n, 1))
		}
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
			err = fmt.Errorf("%s cannot be read: %s", path, strings.TrimRight(firstLine(cause.Of(err)), "."))
		}
		r.config.err = err
	}
	return r.config.runs, r.config.err
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// run reads the folder of a run.
func (r *reader) run(s *State, folder string) {
	j := Job{Name: filepath.Base(folder), Phase: Stopped}
	last, ended := r.result(s, folder, &j)
	if !ended {
		if !r.events(s, folder, &j) && last != nil { // its events say too little
			s.found = append(s.found, report.Found{Result: last, Folder: folder})
			j.Name, j.Step = nameOf(last), last.Outcome.Step
		}
		if r.atWork(folder) {
			j.Phase = Working
		}
		if j.Phase == Stopped {
			s.note(folder, &j)
		}
	}
	s.Jobs = append(s.Jobs, j)
}

// note says what a run that is stopped needs.
func (s *State) note(folder string, j *Job) {
	if j.Note == "" {
		j.Note = "nobody is at work on it"
	}
	s.notes = append(s.notes, fmt.Sprintf("%s has not ended, and nobody is at work on it. “ocl run --resume %s” continues it.",
		folder, folder))
}

// result takes the result of a run, and says whether it has ended. Of a run that was interrupted it only returns the
// result.
func (r *reader) result(s *State, folder string, j *Job) (last *result.Result, ended bool) {
	path := ""
	for _, name := range []string{experiment.ResultFile, "result" + result.Packed} {
		if p := filepath.Join(folder, name); path == "" && exists(p) {
			path = p
		}
	}
	if path == "" {
		return nil, false
	}
	now := stamp(path)
	k, there := r.results[path]
	if !there || k.stamp != now {
		k = kept{stamp: now}
		k.result, k.err = report.ReadResult(path)
		r.results[path] = k
	}
	if k.err != nil {
		if errors.Is(k.err, fs.ErrNotExist) {
			return nil, false
		}
		j.Phase, j.Share, j.Note = Ended, 1, "its result cannot be read"
		s.left = append(s.left, report.LeftOut{Path: path, Reason: k.err.Error()})
		return nil, true
	}
	if k.result.Outcome.State == result.Interrupted {
		return k.result, false
	}
	s.found = append(s.found, report.Found{Result: k.result, Folder: folder})
	j.Phase, j.Share, j.Name = Ended, 1, nameOf(k.result)
	j.Seen = k.result.Metrics.AverageAccuracy
	if k.result.Outcome.State != result.Finished {
		j.Note = k.result.Outcome.State
	}
	j.work = float64(k.result.Resources.FLOPsPerStep) * float64(k.result.Outcome.Step)
	return k.result, true
}

func nameOf(r *result.Result) string {
	return fmt.Sprintf("%s s%d", strings.Join(append([]string{r.Method.Name}, r.Method.Tricks...), "+"), r.Config.Seed)
}

// events takes what a run that has not ended has measured, and says whether that is enough for the report.
func (r *reader) events(s *State, folder string, j *Job) bool {
	f := r.follows[folder]
	if f == nil {
		f = &follow{folder: folder}
		r.follows[folder] = f
	}
	if f.look() || r.inactive[folder].since.IsZero() {
		r.inactive[folder] = inactivity{since: r.now()}
	}
	if f.fault != nil {
		j.Note = firstLine(f.fault)
	}
	j.Share, j.Step, j.Seen, j.Left = f.share(), f.step, f.seen, f.left()
	if p := f.plan(); p != nil {
		j.Steps, j.work = p.Steps, p.FLOPs
	}
	if st := f.stream(); st != nil {
		j.Task, j.Tasks = f.task, len(st.Tasks)
	}
	res := f.result()
	if res == nil {
		return false
	}
	j.Name = nameOf(res)
	if f.measured > 0 {
		s.found = append(s.found, report.Found{Result: res, Folder: folder})
	}
	return f.measured > 0
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
		s.Problem = fmt.Sprintf("The jobs of the study cannot be read: %s.", strings.TrimRight(firstLine(r.jobs.err), "."))
		return
	}
	if r.store == nil {
		r.store = study.OpenFolder(r.dir)
	}
	for _, e := range r.jobs.entries {
		s.Jobs = append(s.Jobs, r.job(s, e))
	}
	s.weigh()
}

// stateThen is the state of a job as it was when its folder had the stamp.
type stateThen struct {
	stamp string
	asked time.Time
	study.State
}

// state is the state of a job. To tell whether the worker of a job has died, the store holds the job's lock for a
// moment, and a worker that begins would find it taken. So it is asked again only when a file has come or gone in the
// folder, as when a worker begins, or after some time.
func (r *reader) state(e study.Entry, folder string) study.State {
	now, at := r.now(), stamp(folder)
	if then, idle := r.idle[folder]; idle && then.stamp == at && now.Sub(then.asked) < askEvery {
		return then.State
	}
	st := r.store.State(e)
	if delete(r.idle, folder); st.Phase == study.Begun || st.Phase == study.Waiting {
		r.idle[folder] = stateThen{at, now, st}
	}
	return st
}

// job reads a job of a study.
func (r *reader) job(s *State, e study.Entry) Job {
	folder := filepath.Join(r.dir, e.Folder)
	j := Job{Name: fmt.Sprintf("%s s%d", e.Name, e.Seed), Steps: e.Steps, work: e.FLOPs}
	st := r.state(e, folder)
	switch st.Phase {
	case study.Done:
		name := j.Name
		if _, ended := r.result(s, folder, &j); ended {
			j.Name, j.work = name, e.FLOPs
			return j
		}
		j.Phase = Waiting
		return j
	case study.Failed:
		j.Phase, j.Note = Failed, study.Problem(st.Error)
		return j
	case study.Waiting:
		j.Phase = Waiting
		return j
	}
	name, steps := j.Name, j.Steps
	r.events(s, folder, &j)
	j.Name, j.work = name, e.FLOPs
	p := st.Progress
	if p.Step > j.Step || e.Tuned { // a tuned job makes trials before its own run
		j.Step, j.Steps = p.Step, steps
		j.Share, j.Left = float64(p.Step)/float64(max(steps, 1)), 0
	}
	j.Task, j.Tasks = cmp.Or(p.Task, j.Task), cmp.Or(p.Tasks, j.Tasks)
	if p.Trial > 0 {
		j.Note = fmt.Sprintf("trial %d of %d", p.Trial, p.Trials)
	}
	if p.Seen != nil {
		j.Seen = p.Seen
	}
	j.Phase = Stopped
	if st.Phase == study.Running {
		j.Phase = Working
	} else if st.Error != "" {
		j.Note = study.Problem(st.Error)
	}
	return j
}
