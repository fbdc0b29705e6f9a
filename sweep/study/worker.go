package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"ocl/config"
	"ocl/internal/input"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
)

// Worker does jobs of a study until none is left to take. Several workers, in one process or in many, do the same
// study.
type Worker struct {
	Store Store
	Jobs  []Job // in the order in which they are taken
	Do    Work  // nil learns
	// Concurrency is the jobs at once and Workers the goroutines of each; 0 chooses both so that the last job ends first.
	Concurrency, Workers int
	// MaxTime is how long jobs are done; 0 is as long as there are any. Those at work then save their state and are given
	// back, to be continued by another worker.
	MaxTime time.Duration
	// Stay waits for the jobs of other workers, and takes those that they give back. Otherwise the worker ends when all
	// others are at work on what is left.
	Stay bool
	// Attend does no job, and waits until others have done all.
	Attend bool
	// Quiet is a folder for the locks by which the workers of one machine let a timed job run alone; "" has none.
	Quiet string
	// Watch returns the observers of a job beside the worker's own; nil means none.
	Watch func(Job) experiment.Events
	// Changed is called for each job that is done, here or elsewhere, or has failed; may be nil. Calls do not overlap.
	Changed func(Job, progress.State)
	Note    func(text string)
	// Poll is the time between two looks for jobs when there is none to take; 0 is 5 seconds.
	Poll time.Duration
}

// usual time between two looks for jobs.
const usualPoll = 5 * time.Second

// Sum counts jobs at the end of a worker.
type Sum struct {
	Done, Diverged, Failed, Released int // by this worker
	Left                             int // jobs of the study that are neither done nor failed when it ends
	AllFailed                        int // jobs of the study that have failed
}

// Run does jobs until none is left, ctx ends, or the time is over. After the end of ctx, jobs at work save their state
// and are given back. The error joins those of jobs that failed here; one about the store or a full disk ends the
// worker.
func (w *Worker) Run(ctx context.Context) (Sum, error) {
	r := &session{Worker: w, phases: make([]string, len(w.Jobs))}
	if w.MaxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.MaxTime)
		defer cancel()
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	defer r.stop()
	return r.run()
}

// session is one call of Run.
type session struct {
	*Worker
	ctx  context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	phases  []string // of each job as this worker knows it: Done, Failed, Running (here), or "" to be looked at
	next    int      // jobs before it were looked at in this round
	working int      // jobs at work here
	timed   bool     // one of them runs alone
	quiet   *flock.Flock
	sum     Sum
	errs    []error
	fatal   bool
	wake    chan struct{}
	ready   map[string]bool      // in this round, of jobs that tune for others: whether they have ended
	looked  time.Time            // when the round began
	damaged map[config.Data]bool // data whose cache is damaged: their jobs are left to other processes
	settled int                  // rounds in a row in which all that is left was at work elsewhere for sure
}

func (r *session) run() (Sum, error) {
	workers, places, err := r.share()
	if err != nil {
		return Sum{}, err
	}
	r.wake, r.damaged = make(chan struct{}, 1), map[config.Data]bool{}
	var wg sync.WaitGroup
	for {
		i, c, over := r.take(places)
		if over {
			break
		}
		if c != nil {
			wg.Go(func() { r.work(i, c, workers, places) })
			continue
		}
		r.rest()
	}
	wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range r.phases {
		if p != progress.Done { // somebody else may have done what failed here
			p = r.Store.State(r.Jobs[i].Entry).Phase
		}
		switch p {
		case progress.Done:
		case progress.Failed:
			r.sum.AllFailed++
		default:
			r.sum.Left++
		}
	}
	return r.sum, errors.Join(r.errs...)
}

// share returns the number of goroutines for each job, and the number of jobs at once.
func (r *session) share() (workers, places int, err error) {
	if r.Attend {
		return 1, 1, nil
	}
	var costs []float64
	var plans []experiment.Plan
	enough := 4096 // of so many jobs, the rest does not change the choice
	if r.Workers > 0 && r.Concurrency > 0 {
		enough = r.Concurrency
	}
	for _, j := range r.Jobs {
		if j.Timing {
			continue
		}
		if st := r.Store.State(j.Entry); st.Phase == progress.Done || st.Phase == progress.Failed {
			continue
		}
		plans = append(plans, j.Plan)
		if costs = append(costs, max(1, j.FLOPs)); len(costs) == enough {
			break
		}
	}
	if len(costs) == 0 {
		return max(r.Workers, 1), max(r.Concurrency, 1), nil
	}
	return experiment.ShareMemory(costs, plans, r.Workers, r.Concurrency)
}

// rest waits until something may have changed.
func (r *session) rest() {
	if r.ctx.Err() != nil { // take has said that jobs are still at work
		<-r.wake
		return
	}
	timer := time.NewTimer(r.poll())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.wake:
	case <-r.ctx.Done():
	}
}

