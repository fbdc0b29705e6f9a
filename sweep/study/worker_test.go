package study_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ocl"
	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/run/train"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

// bench is a study whose learning is replaced by waiting.
type bench struct {
	dir     string
	jobs    []study.Job
	results map[string]*result.Result // by key

	mu     sync.Mutex
	begun  map[string]int
	order  []string
	most   int // at work at once
	now    int
	alone  bool // timed jobs, and no others, have the machine to themselves, and their place says so
	failed map[string]error
}

// took is how long a job waits.
const took = 2 * time.Second

func newBench(t *testing.T, n int) *bench {
	b := &bench{dir: t.TempDir(), results: map[string]*result.Result{}, begun: map[string]int{}, alone: true,
		failed: map[string]error{}}
	for _, r := range studytest.Results(t, n) {
		e := studytest.Entry(r)
		b.jobs = append(b.jobs, study.Job{Entry: e})
		b.results[r.Key] = r
	}
	return b
}

// do waits, writes the result if the folder is still there, and stops where ctx ends.
func (b *bench) do(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
	b.mu.Lock()
	b.begun[j.Key]++
	b.order = append(b.order, j.Folder)
	b.now++
	b.most = max(b.most, b.now)
	if j.Timing && b.now > 1 || at.Timed != j.Timing {
		b.alone = false
	}
	fault := b.failed[j.Key]
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.now--
	}()
	select {
	case <-time.After(took):
	case <-ctx.Done():
		r := *b.results[j.Key]
		r.Outcome.State = result.Interrupted
		return &r, nil
	}
	if fault != nil {
		return nil, fault
	}
	if err := train.Vanished(at.Folder); err != nil {
		return nil, err
	}
	text, err := result.Encode(b.results[j.Key])
	if err == nil {
		err = os.WriteFile(filepath.Join(at.Folder, experiment.ResultFile), text, 0o644)
	}
	return b.results[j.Key], err
}

func (b *bench) worker(s study.Store) *study.Worker {
	return &study.Worker{Store: s, Jobs: b.jobs, Do: b.do, Concurrency: 2, Workers: 1}
}

func (b *bench) open() *study.Folder { return study.OpenFolder(b.dir) }

// check wants each job done, begun once but for those that were interrupted.
func (b *bench) check(t *testing.T, again int) {
	t.Helper()
	s, more := b.open(), 0
	for _, j := range b.jobs {
		if st := s.State(j.Entry); st.Phase != progress.Done {
			t.Errorf("%s is %+v", j.Folder, st)
		}
		more += b.begun[j.Key] - 1
	}
	if more != again {
		t.Errorf("%d jobs were begun again, want %d", more, again)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "*", ".attempt")); len(left) > 0 {
		t.Errorf("attempts are left: %q", left)
	}
}

func TestWorkersShareAStudy(t *testing.T) {
	b := newBench(t, 12)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				s := b.open()
				sum, err := b.worker(s).Run(t.Context())
				if err != nil || sum.Failed+sum.AllFailed > 0 {
					t.Errorf("%+v, %v", sum, err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("12 jobs of %v with 6 places took %v", took, d)
		}
	})
	if b.most != 6 {
		t.Errorf("%d jobs at once, want 6", b.most)
	}
	b.check(t, 0)
}

// TestLongestFirst: jobs are begun in the order of the list, and a second call computes nothing.
func TestLongestFirst(t *testing.T) {
	b := newBench(t, 5)
	synctest.Test(t, func(t *testing.T) {
		w := b.worker(b.open())
		w.Concurrency = 1
		sum, err := w.Run(t.Context())
		if err != nil || sum.Done != 5 || sum.Left != 0 {
			t.Errorf("%+v, %v", sum, err)
		}
		if sum, err := b.worker(b.open()).Run(t.Context()); err != nil || sum.Done != 0 {
			t.Errorf("the second call: %+v, %v", sum, err)
		}
	})
	var want []string
	for _, j := range b.jobs {
		want = append(want, j.Folder)
	}
	if !slices.Equal(b.order, want) {
		t.Errorf("begun in the order %v, want %v", b.order, want)
	}
	b.check(t, 0)
}

