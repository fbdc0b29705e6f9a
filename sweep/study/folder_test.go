package study_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ocl/run/experiment"
	"ocl/run/progress"
	"ocl/run/result"
	"ocl/sweep/study"
	"ocl/sweep/studytest"
)

// TestFolderContract runs the contract on file systems whose locks all machines share, and on those where each machine
// has its own.
func TestFolderContract(t *testing.T) {
	for name, shared := range map[string]bool{"shared locks": true, "own locks": false} {
		t.Run(name, func(t *testing.T) {
			studytest.Run(t, func(t *testing.T) studytest.Stores {
				dir, elsewhere, clock := t.TempDir(), t.TempDir(), time.Now()
				return studytest.Stores{
					Pass: func(d time.Duration) { clock = clock.Add(d) },
					Open: func(machine string) study.Store {
						s := study.OpenFolder(dir)
						s.OnClock(func() time.Time { return clock })
						if shared {
							s.OnMachine(machine, nil)
						} else {
							s.OnMachine(machine, locksOf(elsewhere, machine))
						}
						return s
					},
					Kill: func(s study.Store) { s.(*study.Folder).Die() },
				}
			})
		})
	}
}

// locksOf are the locks of a machine that no other one has: they lie in a folder elsewhere.
func locksOf(elsewhere, machine string) func(string) (func(), error) {
	return func(folder string) (func(), error) {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		return experiment.LockRun(filepath.Join(elsewhere, machine, filepath.Base(folder)))
	}
}

// TestNoLocks: without locks no job is taken, as two processes would do it at once, and the error says what to do.
func TestNoLocks(t *testing.T) {
	e := studytest.Entry(studytest.Results(t, 1)[0])
	s := study.OpenFolder(t.TempDir())
	s.OnMachine("a", func(string) (func(), error) {
		return nil,
			errors.New("no locks available. Choose another file system")
	})
	if c, _, err := s.Claim(e); c != nil || err == nil ||
		!strings.Contains(err.Error(), "no locks available. Choose another file system") {
		t.Errorf("claim %v, error %v", c, err)
	}
}

// TestOneDeathAtATime: machines that share no locks and begin a job at once do not count each other as dead.
func TestOneDeathAtATime(t *testing.T) {
	e := studytest.Entry(studytest.Results(t, 1)[0])
	dir, elsewhere := t.TempDir(), t.TempDir()
	for i, machine := range []string{"a", "b", "c", "d", "e"} {
		s := study.OpenFolder(dir)
		s.OnMachine(machine, locksOf(elsewhere, machine))
		c, st, err := s.Claim(e)
		if err != nil || (c != nil) != (i == 0) || st.Phase != progress.Running {
			t.Errorf("%s: claim %v, %+v, error %v", machine, c, st, err)
		}
	}
}

// TestKilledProcessFreesItsJobs: the jobs of a killed process are free at once for others of the machine.
func TestKilledProcessFreesItsJobs(t *testing.T) {
	dir := t.TempDir()
	e := studytest.Entry(studytest.Results(t, 1)[0])
	first, second := study.OpenFolder(dir), study.OpenFolder(dir)
	if c, _, err := first.Claim(e); c == nil || err != nil {
		t.Fatal(c, err)
	}
	if c, st, err := second.Claim(e); c != nil || err != nil || !st.Sure {
		t.Fatalf("claim %v, %+v, error %v of a job that is at work", c, st, err)
	}
	first.Die()
	if st := second.State(e); st.Phase != progress.Waiting {
		t.Errorf("the job of a killed process is %+v", st)
	}
	c, _, err := second.Claim(e)
	if c == nil || err != nil {
		t.Fatal(c, err)
	}
	if n, _ := c.Attempt(); n != 2 {
		t.Errorf("attempt %d, want the second", n)
	}
}