// take claims a job, the first one that is free. Without one, over says that the worker ends: nothing is at work here,
// and there will be nothing to take.
func (r *session) take(places int) (index int, c Claim, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fatal || r.ctx.Err() != nil {
		return 0, nil, r.working == 0
	}
	if r.working >= places || r.timed {
		return 0, nil, false
	}
	if r.Store.Cancelled() {
		r.cancel()
		return 0, nil, r.working == 0
	}
	if time.Since(r.looked) >= r.poll() { // what another process has begun and left is continued before anything else
		r.next = 0
	}
	var left int
	var sure bool
	for whole := false; !whole; r.next = 0 { // a round that began in the middle does not know what is left
		whole, left, sure, r.ready = r.next == 0, 0, true, map[string]bool{}
		if whole {
			r.looked = time.Now()
		}
		for ; r.next < len(r.Jobs); r.next++ {
			i := r.next
			if r.phases[i] != "" { // first: to copy 100,000 jobs takes longer than to claim one
				continue
			}
			j := r.Jobs[i]
			if len(r.damaged) > 0 && r.damaged[j.Run.Config.Data] {
				continue
			}
			if !r.Attend && (r.waits(j) || j.Timing && r.working > 0 || !r.lockMachine(j.Timing)) {
				left, sure = left+1, false
				continue
			}
			var c Claim
			var st progress.State
			var err error
			if r.Attend {
				st = r.Store.State(j.Entry)
			} else {
				c, st, err = r.Store.Claim(j.Entry)
			}
			if err != nil {
				r.end(err)
				return 0, nil, r.working == 0
			}
			if c != nil {
				r.phases[i], r.timed = progress.Running, j.Timing
				r.working++
				r.next++
				r.settled = 0
				return i, c, false
			}
			switch st.Phase {
			case progress.Done, progress.Failed:
				r.phases[i] = st.Phase
				r.changed(j, st)
			default:
				left++
				sure = sure && st.Sure
			}
		}
	}
	if left == 0 && r.working == 0 { // somebody may have let a job be tried again that has failed
		for i, p := range r.phases {
			if p != progress.Failed {
				continue
			}
			if st := r.Store.State(r.Jobs[i].Entry); st.Phase != progress.Failed && st.Phase != progress.Done {
				r.phases[i] = ""
				left, sure = left+1, false
			}
		}
	}
	if r.working == 0 {
		r.unlockMachine()
	}
	if !sure || left == 0 {
		r.settled = 0
	} else {
		r.settled++
	}
	// A lock may be held for a moment by a process that only looks. So one round is not enough to know that all jobs are
	// at work.
	return 0, nil, r.working == 0 && (left == 0 || !r.Stay && !r.Attend && r.settled > 1)
}

// poll is the time between two looks for jobs.
func (r *session) poll() time.Duration { return cmp.Or(r.Poll, usualPoll) }

// cancel gives back what is at work, and ends the worker.
func (r *session) cancel() {
	if r.ctx.Err() == nil {
		r.tell("the study was cancelled; jobs at work save their state. `ocl sweep retry` lets it go on")
		r.stop()
	}
}

// end ends the worker with an error that is not the job's.
func (r *session) end(err error) {
	r.errs = append(r.errs, err)
	r.fatal = true
	r.stop()
}

func (r *session) tell(text string) {
	if r.Note != nil {
		r.Note(text)
	}
}

func (r *session) changed(j Job, st progress.State) {
	if r.Changed != nil {
		r.Changed(j, st)
	}
}

// lockMachine makes sure that a timed job has the machine to itself, and that no other one starts meanwhile: ordinary
// jobs share a lock, and a timed one has it alone. It is false if that is not possible now. Where there are no locks,
// only the jobs of this worker count.
func (r *session) lockMachine(alone bool) bool {
	if r.Quiet == "" || !r.anyTimed() {
		return true
	}
	if r.quiet != nil {
		if r.quiet.Locked() == alone && r.quiet.RLocked() == !alone {
			return true
		}
		if r.working > 0 {
			return false
		}
		r.unlockMachine()
	}
	f, err := input.NewLock(filepath.Join(r.Quiet, ".timing-"+fileWord(HostName())))
	got := false
	switch {
	case err != nil:
	case alone:
		got, err = f.TryLock()
	default:
		got, err = f.TryRLock()
	}
	if err != nil {
		r.Quiet = ""
		r.tell("the folder of the study has no locks, so other workers may be at work beside jobs with timing: true. Their results do not count as timed; use a disk with locks")
		return true
	}
	if !got {
		_ = f.Close()
		return false
	}
	r.quiet = f
	return true
}