// TestStop: after the end of ctx and at the end of the time, what is at work is given back; a cancelled study begins
// nothing more.
func TestStop(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(w *study.Worker, cancel func())
		want study.Sum
	}{
		"stop":  {func(_ *study.Worker, cancel func()) { cancel() }, study.Sum{Released: 2, Left: 6}},
		"time":  {nil, study.Sum{Released: 2, Left: 6}},
		"study": {func(w *study.Worker, _ func()) { w.Store.Cancel() }, study.Sum{Done: 2, Left: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 6)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := b.worker(b.open())
				if tt.end == nil {
					w.MaxTime = took / 2
				} else {
					time.AfterFunc(took/2, func() { tt.end(w, cancel) })
				}
				if sum, err := w.Run(ctx); err != nil || sum != tt.want {
					t.Errorf("%+v, %v; want %+v", sum, err, tt.want)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				s := b.open()
				s.Resume()
				if sum, err := b.worker(s).Run(t.Context()); err != nil || sum.Left > 0 {
					t.Errorf("%+v, %v", sum, err)
				}
			})
			b.check(t, tt.want.Released)
		})
	}
}

// TestFailures: an error or a panic fails its job and no other; a full disk ends the worker, and the job is given back.
func TestFailures(t *testing.T) {
	b := newBench(t, 4)
	b.failed[b.jobs[1].Key] = errors.New("something odd")
	synctest.Test(t, func(t *testing.T) {
		w := b.worker(b.open())
		do := w.Do
		w.Do = func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
			if j.Key == b.jobs[2].Key {
				panic("a bug")
			}
			return do(ctx, j, at)
		}
		sum, err := w.Run(t.Context())
		if sum != (study.Sum{Done: 2, Failed: 2, AllFailed: 2}) || err == nil ||
			!strings.Contains(err.Error(), "something odd") || !strings.Contains(err.Error(), "panic: a bug") {
			t.Errorf("%+v, %v", sum, err)
		}
		for _, j := range b.jobs {
			if _, err := w.Store.Retry(j.Entry); err != nil {
				t.Error(err)
			}
		}
		b.failed[b.jobs[1].Key] = fmt.Errorf("writing: %w", syscall.ENOSPC)
		sum, err = b.worker(b.open()).Run(t.Context())
		if sum.Failed != 0 || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%+v, %v", sum, err)
		}
		clear(b.failed)
		if sum, err = b.worker(b.open()).Run(t.Context()); err != nil || sum.Left+sum.AllFailed > 0 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

// TestTimedJobsRunAlone: on one machine, in this process and beside others.
func TestTimedJobsRunAlone(t *testing.T) {
	b := newBench(t, 8)
	for i := range b.jobs[5:] {
		b.jobs[5+i].Timing = true
	}
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				w := b.worker(b.open())
				w.Quiet, w.Stay = b.dir, true
				if _, err := w.Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
	if !b.alone || b.most < 3 {
		t.Errorf("timed jobs were alone: %v; %d at once, want at least 3", b.alone, b.most)
	}
	b.check(t, 0)
}

// TestStoppingIsToldAtOnce: when a process is asked to end, its claims say so at once. If it dies then, no job has a
// death more.
func TestStoppingIsToldAtOnce(t *testing.T) {
	b := newBench(t, 1)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := b.worker(b.open())
		var at progress.Progress
		w.Do = func(job context.Context, _ study.Job, _ experiment.RunIn) (*result.Result, error) {
			cancel()
			<-job.Done()
			time.Sleep(time.Millisecond)
			at = w.Store.State(b.jobs[0].Entry).Progress
			return nil, job.Err()
		}
		if sum, err := w.Run(ctx); err != nil || sum.Released != 1 || !at.Stopping {
			t.Errorf("%+v, %v, and %+v is told; want the job given back after the claim said that its process is asked to end",
				sum, err, at)
		}
	})
}

// TestWorkerWaitsForTheDead: a worker waits for a job of a machine whose locks it does not see, and takes it when that
// machine says nothing more.
func TestWorkerWaitsForTheDead(t *testing.T) {
	b := newBench(t, 1)
	synctest.Test(t, func(t *testing.T) {
		far := b.open()
		far.OnMachine("far", locksOf(t.TempDir(), "far"))
		c, _, err := far.Claim(b.jobs[0].Entry)
		if c == nil || err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		go func() {
			for range 10 {
				time.Sleep(study.BeatEvery)
				c.Beat(progress.Progress{})
			}
		}()
		if sum, err := b.worker(b.open()).Run(t.Context()); err != nil || sum.Done != 1 {
			t.Errorf("%+v, %v", sum, err)
		}
		if d, least := time.Since(began), 10*study.BeatEvery+study.StaleAfter; d < least || d > least+time.Minute {
			t.Errorf("done after %v, want a little more than %v", d, least)
		}
	})
}