// TestDeathAfterTheResult: a job with a result is at work while its process lives, which is about to say that it is
// done. Who finds it done removes the attempt of a process that died after the result, or after the note on it.
func TestDeathAfterTheResult(t *testing.T) {
	dir := t.TempDir()
	r := studytest.Results(t, 1)[0]
	e := studytest.Entry(r)
	first := study.OpenFolder(dir)
	own, _, err := first.Claim(e)
	if own == nil || err != nil {
		t.Fatal(own, err)
	}
	studytest.Write(t, own, r)
	attempt := filepath.Join(dir, e.Folder, ".attempt")
	text, err := os.ReadFile(attempt)
	if err != nil {
		t.Fatal(err)
	}
	looks := func(when, phase string, there bool) {
		t.Helper()
		if c, st, err := study.OpenFolder(dir).Claim(e); c != nil || err != nil || st.Phase != phase {
			t.Fatalf("%s: claim %v, %+v, error %v, want %s", when, c, st, err, phase)
		}
		if _, err := os.Stat(attempt); (err == nil) != there {
			t.Errorf("%s: the attempt is there: %v", when, err == nil)
		}
	}
	looks("it lives", progress.Running, true)
	first.Die()
	looks("it died after the result", progress.Done, false)
	if err := os.WriteFile(attempt, text, 0o644); err != nil {
		t.Fatal(err)
	}
	looks("it died after the note", progress.Done, false)
}

// TestGarbledAttempt: an attempt that no ocl writes counts as a first one that died.
func TestGarbledAttempt(t *testing.T) {
	e := studytest.Entry(studytest.Results(t, 1)[0])
	for _, text := range []string{"", "{", strings.Repeat("x", 5000), `{"attempt":-1}`} {
		dir := t.TempDir()
		folder := filepath.Join(dir, e.Folder)
		err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, ".attempt"), []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		c, st, err := study.OpenFolder(dir).Claim(e)
		if c == nil || err != nil {
			t.Fatalf("%.10q: %+v, error %v; want it claimed", text, st, err)
		}
		if n, step := c.Attempt(); n != 2 || step != 0 {
			t.Errorf("%.10q: attempt %d from step %d, want the second from 0", text, n, step)
		}
	}
}

// TestFileInPlaceOfAJob: a file where the folder of a job belongs fails that job alone, and says so.
func TestFileInPlaceOfAJob(t *testing.T) {
	e := studytest.Entry(studytest.Results(t, 1)[0])
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, e.Folder), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := study.OpenFolder(dir)
	c, st, err := s.Claim(e)
	if c != nil || err != nil || st.Phase != progress.Failed ||
		!strings.HasSuffix(st.Error, e.Folder+" is not a folder. Remove it, and the job is done") {
		t.Errorf("claim %v, %+v, error %v", c, st, err)
	}
}

// TestAside: a result that cannot be used is renamed, and the job is done again.
func TestAside(t *testing.T) {
	all := studytest.Results(t, 2)
	dir := t.TempDir()
	for name, spoil := range map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(path, 100) },
		"of another run": func(path string) error {
			text, err := result.Encode(all[1])
			return errors.Join(err, os.WriteFile(path, text, 0o644))
		},
		"edited": func(path string) error {
			r := *all[0]
			better := 0.99
			r.Metrics.AverageAccuracy = &better
			text, err := result.Encode(&r)
			return errors.Join(err, os.WriteFile(path, text, 0o644))
		},
	} {
		store, e := study.OpenFolder(dir), studytest.Entry(all[0])
		c := claimed(t, store, e)
		path := filepath.Join(c.Place().Folder, experiment.ResultFile)
		studytest.Write(t, c, all[0])
		if err := errors.Join(spoil(path), c.Release()); err != nil {
			t.Fatal(err)
		}
		c = claimed(t, store, e)
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: the file is still in its place", name)
		}
		if kept, _ := filepath.Glob(path + ".aside-*"); len(kept) == 0 {
			t.Errorf("%s: the file was not kept", name)
		}
		if err := c.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

func claimed(t *testing.T, s study.Store, e study.Entry) study.Claim {
	t.Helper()
	c, st, err := s.Claim(e)
	if err != nil || c == nil {
		t.Fatalf("claim %v, %+v, error %v", c, st, err)
	}
	return c
}