// fileWord is a word for the name of a file.
func fileWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, text)
}

// isAlone says whether the held lock keeps all other jobs of the study off this machine.
func (r *session) isAlone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet != nil && r.quiet.Locked()
}

func (r *session) unlockMachine() {
	if r.quiet != nil {
		_ = r.quiet.Close()
		r.quiet = nil
	}
}

func (r *session) anyTimed() bool {
	return len(r.Jobs) > 0 && r.Jobs[len(r.Jobs)-1].Timing // they are last
}

// work does a job and ends its claim.
func (r *session) work(i int, c Claim, workers, places int) {
	j := r.Jobs[i]
	at := c.Place()
	at.Workers, at.Concurrent = workers, places
	if j.Timing {
		at.Workers, at.Concurrent, at.Timed = r.Workers, 1, r.isAlone()
		if at.Workers == 0 {
			at.Workers = runtime.GOMAXPROCS(0)
		}
	}
	p := &heartbeat{claim: c, note: r.tell, job: j, news: make(chan struct{}, 1),
		run: progress.Run{Steps: j.Steps, Work: j.FLOPs}}
	var watch experiment.Events
	if r.Watch != nil {
		watch = r.Watch(j)
	}
	at.Events = p.events(watch)
	ctx, lose := context.WithCancelCause(r.ctx)
	defer lose(nil)
	stopped := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() { p.beat(stopped, r.ctx.Done(), r.Store.Cancelled, r.cancelled, lose) })
	beats.Go(func() { p.save(ctx, stopped) })
	do := r.Do
	if do == nil {
		do = r.learn
	}
	res, err := guarded(ctx, do, j, at)
	close(stopped)
	lose(nil)
	beats.Wait()
	if lost := context.Cause(ctx); errors.Is(lost, ErrLost) &&
		(err != nil || res == nil || res.Outcome.State == result.Interrupted) {
		res, err = nil, lost
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(i, j, c, res, err)
	r.working--
	r.timed = false
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *session) cancelled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel()
}

// guarded turns a panic of do into an error: it fails the job and not the worker.
func guarded(ctx context.Context, do Work, j Job, at experiment.RunIn) (res *result.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, fmt.Errorf("study: %s: %w", j, train.Panicked(v))
		}
	}()
	return do(ctx, j, at)
}

// settle ends the claim of a job as its result or error requires.
func (r *session) settle(i int, j Job, c Claim, res *result.Result, err error) {
	r.phases[i] = ""
	var ended error
	switch {
	case errors.Is(err, experiment.ErrVanished):
		r.tell(fmt.Sprintf("%s  %v. The job is done again", j, err))
		ended = c.Release()
	case isFull(err):
		ended = c.Release()
		r.end(fmt.Errorf("study: %s: %w", j, err))
	case errors.Is(err, experiment.ErrCache):
		ended = c.Release()
		if data := j.Run.Config.Data; !r.damaged[data] {
			r.damaged[data] = true
			r.errs = append(r.errs, fmt.Errorf("study: %s: %w", j, err))
		}
	case errors.Is(err, experiment.ErrBusy):
		ended = c.Release()
	case errors.Is(err, ErrLost):
		r.tell(fmt.Sprintf("%s  %v. This worker goes on with others", j, err))
		ended = c.Release()
	case err != nil && r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()), err == nil &&
		(res == nil || res.Outcome.State == result.Interrupted):
		r.sum.Released++
		ended = c.Release()
	case err != nil && r.Store.State(j.Entry).Phase == progress.Done:
		// The result is whole, or another machine, which does not see our locks, has made it.
		r.phases[i] = progress.Done
		r.errs = append(r.errs, fmt.Errorf("study: %s has its result all the same: %w", j.Folder, err))
		ended = c.Release()
	case err != nil:
		r.sum.Failed++
		r.phases[i] = progress.Failed
		r.errs = append(r.errs, fmt.Errorf("study: %s: %w", j.Folder, err))
		ended = c.Fail(err)
		r.changed(j, progress.State{Phase: progress.Failed, Error: err.Error()})
	default:
		r.sum.Done++
		if res.Outcome.State == result.Diverged {
			r.sum.Diverged++
		}
		ended = c.Done(res)
		// otherwise the store has yet to take the result in, and a later round tells
		if st := r.Store.State(j.Entry); st.Phase == progress.Done {
			r.phases[i] = progress.Done
			r.changed(j, st)
		}
	}
	if ended != nil {
		r.end(ended)
	}
}

// isFull says whether an error is of the disk and not of the job: it has no room, or takes no files.
func isFull(err error) bool {
	const diskFull = syscall.Errno(112) // of Windows
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) ||
		errors.Is(err, syscall.EFBIG) ||
		runtime.GOOS == "windows" && errors.Is(err, diskFull)
}