// TestDoneElsewhere: the error of a job that another process has done meanwhile, as where locks do not cross machines,
// is told and fails no job.
func TestDoneElsewhere(t *testing.T) {
	b := newBench(t, 1)
	synctest.Test(t, func(t *testing.T) {
		w := b.worker(b.open())
		w.Do = func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
			if _, err := b.do(ctx, j, at); err != nil {
				t.Error(err)
			}
			return nil, errors.New("its file was removed")
		}
		if sum, err := w.Run(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "has its result all the same: its file was removed") || sum != (study.Sum{}) {
			t.Errorf("%+v, %v", sum, err)
		}
	})
	b.check(t, 0)
}

// lossy is a store whose claims are lost to others once a job has begun.
type lossy struct {
	study.Store
	saved atomic.Int32
}

type lossyClaim struct {
	study.Claim
	store *lossy
}

func (l *lossy) Claim(e study.Entry) (study.Claim, progress.State, error) {
	c, st, err := l.Store.Claim(e)
	if c != nil {
		c = lossyClaim{c, l}
	}
	return c, st, err
}

func (c lossyClaim) Beat(p progress.Progress) error {
	if c.store.saved.Load() == 2 {
		return fmt.Errorf("beat: %w", study.ErrLost)
	}
	return c.Claim.Beat(p)
}

func (c lossyClaim) Save(context.Context) error {
	c.store.saved.Add(1)
	return nil
}

// TestLost: what a run has saved is handed over every five minutes. Once another process has the job, its run ends, the
// job has not failed, and the worker says so.
func TestLost(t *testing.T) {
	b := newBench(t, 1)
	synctest.Test(t, func(t *testing.T) {
		store := &lossy{Store: b.open()}
		w := b.worker(store)
		var told []string
		w.Note = func(text string) { told = append(told, text) }
		began := time.Now()
		w.Do = func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
			if store.saved.Load() == 2 { // taken up again
				return b.do(ctx, j, at)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		sum, err := w.Run(t.Context())
		if d := time.Since(began); err != nil || sum.Done != 1 || sum.Failed != 0 || d < 2*study.SaveEvery ||
			d > 2*study.SaveEvery+time.Minute {
			t.Errorf("%+v, %v after %v", sum, err, d)
		}
		if text := strings.Join(told, "\n"); strings.Count(text, "another process has taken the job") != 1 {
			t.Errorf("told %q", told)
		}
	})
	b.check(t, 0)
}

// TestFreedJobsComeFirst: a worker that is at work continues a job whose process died before it begins another one.
func TestFreedJobsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 8)
		dead := b.open()
		if c, _, err := dead.Claim(b.jobs[0].Entry); c == nil {
			t.Fatal(err)
		}
		w := b.worker(b.open())
		w.Concurrency = 1
		go func() {
			time.Sleep(3*took + took/2)
			dead.Die()
		}()
		if sum, err := w.Run(t.Context()); err != nil || sum.Done != 8 {
			t.Fatalf("%+v, %v", sum, err)
		}
		at := slices.Index(b.order, b.jobs[0].Folder)
		if at < 3 || at > 6 { // within 5 s, which are three jobs
			t.Errorf("the job was taken up in place %d: %q", at, b.order)
		}
	})
}

// TestWorkerStays: a worker that is to stay waits for a job that another process is at work on, also if all jobs after
// it are done.
func TestWorkerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3)
		dead := b.open()
		if c, _, err := dead.Claim(b.jobs[0].Entry); c == nil {
			t.Fatal(err)
		}
		w := b.worker(b.open())
		w.Concurrency, w.Stay = 1, true
		time.AfterFunc(time.Minute, dead.Die)
		if sum, err := w.Run(t.Context()); err != nil || sum.Done != 3 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

// TestAttend: who attends does nothing, and tells of all that others do.
func TestAttend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3)
		w := b.worker(b.open())
		told := map[string]string{}
		w.Attend, w.Changed = true, func(j study.Job, st progress.State) { told[j.Folder] = st.Phase }
		w.Do = func(context.Context, study.Job, experiment.RunIn) (*result.Result, error) {
			t.Error("it does a job")
			return nil, errors.New("no")
		}
		time.AfterFunc(time.Minute, func() {
			if _, err := b.worker(b.open()).Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if sum, err := w.Run(t.Context()); err != nil || sum != (study.Sum{}) || len(told) != 3 {
			t.Errorf("%+v, %v, told %v", sum, err, told)
		}
	})
}

