package served_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/served"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

const small = `study: 1
methods: [finetune]
data: {train_per_class: 1, test_per_class: 1}
stream: {tasks: 2}
network: {name: mlp, hidden: [2]}
`

// lag is how long anything may take, on a machine that does a lot besides.
const lag = 2 * time.Minute

// soon is how often processes look, so that tests wait little.
const soon = 100 * time.Millisecond

// made makes the folder of a study whose jobs are given.
func made(t testing.TB, entries []study.Entry) string {
	t.Helper()
	s, err := study.Parse(t.Context(), "s.yaml", []byte(small), "", false)
	if err != nil {
		t.Fatal(err)
	}
	jobs, m, err := s.Open(t.Context(), experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "study")
	if err := study.Make(dir, s, jobs, m); err != nil {
		t.Fatal(err)
	}
	if err := study.WriteJobs(dir, entries); err != nil {
		t.Fatal(err)
	}
	return dir
}

// notes collects what is told.
type notes struct {
	t    testing.TB
	mu   sync.Mutex
	all  []string
	over bool
}

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
	if !n.over {
		n.t.Log(text)
	}
}

func notesOf(t testing.TB) *notes {
	n := &notes{t: t}
	t.Cleanup(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.over = true
	})
	return n
}

func serve(t testing.TB, dir string, entries []study.Entry, listen string) (*served.Holder, *notes) {
	t.Helper()
	n := notesOf(t)
	h, err := served.Serve(context.Background(), dir, study.OpenFolder(dir), entries,
		served.ServeOptions{Listen: listen, Look: soon, Note: n.add})
	if err != nil {
		t.Fatal(err)
	}
	return h, n
}

// opened is a study of some jobs that is served until the end of the test, and what its holder tells.
func opened(t testing.TB, jobs int) (all []*result.Result, entries []study.Entry, dir string, h *served.Holder,
	told *notes) {
	t.Helper()
	all = studytest.Results(t, jobs)
	entries = entriesOf(all)
	dir = made(t, entries)
	h, told = serve(t, dir, entries, "127.0.0.1:0")
	closed(t, h)
	return all, entries, dir, h, told
}

func join(t testing.TB, file, dir string) (*served.RemoteWorker, *notes) {
	t.Helper()
	n := notesOf(t)
	h, err := served.Join(context.Background(), file, served.JoinOptions{Dir: dir, Look: soon, Note: n.add})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, n
}

// within waits until something holds.
func within(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(lag); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", lag, what)
		}
	}
}

func entriesOf(all []*result.Result) (entries []study.Entry) {
	for _, r := range all {
		entries = append(entries, studytest.Entry(r))
	}
	return entries
}

// forger has the join file of a holder, and its connection ends with the test.
func forger(t testing.TB, h *served.Holder, key string) *served.Forger {
	t.Helper()
	f, err := served.Forge(h.Join(), key, "w", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.NC.Close)
	return f
}

// closed ends a holder at the end of a test.
func closed(t testing.TB, h *served.Holder) {
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// claim takes a job, which may be a moment later.
func claim(t testing.TB, h *served.RemoteWorker, e study.Entry) (c study.Claim) {
	t.Helper()
	within(t, "a claim of "+e.Folder, func() bool {
		var err error
		if c, _, err = h.Store().Claim(e); err != nil {
			t.Fatal(err)
		}
		return c != nil
	})
	return c
}

// finish does a job.
func finish(t testing.TB, h *served.RemoteWorker, r *result.Result) {
	t.Helper()
	c := claim(t, h, studytest.Entry(r))
	studytest.Write(t, c, r)
	if err := c.Done(r); err != nil {
		t.Fatal(err)
	}
}

// accepted waits until a folder has the result of a job.
func accepted(t testing.TB, dir string, e study.Entry) {
	t.Helper()
	within(t, "the result of "+e.Folder, func() bool { return study.OpenFolder(dir).State(e).Phase == progress.Done })
}

// says checks that an error has two short sentences, the second of which says what to do.
func says(t testing.TB, err error, what, remedy string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, wanted %q", what)
	}
	text := err.Error()
	if i, j := strings.Index(text, what), strings.Index(text, ". "+remedy); i < 0 || j < i || len(text) > 400 {
		t.Errorf("%q; wanted %q and then %q", text, what, remedy)
	}
}

// count is how often something was told that has a text.
func (n *notes) count(text string) (times int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.all {
		if strings.Contains(one, text) {
			times++
		}
	}
	return times
}

// clocked is a store whose claims grow old by the clock of a test.
type clocked struct {
	study.Store
	folder  study.Store // what only the machine with the folder may do
	written func(key string)
}

func (c clocked) Cancel() error                     { return c.folder.Cancel() }
func (c clocked) Resume() error                     { return c.folder.Resume() }
func (c clocked) Retry(e study.Entry) (bool, error) { return c.folder.Retry(e) }

type clockedClaim struct {
	study.Claim
	key     string
	written func(key string)
}

func (c clocked) Claim(e study.Entry) (study.Claim, progress.State, error) {
	got, st, err := c.Store.Claim(e)
	if got == nil {
		return nil, st, err
	}
	c.written(e.Key)
	return clockedClaim{got, e.Key, c.written}, st, err
}

func (c clockedClaim) Beat(p progress.Progress) error {
	c.written(c.key)
	return c.Claim.Beat(p)
}

// TestContract runs the contract of stores with workers that are connected by TLS.
func TestContract(t *testing.T) {
	entries := entriesOf(studytest.Results(t, 2))
	studytest.Run(t, func(t *testing.T) studytest.Stores {
		dir := made(t, entries)
		h, _ := serve(t, dir, entries, "127.0.0.1:0")
		closed(t, h)
		root := t.TempDir()
		var mu sync.Mutex
		var clock time.Duration
		last, alive := map[string]time.Duration{}, map[study.Store]bool{}
		return studytest.Stores{
			Lag: lag,
			Open: func(machine string) study.Store {
				worker, _ := join(t, h.Join(), filepath.Join(root, machine))
				alive[worker.Store()] = true
				return clocked{worker.Store(), study.OpenFolder(dir), func(key string) {
					mu.Lock()
					defer mu.Unlock()
					last[key] = clock
				}}
			},
			Kill: func(s study.Store) {
				served.Die(s.(clocked).Store)
				delete(alive, s.(clocked).Store)
			},
			Pass: func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				clock += d
				for _, key := range h.Expire(func(key string) bool { return clock-last[key] >= served.MaxAge }) {
					for s := range alive { // it takes no time until they know
						within(t, "the claim is gone", func() bool { return s.State(study.Entry{Key: key}).Phase != progress.Running })
					}
				}
			},
		}
	})
}

// writing is work that writes a result at once.
func writing(r *result.Result) study.Work {
	return func(_ context.Context, _ study.Job, at experiment.RunIn) (*result.Result, error) {
		text, err := result.Encode(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(at.Folder, experiment.ResultFile), text, 0o644)
		}
		return r, err
	}
}