// TestNewsIsTold: who asks for the state of a job knows its task and step soon after it has begun.
func TestNewsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		s, other := b.open(), b.open()
		w := b.worker(s)
		w.Do = func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
			info := ocl.StreamInfo{Tasks: []ocl.TaskInfo{{Index: 0}, {Index: 1}}}
			at.Events.Begin(experiment.Job{}, info, experiment.Plan{})
			at.Events.TaskBegin(info.Tasks[1])
			at.Events.StepEnd(7, ocl.StepStats{})
			at.Events.Working(1, 4)
			time.Sleep(1500 * time.Millisecond)
			if p := other.State(j.Entry).Progress; p.Task != 2 || p.Tasks != 2 || p.Step != 7 || p.Working != 0.25 {
				t.Errorf("after 1.5 s, it is at %+v", p)
			}
			at.Events.StepEnd(8, ocl.StepStats{})
			at.Events.TaskBegin(info.Tasks[1])
			time.Sleep(1500 * time.Millisecond)
			if p := other.State(j.Entry).Progress; p.Step != 8 || p.Working != 0 {
				t.Errorf("after the long work in a step, it is at %+v", p)
			}
			at.Events.Working(4, 4)
			at.Events.Tested(0, 10)
			time.Sleep(study.BeatEvery + time.Second)
			if p := other.State(j.Entry).Progress; p.Working != 0 {
				t.Errorf("in the evaluation after long work, it is at %+v", p)
			}
			return b.do(ctx, j, at)
		}
		if _, err := w.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFolderVanishes: a job whose folder is removed is done again, the others are not touched, and without the folder
// of the study nothing is made.
func TestFolderVanishes(t *testing.T) {
	b := newBench(t, 4)
	synctest.Test(t, func(t *testing.T) {
		w := b.worker(b.open())
		var told []string
		w.Note = func(text string) { told = append(told, text) }
		removed := false
		w.Do = func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
			if j.Key == b.jobs[1].Key && !removed {
				removed = true
				if err := os.RemoveAll(at.Folder); err != nil {
					t.Error(err)
				}
			}
			return b.do(ctx, j, at)
		}
		if sum, err := w.Run(t.Context()); err != nil || sum.Done != 4 {
			t.Errorf("%+v, %v", sum, err)
		}
		if text := strings.Join(told, "\n"); !strings.Contains(text, "the folder has vanished") ||
			!strings.Contains(text, "The job is done again") {
			t.Errorf("told %q", told)
		}
		b.check(t, 1)

		if err := os.RemoveAll(b.dir); err != nil {
			t.Fatal(err)
		}
		if _, err := b.worker(b.open()).Run(t.Context()); !errors.Is(err, experiment.ErrVanished) {
			t.Errorf("without the folder of the study: %v", err)
		}
		if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
			t.Error("the folder of the study was made again", err)
		}
	})
}

// TestCacheIsDamaged: a job that cannot go on because the cache of its data is damaged has not failed, and is left to
// the next process with the other jobs of these data. Jobs of other data are done. One message says it.
func TestCacheIsDamaged(t *testing.T) {
	b := newBench(t, 6)
	for i := range 3 {
		b.jobs[i].Run.Config.Data.Name = "photos"
	}
	synctest.Test(t, func(t *testing.T) {
		w := b.worker(b.open())
		w.Concurrency = 2
		w.Do = func(ctx context.Context, j study.Job, at experiment.RunIn) (*result.Result, error) {
			if j.Run.Config.Data.Name == "photos" {
				time.Sleep(took)
				return nil, fmt.Errorf("image 7: %w", experiment.ErrCache)
			}
			return b.do(ctx, j, at)
		}
		sum, err := w.Run(t.Context())
		if sum.Done != 3 || sum.Failed != 0 || sum.Left != 3 || !errors.Is(err, experiment.ErrCache) ||
			strings.Count(err.Error(), "image 7") != 1 {
			t.Errorf("%+v, %v", sum, err)
		}
		if sum, err := b.worker(b.open()).Run(t.Context()); err != nil || sum.Done != 3 {
			t.Errorf("the next process: %+v, %v", sum, err)
		}
	})
}
